//! Builds the JSON-RPC messages to a manager and checks their size. Their form is defined by
//! [`oxikit_wire::rpc::frame`].

use std::convert::Infallible;

use bytes::Bytes;
use oxikit_core::{Payload, Status};
use oxikit_wire::rpc::{RegisterParams, RpcError, frame, method};
use serde::Serialize;

/// Maximum size of a message in bytes. A larger received one closes the connection; a larger
/// result fails its run.
pub(super) const MAX_MESSAGE: usize = 32 * 1024 * 1024;

/// One message to the manager.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) text: Bytes,
    /// Whether it is a response. Responses are kept until the manager has confirmed them, and
    /// sent again after a reconnect; notifications are not.
    pub(super) is_response: bool,
}

/// The id of a request as JSON text. The response repeats it unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct RequestId(Box<str>);

impl RequestId {
    /// Accepts a JSON string or number; `None` for anything else.
    pub(super) fn new(json: &str) -> Option<Self> {
        let first = json.bytes().next()?;
        (first == b'"' || first == b'-' || first.is_ascii_digit()).then(|| Self(json.into()))
    }

    pub(super) fn as_json(&self) -> &str {
        &self.0
    }

    /// The id as a number, for managers that number their requests.
    pub(super) fn number(&self) -> Option<u64> {
        self.0.trim_matches('"').parse().ok()
    }
}

/// The `register` request, the first message of a connection.
pub(super) fn register(id: &RequestId, params: &RegisterParams) -> Frame {
    let mut text = new_text();
    // Serialization of strings and numbers cannot fail.
    _ = frame::request(&mut text, id.as_json(), method::REGISTER, |text| json(text, params));
    Frame { text: text.into(), is_response: false }
}

/// The notification with the trace id of a run.
pub(super) fn state(id: &RequestId, trace_id: &str) -> Frame {
    let mut text = new_text();
    let Ok(()) = frame::notification(&mut text, method::RUN_ACTION_STATE, |text| {
        frame::run_action_state_params(text, id.as_json(), trace_id);
        Ok::<_, Infallible>(())
    });
    Frame { text: text.into(), is_response: false }
}

/// The notification with one chunk of a run.
pub(super) fn chunk(id: &RequestId, chunk: &Payload) -> Result<Frame, Status> {
    let mut text = new_text();
    frame::notification(&mut text, method::STREAM_CHUNK, |text| {
        frame::chunk_params(text, id.as_json(), |text| chunk.write_json(text))
    })?;
    check_size("chunk", &text)?;
    Ok(Frame { text: text.into(), is_response: false })
}

/// The successful response to `runAction`. An output of `null` is omitted.
pub(super) fn output(id: &RequestId, output: &Payload, trace_id: &str) -> Result<Frame, Status> {
    let mut text = new_text();
    frame::response(&mut text, id.as_json(), |text| {
        frame::run_action_result(text, Some(trace_id), |text| {
            let start = text.len();
            output.write_json(text)?;
            if text[start..].trim_ascii() == b"null" {
                text.truncate(start);
            }
            Ok::<_, serde_json::Error>(())
        })
    })?;
    check_size("result", &text)?;
    Ok(Frame { text: text.into(), is_response: true })
}

/// The successful response to any other request.
pub(super) fn answer(id: &RequestId, result: &impl Serialize) -> Result<Frame, Status> {
    let mut text = new_text();
    frame::response(&mut text, id.as_json(), |text| json(text, result))?;
    check_size("answer", &text)?;
    Ok(Frame { text: text.into(), is_response: true })
}

/// The error response to a request.
pub(super) fn error(id: &RequestId, error: &RpcError) -> Frame {
    let mut text = new_text();
    frame::error_response(&mut text, id.as_json(), error);
    Frame { text: text.into(), is_response: true }
}

/// The error response to a frame that is not a JSON-RPC message, and so has no id.
pub(super) fn refusal(error: &RpcError) -> Frame {
    let mut text = new_text();
    frame::error_response(&mut text, "null", error);
    Frame { text: text.into(), is_response: false }
}

/// An empty buffer with room for most messages.
fn new_text() -> Vec<u8> {
    Vec::with_capacity(256)
}

fn json(text: &mut Vec<u8>, value: &impl Serialize) -> Result<(), serde_json::Error> {
    serde_json::to_writer(text, value)
}

/// Rejects a message above [`MAX_MESSAGE`]. A manager may close the connection for it, and so
/// interrupt all other runs.
fn check_size(what: &str, text: &[u8]) -> Result<(), Status> {
    if text.len() <= MAX_MESSAGE {
        return Ok(());
    }
    let (size, limit) = (text.len(), MAX_MESSAGE / (1024 * 1024));
    Err(Status::resource_exhausted(format!(
        "the {what} has {size} bytes, the developer tools are sent no more than {limit} MiB: \
         return less of it, or a reference to where it is kept"
    )))
}

#[cfg(test)]
mod tests {
    use oxikit_core::StatusCode;
    use serde_json::json;

    use super::*;
    use crate::failure;

    fn id(json: &str) -> RequestId {
        RequestId::new(json).unwrap()
    }

    fn text(frame: &Frame) -> &str {
        std::str::from_utf8(&frame.text).unwrap()
    }

    #[test]
    fn frames_are_the_recorded_ones() {
        let trace = "aef0ccf9b0c4c79ec32fafba15e548cc";
        assert_eq!(
            text(&state(&id(r#""11""#), trace)),
            r#"{"jsonrpc":"2.0","method":"runActionState","params":{"requestId":"11","state":{"traceId":"aef0ccf9b0c4c79ec32fafba15e548cc"}}}"#
        );
        assert_eq!(
            text(&chunk(&id(r#""11""#), &Payload::of(3)).unwrap()),
            r#"{"jsonrpc":"2.0","method":"streamChunk","params":{"requestId":"11","chunk":3}}"#
        );
        assert_eq!(
            text(&output(&id(r#""11""#), &Payload::of("liftoff"), trace).unwrap()),
            r#"{"jsonrpc":"2.0","result":{"result":"liftoff","telemetry":{"traceId":"aef0ccf9b0c4c79ec32fafba15e548cc"}},"id":"11"}"#
        );
        assert_eq!(
            text(&output(&id("10"), &Payload::of(()), trace).unwrap()),
            r#"{"jsonrpc":"2.0","result":{"telemetry":{"traceId":"aef0ccf9b0c4c79ec32fafba15e548cc"}},"id":10}"#
        );
        assert_eq!(
            text(&answer(&id(r#""a""#), &json!({"message": "Action cancelled"})).unwrap()),
            r#"{"jsonrpc":"2.0","result":{"message":"Action cancelled"},"id":"a"}"#
        );
        let missing = Status::not_found("action /flow/nope not found");
        let frame = error(&id(r#""18""#), &failure::refusal(-32602, &missing));
        let read: serde_json::Value = serde_json::from_slice(&frame.text).unwrap();
        let message = "action /flow/nope not found";
        let details = json!({"stack": "NOT_FOUND: action /flow/nope not found"});
        let data = json!({"code": 5, "message": message, "details": details});
        let error = json!({"code": -32602, "message": message, "data": data});
        assert_eq!(read, json!({"jsonrpc": "2.0", "error": error, "id": "18"}));
    }

    #[test]
    fn a_result_that_is_too_large_says_so() {
        let large = Payload::of("x".repeat(MAX_MESSAGE));
        let status = output(&id("1"), &large, "t").unwrap_err();
        assert_eq!(status.code(), StatusCode::ResourceExhausted);
        assert!(status.message().contains("32 MiB"), "{}", status.message());
    }

    #[test]
    fn ids_are_strings_or_numbers() {
        assert_eq!(id(r#""12""#).number(), Some(12));
        assert_eq!(id("12").number(), Some(12));
        assert_eq!(id(r#""5f0c-1""#).number(), None);
        assert_eq!(RequestId::new("[1]"), None);
        assert_eq!(RequestId::new("true"), None);
    }
}
