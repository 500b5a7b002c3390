//! The status of an answer over gRPC.

use oxikit_a2a_grpc::{header, read_details, read_message};
use oxikit_core::{Status, StatusCode};
use oxikit_wire::a2a::{ErrorKind, ErrorReply, JsonRpcError, Operation, Version};
use reqwest::header::HeaderMap;

use super::error::status_of;
use crate::failure::Fault;

/// The HTTP status that means the same as the status in these headers.
pub(super) fn http_of(headers: &HeaderMap) -> Option<u16> {
    code_of(headers).map(StatusCode::http)
}

/// The result in these headers or trailers; `None` if they have none.
pub(super) fn result_of(operation: Operation, headers: &HeaderMap) -> Option<Result<(), Fault>> {
    let code = code_of(headers)?;
    if code == StatusCode::Ok {
        return Some(Ok(()));
    }
    let message = text(headers, header::MESSAGE).map(read_message).unwrap_or_default();
    let details = text(headers, header::DETAILS).and_then(read_details);
    let reply = match details {
        Some(error) => {
            let json = serde_json::to_value(JsonRpcError(&error, Version::V1_0));
            let reply: Option<ErrorReply> =
                json.ok().and_then(|json| serde_json::from_value(json).ok());
            reply.map(|reply| ErrorReply { message: message.clone(), ..reply })
        }
        None => kind_of(operation, code, &message).map(|kind| ErrorReply {
            code: Some(kind.code(Version::V1_0)),
            message: message.clone(),
            details: None,
        }),
    };
    Some(Err(match reply {
        Some(reply) => Fault::Lasting(status_of(reply)),
        // The server shuts down, or a proxy does not reach it.
        None if code == StatusCode::Unavailable => Fault::Broken(Status::new(code, message)),
        None => Fault::Lasting(Status::new(code, message)),
    }))
}

fn code_of(headers: &HeaderMap) -> Option<StatusCode> {
    let number = text(headers, header::STATUS)?;
    Some(number.parse().ok().and_then(StatusCode::from_grpc).unwrap_or(StatusCode::Unknown))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The kind of an error without details, as servers of 0.3 send them.
fn kind_of(operation: Operation, code: StatusCode, message: &str) -> Option<ErrorKind> {
    named_kind(message).or(match code {
        StatusCode::NotFound => Some(ErrorKind::TaskNotFound),
        StatusCode::InvalidArgument => Some(ErrorKind::InvalidParams),
        StatusCode::Unimplemented => Some(ErrorKind::MethodNotFound),
        StatusCode::FailedPrecondition if operation == Operation::CancelTask => {
            Some(ErrorKind::TaskNotCancelable)
        }
        _ => None,
    })
}

/// The kind in a message such as `TaskNotFoundError: no such task`, which servers of Python send.
fn named_kind(message: &str) -> Option<ErrorKind> {
    let name = message.split(':').next()?.strip_suffix("Error")?;
    let mut reason = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !reason.is_empty() {
            reason.push('_');
        }
        reason.push(letter.to_ascii_uppercase());
    }
    ErrorKind::from_reason(&reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_an_error_without_details_is_in_its_message_or_its_code() {
        let kind = |operation, code, message: &str| kind_of(operation, code, message);
        let (cancel, send) = (Operation::CancelTask, Operation::SendMessage);
        let late = "TaskNotCancelableError: Task cannot be canceled";
        let cases = [
            (cancel, StatusCode::Unimplemented, late, Some(ErrorKind::TaskNotCancelable)),
            (cancel, StatusCode::FailedPrecondition, "", Some(ErrorKind::TaskNotCancelable)),
            (send, StatusCode::FailedPrecondition, "", None),
            (send, StatusCode::NotFound, "Task not found: x", Some(ErrorKind::TaskNotFound)),
            (send, StatusCode::Unimplemented, "unknown", Some(ErrorKind::MethodNotFound)),
            (send, StatusCode::Unavailable, "Error: x", None),
        ];
        for (operation, code, message, expected) in cases {
            assert_eq!(kind(operation, code, message), expected, "{code:?} {message}");
        }
    }
}
