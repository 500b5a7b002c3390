//! What a runtime offers, read with care: one bad entry must not hide the others.

use std::collections::BTreeMap;

use oxikit_core::StatusCode;
use oxikit_wire::rpc::ErrorData;
use oxikit_wire::{ActionDescriptor, JsonObject};
use serde_json::Value;
use serde_json::value::RawValue;

use super::failure::failure;

/// The actions of a runtime.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ActionList {
    /// By key, `/type/name`.
    pub actions: BTreeMap<String, ActionDescriptor>,
    /// Entries that could not be read.
    pub skipped: Vec<SkippedAction>,
}

/// An entry of a list that could not be read.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SkippedAction {
    /// Its key.
    pub key: String,
    /// What is wrong with it.
    pub reason: String,
}

/// Reads `{"actions": map}` or the map alone.
pub(crate) fn actions(text: &[u8]) -> Result<ActionList, ErrorData> {
    let mut list = ActionList::default();
    for (key, entry) in entries(text, "actions")? {
        match action(&key, entry) {
            Ok(action) => _ = list.actions.insert(key, action),
            Err(error) => {
                list.skipped.push(SkippedAction { key, reason: error.to_string() });
            }
        }
    }
    if let Some(first) = list.skipped.first() {
        let (count, key, reason) = (list.skipped.len(), &first.key, &first.reason);
        tracing::warn!(count, %key, %reason, "actions of a runtime cannot be read and are left out");
    }
    Ok(list)
}

/// Reads a map or, if it may be wrapped, `{"values": map}`.
pub(crate) fn values(text: &[u8], may_be_wrapped: bool) -> Result<JsonObject, ErrorData> {
    let entries = if may_be_wrapped { entries(text, "values")? } else { entries(text, "")? };
    let parsed = entries.into_iter().filter_map(|(name, value)| {
        // What is deeper than anything we read is left out.
        serde_json::from_str(value.get()).ok().map(|value: Value| (name, value))
    });
    Ok(parsed.collect())
}

fn action(key: &str, entry: &RawValue) -> serde_json::Result<ActionDescriptor> {
    let mut members: JsonObject = serde_json::from_str(entry.get())?;
    members.insert("key".to_owned(), key.into());
    serde_json::from_value(Value::Object(members))
}

/// The entries of a map, or of the map that is its only member by this name. A
/// key of an action begins with a slash, so the two cannot be mixed up.
fn entries<'a>(text: &'a [u8], member: &str) -> Result<BTreeMap<String, &'a RawValue>, ErrorData> {
    let read = |text| serde_json::from_slice::<BTreeMap<String, &RawValue>>(text);
    let outer = read(text).map_err(|error| unreadable(member, &error))?;
    match outer.get(member) {
        Some(inner) => read(inner.get().as_bytes()).map_err(|error| unreadable(member, &error)),
        None => Ok(outer),
    }
}

fn unreadable(member: &str, error: &serde_json::Error) -> ErrorData {
    let message = format!("the runtime sent a list of {member} that cannot be read: {error}");
    failure(StatusCode::Internal, message)
}
