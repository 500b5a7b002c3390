//! Parsing of the lists that runtimes send: actions and values.
//!
//! One invalid entry must not hide the others, and an unbounded list must only fail its own
//! request. Schemas and metadata are mostly forwarded, so they stay JSON text until a caller
//! needs those of one action.

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
use super::block_in_place::block_in_place_if_large;
use super::failure::failure;

/// Maximum size in bytes of the description of one action; typical ones have a few KiB. Larger
/// ones are skipped.
const MAX_ACTION: usize = 1 << 20;
/// Maximum size in bytes of a list of values. A larger one fails.
const MAX_VALUES: usize = 1 << 20;
/// Maximum nesting of an action. JSON parsers usually stop at 128 levels, and our own responses
/// add some. Deeper actions are skipped.
const MAX_DEPTH: usize = 120;
/// Maximum number of skipped entries that are reported.
const MAX_SKIPPED: usize = 100;
/// Maximum number of characters of the reason for a skipped entry.
const MAX_REASON: usize = 256;

/// The actions of a runtime.
///
/// Entries of the list are parsed one by one. An invalid one is skipped, so that a single faulty
/// action does not hide the others; [`skipped`](Self::skipped) names it.
///
/// ```no_run
/// # async fn example(runtimes: oxikit_manager::Runtimes) -> Result<(), oxikit_wire::rpc::ErrorData> {
/// let list = runtimes.list_actions(None).await?;
/// for action in list.actions.values() {
///     println!("{}", action.key);
/// }
/// if let Some(greet) = list.read("/flow/greet")? {
///     println!("{:?}", greet.input_schema);
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ActionList {
    /// The actions by key, `/type/name`.
    pub actions: BTreeMap<String, ListedAction>,
    /// Entries that could not be parsed; at most the first hundred.
    pub skipped: Vec<SkippedAction>,
}

/// One action: an [`ActionDescriptor`] whose schemas are not parsed yet.
///
/// Lists are mostly forwarded, and schemas are their largest part, so they stay JSON text.
/// [`read`](Self::read) parses them.
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
    /// Description of the action for users.
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
    /// JSON Schema of the initial value of a conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init_schema: Option<Box<RawValue>>,
    /// Additional information for the tools, such as labels and model capabilities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Box<RawValue>>,
}

/// An entry of a list that could not be parsed.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct SkippedAction {
    /// The key of the entry.
    pub key: String,
    /// Why it could not be parsed.
    pub reason: String,
}

impl ActionList {
    /// Parses one action; `None` if there is none with this key.
    ///
    /// # Errors
    ///
    /// `INTERNAL` if a schema or the metadata cannot be parsed.
    pub fn read(&self, key: &str) -> Result<Option<ActionDescriptor>, ErrorData> {
        self.actions.get(key).map(ListedAction::read).transpose()
    }

    /// Parses all actions whose keys begin with `prefix`.
    ///
    /// # Errors
    ///
    /// `INTERNAL` if a schema or the metadata of one of them cannot be parsed.
    pub fn read_all(&self, prefix: &str) -> Result<BTreeMap<String, ActionDescriptor>, ErrorData> {
        let is_selected = |(key, _): &(&String, &ListedAction)| key.starts_with(prefix);
        let actions = self.actions.range(prefix.to_owned()..).take_while(is_selected);
        actions.map(|(key, action)| Ok((key.clone(), action.read()?))).collect()
    }
}

impl ListedAction {
    /// Parses one entry of a list. The error is the reason why it is skipped.
    fn new(key: &str, entry: &RawValue) -> Result<Self, String> {
        let text = entry.get();
        if text.len() > MAX_ACTION {
            return Err(format!("it has {} bytes, of {MAX_ACTION} at most", text.len()));
        }
        if is_deeper(text.as_bytes(), MAX_DEPTH) {
            return Err(format!("it has more than {MAX_DEPTH} levels"));
        }
        let mut action: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        // `RawValue` accepts any JSON, but consumers rely on an object.
        if action.metadata.as_ref().is_some_and(|metadata| !metadata.get().starts_with('{')) {
            return Err("its metadata are not an object".to_owned());
        }
        key.clone_into(&mut action.key);
        Ok(action)
    }

    /// Parses the schemas and the metadata.
    ///
    /// # Errors
    ///
    /// `INTERNAL` if one of them cannot be parsed.
    pub fn read(&self) -> Result<ActionDescriptor, ErrorData> {
        fn value<T: serde::de::DeserializeOwned>(
            raw: Option<&RawValue>,
        ) -> Result<Option<T>, ErrorData> {
            let read = |raw: &RawValue| {
                block_in_place_if_large(raw.get().len(), || serde_json::from_str(raw.get()))
            };
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

/// Parses `{"actions": map}` or the map alone.
pub(crate) fn actions(text: &[u8], options: &ManagerOptions) -> Result<ActionList, ErrorData> {
    if text.len() > options.max_list {
        return Err(too_large("actions", text.len(), options.max_list));
    }
    block_in_place_if_large(text.len(), || read_actions(text, options.max_actions))
}

/// Parses the entries one by one, and collects those that fail in `skipped`.
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
        tracing::warn!(skipped, %key, %reason, "skipped actions of a runtime that could not be parsed");
    }
    Ok(list)
}

/// Parses a map or, if `may_be_wrapped`, `{"values": map}`.
pub(crate) fn values(
    text: &[u8],
    may_be_wrapped: bool,
    options: &ManagerOptions,
) -> Result<JsonObject, ErrorData> {
    if text.len() > MAX_VALUES {
        return Err(too_large("values", text.len(), MAX_VALUES));
    }
    let member = if may_be_wrapped { "values" } else { "" };
    block_in_place_if_large(text.len(), || {
        let entries = entries(text, member, options.max_actions)?;
        let parsed = entries.into_iter().filter_map(|(name, value)| {
            // Values that are nested too deeply for the parser are skipped.
            serde_json::from_str(value.get()).ok().map(|value: Value| (name, value))
        });
        Ok(parsed.collect())
    })
}

type Entries<'a> = BTreeMap<String, &'a RawValue>;

/// The entries of a map, or of the map in its member `member`. The key of an action begins
/// with a slash, so an action cannot be mistaken for the member.
fn entries<'a>(text: &'a [u8], member: &str, max: usize) -> Result<Entries<'a>, ErrorData> {
    let read = |text| {
        // serde errors carry only text, so the flag tells "too many entries" from invalid JSON.
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

/// Parses a map and stops with an error after `max` entries, so a longer list costs no memory.
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

/// Whether JSON is nested more deeply than `limit`. Scans the bytes without recursion, so the
/// nesting cannot overflow the stack.
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

/// The error for a list with too many entries.
fn too_many(what: &str, limit: usize) -> ErrorData {
    let message = format!(
        "the runtime lists more than {limit} {what}, which is the limit: define fewer of them in \
         one application, or set `limits = {{ actions = … }}` in `.oxikit/config.toml`"
    );
    failure(StatusCode::ResourceExhausted, message)
}

/// The error for a list with too many bytes.
fn too_large(what: &str, size: usize, limit: usize) -> ErrorData {
    let message = format!(
        "the runtime sent a list of {what} with {size} bytes; the limit is {limit}: define fewer of \
         them in one application"
    );
    failure(StatusCode::ResourceExhausted, message)
}

/// The error for a list that is not a JSON object.
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
    fn a_list_above_the_limit_fails_with_the_limit() {
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
