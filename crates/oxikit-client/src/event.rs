//! What a block or an answer says.

use bytes::Bytes;
use oxikit_core::{Event, Payload, Status};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::blocks::{Block, BlockKind};
use crate::failure::reported;

/// The members that mean something; absent is not the same as `null`.
#[derive(Deserialize)]
struct Members<'a> {
    #[serde(default, borrow, deserialize_with = "present")]
    message: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "present")]
    error: Option<Value>,
}

/// What a block says; `None` if it makes no sense.
pub(crate) fn event_of(block: &Block) -> Option<Event> {
    let text = &block.text;
    let is_error = block.kind == BlockKind::Error;
    let Some(members) = members_of(text) else {
        // Not even an object; announced as an error it is one all the same.
        return is_error.then(|| Event::Failed(reported(&any_value(text))));
    };
    // The order in which official clients look.
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
        // Next leaves the wrapper out.
        return Some(Event::Failed(reported(&any_value(text))));
    }
    // JavaScript servers write an output that is undefined like this.
    is_empty_object(text).then(|| Event::Done(Payload::null()))
}

/// What a good unary answer says; `None` if it makes no sense.
pub(crate) fn output_of(body: &Bytes) -> Option<Result<Payload, Status>> {
    let members = members_of(body)?;
    Some(match (members.error, members.result) {
        (Some(error), _) => Err(reported(&error)),
        (None, Some(result)) => Ok(Payload::from_raw(body, result)),
        (None, None) if is_empty_object(body) => Ok(Payload::null()),
        (None, None) => return None,
    })
}

fn members_of(text: &[u8]) -> Option<Members<'_>> {
    // serde takes a list for a struct as well.
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

fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
