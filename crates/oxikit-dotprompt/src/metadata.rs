//! The front matter of a prompt: model, configuration, schemas and tools.
//!
//! Reading is strict about types and lenient about names: a known key with a value of the wrong
//! type is an error, an unknown key is kept in [`Metadata::raw`] and reported as an
//! [`UnknownKey`].

use oxikit_wire::{JsonObject, ToolDefinition};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};

/// The front matter of a prompt.
///
/// Keys that Dotprompt does not know are only in [`raw`](Self::raw); those that
/// Genkit reads have accessors here.
///
/// ```
/// use oxikit_dotprompt::Prompt;
///
/// let prompt = Prompt::parse("---\ntoolChoice: none\nshop.currency: EUR\n---\nHi")?;
/// assert_eq!(prompt.metadata.tool_choice(), Some("none"));
/// assert_eq!(prompt.metadata.ext["shop"]["currency"], "EUR");
/// # Ok::<(), oxikit_dotprompt::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The prompt's name. It is usually absent, because the file name is the prompt's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The variant, which distinguishes several prompts of one name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The author's version, of any form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Value>,
    /// Description for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The model to ask, such as `googleai/gemini-2.5-flash`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The model's configuration, such as `temperature`. The model checks it, not this crate.
    pub config: JsonObject,
    /// The input of the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<InputSpec>,
    /// The output that the model should return.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputSpec>,
    /// Tools by name. After [`Environment::metadata`](crate::Environment::metadata), only those
    /// that the environment does not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Tools by definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_defs: Option<Vec<ToolDefinition>>,
    /// Keys with a dot. The part before the last dot is the namespace:
    /// `myext.foo: 1` is `ext["myext"]["foo"]`.
    pub ext: JsonObject,
    /// The `metadata` of the options of a call. The `metadata` of the front matter is not here,
    /// but in `raw`; see [`own_metadata`](Self::own_metadata).
    pub metadata: JsonObject,
    /// The front matter as it was written.
    #[serde(skip_serializing_if = "JsonObject::is_empty")]
    pub raw: JsonObject,
}

/// The input of a template.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InputSpec {
    /// Picoschema or JSON Schema; once resolved, JSON Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Values of variables that the caller leaves out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<JsonObject>,
    /// Other members, which nothing reads.
    #[serde(flatten)]
    pub other: JsonObject,
}

/// The output that a model should return.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OutputSpec {
    /// The format, such as `json` or `text`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Picoschema or JSON Schema; once resolved, JSON Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Other members, which nothing reads.
    #[serde(flatten)]
    pub other: JsonObject,
}

impl Metadata {
    /// Reads front matter. Keys with a dot go to `ext`, unknown ones stay in `raw`.
    pub(crate) fn from_front_matter(raw: JsonObject) -> Result<Self, KeyError> {
        let mut ext = JsonObject::new();
        for (key, value) in &raw {
            if let Some((namespace, field)) = key.rsplit_once('.') {
                let members = ext.entry(namespace).or_insert_with(|| JsonObject::new().into());
                if let Value::Object(members) = members {
                    members.insert(field.to_owned(), value.clone());
                }
            }
        }
        let mut metadata = Self::default();
        metadata.merge(&raw)?;
        // `merge` reads `ext` and `metadata` of options; in front matter they have no such meaning.
        metadata.ext = ext;
        metadata.metadata = JsonObject::new();
        metadata.raw = raw;
        Ok(metadata)
    }

    /// Overrides members with those of `members`. `config` is merged member by member, the others
    /// are replaced as a whole; `null` leaves a member unchanged.
    pub(crate) fn merge(&mut self, members: &JsonObject) -> Result<(), KeyError> {
        set(&mut self.name, members, "name")?;
        set(&mut self.variant, members, "variant")?;
        set(&mut self.version, members, "version")?;
        set(&mut self.description, members, "description")?;
        set(&mut self.model, members, "model")?;
        set(&mut self.input, members, "input")?;
        set(&mut self.output, members, "output")?;
        set(&mut self.tools, members, "tools")?;
        set(&mut self.tool_defs, members, "toolDefs")?;
        if let Some(config) = read::<JsonObject>(members, "config")? {
            self.config.extend(config);
        }
        if let Some(metadata) = read(members, "metadata")? {
            self.metadata = metadata;
        }
        if let Some(ext) = read(members, "ext")? {
            self.ext = ext;
        }
        Ok(())
    }

    /// A member of the front matter as it was written, also one that Dotprompt does not know.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.raw.get(key)
    }

    /// Genkit's `maxTurns`: the maximum number of rounds of tool calls.
    pub fn max_turns(&self) -> Option<u64> {
        self.get("maxTurns")?.as_u64()
    }

    /// Genkit's `toolChoice`: `auto`, `required` or `none`.
    pub fn tool_choice(&self) -> Option<&str> {
        self.get("toolChoice")?.as_str()
    }

    /// Genkit's `returnToolRequests`: whether tool requests are returned to the caller and not run.
    pub fn return_tool_requests(&self) -> Option<bool> {
        self.get("returnToolRequests")?.as_bool()
    }

    /// Genkit's `use`: middleware, as a list of `{name, config?}`.
    pub fn middleware(&self) -> Option<&Value> {
        self.get("use")
    }

    /// The member `metadata` of the front matter.
    pub fn own_metadata(&self) -> Option<&JsonObject> {
        self.get("metadata")?.as_object()
    }

    /// The defaults of `input`.
    pub fn default_input(&self) -> Option<&JsonObject> {
        self.input.as_ref()?.default.as_ref()
    }
}

/// The keys of the front matter that Dotprompt, Genkit or the prompt manager reads.
const KEYS: &[&str] = &[
    "config",
    "description",
    "ext",
    "input",
    "maxTurns",
    "metadata",
    "model",
    "name",
    "output",
    "returnToolRequests",
    "tags",
    "toolChoice",
    "toolDefs",
    "tools",
    "type",
    "use",
    "variant",
    "version",
];
/// The keys below `input`.
const INPUT_KEYS: &[&str] = &["default", "schema"];
/// The keys below `output`.
const OUTPUT_KEYS: &[&str] = &["format", "schema"];

/// A key of the front matter that nothing reads: misspelt, or for the author's own use.
///
/// It is not an error. Applications show it as a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownKey {
    /// The key above it: `input`, `output`, or `None` for a top-level key.
    pub parent: Option<&'static str>,
    /// The key itself.
    pub key: String,
    /// The line of the file, counted from 1.
    pub line: u32,
    /// The keys that are read in this place.
    pub known: &'static [&'static str],
}

impl Metadata {
    /// The unknown keys, without their lines, which only the parser of the file knows. Keys with a
    /// dot are extensions and never unknown.
    pub(crate) fn unknown_keys(&self) -> Vec<UnknownKey> {
        let unknown = |members: &JsonObject, parent, known: &'static [&'static str]| {
            let is_unknown = |key: &&String| !known.contains(&key.as_str()) && !key.contains('.');
            let keys = members.keys().filter(is_unknown).cloned();
            keys.map(|key| UnknownKey { parent, key, line: 0, known }).collect::<Vec<_>>()
        };
        let mut keys = unknown(&self.raw, None, KEYS);
        if let Some(input) = &self.input {
            keys.extend(unknown(&input.other, Some("input"), INPUT_KEYS));
        }
        if let Some(output) = &self.output {
            keys.extend(unknown(&output.other, Some("output"), OUTPUT_KEYS));
        }
        keys
    }
}

/// A member has the wrong type. The parser adds the line by the key.
#[derive(Debug)]
pub(crate) struct KeyError {
    pub(crate) key: &'static str,
    pub(crate) reason: String,
}

impl From<KeyError> for Error {
    fn from(error: KeyError) -> Self {
        let message = format!("`{}` has the wrong type: {}", error.key, error.reason);
        Self::new(ErrorKind::Yaml, message)
    }
}

/// Replaces `slot` if the member is present and not `null`.
fn set<T: DeserializeOwned>(
    slot: &mut Option<T>,
    members: &JsonObject,
    key: &'static str,
) -> Result<(), KeyError> {
    if let Some(value) = read(members, key)? {
        *slot = Some(value);
    }
    Ok(())
}

/// Reads a member; `None` if it is absent or `null`.
fn read<T: DeserializeOwned>(
    members: &JsonObject,
    key: &'static str,
) -> Result<Option<T>, KeyError> {
    match members.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match T::deserialize(value) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(KeyError { key, reason: error.to_string() }),
        },
    }
}
