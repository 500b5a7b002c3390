use std::collections::BTreeMap;

use oxikit_wire::number::from_slice;
use oxikit_wire::rpc::{ErrorData, RegisterParams};
use oxikit_wire::trace::SpanStatusData;
use oxikit_wire::{EmbedderInfo, JsonObject};

use crate::sample::{check_reads, check_refuses};

#[test]
fn an_integral_float_is_an_integer() {
    check_reads::<RegisterParams>(r#"{"id":"a","pid":31913.0}"#, r#"{"id":"a","pid":31913}"#);
    check_reads::<RegisterParams>(r#"{"id":"a","pid":4e3}"#, r#"{"id":"a","pid":4000}"#);
    check_reads::<RegisterParams>(
        r#"{"id":"a","pid":4294967295.0}"#,
        r#"{"id":"a","pid":4294967295}"#,
    );
    check_reads::<SpanStatusData>(r#"{"code":-0.0}"#, r#"{"code":0}"#);
    check_reads::<ErrorData>(r#"{"code":1.3e1}"#, r#"{"code":13}"#);
    check_reads::<EmbedderInfo>(r#"{"dimensions":null}"#, "{}");
}

#[test]
fn what_is_no_integer_or_does_not_fit_is_refused() {
    for pid in
        ["0.5", "-1", "-1.0", "4294967296", "4294967296.0", "1e300", "-1e300", "\"7\"", "null"]
    {
        check_refuses::<RegisterParams>(&format!(r#"{{"id":"a","pid":{pid}}}"#));
    }
    for code in ["256", "256.0", "2.5", "true", "[2]"] {
        check_refuses::<ErrorData>(&format!(r#"{{"code":{code}}}"#));
    }
}

#[test]
fn a_refusal_says_what_was_expected() {
    let refused = serde_json::from_str::<RegisterParams>(r#"{"id":"a","pid":0.5}"#);
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("floating point `0.5`, expected an integer (u32)"), "{error}");
}

#[test]
fn integers_of_any_type_can_be_read_from_floats() {
    let read = |json: &str| from_slice::<BTreeMap<String, Vec<i64>>>(json.as_bytes());
    let expected = BTreeMap::from([("1.0 \\\" 2.0".to_owned(), vec![1, -20, 0, 4])]);
    let json = r#"{"1.0 \\\" 2.0" : [1.0,-2E1,-0.0, 4]}"#;
    assert_eq!(read(json).unwrap(), expected);
    assert_eq!(read(&json.replace(",-2E1", ", -20.00 ")).unwrap(), expected);
    for refused in [r#"{"a":[0.5,1.0]}"#, r#"{"a":[1e300]}"#, r#"{"a":["1.0"]}"#, r#"{"a":[1.0}"#] {
        let error = read(refused).unwrap_err().to_string();
        let plain = serde_json::from_str::<BTreeMap<String, Vec<i64>>>(refused).unwrap_err();
        assert_eq!(error, plain.to_string());
    }
    // JSON that can be read unchanged is not rewritten.
    let kept: JsonObject = from_slice(br#"{"a":1.0}"#).unwrap();
    assert_eq!(serde_json::to_string(&kept).unwrap(), r#"{"a":1.0}"#);
}
