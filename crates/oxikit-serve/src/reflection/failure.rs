//! Failures as the developer tools show them.

use oxikit_core::{Status, StatusCode, TraceId};
use oxikit_wire::rpc::{ErrorData, ErrorDetails};

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
