//! The messages of Reflection V2, written as text.
//!
//! A message carries ids, chunks and results of any size that are JSON text already or
//! that write themselves. The functions append the members around them, so that nothing
//! is copied into a tree of values first. The receiver reads an
//! [`RpcMessage`](super::RpcMessage).
//!
//! ```
//! use std::convert::Infallible;
//! use oxikit_wire::rpc::{frame, method};
//!
//! let mut text = String::new();
//! let Ok(()) = frame::notification(&mut text, method::STREAM_CHUNK, |text| {
//!     frame::chunk_params(text, "\"7\"", |text| {
//!         text.push_str("[1,2]");
//!         Ok::<_, Infallible>(())
//!     })
//! });
//! assert_eq!(
//!     text,
//!     r#"{"jsonrpc":"2.0","method":"streamChunk","params":{"requestId":"7","chunk":[1,2]}}"#,
//! );
//! ```

use super::RpcError;

/// A text that a message is appended to: a `String`, or the bytes of one.
pub trait FrameText {
    /// Appends a part of the message.
    fn push_part(&mut self, text: &str);
}

impl FrameText for String {
    fn push_part(&mut self, text: &str) {
        self.push_str(text);
    }
}

impl FrameText for Vec<u8> {
    fn push_part(&mut self, text: &str) {
        self.extend_from_slice(text.as_bytes());
    }
}

/// Appends a request. `id` is JSON text, `write_params` appends the parameters.
///
/// # Errors
///
/// Those of `write_params`; the message is incomplete then.
pub fn request<T: FrameText, E>(
    text: &mut T,
    id: &str,
    method: &str,
    write_params: impl FnOnce(&mut T) -> Result<(), E>,
) -> Result<(), E> {
    open_request(text, id, method);
    text.push_part(r#","params":"#);
    write_params(text)?;
    text.push_part("}");
    Ok(())
}

/// Appends a request without parameters. `id` is JSON text.
pub fn request_without_params(text: &mut impl FrameText, id: &str, method: &str) {
    open_request(text, id, method);
    text.push_part("}");
}

fn open_request(text: &mut impl FrameText, id: &str, method: &str) {
    text.push_part(r#"{"jsonrpc":"2.0","id":"#);
    text.push_part(id);
    text.push_part(r#","method":""#);
    text.push_part(method);
    text.push_part("\"");
}

/// Appends a notification. `write_params` appends the parameters.
///
/// # Errors
///
/// Those of `write_params`; the message is incomplete then.
pub fn notification<T: FrameText, E>(
    text: &mut T,
    method: &str,
    write_params: impl FnOnce(&mut T) -> Result<(), E>,
) -> Result<(), E> {
    text.push_part(r#"{"jsonrpc":"2.0","method":""#);
    text.push_part(method);
    text.push_part(r#"","params":"#);
    write_params(text)?;
    text.push_part("}");
    Ok(())
}

/// Appends the response to a request that succeeded. `id` is JSON text, `write_result`
/// appends the result.
///
/// # Errors
///
/// Those of `write_result`; the message is incomplete then.
pub fn response<T: FrameText, E>(
    text: &mut T,
    id: &str,
    write_result: impl FnOnce(&mut T) -> Result<(), E>,
) -> Result<(), E> {
    text.push_part(r#"{"jsonrpc":"2.0","result":"#);
    write_result(text)?;
    close_response(text, id);
    Ok(())
}

/// Appends the response to a request that failed. `id` is JSON text: `null` if the message
/// that is answered had none.
pub fn error_response(text: &mut impl FrameText, id: &str, error: &RpcError) {
    text.push_part(r#"{"jsonrpc":"2.0","error":"#);
    // An error consists of numbers and strings, which always serialise.
    text.push_part(&serde_json::to_string(error).unwrap_or_default());
    close_response(text, id);
}

fn close_response(text: &mut impl FrameText, id: &str) {
    text.push_part(r#","id":"#);
    text.push_part(id);
    text.push_part("}");
}

/// Appends [`ChunkParams`](super::ChunkParams). `request_id` is JSON text, `write_chunk`
/// appends the chunk.
///
/// # Errors
///
/// Those of `write_chunk`; the parameters are incomplete then.
pub fn chunk_params<T: FrameText, E>(
    text: &mut T,
    request_id: &str,
    write_chunk: impl FnOnce(&mut T) -> Result<(), E>,
) -> Result<(), E> {
    text.push_part(r#"{"requestId":"#);
    text.push_part(request_id);
    text.push_part(r#","chunk":"#);
    write_chunk(text)?;
    text.push_part("}");
    Ok(())
}

/// Appends [`EndInputParams`](super::EndInputParams). `request_id` is JSON text.
pub fn end_input_params(text: &mut impl FrameText, request_id: &str) {
    text.push_part(r#"{"requestId":"#);
    text.push_part(request_id);
    text.push_part("}");
}

/// Appends [`RunActionStateParams`](super::RunActionStateParams). `request_id` is JSON text,
/// `trace_id` needs no escapes.
pub fn run_action_state_params(text: &mut impl FrameText, request_id: &str, trace_id: &str) {
    text.push_part(r#"{"requestId":"#);
    text.push_part(request_id);
    text.push_part(r#","state":{"traceId":""#);
    text.push_part(trace_id);
    text.push_part(r#""}}"#);
}

/// Appends a [`RunActionResult`](super::RunActionResult). `write_output` appends the output;
/// one that appends nothing leaves the member out. `trace_id` needs no escapes.
///
/// # Errors
///
/// Those of `write_output`; the result is incomplete then.
pub fn run_action_result<E>(
    text: &mut Vec<u8>,
    trace_id: Option<&str>,
    write_output: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    text.push_part("{");
    // The member is written first and taken back if it has no value: whether there is an
    // output is only known after `write_output`.
    let start = text.len();
    text.push_part(r#""result":"#);
    let output = text.len();
    write_output(text)?;
    if text.len() == output {
        text.truncate(start);
    }
    if let Some(trace_id) = trace_id {
        text.push_part(if text.len() > start { "," } else { "" });
        text.push_part(r#""telemetry":{"traceId":""#);
        text.push_part(trace_id);
        text.push_part(r#""}"#);
    }
    text.push_part("}");
    Ok(())
}
