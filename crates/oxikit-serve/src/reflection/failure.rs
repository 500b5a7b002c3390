//! Failures as the developer tools show them.

use oxikit_core::{Status, StatusCode, TraceId};
use oxikit_wire::rpc::{ErrorData, ErrorDetails, RpcError, rpc_code};

/// A failure of a run, or of what had to be read for it.
pub(crate) fn rpc_error(status: &Status, trace_id: Option<TraceId>) -> Box<RpcError> {
    let data = error_data(status, trace_id);
    Box::new(RpcError { code: rpc_code::FAILED, message: message(status), data: Some(data) })
}

/// A request that means nothing here: official tools show its text as it is, and
/// nothing at all where there are no data.
pub(crate) fn refusal(code: i32, status: &Status) -> Box<RpcError> {
    let message = status.message().to_owned();
    let data = ErrorData { message: Some(message.clone()), ..error_data(status, None) };
    Box::new(RpcError { code, message, data: Some(data) })
}

/// The whole of it: it is shown to the developer, not to a stranger.
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

/// Official runtimes put the name of the code before the messages of errors that
/// were given one, and of no others.
pub(crate) fn message(status: &Status) -> String {
    match status.code() {
        StatusCode::Internal | StatusCode::Cancelled => status.message().to_owned(),
        code => format!("{code}: {}", status.message()),
    }
}
