//! Prompt files that `write_prompt` writes are read back as the same prompt.

use oxikit_dotprompt::{Prompt, write_prompt};
use oxikit_wire::Message;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{messages, object};

fn from_json(json: Value) -> Vec<Message> {
    serde_json::from_value(json).expect("they are messages")
}

#[test]
fn a_file_is_written_as_a_person_would() {
    let front_matter = object(json!({"model": "echo/model", "config": {"temperature": 0.2},
        "tools": ["add"], "use": [{"name": "retry", "config": {"max": 3}}, {"name": "log"}],
        "input": {"schema": {"name": "string, who"}, "default": {"name": "Ada"}}}));
    let conversation = from_json(json!([
        {"role": "system", "content": [{"text": "be brief"}]},
        {"role": "user", "content": [{"text": "Hi {{name}}"}]},
    ]));
    let expected = "---\nmodel: echo/model\nconfig:\n  temperature: 0.2\ntools:\n  - add\n\
        use:\n  - name: retry\n    config:\n      max: 3\n  - name: log\n\
        input:\n  schema:\n    name: \"string, who\"\n  default:\n    name: Ada\n---\n\n\
        {{role \"system\"}}\nbe brief\n\n{{role \"user\"}}\nHi {{name}}\n";
    let file = write_prompt(&front_matter, &conversation);
    assert_eq!(file, expected);
    assert_eq!(Prompt::parse(&file).unwrap().metadata.raw, front_matter);
    let rendered = messages(&file, json!({"name": "Bo"})).unwrap();
    assert_eq!(rendered[1]["content"][0]["text"].as_str().unwrap().trim(), "Hi Bo");
}

#[test]
fn media_are_kept_and_what_cannot_be_said_is_left_out() {
    let file = write_prompt(
        &object(json!({"model": "m"})),
        &from_json(json!([
            {"role": "user", "content": [{"text": "look: "},
                {"media": {"url": "http://h/a\"b.png", "contentType": "image/png"}},
                {"reasoning": "hm"}]},
            {"role": "model", "content": [{"toolRequest": {"name": "t", "input": {}}}]},
            {"role": "user", "content": [{"media": {"url": "a\"b'c"}}]},
        ])),
    );
    let rendered = messages(&file, json!({})).unwrap();
    let media = json!({"url": "http://h/a\"b.png", "contentType": "image/png"});
    assert_eq!(rendered[0]["content"][1]["media"], media, "{file}");
    assert_eq!(file.matches("left out").count(), 3, "{file}");
    assert!(!rendered.to_string().contains("hm"), "{rendered}");
}

/// JSON as front matter may have it, in no more levels than are read.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC*".prop_map(Value::from),
        "[ -~\n\t]{0,12}".prop_map(Value::from),
        prop::sample::select(vec!["yes", "No", "~", "null", "1e3", "0x1f", ".inf", "- a", "a: b"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("\\PC{0,8}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn front_matter_is_read_as_it_was_written(value in value()) {
        let front_matter = object(json!({"model": "m", "free": value}));
        let file = write_prompt(&front_matter, &[Message::user("hi")]);
        let read = Prompt::parse(&file).map(|prompt| prompt.metadata.raw);
        prop_assert_eq!(read.as_ref().ok(), Some(&front_matter), "{}\n{:?}", file, read);
    }
}
