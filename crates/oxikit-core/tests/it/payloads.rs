//! Payloads: text and typed values between callers and actions.

use oxikit_core::Payload;
use serde::Deserialize;
use serde_json::Value;

#[test]
fn a_tree_is_read_as_serde_json_reads_it() {
    for text in [
        "null",
        "[]",
        "{}",
        r#"{"b":1,"a":[true,-2,18446744073709551615,1.5,1e3,"é\n"],"c":{"c":null}}"#,
        r#"[{"a":1,"b":2},{"a":3},{"z":{"a":{}},"y":"","x":0.1}]"#,
        "[-0,1e300,18446744073709552000,1.1805916207174113e+21,0.30000000000000004]",
    ] {
        let expected: Value = serde_json::from_str(text).unwrap();
        let payload = Payload::from_json(text).unwrap();
        assert_eq!(payload.to_value().unwrap(), expected);
        let read: Value = payload.parse().unwrap();
        assert_eq!(read.to_string(), expected.to_string());
    }
    let deep = "[".repeat(200) + &"]".repeat(200);
    assert!(Payload::from_json(deep).unwrap().to_value().is_err());
}

#[test]
fn rows_that_are_alike_are_read_as_any_others() {
    let row = |i: u32| format!(r#"{{"id":{i},"na\u006de":"row","tags":[{i},{{}}]}}"#);
    let others = [
        r#"{"id":0,"name":"and more","tags":null,"more":[{"id":1}]}"#,
        r#"{"id":0,"name":"too few"}"#,
        r#"{"id":0,"tags":"another order","name":1}"#,
        r#"{"other":{"id":0}}"#,
        "{}",
        "null",
        r#"[{"id":0}]"#,
    ];
    for other in others {
        let mut rows: Vec<_> = (0..20).map(row).collect();
        rows[10] = other.to_owned();
        let text = format!("[{}]", rows.join(", "));
        let expected: Value = serde_json::from_str(&text).unwrap();
        let read = Payload::from_json(text).unwrap().to_value().unwrap();
        assert_eq!(read.to_string(), expected.to_string());
        // By name too, and not only in their order.
        assert_eq!(read, expected);
    }
    for broken in [r#"{"id":0"#, r#"{"id":0,}"#, r#"{"id":0,"name":"#, r#"{1:0}"#] {
        let text = format!("[{},{broken}", (0..20).map(row).collect::<Vec<_>>().join(","));
        let expected = serde_json::from_str::<Value>(&text).unwrap_err();
        let read = serde_json::from_str::<Tree>(&text).unwrap_err();
        assert_eq!(read.to_string(), expected.to_string());
    }
}

#[test]
fn what_a_tree_would_change_is_refused() {
    let row = r#"{"id":0,"name":"row"}"#;
    let check = |text: &str, said: &str| {
        for text in [
            text.to_owned(),
            format!("[{row},{text}]"),
            format!("[{}{text}]", format!("{row},").repeat(20)),
        ] {
            let payload = Payload::from_json(text.clone()).unwrap();
            let status = payload.to_value().unwrap_err();
            assert!(status.message().contains(said), "{text}: {status:?}");
            assert!(payload.parse::<Value>().is_err(), "{text}");
            assert!(serde_json::from_str::<Tree>(&text).is_err(), "{text}");
        }
    };
    check(r#"{"id":0,"name":"twice","id":1}"#, "`id` is there twice");
    check(r#"{"id":0,"id":1,"name":"twice"}"#, "`id` is there twice");
    check(r#"{"id":0,"name":"twice","na\u006de":""}"#, "`name` is there twice");
    check(r#"{"a":[{"b":1,"c":{},"b":1}]}"#, "`b` is there twice");
    check(r#"{"__proto__":1,"__proto__":1}"#, "`__proto__` is there twice");
    check(r#"{"id":18446744073709551616}"#, "18446744073709551616 cannot be kept exactly");
    check("-9223372036854775809", "-9223372036854775809 cannot be kept exactly");
    check("9007199254740993.0", "9007199254740993.0 cannot be kept exactly");
    check("1e999", "out of range");
}

#[derive(Debug, Deserialize)]
#[serde(transparent)]
struct Tree {
    #[serde(deserialize_with = "Payload::read_tree")]
    payload: Payload,
}

#[test]
fn a_tree_is_read_out_of_the_text_around_it() {
    let trees: Vec<Tree> = serde_json::from_str(r#"[{"b":1,"a":[2]}, null]"#).unwrap();
    let texts = trees.into_iter().map(|tree| tree.payload.to_json().unwrap());
    assert_eq!(texts.collect::<Vec<_>>(), [r#"{"b":1,"a":[2]}"#, "null"]);
}
