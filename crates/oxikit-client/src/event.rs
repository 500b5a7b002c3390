//! Reads events from blocks and answers.
//!
//! A block is an object with one of `message` (a chunk), `result` (the output) and `error`. Servers
//! differ in the details, and each rule here is taken from what an official server sends.

use bytes::Bytes;
use oxikit_core::{Event, Payload, Status};
use oxikit_wire::action_http::ActionReply;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::blocks::{Block, BlockKind};
use crate::failure::reported;

/// The event of a block; `None` if the block is not valid.
pub(crate) fn event_of(block: &Block) -> Option<Event> {
    let text = &block.text;
    let is_error = block.kind == BlockKind::Error;
    let Some(members) = members_of(text) else {
        // The text is not an object. If the block was announced as an error, it still is one.
        return is_error.then(|| Event::Failed(reported(&any_value(text))));
    };
    // The members are examined in the order of the official clients.
    if let Some(message) = members.message.filter(|_| !is_error) {
        return Some(Event::Chunk(Payload::from_raw(text, message)));
    }
    if let Some(result) = members.result.filter(|_| !is_error) {
        return Some(Event::Done(Payload::from_raw(text, result)));
    }
    if let Some(error) = members.error {
        return Some(Event::Failed(reported(&error)));
    }
    if is_error {
        // The Next.js server sends the error without the member `error` around it.
        return Some(Event::Failed(reported(&any_value(text))));
    }
    // JavaScript servers write an output that is undefined like this.
    is_empty_object(text).then(|| Event::Done(Payload::null()))
}

/// The output of a unary answer with a successful HTTP status; `None` if the answer is not valid.
pub(crate) fn output_of(body: &Bytes) -> Option<Result<Payload, Status>> {
    let members = members_of(body)?;
    Some(match (members.error, members.result) {
        (Some(error), _) => Err(reported(&error)),
        (None, Some(result)) => Ok(Payload::from_raw(body, result)),
        (None, None) if is_empty_object(body) => Ok(Payload::null()),
        (None, None) => return None,
    })
}

/// Parses an output or a chunk (`what`) to the type that the caller expects.
pub(crate) fn fitting<T: DeserializeOwned + 'static>(
    what: &str,
    payload: Payload,
) -> Result<T, Status> {
    payload.parse().map_err(|error: Status| {
        let message = format!("the {what} is not of the expected type: {}", error.message());
        Status::internal(message).caused_by(error)
    })
}

fn members_of(text: &[u8]) -> Option<ActionReply<'_>> {
    // serde would also accept a list for a struct.
    if !text.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    serde_json::from_slice(text).ok()
}

fn any_value(text: &[u8]) -> Value {
    let as_text = || Value::String(String::from_utf8_lossy(text.trim_ascii()).into_owned());
    serde_json::from_slice(text).unwrap_or_else(|_| as_text())
}

fn is_empty_object(text: &[u8]) -> bool {
    text.iter().filter(|byte| !byte.is_ascii_whitespace()).eq(b"{}")
}
