//! Errors as servers write them and clients read them.

use oxikit_wire::a2a::{A2aError, ErrorKind, ErrorReply, HttpError, JsonRpcError, Version};
use serde_json::{Value, json};

use super::exchanges::{JSON_RPC_V0_3, JSON_RPC_V1_0, REST_V0_3, REST_V1_0, read};

fn reply(json: &Value) -> ErrorReply {
    serde_json::from_value(json.clone()).unwrap()
}

#[test]
fn recorded_errors_of_json_rpc_have_our_codes_and_reasons() {
    let mut count = 0;
    for exchange in JSON_RPC_V0_3.iter().chain(&JSON_RPC_V1_0).flat_map(|file| read(file)) {
        for error in exchange.responses.iter().filter_map(|response| response.get("error")) {
            count += 1;
            let read = reply(error);
            let kind = read.kind().unwrap_or_else(|| panic!("{}: {error}", exchange.case));
            assert_eq!(read.message, error["message"].as_str().unwrap());
            assert_eq!(Some(kind.code(Version::V1_0)), read.code, "{}: {error}", exchange.case);
            if error["data"][0]["reason"].is_string() {
                let ours = JsonRpcError(&A2aError::new(kind), Version::V1_0);
                let ours = serde_json::to_value(ours).unwrap();
                for member in ["@type", "reason", "domain"] {
                    assert_eq!(ours["data"][0][member], error["data"][0][member]);
                }
            }
        }
    }
    assert_eq!(count, 134);
}

#[test]
fn recorded_errors_of_http_have_our_statuses() {
    let mut count = 0;
    for exchange in REST_V1_0.iter().flat_map(|file| read(file)).filter(|it| it.status >= 400) {
        count += 1;
        let error = &exchange.responses[0];
        let Some(kind) = reply(error).kind() else {
            // Python's server leaves the reason out when the agent fails.
            assert_eq!(exchange.status, 500, "{}", exchange.case);
            continue;
        };
        let ours = serde_json::to_value(HttpError(&A2aError::new(kind), Version::V1_0)).unwrap();
        assert_eq!(u64::from(kind.http_status(Version::V1_0)), exchange.status);
        for member in ["code", "status"] {
            assert_eq!(ours["error"][member], error["error"][member], "{}", exchange.case);
        }
        let reason = |error: &Value| error["error"]["details"][0]["reason"].clone();
        assert_eq!(reason(&ours), reason(error));
    }
    // The server of Python sends no codes in 0.3.
    for exchange in read(REST_V0_3[0]).iter().filter(|it| it.status >= 400) {
        if let Some(code) = exchange.responses[0]["code"].as_i64() {
            count += 1;
            let kind = ErrorKind::from_code(code).unwrap();
            assert_eq!(u64::from(kind.http_status(Version::V0_3)), exchange.status);
            assert_eq!(reply(&exchange.responses[0]).kind(), Some(kind));
        }
    }
    assert_eq!(count, 26);
}

#[test]
fn every_kind_is_found_by_its_code_and_its_reason() {
    for kind in ErrorKind::ALL {
        assert_eq!(ErrorKind::from_code(kind.code(Version::V1_0)), Some(kind));
        assert_eq!(ErrorKind::from_reason(kind.reason()), Some(kind));
        for version in [Version::V0_3, Version::V1_0] {
            let error = A2aError::new(kind).with_detail("detail");
            let rpc = serde_json::to_value(JsonRpcError(&error, version)).unwrap();
            assert_eq!(reply(&rpc).kind(), Some(kind), "{version}: {rpc}");
            let http = serde_json::to_value(HttpError(&error, version)).unwrap();
            assert_eq!(reply(&http).kind(), Some(kind), "{version}: {http}");
            assert_eq!(reply(&http).message, format!("{}: detail", kind.text()));
        }
    }
}

/// The table of version 1.0.1, written down once more.
#[test]
fn codes_are_those_of_the_specification() {
    let table = [
        (ErrorKind::TaskNotFound, -32001, 404, 5, "TASK_NOT_FOUND"),
        (ErrorKind::TaskNotCancelable, -32002, 400, 9, "TASK_NOT_CANCELABLE"),
        (
            ErrorKind::PushNotificationNotSupported,
            -32003,
            400,
            9,
            "PUSH_NOTIFICATION_NOT_SUPPORTED",
        ),
        (ErrorKind::UnsupportedOperation, -32004, 400, 9, "UNSUPPORTED_OPERATION"),
        (ErrorKind::ContentTypeNotSupported, -32005, 400, 3, "CONTENT_TYPE_NOT_SUPPORTED"),
        (ErrorKind::InvalidAgentResponse, -32006, 500, 13, "INVALID_AGENT_RESPONSE"),
        (
            ErrorKind::ExtendedCardNotConfigured,
            -32007,
            400,
            9,
            "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
        ),
        (ErrorKind::ExtensionSupportRequired, -32008, 400, 9, "EXTENSION_SUPPORT_REQUIRED"),
        (ErrorKind::VersionNotSupported, -32009, 400, 9, "VERSION_NOT_SUPPORTED"),
        (ErrorKind::InvalidParams, -32602, 400, 3, "INVALID_PARAMS"),
    ];
    for (kind, code, http, grpc, reason) in table {
        assert_eq!(kind.code(Version::V1_0), code);
        assert_eq!(kind.http_status(Version::V1_0), http);
        assert_eq!(kind.grpc_status().grpc(), grpc);
        assert_eq!(kind.reason(), reason);
    }
}

#[test]
fn wrong_parameters_are_listed() {
    let error = A2aError::new(ErrorKind::InvalidParams).with_violation("message.parts", "is empty");
    let json = serde_json::to_value(JsonRpcError(&error, Version::V1_0)).unwrap();
    assert_eq!(
        json,
        json!({"code": -32602, "message": "Invalid parameters: message.parts: is empty", "data": [
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "INVALID_PARAMS",
                "domain": "a2a-protocol.org"},
            {"@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [{"field": "message.parts", "description": "is empty"}]},
        ]}),
    );
}

#[test]
fn version_0_3_has_other_codes_for_two_kinds_and_tells_the_reason() {
    let error = A2aError::new(ErrorKind::VersionNotSupported);
    let json = serde_json::to_value(JsonRpcError(&error, Version::V0_3)).unwrap();
    assert_eq!(json["code"], -32004);
    assert_eq!(json["data"][0]["reason"], "VERSION_NOT_SUPPORTED");
    let error = A2aError::new(ErrorKind::TaskNotCancelable);
    let json = serde_json::to_value(HttpError(&error, Version::V0_3)).unwrap();
    let class = "TaskNotCancelableError";
    assert_eq!(json, json!({"code": -32002, "type": class, "message": "Task cannot be canceled"}));
}

#[test]
fn errors_of_unknown_servers_are_read() {
    let plain = reply(&json!({"message": "unknown exception"}));
    assert_eq!((plain.kind(), plain.message.as_str()), (None, "unknown exception"));
    assert_eq!(reply(&json!({"detail": "Not Found"})), ErrorReply::default());
    assert_eq!(reply(&json!({"code": -32099, "message": "m"})).kind(), None);
}
