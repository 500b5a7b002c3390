//! Conversion of [`Status`] to the errors that the developer tools show.
//!
//! Unlike a public server, reflection sends messages that are not public, hints and causes: its
//! only reader is the developer.

use oxikit_core::{Status, StatusCode, TraceId};
use oxikit_wire::rpc::{ErrorData, ErrorDetails, RpcError, rpc_code};

/// The error of a run, or of its parameters.
pub(crate) fn rpc_error(status: &Status, trace_id: Option<TraceId>) -> Box<RpcError> {
    let data = error_data(status, trace_id);
    Box::new(RpcError { code: rpc_code::FAILED, message: message(status), data: Some(data) })
}

/// The error of a request that cannot be handled. Official tools show the message in `data`
/// without a prefix, and nothing if there is no `data`.
pub(crate) fn refusal(code: i32, status: &Status) -> Box<RpcError> {
    let message = status.message().to_owned();
    let data = ErrorData { message: Some(message.clone()), ..error_data(status, None) };
    Box::new(RpcError { code, message, data: Some(data) })
}

/// The complete error with its causes: only the developer sees it.
pub(crate) fn error_data(status: &Status, trace_id: Option<TraceId>) -> ErrorData {
    ErrorData {
        code: Some(status.code().grpc()),
        message: Some(message(status)),
        details: Some(ErrorDetails {
            stack: Some(status.report()),
            trace_id: trace_id.map(|id| id.to_string()),
        }),
        stack: None,
    }
}

/// The message of an error. As in official runtimes, the name of the code precedes it, except
/// for the codes that an error gets by default.
pub(crate) fn message(status: &Status) -> String {
    match status.code() {
        StatusCode::Internal | StatusCode::Cancelled => status.message().to_owned(),
        code => format!("{code}: {}", status.message()),
    }
}
