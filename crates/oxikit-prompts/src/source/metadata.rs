//! The keys of front matter that the prompt manager reads and writes.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::edit::{Edit, NewValue};

/// The keys, in the order in which new ones are written.
pub(super) const KEYS: [&str; 3] = [DESCRIPTION, TAGS, TYPE];
const DESCRIPTION: &str = "description";
const TAGS: &str = "tags";
const TYPE: &str = "type";

/// What the front matter of a document says to people and lists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Metadata {
    /// The key `description`; `None` if it is absent or empty.
    #[serde(default)]
    pub description: Option<String>,
    /// The key `tags`: a list, or a text with commas.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The key `type`.
    #[serde(default)]
    pub prompt_type: PromptType,
}

/// A change of [`Metadata`]. Members that are `None` stay as they are.
///
/// ```
/// use oxikit_prompts::source::MetadataChange;
///
/// let change: MetadataChange = serde_json::from_str(r#"{"tags": [], "description": null}"#)?;
/// assert_eq!(change, MetadataChange { tags: Some(vec![]), ..Default::default() });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MetadataChange {
    /// The new description; an empty one removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The new tags; an empty list removes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// The new type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_type: Option<PromptType>,
}

impl MetadataChange {
    /// Whether nothing is to be changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The type of a prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PromptType {
    /// A prompt of no special type; the key `type` is absent.
    #[default]
    Standard,
    /// A prompt that includes others.
    Composite,
    /// Instructions for the model.
    System,
    /// A message of the user.
    User,
    /// Any other type. A file may have another word as its `type`, which is kept.
    Custom,
}

impl PromptType {
    /// The name in files and messages.
    ///
    /// ```
    /// use oxikit_prompts::source::PromptType;
    ///
    /// assert_eq!(PromptType::System.as_str(), "system");
    /// assert_eq!("system".parse(), Ok(PromptType::System));
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Composite => "composite",
            Self::System => "system",
            Self::User => "user",
            Self::Custom => "custom",
        }
    }
}

impl fmt::Display for PromptType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that is not that of a [`PromptType`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a type of prompt: use `standard`, `composite`, `system`, `user` or `custom`")]
pub struct UnknownType(String);

impl FromStr for PromptType {
    type Err = UnknownType;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let all = [Self::Standard, Self::Composite, Self::System, Self::User, Self::Custom];
        let found = all.into_iter().find(|kind| kind.as_str() == name);
        found.ok_or_else(|| UnknownType(name.to_owned()))
    }
}

impl Metadata {
    /// Reads the keys of front matter. A value of another type is read as its text.
    pub(super) fn from_keys(keys: &Map<String, Value>) -> Self {
        let description = keys.get(DESCRIPTION).and_then(text).filter(|text| !text.is_empty());
        let tags = match keys.get(TAGS) {
            Some(Value::Array(tags)) => tags.iter().filter_map(text).collect(),
            Some(Value::String(tags)) => {
                let tags = tags.split(',').map(str::trim);
                tags.filter(|tag| !tag.is_empty()).map(str::to_owned).collect()
            }
            Some(tag) => text(tag).into_iter().collect(),
            None => Vec::new(),
        };
        let prompt_type = match keys.get(TYPE).and_then(text) {
            Some(name) => name.parse().unwrap_or(PromptType::Custom),
            None => PromptType::Standard,
        };
        Self { description, tags, prompt_type }
    }

    /// The metadata after a change.
    pub(super) fn changed(&self, change: &MetadataChange) -> Self {
        let description = change.description.clone().or_else(|| self.description.clone());
        Self {
            description: description.filter(|text| !text.is_empty()),
            tags: change.tags.clone().unwrap_or_else(|| self.tags.clone()),
            prompt_type: change.prompt_type.unwrap_or(self.prompt_type),
        }
    }

    /// The keys that differ, with their new values.
    pub(super) fn edits(&self, wanted: &Self) -> Vec<Edit> {
        let mut edits = Vec::new();
        if self.description != wanted.description {
            let value = wanted.description.clone().map(NewValue::Text);
            edits.push(Edit { key: DESCRIPTION, value });
        }
        if self.tags != wanted.tags {
            let value = (!wanted.tags.is_empty()).then(|| NewValue::List(wanted.tags.clone()));
            edits.push(Edit { key: TAGS, value });
        }
        if self.prompt_type != wanted.prompt_type {
            let name = NewValue::Text(wanted.prompt_type.as_str().to_owned());
            let value = (wanted.prompt_type != PromptType::Standard).then_some(name);
            edits.push(Edit { key: TYPE, value });
        }
        edits
    }
}

/// The text of a value; `None` for null.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}
