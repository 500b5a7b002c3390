//! What front matter says about a prompt.

use oxikit_wire::{JsonObject, ToolDefinition};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};

/// The front matter of a prompt.
///
/// Keys that Dotprompt does not know are only in [`raw`](Self::raw); those that
/// Genkit reads have accessors here.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The prompt's name; usually the file's name says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Which of several prompts of one name this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Whatever the author calls a version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Value>,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The model to ask, such as `googleai/gemini-2.5-flash`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The model's configuration.
    pub config: JsonObject,
    /// What the template takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<InputSpec>,
    /// What the model is to return.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputSpec>,
    /// Tools by name. Once resolved, only those the environment does not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Tools by definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_defs: Option<Vec<ToolDefinition>>,
    /// Keys with a dot, by what stands before the last one:
    /// `myext.foo: 1` is `ext["myext"]["foo"]`.
    pub ext: JsonObject,
    /// Notes given as options; the front matter's own `metadata` is in `raw`.
    pub metadata: JsonObject,
    /// The front matter as it was written.
    #[serde(skip_serializing_if = "JsonObject::is_empty")]
    pub raw: JsonObject,
}

/// What a template takes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InputSpec {
    /// Picoschema or JSON Schema; once resolved, JSON Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Values for what the caller leaves out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<JsonObject>,
    /// Other members.
    #[serde(flatten)]
    pub other: JsonObject,
}

/// What a model is to return.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OutputSpec {
    /// Such as `json` or `text`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Picoschema or JSON Schema; once resolved, JSON Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Other members.
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
        metadata.ext = ext;
        metadata.metadata = JsonObject::new();
        metadata.raw = raw;
        Ok(metadata)
    }

    /// Lays `members` over what is there; `config` is merged member by member.
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

    /// A member of the front matter that Dotprompt itself does not know.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.raw.get(key)
    }

    /// Genkit's `maxTurns`: how many rounds of tools there may be.
    pub fn max_turns(&self) -> Option<u64> {
        self.get("maxTurns")?.as_u64()
    }

    /// Genkit's `toolChoice`: `auto`, `required` or `none`.
    pub fn tool_choice(&self) -> Option<&str> {
        self.get("toolChoice")?.as_str()
    }

    /// Genkit's `returnToolRequests`: whether tool requests go to the caller.
    pub fn return_tool_requests(&self) -> Option<bool> {
        self.get("returnToolRequests")?.as_bool()
    }

    /// Genkit's `use`: middleware, as a list of `{name, config?}`.
    pub fn middleware(&self) -> Option<&Value> {
        self.get("use")
    }

    /// The `metadata` that the front matter itself gives.
    pub fn own_metadata(&self) -> Option<&JsonObject> {
        self.get("metadata")?.as_object()
    }

    /// The defaults of `input`.
    pub fn default_input(&self) -> Option<&JsonObject> {
        self.input.as_ref()?.default.as_ref()
    }
}

/// The keys of the front matter that Dotprompt or Genkit reads.
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
    "toolChoice",
    "toolDefs",
    "tools",
    "use",
    "variant",
    "version",
];
const INPUT_KEYS: &[&str] = &["default", "schema"];
const OUTPUT_KEYS: &[&str] = &["format", "schema"];

/// A key of the front matter that nothing reads: misspelt, or the author's own.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownKey {
    /// The key that it stands below: `input`, `output`, or none.
    pub parent: Option<&'static str>,
    /// The key itself.
    pub key: String,
    /// The line of the file, counted from 1.
    pub line: u32,
    /// The keys that are read in this place.
    pub known: &'static [&'static str],
}

impl Metadata {
    /// The unknown keys, without their lines. Keys with a dot are the author's own.
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

/// A member of the wrong type, by its key.
#[derive(Debug)]
pub(crate) struct KeyError {
    pub(crate) key: &'static str,
    pub(crate) reason: String,
}

impl From<KeyError> for Error {
    fn from(error: KeyError) -> Self {
        let message = format!("`{}` is not as it should be: {}", error.key, error.reason);
        Self::new(ErrorKind::Yaml, message)
    }
}

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
