//! Versions, methods and the frames of JSON-RPC.

use oxikit_wire::a2a::{
    A2aError, ErrorKind, GetTaskRequest, JsonRpcRequest, JsonRpcResponse, Operation, Version,
    write_error, write_request, write_result,
};
use serde_json::{Value, json};

use super::exchanges::{JSON_RPC_V0_3, JSON_RPC_V1_0, read};

#[test]
fn only_major_and_minor_number_of_a_version_count() {
    for (header, version) in [
        (None, None),
        (Some(""), None),
        (Some(" "), None),
        (Some("0.3"), Some(Version::V0_3)),
        (Some("0.3.0"), Some(Version::V0_3)),
        (Some("1.0"), Some(Version::V1_0)),
        (Some(" 1.0.17 "), Some(Version::V1_0)),
    ] {
        assert_eq!(Version::from_header(header), Ok(version), "{header:?}");
    }
    for other in ["1", "1.1", "1.01", "1.0.", "1.0.x", "1.0-beta", "0.2", "99.0", "v1.0", "1.0,0.3"]
    {
        let error = A2aError::from(Version::from_header(Some(other)).unwrap_err());
        assert_eq!(error.kind, ErrorKind::VersionNotSupported);
        assert!(error.to_string().contains(other), "{error}");
    }
}

#[test]
fn the_name_of_a_method_tells_operation_and_version() {
    for operation in Operation::ALL {
        for version in [Version::V0_3, Version::V1_0] {
            let Some(method) = operation.method(version) else {
                assert_eq!((operation, version), (Operation::ListTasks, Version::V0_3));
                continue;
            };
            assert_eq!(Operation::from_method(method), Some((operation, version)));
        }
    }
    for other in ["", "tasks/list", "sendMessage", "agent/authenticatedExtendedCard", "message/"] {
        assert_eq!(Operation::from_method(other), None, "{other}");
    }
}

#[test]
fn the_version_header_may_be_missing_but_must_not_contradict_the_method() {
    use ErrorKind::{MethodNotFound, VersionNotSupported};
    for (method, header, expected) in [
        ("GetTask", None, Ok(Version::V1_0)),
        ("GetTask", Some(""), Ok(Version::V1_0)),
        ("GetTask", Some("1.0.1"), Ok(Version::V1_0)),
        ("GetTask", Some("0.3"), Err((VersionNotSupported, Version::V1_0))),
        ("GetTask", Some("99.0"), Err((VersionNotSupported, Version::V1_0))),
        ("tasks/get", None, Ok(Version::V0_3)),
        ("tasks/get", Some("0.3.0"), Ok(Version::V0_3)),
        ("tasks/get", Some("1.0"), Err((MethodNotFound, Version::V1_0))),
        ("tasks/get", Some("99.0"), Err((VersionNotSupported, Version::V1_0))),
        ("nope", None, Err((MethodNotFound, Version::V0_3))),
        ("nope/nope", Some("1.0"), Err((MethodNotFound, Version::V1_0))),
        ("Nope", Some("0.3"), Err((MethodNotFound, Version::V0_3))),
    ] {
        let found = Operation::dispatch(method, header)
            .map(|(operation, version)| {
                assert_eq!(operation, Operation::GetTask);
                version
            })
            .map_err(|refused| (refused.error.kind, refused.version));
        assert_eq!(found, expected, "{method} {header:?}");
    }
}

#[test]
fn recorded_requests_are_read_and_written() {
    let mut counts = [0, 0];
    for exchange in JSON_RPC_V0_3.iter().chain(&JSON_RPC_V1_0).flat_map(|file| read(file)) {
        let body = match &exchange.request {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            request => request.to_string(),
        };
        match JsonRpcRequest::read(body.as_bytes()) {
            Ok(request) => {
                counts[0] += 1;
                let mut text = Vec::new();
                let params =
                    request.params.map(|it| serde_json::from_str::<Value>(it.get()).unwrap());
                write_request(&mut text, request.id, &request.method, &params).unwrap();
                let mut recorded = exchange.request.clone();
                let members = recorded.as_object_mut().unwrap();
                members.entry("id").or_insert(Value::Null);
                members.entry("params").or_insert(Value::Null);
                assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), recorded);
            }
            Err(refused) => {
                counts[1] += 1;
                let is_wrong =
                    ["malformed", "wrong jsonrpc", "missing method", "batch", "object id"]
                        .iter()
                        .any(|wrong| exchange.case.contains(wrong));
                assert!(is_wrong, "{}: {refused:?}", exchange.case);
            }
        }
    }
    assert_eq!(counts, [366, 24]);
}

#[test]
fn recorded_responses_are_read() {
    for exchange in JSON_RPC_V0_3.iter().chain(&JSON_RPC_V1_0).flat_map(|file| read(file)) {
        for response in exchange.responses.iter().filter(|it| it.get("jsonrpc").is_some()) {
            let text = response.to_string();
            let read: JsonRpcResponse<'_> = serde_json::from_str(&text).unwrap();
            assert_eq!(read.error.is_some(), response.get("error").is_some(), "{text}");
            assert_eq!(
                read.result.is_some(),
                response.get("result").is_some_and(|it| !it.is_null())
            );
        }
    }
}

#[test]
fn ids_are_repeated_as_they_were_written() {
    for (id, repeated) in [
        ("7", "7"),
        ("-1", "-1"),
        ("7.0", "7.0"),
        ("12345678901234567890123", "12345678901234567890123"),
        (r#""a\u0062""#, r#""a\u0062""#),
        ("null", "null"),
    ] {
        let body = format!(r#"{{"method":"GetTask","id": {id} ,"jsonrpc":"2.0"}}"#);
        assert_eq!(JsonRpcRequest::read(body.as_bytes()).unwrap().id, repeated);
    }
    let request = JsonRpcRequest::read(br#"{"jsonrpc":"2.0","method":"GetTask"}"#).unwrap();
    assert_eq!(request.id, "null");
}

#[test]
fn what_is_not_a_request_is_refused() {
    use ErrorKind::{InvalidRequest, ParseError};
    for (body, kind, id) in [
        ("", ParseError, "null"),
        ("{", ParseError, "null"),
        ("[1,", ParseError, "null"),
        ("5 x", ParseError, "null"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m"} x"#, ParseError, "null"),
        ("[]", InvalidRequest, "null"),
        (r#"["2.0",1,"m",{}]"#, InvalidRequest, "null"),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"m"}]"#, InvalidRequest, "null"),
        ("5", InvalidRequest, "null"),
        ("null", InvalidRequest, "null"),
        ("\"text\"", InvalidRequest, "null"),
        ("{}", InvalidRequest, "null"),
        (r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#, InvalidRequest, "null"),
        (r#"{"jsonrpc":"2.0","id":true,"method":"m"}"#, InvalidRequest, "null"),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, InvalidRequest, "null"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#, InvalidRequest, "1"),
        (r#"{"id":"a","method":"m"}"#, InvalidRequest, "\"a\""),
        (r#"{"jsonrpc":2.0,"id":1,"method":"m"}"#, InvalidRequest, "1"),
        (r#"{"jsonrpc":"2.0","id":1}"#, InvalidRequest, "1"),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, InvalidRequest, "1"),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#, InvalidRequest, "null"),
    ] {
        let refused = JsonRpcRequest::read(body.as_bytes()).unwrap_err();
        assert_eq!((refused.error.kind, refused.id.as_str()), (kind, id), "{body}");
    }
    let refused = JsonRpcRequest::read(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}").unwrap_err();
    assert_eq!(refused.error.kind, ErrorKind::ParseError);
}

#[test]
fn params_must_be_an_object_of_the_right_shape() {
    for params in
        ["", r#","params":null"#, r#","params":[]"#, r#","params":{}"#, r#","params":{"id":1}"#]
    {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"GetTask"{params}}}"#);
        let request = JsonRpcRequest::read(body.as_bytes()).unwrap();
        let error = request.params::<GetTaskRequest>().unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidParams, "{params}");
    }
}

#[test]
fn responses_have_either_a_result_or_an_error() {
    let mut text = Vec::new();
    write_result(&mut text, "\"a\"", &()).unwrap();
    let json: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(json, json!({"jsonrpc": "2.0", "id": "a", "result": null}));
    let mut text = Vec::new();
    write_error(&mut text, "null", &A2aError::new(ErrorKind::ParseError), Version::V0_3);
    let json: Value = serde_json::from_slice(&text).unwrap();
    let error = json!({"code": -32700, "message": "Invalid JSON payload"});
    assert_eq!(json, json!({"jsonrpc": "2.0", "id": null, "error": error}));
}
