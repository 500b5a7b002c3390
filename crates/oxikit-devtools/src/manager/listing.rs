//! What a runtime offers, read with care: one bad entry must not hide the others, and a
//! list without an end must not cost more than its own caller an answer.
//!
//! Schemas and metadata are only passed on, so they stay text until somebody needs those
//! of one action.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;

use oxikit_core::StatusCode;
use oxikit_wire::rpc::ErrorData;
use oxikit_wire::{ActionDescriptor, JsonObject};
use serde::de::{DeserializeSeed, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::ManagerOptions;
use super::apart::apart;
use super::failure::failure;

/// The description of one action; those of real ones have a few KiB.
const MAX_ACTION: usize = 1 << 20;
/// All values of a kind; they are few, and they are read.
const MAX_VALUES: usize = 1 << 20;
/// Readers of JSON usually stop at 128 levels, and some of these levels are ours.
const MAX_DEPTH: usize = 120;
/// Entries that could not be read are named up to this number.
const MAX_SKIPPED: usize = 100;
/// No reason is longer.
const MAX_REASON: usize = 256;

/// The actions of a runtime.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ActionList {
    /// By key, `/type/name`.
    pub actions: BTreeMap<String, ListedAction>,
    /// Entries that could not be read, no more than the first hundred.
    pub skipped: Vec<SkippedAction>,
}

/// One action: an [`ActionDescriptor`] whose schemas nobody has read.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListedAction {
    /// The full key, `/type/name`.
    #[serde(default, skip_deserializing)]
    pub key: String,
    /// The name without its type.
    pub name: String,
    /// The type, such as `flow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_type: Option<String>,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of one input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Box<RawValue>>,
    /// JSON Schema of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Box<RawValue>>,
    /// JSON Schema of one chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_schema: Option<Box<RawValue>>,
    /// JSON Schema of what a conversation starts with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init_schema: Option<Box<RawValue>>,
    /// What the tools show: labels, abilities, kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Box<RawValue>>,
}

/// An entry of a list that could not be read.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct SkippedAction {
    /// Its key.
    pub key: String,
    /// What is wrong with it.
    pub reason: String,
}

impl ActionList {
    /// One action, read whole.
    pub(crate) fn read(&self, key: &str) -> Result<Option<ActionDescriptor>, ErrorData> {
        self.actions.get(key).map(ListedAction::read).transpose()
    }

    /// The actions whose keys begin so, read whole.
    pub(crate) fn read_all(
        &self,
        prefix: &str,
    ) -> Result<BTreeMap<String, ActionDescriptor>, ErrorData> {
        let is_meant = |(key, _): &(&String, &ListedAction)| key.starts_with(prefix);
        let actions = self.actions.range(prefix.to_owned()..).take_while(is_meant);
        actions.map(|(key, action)| Ok((key.clone(), action.read()?))).collect()
    }
}

impl ListedAction {
    fn new(key: &str, entry: &RawValue) -> Result<Self, String> {
        let text = entry.get();
        if text.len() > MAX_ACTION {
            return Err(format!("it has {} bytes, of {MAX_ACTION} at most", text.len()));
        }
        if is_deeper(text.as_bytes(), MAX_DEPTH) {
            return Err(format!("it has more than {MAX_DEPTH} levels"));
        }
        let mut action: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if action.metadata.as_ref().is_some_and(|metadata| !metadata.get().starts_with('{')) {
            return Err("its metadata are not an object".to_owned());
        }
        key.clone_into(&mut action.key);
        Ok(action)
    }

    /// With its schemas and metadata.
    pub(crate) fn read(&self) -> Result<ActionDescriptor, ErrorData> {
        fn value<T: serde::de::DeserializeOwned>(
            raw: Option<&RawValue>,
        ) -> Result<Option<T>, ErrorData> {
            let read = |raw: &RawValue| apart(raw.get().len(), || serde_json::from_str(raw.get()));
            raw.map(read).transpose().map_err(|error| unreadable("actions", &error))
        }
        Ok(ActionDescriptor {
            key: self.key.clone(),
            name: self.name.clone(),
            action_type: self.action_type.clone(),
            description: self.description.clone(),
            input_schema: value(self.input_schema.as_deref())?,
            output_schema: value(self.output_schema.as_deref())?,
            stream_schema: value(self.stream_schema.as_deref())?,
            init_schema: value(self.init_schema.as_deref())?,
            metadata: value(self.metadata.as_deref())?,
        })
    }
}

/// Reads `{"actions": map}` or the map alone.
pub(crate) fn actions(text: &[u8], options: &ManagerOptions) -> Result<ActionList, ErrorData> {
    if text.len() > options.max_list {
        return Err(too_large("actions", text.len(), options.max_list));
    }
    apart(text.len(), || read_actions(text, options.max_actions))
}

fn read_actions(text: &[u8], max: usize) -> Result<ActionList, ErrorData> {
    let mut list = ActionList::default();
    let mut skipped = 0_usize;
    for (key, entry) in entries(text, "actions", max)? {
        match ListedAction::new(&key, entry) {
            Ok(action) => _ = list.actions.insert(key, action),
            Err(reason) => {
                skipped += 1;
                if list.skipped.len() < MAX_SKIPPED {
                    let reason = reason.chars().take(MAX_REASON).collect();
                    list.skipped.push(SkippedAction { key, reason });
                }
            }
        }
    }
    if let Some(SkippedAction { key, reason }) = list.skipped.first() {
        tracing::warn!(skipped, %key, %reason, "actions of a runtime cannot be read and are left out");
    }
    Ok(list)
}

/// Reads a map or, if it may be wrapped, `{"values": map}`.
pub(crate) fn values(
    text: &[u8],
    may_be_wrapped: bool,
    options: &ManagerOptions,
) -> Result<JsonObject, ErrorData> {
    if text.len() > MAX_VALUES {
        return Err(too_large("values", text.len(), MAX_VALUES));
    }
    let member = if may_be_wrapped { "values" } else { "" };
    apart(text.len(), || {
        let entries = entries(text, member, options.max_actions)?;
        let parsed = entries.into_iter().filter_map(|(name, value)| {
            // What is deeper than anything we read is left out.
            serde_json::from_str(value.get()).ok().map(|value: Value| (name, value))
        });
        Ok(parsed.collect())
    })
}

type Entries<'a> = BTreeMap<String, &'a RawValue>;

/// The entries of a map, or of the map that is its only member by this name. A
/// key of an action begins with a slash, so the two cannot be mixed up.
fn entries<'a>(text: &'a [u8], member: &str, max: usize) -> Result<Entries<'a>, ErrorData> {
    let read = |text| {
        let is_over = Cell::new(false);
        let mut deserializer = serde_json::Deserializer::from_slice(text);
        let entries = AtMost { max, is_over: &is_over }.deserialize(&mut deserializer);
        let entries = entries.and_then(|entries| deserializer.end().map(|()| entries));
        entries.map_err(|error| match is_over.get() {
            true => too_many(member, max),
            false => unreadable(member, &error),
        })
    };
    let outer = read(text)?;
    match outer.get(member) {
        Some(inner) => read(inner.get().as_bytes()),
        None => Ok(outer),
    }
}

/// Reads a map of no more than so many entries, and not one more.
struct AtMost<'a> {
    max: usize,
    is_over: &'a Cell<bool>,
}

impl<'de> DeserializeSeed<'de> for AtMost<'_> {
    type Value = Entries<'de>;

    fn deserialize<D: serde::Deserializer<'de>>(self, it: D) -> Result<Self::Value, D::Error> {
        it.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for AtMost<'_> {
    type Value = Entries<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Entries::new();
        while let Some((key, value)) = map.next_entry()? {
            if entries.len() >= self.max {
                self.is_over.set(true);
                return Err(serde::de::Error::custom("there are too many entries"));
            }
            entries.insert(key, value);
        }
        Ok(entries)
    }
}

/// Whether JSON has more levels than this. It is read byte by byte, however deep it is.
fn is_deeper(json: &[u8], limit: usize) -> bool {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > limit {
            return true;
        }
    }
    false
}

fn too_many(what: &str, limit: usize) -> ErrorData {
    let message = format!(
        "the runtime lists more than {limit} {what}, which is the limit: define fewer of them in \
         one application, or set `limits = {{ actions = … }}` in `.oxikit/config.toml`"
    );
    failure(StatusCode::ResourceExhausted, message)
}

fn too_large(what: &str, size: usize, limit: usize) -> ErrorData {
    let message = format!(
        "the runtime sent a list of {what} with {size} bytes, of which no more than {limit} are \
         read: define fewer of them in one application"
    );
    failure(StatusCode::ResourceExhausted, message)
}

fn unreadable(member: &str, error: &serde_json::Error) -> ErrorData {
    let message = format!("the runtime sent a list of {member} that cannot be read: {error}");
    failure(StatusCode::Internal, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_counted_outside_of_texts() {
        for (json, depth) in [
            ("1", 0),
            (r#""[[[[""#, 0),
            (r#"{"a":"\"[","b":[{}]}"#, 3),
            (r#"{"\\":[],"x":"\\"}"#, 2),
            ("[[],[[]],[]]", 3),
        ] {
            assert!(!is_deeper(json.as_bytes(), depth), "{json}");
            assert!(depth == 0 || is_deeper(json.as_bytes(), depth - 1), "{json}");
        }
    }

    #[test]
    fn a_list_has_a_limit_and_says_which() {
        let list = |count: usize| {
            let entries = (0..count).map(|n| format!(r#""/flow/{n}":{{"name":"{n}"}}"#));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        };
        for wrap in [false, true] {
            let wrapped = |list: String| match wrap {
                true => format!(r#"{{"actions":{list}}}"#),
                false => list,
            };
            let read = |count| read_actions(wrapped(list(count)).as_bytes(), 100);
            assert_eq!(read(100).unwrap().actions.len(), 100);
            let error = read(101).unwrap_err();
            assert_eq!(error.code, Some(StatusCode::ResourceExhausted.grpc()));
            let message = error.message.unwrap();
            assert!(message.contains("more than 100 actions"), "{message}");
        }
    }
}
