//! Errors as the developer tools show them: those that runtimes send, and those of the
//! manager itself.

use oxikit_core::StatusCode;
use oxikit_wire::rpc::{ErrorData, ErrorDetails, RpcError, rpc_code};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::incoming::object;

/// An error of the manager itself.
pub(crate) fn failure(code: StatusCode, message: impl Into<String>) -> ErrorData {
    ErrorData {
        code: Some(code.grpc()),
        message: Some(message.into()),
        details: Some(ErrorDetails::default()),
        stack: None,
    }
}

/// The runtime is not connected any more.
pub(crate) fn gone(id: &str) -> ErrorData {
    failure(
        StatusCode::Unavailable,
        format!(
            "the runtime `{id}` is gone: see why it ended with `oxikit app status`, start it again with `oxikit app restart`"
        ),
    )
}

/// The connection ended before the runtime confirmed a run.
pub(crate) fn unconfirmed(id: &str) -> ErrorData {
    failure(
        StatusCode::Unavailable,
        format!(
            "the connection of the runtime `{id}` ended before it confirmed the run, which may \
             have begun: see its traces before you start it again"
        ),
    )
}

/// The runtime does not respond, and its process is idle.
pub(crate) fn silent(id: &str) -> ErrorData {
    failure(
        StatusCode::Unavailable,
        format!(
            "the runtime `{id}` does not answer, and its process does nothing: see whether it is \
             stopped or waits for something, or start it again"
        ),
    )
}

/// The reader of a run was too slow.
pub(crate) fn reader_too_slow() -> ErrorData {
    let message = "the run was stopped: its chunks were not read fast enough";
    failure(StatusCode::ResourceExhausted, message)
}

/// An error as a runtime sent it. Each member may be missing or of another type, so each is
/// parsed separately.
#[derive(Deserialize)]
struct Received<'a> {
    #[serde(borrow, default)]
    code: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

/// Converts the `error` of a JSON-RPC response. JavaScript runtimes omit `data` for errors
/// without a status; code and message are then derived from the JSON-RPC ones.
pub(crate) fn from_rpc(error: &RawValue) -> ErrorData {
    let Ok(received) = object::<Received<'_>>(error.get()) else {
        return failure(StatusCode::Unknown, error.get());
    };
    let rpc_code = read::<i32>(received.code);
    let message = read::<String>(received.message);
    let mut data = read::<ErrorData>(received.data).unwrap_or(ErrorData {
        code: None,
        message: None,
        details: None,
        stack: None,
    });
    let message = data.message.take().or(message).unwrap_or_default();
    let code = data.code.unwrap_or_else(|| code_of(rpc_code, &message).grpc());
    let mut details = data.details.take().unwrap_or_default();
    details.stack = details.stack.or_else(|| data.stack.take());
    ErrorData { code: Some(code), message: Some(message), details: Some(details), stack: None }
}

/// Converts the error of a V1 response, which has the form of `data` in V2.
pub(crate) fn from_data(error: &RawValue) -> ErrorData {
    let data = read::<ErrorData>(Some(error));
    let data = data.unwrap_or_else(|| failure(StatusCode::Unknown, error.get()));
    ErrorData { details: Some(data.details.unwrap_or_default()), ..data }
}

/// The status code for a JSON-RPC error without one. Official runtimes report a missing action as
/// `INVALID_PARAMS`, and only the message shows the difference.
fn code_of(rpc_code: Option<i32>, message: &str) -> StatusCode {
    match rpc_code {
        Some(rpc_code::METHOD_NOT_FOUND) => StatusCode::Unimplemented,
        Some(rpc_code::INVALID_PARAMS) if message.to_ascii_lowercase().contains("not found") => {
            StatusCode::NotFound
        }
        Some(rpc_code::INVALID_PARAMS) => StatusCode::InvalidArgument,
        Some(rpc_code::FAILED) => StatusCode::Internal,
        _ => StatusCode::Unknown,
    }
}

/// Parses a member; `None` if it is missing or of another type.
fn read<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
}

/// The error response to a request of a runtime.
pub(crate) fn refusal(code: i32, message: impl Into<String>) -> RpcError {
    let message = message.into();
    let status = match code {
        rpc_code::METHOD_NOT_FOUND => StatusCode::Unimplemented,
        _ => StatusCode::InvalidArgument,
    };
    let data = failure(status, message.clone());
    RpcError { code, message, data: Some(data) }
}
