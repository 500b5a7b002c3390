use std::sync::Arc;
use std::time::{Duration, Instant};

use oxikit_core::StatusCode;
use oxikit_wire::{Message, Part, PartKind, Role};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::instructions::output_instructions_part;
use super::*;

const ALL: [Format; 5] = [Format::Text, Format::Json, Format::Array, Format::Jsonl, Format::Enum];

fn item() -> Value {
    json!({"type":"object","properties":{"a":{"type":"number"}},"required":["a"]})
}

fn list() -> Value {
    json!({"type":"array","items":item()})
}

#[test]
fn a_format_is_found_by_its_name_and_unknown_names_are_none() {
    assert_eq!(ALL.map(|format| Format::named(format.name())), ALL.map(Some));
    assert_eq!(Format::named("zzz"), None);
    assert_eq!(Format::named("JSON"), None);
}

#[test]
fn each_format_has_the_defaults_of_other_genkit_runtimes() {
    let defaults = ALL.map(|format| {
        let defaults = format.defaults();
        (defaults.content_type, defaults.constrained, defaults.default_instructions)
    });
    let expected = [
        ("text/plain", None, true),
        ("application/json", Some(true), false),
        ("application/json", Some(true), true),
        ("application/jsonl", None, true),
        ("text/enum", Some(true), true),
    ];
    assert_eq!(defaults, expected);
}

#[test]
fn instructions_are_those_of_other_genkit_runtimes() {
    #[track_caller]
    fn check(format: Format, schema: &Value, expected: Option<&str>) {
        assert_eq!(format.instructions(Some(schema)).as_deref(), expected);
        assert_eq!(format.instructions(None), None);
    }
    check(
        Format::Json,
        &item(),
        Some(
            "Output should be in JSON format and conform to the following schema:\n\n```\n{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"number\"}},\"required\":[\"a\"]}\n```\n",
        ),
    );
    check(
        Format::Array,
        &list(),
        Some(
            "Output should be a JSON array conforming to the following schema:\n    \n```\n{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"number\"}},\"required\":[\"a\"]}}\n```\n    ",
        ),
    );
    check(
        Format::Jsonl,
        &list(),
        Some(
            "Output should be JSONL format, a sequence of JSON objects (one per line) separated by a newline `\\n` character. Each line should be a JSON object conforming to the following schema:\n\n```\n{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"number\"}},\"required\":[\"a\"]}\n```\n    ",
        ),
    );
    let words = "Output should be ONLY one of the following enum values. Do not output any additional information or add quotes.\n\nx\ny";
    check(Format::Enum, &json!({"type":"string","enum":["x","y"]}), Some(words));
    check(
        Format::Enum,
        &json!({"oneOf":[{"const":"x","description":"The first."},{"enum":["y"]}]}),
        Some(words),
    );
    check(Format::Enum, &json!({"type":"string"}), None);
    check(Format::Text, &item(), None);
}

#[test]
fn a_schema_of_the_wrong_type_is_an_invalid_argument() {
    #[track_caller]
    fn check(format: Format, schema: Value, message: Option<&str>) {
        let refused = format.check_schema(Some(&schema)).err();
        let refused = refused.as_ref().map(|status| (status.code(), status.message()));
        assert_eq!(refused, message.map(|message| (StatusCode::InvalidArgument, message)));
    }
    let array = Some("the output format `array` needs a schema of an array");
    let jsonl = Some("the output format `jsonl` needs a schema of an array of objects");
    let words = Some("the output format `enum` needs a schema of a string or an enum");
    check(Format::Array, list(), None);
    check(Format::Array, json!({"type":["null","array"]}), None);
    check(Format::Array, item(), array);
    check(Format::Array, json!({}), array);
    check(Format::Jsonl, list(), None);
    check(Format::Jsonl, json!({"type":"array","items":{"oneOf":[item()]}}), None);
    check(Format::Jsonl, json!({"type":"array"}), jsonl);
    check(Format::Jsonl, json!({"type":"array","items":{"type":"string"}}), jsonl);
    check(Format::Jsonl, item(), jsonl);
    check(Format::Enum, json!({"type":"string"}), None);
    check(Format::Enum, json!({"type":"enum"}), None);
    check(Format::Enum, json!({"enum":["x","y"]}), None);
    check(Format::Enum, json!({"type":"number"}), words);
    check(Format::Json, json!({"type":"number"}), None);
    check(Format::Text, json!({"type":"number"}), None);
    for format in ALL {
        assert!(format.check_schema(None).is_ok());
    }
}

#[track_caller]
fn check_parse(format: Format, text: &str, expected: Value) {
    assert_eq!(format.parse(text), expected, "{text}");
}

#[test]
fn json_is_found_within_prose_fences_and_quotes() {
    let check = |text, expected| check_parse(Format::Json, text, expected);
    check(r#"{"a":1}"#, json!({"a":1}));
    check("Sure!\n```json\n{\"a\": 1}\n```\nAnything else?", json!({"a":1}));
    check(r#"a list: [1, 2] and {"b":3}"#, json!([1, 2]));
    check(r#"use "{x}" like {"a":1}"#, json!({"a":1}));
    check(r#"{see below} it's {"a":1}"#, json!({"a":1}));
    check(r#"[as asked] [{"a":"]"}]"#, json!([{"a":"]"}]));
    check(r#"{"a":1} {"b":2}"#, json!({"a":1}));
    check("no json here", Value::Null);
    check("", Value::Null);
    check("42", Value::Null);
    check("}{", json!({}));
    check(r#"{"a": wrong, "b": {"c":1}}"#, Value::Null);
}

#[test]
fn json_is_read_as_json5() {
    let check = |text, expected| check_parse(Format::Json, text, expected);
    check("{a: 1, $b_2: 2, 'c d': 3,}", json!({"a":1,"$b_2":2,"c d":3}));
    check("[1,2,]", json!([1, 2]));
    check("{/* one */a: 1 // two }\n, b: 2}", json!({"a":1,"b":2}));
    check("{\u{feff}\u{a0}ä\u{2028}: 'ö'}", json!({"ä":"ö"}));
    check(r#"['it\'s', "a\"b", 'a"b']"#, json!(["it's", "a\"b", "a\"b"]));
    check(r#"["\b\f\n\r\t\v\0\x41\u00e4\/\q"]"#, json!(["\u{8}\u{c}\n\r\t\u{b}\0Aä/q"]));
    check("['one \\\ntwo \\\r\nthree']", json!(["one two three"]));
    check("[\"two\nlines\"]", json!(["two\nlines"]));
    check(
        r#"["\ud83d\ude00 \ud83d \ude00 \ud83d\u0041"]"#,
        json!(["😀 \u{fffd} \u{fffd} \u{fffd}A"]),
    );
    check(
        "[0x1F, -0xa, +1, -1, .5, 5., 1e3, 1.5E-1, -.5e+1]",
        json!([31, -10, 1, -1, 0.5, 5.0, 1000.0, 0.15, -5.0]),
    );
    check(
        "[18446744073709551615, -9223372036854775808, 18446744073709551616]",
        json!([u64::MAX, i64::MIN, 18446744073709551616.0]),
    );
    check("[NaN, Infinity, -Infinity, +NaN, 1e999]", json!([null, null, null, null, null]));
    check("[true, false, null]", json!([true, false, null]));
    check(r#"{"a":1,"a":2}"#, json!({"a":2}));
    for wrong in [
        "[012]",
        "[1 2]",
        "[1,,2]",
        "{a 1}",
        "{a:}",
        "[tru]",
        "[--1]",
        "[0x]",
        "[.]",
        "[inf]",
        "[/]",
        "{,}",
        "{\"a\":1]",
        "[\"\\xZZ\"]",
        "[-]",
        "[1a]",
    ] {
        check(wrong, Value::Null);
    }
}

#[test]
fn json_that_is_cut_off_is_closed() {
    let check = |text, expected| check_parse(Format::Json, text, expected);
    check(r#"{"a":"#, json!({}));
    check(r#"{"a":[1,"#, json!({"a":[1]}));
    check(r#"{"a":[1,2"#, json!({"a":[1,2]}));
    check(r#"{"a":1,"b"#, json!({"a":1}));
    check(r#"{"a":1,b"#, json!({"a":1}));
    check(r#"{"a":"hel"#, json!({"a":"hel"}));
    check(r#"{"a":"hel\"#, json!({"a":"hel"}));
    check(r#"{"a":"hel\u00e"#, json!({"a":"hel"}));
    check(r#"{"a":"hel\ud83d"#, json!({"a":"hel"}));
    check(r#"{"a":"hel\ud83d\ud"#, json!({"a":"hel"}));
    check(r#"[t"#, json!([true]));
    check(r#"[fals"#, json!([false]));
    check(r#"[1, nu"#, json!([1, null]));
    check(r#"[1, -"#, json!([1]));
    check(r#"[1, -In"#, json!([1, null]));
    check(r#"[1, 2e"#, json!([1, 2]));
    check(r#"[1, 2e-"#, json!([1, 2]));
    check(r#"[1 /"#, json!([1]));
    check(r#"[1 // so"#, json!([1]));
    check(r#"[1 /* so *"#, json!([1]));
    check(r#"[{"a":[{"#, json!([{"a":[{}]}]));
    check("{", json!({}));
}

#[test]
fn an_array_is_read_object_by_object() {
    let check = |text, expected| check_parse(Format::Array, text, expected);
    check(r#"[{"a":1},{"a":2}]"#, json!([{"a":1},{"a":2}]));
    check(
        "{not yet} ```\n[{a:'}'}, // it's\n {b:{c:2} /* } */},]\n```",
        json!([{"a":"}"},{"b":{"c":2}}]),
    );
    check(r#"[{"a":1},{"a":"#, json!([{"a":1}]));
    check(r#"[{"a":1},{oops},{"a":3}]"#, json!([{"a":1},{"a":3}]));
    check(r#"["no {object}", {"a":1}]"#, json!([{"a":1}]));
    check(r#"["x", "y"]"#, json!(["x", "y"]));
    check("nothing", json!([]));
}

#[test]
fn jsonl_is_read_line_by_line() {
    let check = |text, expected| check_parse(Format::Jsonl, text, expected);
    check("{\"a\":1}\n{\"a\":2}", json!([{"a":1},{"a":2}]));
    check(
        "```jsonl\r\n  {\"a\":1},\r\n\r\n{oops}\n[{\"a\":2}]\n{a:3,}\n```",
        json!([{"a":1},{"a":3}]),
    );
    check("{\"a\":1}\n{\"a\":", json!([{"a":1},{}]));
    check("{\"a\":[1\n{\"a\":2}", json!([{"a":[1]},{"a":2}]));
    check("nothing", json!([]));
}

#[test]
fn an_enum_is_read_without_quotes_and_text_as_it_is() {
    check_parse(Format::Enum, " \"x\"\n", json!("x"));
    check_parse(Format::Enum, "'x'", json!("x"));
    check_parse(Format::Enum, "\"\" ", Value::Null);
    check_parse(Format::Text, " \"x\"\n", json!(" \"x\"\n"));
}

#[track_caller]
fn check_stream(format: Format, chunks: &[&str], expected: &[Option<Value>]) {
    let mut parser = StreamParser::new(format);
    let outputs: Vec<_> = chunks
        .iter()
        .map(|chunk| {
            parser.push(chunk);
            parser.output()
        })
        .collect();
    assert_eq!(outputs, expected);
}

#[test]
fn a_json_stream_shows_all_that_is_known_so_far() {
    check_stream(
        Format::Json,
        &["Here: ", "{\"a\":", "[1,", "2]}", " done"],
        &[
            None,
            Some(json!({})),
            Some(json!({"a":[1]})),
            Some(json!({"a":[1,2]})),
            Some(json!({"a":[1,2]})),
        ],
    );
}

#[test]
fn an_array_stream_shows_what_each_chunk_completed() {
    check_stream(
        Format::Array,
        &["[{\"a\"", ":1},{\"a\":2},{\"", "a\":3}]", ""],
        &[Some(json!([])), Some(json!([{"a":1},{"a":2}])), Some(json!([{"a":3}])), Some(json!([]))],
    );
}

#[test]
fn a_jsonl_stream_shows_each_object_once() {
    check_stream(
        Format::Jsonl,
        &["{\"a\":1}", "\n{\"a\":", "2}\n", "x {\"a\":9}\n{\"a\":3}\n{\"a\":4}"],
        &[
            Some(json!([{"a":1}])),
            Some(json!([])),
            Some(json!([{"a":2}])),
            Some(json!([{"a":3},{"a":4}])),
        ],
    );
}

#[test]
fn a_text_stream_shows_each_chunk_and_an_enum_stream_nothing() {
    check_stream(Format::Text, &["ab", "c"], &[Some(json!("ab")), Some(json!("c"))]);
    check_stream(Format::Enum, &["ab", "c"], &[None, None]);
}

#[test]
fn values_nested_too_deep_are_not_found_and_do_no_harm() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert!(Format::Json.parse(&nested(128)).is_array());
    assert_eq!(Format::Json.parse(&nested(129)), Value::Null);
    let bomb = "{\"a\":[".repeat(500_000);
    for format in ALL {
        let mut parser = StreamParser::new(format);
        parser.push(&bomb);
        parser.output();
        format.parse(&bomb);
    }
    assert_eq!(Format::Json.parse(&bomb), Value::Null);
}

#[test]
fn reading_takes_time_in_proportion_to_the_text() {
    // Each was quadratic in some first draft; this much would take minutes.
    for unit in ["{/*}", "{'}", "{x}", "[\"", "{\"", "\\", "{\"a\":1}\n", "[{", "\\ud800"] {
        let text = format!("[{}", unit.repeat(200_000 / unit.len()));
        let began = Instant::now();
        for format in ALL {
            format.parse(&text);
            let mut parser = StreamParser::new(format);
            for at in 0..text.len() {
                parser.push(&text[at..=at]);
            }
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{unit}");
    }
}

#[test]
fn instructions_go_to_the_first_system_message() {
    let mut messages =
        shared([Message::user("one"), Message::system("two"), Message::system("three")]);
    inject_instructions(&mut messages, "say it");
    let expected = shared([
        Message::user("one"),
        Message::system("two").with_part(output_instructions_part("say it")),
        Message::system("three"),
    ]);
    assert_eq!(messages, expected);
}

#[test]
fn instructions_go_to_the_last_user_message_when_there_is_no_system_message() {
    let original = shared([
        Message::user("one"),
        Message::model("two"),
        Message::user("three"),
        Message::model("four"),
    ]);
    let mut messages = original.clone();
    inject_instructions(&mut messages, "say it");
    let expected = shared([
        Message::user("one"),
        Message::model("two"),
        Message::user("three").with_part(Part::text("say it").with_metadata("purpose", "output")),
        Message::model("four"),
    ]);
    assert_eq!(messages, expected);
    assert_eq!(original[2], Arc::new(Message::user("three")));
    assert!(Arc::ptr_eq(&messages[0], &original[0]));
}

#[test]
fn instructions_take_the_place_that_is_kept_for_them() {
    let pending = || {
        Part::new(PartKind::Empty).with_metadata("purpose", "output").with_metadata("pending", true)
    };
    for place in 0..3 {
        let with = |part: Part| {
            let mut parts = vec![Part::text("a"), Part::text("b")];
            parts.insert(place, part);
            shared([Message::new(Role::User, parts)])
        };
        let mut messages = with(pending());
        inject_instructions(&mut messages, "say it");
        assert_eq!(messages, with(output_instructions_part("say it")));
    }
}

#[test]
fn instructions_that_are_there_already_are_kept() {
    let original = shared([
        Message::system("one"),
        Message::user("two").with_part(output_instructions_part("my own")),
    ]);
    let mut messages = original.clone();
    inject_instructions(&mut messages, "say it");
    assert_eq!(messages, original);
}

#[test]
fn messages_with_neither_system_nor_user_stay_unchanged() {
    let original = shared([Message::model("one")]);
    let mut messages = original.clone();
    inject_instructions(&mut messages, "say it");
    assert_eq!(messages, original);
    inject_instructions(&mut [], "say it");
}

fn shared<const N: usize>(messages: [Message; N]) -> Vec<Arc<Message>> {
    messages.into_iter().map(Arc::new).collect()
}

/// Any JSON object or array.
fn any_container() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    let any_value = scalar.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    });
    prop::collection::vec(any_value, 0..6).prop_map(Value::from)
}

/// Whether `part` can be what was there of `whole` when the text ended.
fn is_beginning_of(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            part.len() <= whole.len()
                && part
                    .iter()
                    .zip(whole)
                    .all(|(one, other)| one.0 == other.0 && is_beginning_of(one.1, other.1))
        }
        (Value::Array(part), Value::Array(whole)) => {
            part.len() <= whole.len()
                && part.iter().zip(whole).all(|(one, other)| is_beginning_of(one, other))
        }
        (Value::String(part), Value::String(whole)) => whole.starts_with(part.as_str()),
        (Value::Number(_), Value::Number(_)) => true,
        (part, whole) => part == whole,
    }
}

proptest! {
    #[test]
    fn whole_json_is_read_as_it_was_written(value in any_container()) {
        prop_assert_eq!(Format::Json.parse(&value.to_string()), value.clone());
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(Format::Json.parse(&pretty), value);
    }

    #[test]
    fn cut_off_json_is_the_beginning_of_the_whole(
        value in any_container(),
        cut in any::<prop::sample::Index>(),
    ) {
        let text = value.to_string();
        let ends: Vec<_> = text.char_indices().map(|(at, char)| at + char.len_utf8()).collect();
        let part = Format::Json.parse(&text[..ends[cut.index(ends.len())]]);
        prop_assert!(is_beginning_of(&part, &value), "{} is not the beginning of {}", part, value);
    }

    #[test]
    fn no_text_makes_a_format_panic(text in "[ -~\\[\\]{}\"'\\\\/*:,0-9eu\n😀]{0,40}") {
        for format in ALL {
            format.parse(&text);
        }
    }

    #[test]
    fn a_stream_completes_the_same_objects_however_it_is_cut(
        text in "[\\[{}\"'\\\\/*:,\n a1ä]{0,40}",
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
    ) {
        for format in [Format::Array, Format::Jsonl] {
            let mut ends: Vec<_> = cuts
                .iter()
                .map(|cut| cut.index(text.len() + 1))
                .filter(|&at| text.is_char_boundary(at))
                .chain([0, text.len()])
                .collect();
            ends.sort_unstable();
            let mut whole = StreamParser::new(format);
            whole.push(&text);
            let mut pieces = StreamParser::new(format);
            let mut seen = Vec::new();
            for piece in ends.windows(2) {
                pieces.push(&text[piece[0]..piece[1]]);
                match pieces.output() {
                    Some(Value::Array(items)) => seen.extend(items),
                    other => prop_assert!(false, "{:?}", other),
                }
            }
            prop_assert_eq!(Some(Value::from(seen)), whole.output());
        }
    }
}
