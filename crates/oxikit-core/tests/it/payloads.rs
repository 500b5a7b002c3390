//! Values on their way.

use oxikit_core::Payload;
use serde_json::Value;

#[test]
fn a_tree_is_read_as_serde_json_reads_it() {
    for text in [
        "null",
        "[]",
        "{}",
        r#"{"b":1,"a":[true,-2,18446744073709551615,1.5,1e3,"é\n"],"b":{"c":null}}"#,
        r#"[{"a":1,"b":2},{"a":3},{"z":{"a":{}},"y":"","x":0.1}]"#,
        "123456789012345678901234567890",
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
