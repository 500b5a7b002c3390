//! What is sent to a manager, written as text at once: ids, chunks and results
//! pass without a look inside.

use bytes::Bytes;
use oxikit_core::{Payload, Status};
use oxikit_wire::rpc::{RegisterParams, RpcError};
use serde::Serialize;

/// The largest message that is taken or sent.
pub(super) const MAX_MESSAGE: usize = 32 * 1024 * 1024;

/// One message to the manager.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) text: Bytes,
    /// Whether the manager waits for it: it is sent until it is known to be there.
    pub(super) is_answer: bool,
}

/// The id of a request: JSON text, sent back as it came.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct RequestId(Box<str>);

impl RequestId {
    /// Takes the text of a string or a number, nothing else is an id.
    pub(super) fn new(json: &str) -> Option<Self> {
        let first = json.bytes().next()?;
        (first == b'"' || first == b'-' || first.is_ascii_digit()).then(|| Self(json.into()))
    }

    pub(super) fn as_json(&self) -> &str {
        &self.0
    }

    /// Its place in the count of a manager that counts, as text or number.
    pub(super) fn number(&self) -> Option<u64> {
        self.0.trim_matches('"').parse().ok()
    }
}

/// The first message of a connection.
pub(super) fn register(id: &RequestId, params: &RegisterParams) -> Frame {
    let mut text = Writer::new();
    text.push(r#"{"jsonrpc":"2.0","id":"#).push(id.as_json());
    text.push(r#","method":"register","params":"#);
    // Nothing in it can fail to be written.
    _ = text.json(params);
    text.push("}").finish(false)
}

/// Tells the trace of a run.
pub(super) fn state(id: &RequestId, trace_id: &str) -> Frame {
    let mut text = Writer::new();
    text.push(r#"{"jsonrpc":"2.0","method":"runActionState","params":{"requestId":"#);
    text.push(id.as_json()).push(r#","state":{"traceId":""#).push(trace_id);
    text.push(r#""}}}"#).finish(false)
}

/// A piece of a run's output.
pub(super) fn chunk(id: &RequestId, chunk: &Payload) -> Result<Frame, Status> {
    let mut text = Writer::new();
    text.push(r#"{"jsonrpc":"2.0","method":"streamChunk","params":{"requestId":"#);
    text.push(id.as_json()).push(r#","chunk":"#).payload(chunk)?;
    text.push("}}");
    text.fits("chunk")?;
    Ok(text.finish(false))
}

/// The output of a run. One that says nothing is left out.
pub(super) fn output(id: &RequestId, output: &Payload, trace_id: &str) -> Result<Frame, Status> {
    let mut text = Writer::new();
    let before = text.push(r#"{"jsonrpc":"2.0","result":{"#).0.len();
    let value = text.push(r#""result":"#).0.len();
    text.payload(output)?;
    if text.0[value..].trim_ascii() == b"null" {
        text.0.truncate(before);
    } else {
        text.push(",");
    }
    text.push(r#""telemetry":{"traceId":""#).push(trace_id);
    text.push(r#""}},"id":"#).push(id.as_json()).push("}");
    text.fits("result")?;
    Ok(text.finish(true))
}

/// The good answer to any other request.
pub(super) fn answer(id: &RequestId, result: &impl Serialize) -> Result<Frame, Status> {
    let mut text = Writer::new();
    text.push(r#"{"jsonrpc":"2.0","result":"#).json(result)?;
    text.push(r#","id":"#).push(id.as_json()).push("}");
    text.fits("answer")?;
    Ok(text.finish(true))
}

/// The bad answer to any request.
pub(super) fn error(id: &RequestId, error: &RpcError) -> Frame {
    let mut text = Writer::new();
    text.push(r#"{"jsonrpc":"2.0","error":"#);
    // Nothing in it can fail to be written.
    _ = text.json(error);
    text.push(r#","id":"#).push(id.as_json()).push("}").finish(true)
}

/// The answer to a frame that is no message, and so has no id.
pub(super) fn refusal(error: &RpcError) -> Frame {
    let mut text = Writer::new();
    text.push(r#"{"jsonrpc":"2.0","error":"#);
    // Nothing in it can fail to be written.
    _ = text.json(error);
    text.push(r#","id":null}"#).finish(false)
}

struct Writer(Vec<u8>);

impl Writer {
    fn new() -> Self {
        Self(Vec::with_capacity(256))
    }

    fn push(&mut self, text: &str) -> &mut Self {
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    fn payload(&mut self, payload: &Payload) -> Result<(), Status> {
        payload.write_json(&mut self.0).map_err(Status::from)
    }

    fn json(&mut self, value: &impl Serialize) -> Result<(), Status> {
        serde_json::to_writer(&mut self.0, value).map_err(Status::from)
    }

    fn fits(&self, what: &str) -> Result<(), Status> {
        if self.0.len() <= MAX_MESSAGE {
            return Ok(());
        }
        let (size, limit) = (self.0.len(), MAX_MESSAGE / (1024 * 1024));
        Err(Status::resource_exhausted(format!(
            "the {what} has {size} bytes, the developer tools are sent no more than {limit} MiB: \
             return less of it, or a reference to where it is kept"
        )))
    }

    fn finish(&mut self, is_answer: bool) -> Frame {
        Frame { text: std::mem::take(&mut self.0).into(), is_answer }
    }
}

#[cfg(test)]
mod tests {
    use oxikit_core::StatusCode;
    use serde_json::json;

    use super::*;
    use crate::reflection::failure;

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
