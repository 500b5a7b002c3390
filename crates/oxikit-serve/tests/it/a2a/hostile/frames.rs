//! Bodies of the JSON-RPC binding that are not requests.

use oxikit_wire::a2a::ErrorKind::{
    self, InvalidParams, InvalidRequest, MethodNotFound, ParseError,
};
use oxikit_wire::a2a::Version;
use serde_json::Value;

use super::{Way, answer_json, target};

/// The body, the error and the id of the response.
const FRAMES: [(&[u8], ErrorKind, &str); 33] = [
    (b"", ParseError, "null"),
    (b"nothing", ParseError, "null"),
    (b"{", ParseError, "null"),
    (br#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}"#, ParseError, "null"),
    (br#"{"jsonrpc":"2.0","id":1,"method":"GetTask"} x"#, ParseError, "null"),
    (b"\xef\xbb\xbf{}", ParseError, "null"),
    (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"Get\xffTask\"}", ParseError, "null"),
    (
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"GetTask\",\"more\":\"\xff\"}",
        ParseError,
        "null",
    ),
    (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"Get\0Task\"}", ParseError, "null"),
    (b"[]", InvalidRequest, "null"),
    (br#"[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]"#, InvalidRequest, "null"),
    (br#"["2.0",1,"GetTask",{"id":"t"}]"#, InvalidRequest, "null"),
    (b"null", InvalidRequest, "null"),
    (b"7", InvalidRequest, "null"),
    (b"\"GetTask\"", InvalidRequest, "null"),
    (b"{}", InvalidRequest, "null"),
    (br#"{"id":3,"method":"GetTask","params":{}}"#, InvalidRequest, "3"),
    (br#"{"jsonrpc":"1.0","id":3,"method":"GetTask"}"#, InvalidRequest, "3"),
    (br#"{"jsonrpc":2.0,"id":3,"method":"GetTask"}"#, InvalidRequest, "3"),
    (br#"{"jsonrpc":"2.0","id":{},"method":"GetTask"}"#, InvalidRequest, "null"),
    (br#"{"jsonrpc":"2.0","id":[1],"method":"GetTask"}"#, InvalidRequest, "null"),
    (br#"{"jsonrpc":"2.0","id":1.5,"method":"GetTask"}"#, InvalidRequest, "null"),
    (br#"{"jsonrpc":"2.0","id":true,"method":"GetTask"}"#, InvalidRequest, "null"),
    (br#"{"jsonrpc":"2.0","id":"a"}"#, InvalidRequest, "\"a\""),
    (br#"{"jsonrpc":"2.0","id":"a","method":7}"#, InvalidRequest, "\"a\""),
    (
        br#"{"jsonrpc":"2.0","id":1,"method":"GetTask","method":"tasks/get"}"#,
        InvalidRequest,
        "null",
    ),
    (br#"{"jsonrpc":"2.0","id":1,"id":2,"method":"GetTask"}"#, InvalidRequest, "null"),
    (br#"{"jsonrpc":"2.0","id":"x","method":"Fly","params":{}}"#, MethodNotFound, "\"x\""),
    (br#"{"jsonrpc":"2.0","id":0,"method":"__proto__","params":{}}"#, MethodNotFound, "0"),
    (br#"{"jsonrpc":"2.0","method":"","params":{}}"#, MethodNotFound, "null"),
    (
        br#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"no"}"#,
        MethodNotFound,
        "18446744073709551615",
    ),
    (br#"{"jsonrpc":"2.0","id":-1,"method":"message/list"}"#, MethodNotFound, "-1"),
    (br#"{"jsonrpc":"2.0","id":null,"method":"tasks/list"}"#, MethodNotFound, "null"),
];

/// Methods that need parameters, and the version that they belong to.
const METHODS: [(&str, Version); 15] = [
    ("message/send", Version::V0_3),
    ("message/stream", Version::V0_3),
    ("tasks/get", Version::V0_3),
    ("tasks/cancel", Version::V0_3),
    ("tasks/resubscribe", Version::V0_3),
    ("tasks/pushNotificationConfig/set", Version::V0_3),
    ("tasks/pushNotificationConfig/list", Version::V0_3),
    ("SendMessage", Version::V1_0),
    ("SendStreamingMessage", Version::V1_0),
    ("GetTask", Version::V1_0),
    ("CancelTask", Version::V1_0),
    ("SubscribeToTask", Version::V1_0),
    ("CreateTaskPushNotificationConfig", Version::V1_0),
    ("GetTaskPushNotificationConfig", Version::V1_0),
    ("ListTaskPushNotificationConfigs", Version::V1_0),
];

#[tokio::test]
async fn bodies_that_are_not_requests_are_refused_in_the_form_of_the_header() {
    let target = target().await;
    for (header, version) in [
        ("", Version::V0_3),
        ("A2A-Version: 0.3\r\n", Version::V0_3),
        ("A2A-Version: 1.0\r\n", Version::V1_0),
    ] {
        for (body, kind, id) in FRAMES {
            let answer = target.post("/a2a/counted", header, body).await;
            let what = String::from_utf8_lossy(body);
            Way::Rpc(version).assert_refused(&answer, kind, &what);
            let json = answer_json(&answer);
            assert_eq!(json["id"], serde_json::from_str::<Value>(id).unwrap(), "{what}");
            let reason = &json["error"]["data"][0]["reason"];
            match version {
                Version::V0_3 => assert!(reason.is_null(), "{what} {json}"),
                Version::V1_0 => assert_eq!(reason, kind.reason(), "{what}"),
            }
        }
    }
    target.assert_untouched().await;
}

#[tokio::test]
async fn parameters_that_are_missing_or_of_another_type_are_refused() {
    let target = target().await;
    for (method, version) in METHODS {
        for params in
            ["", r#","params":null"#, r#","params":[]"#, r#","params":"t""#, r#","params":{}"#]
        {
            let body = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}"{params}}}"#);
            let answer = target.post("/a2a/counted/", "", &body).await;
            Way::Rpc(version).assert_refused(&answer, InvalidParams, &body);
            assert_eq!(answer_json(&answer)["id"], 7, "{body}");
        }
    }
    target.assert_untouched().await;
}
