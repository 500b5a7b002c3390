//! Output formats: the instructions that ask a model for a format, and the parsers of answers.
//!
//! Which format a call uses, and whether the model gets instructions about it, is
//! decided by the generate loop, not here.

mod extract;
mod first_value;
mod instructions;
mod json5;
mod scan;
mod stream;
#[cfg(test)]
mod tests;

use oxikit_core::Status;
use serde_json::Value;

pub(crate) use instructions::inject_instructions;
pub(crate) use stream::StreamParser;

/// An output format. Its name and instructions are those of the official runtimes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// The text as it is.
    Text,
    /// The first JSON value in the text.
    Json,
    /// A JSON array of objects, readable object by object.
    Array,
    /// A JSON object in each line.
    Jsonl,
    /// A value of an enum.
    Enum,
}

/// Options that a format sets unless the caller did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FormatDefaults {
    /// The answer's media type.
    pub(crate) content_type: &'static str,
    /// Whether the provider shall enforce the schema.
    pub(crate) constrained: Option<bool>,
    /// Whether the model gets instructions about the format by default.
    pub(crate) default_instructions: bool,
}

impl Format {
    /// The format of this name; `None` for unknown names, whose answers pass
    /// through unparsed.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Text, Self::Json, Self::Array, Self::Jsonl, Self::Enum]
            .into_iter()
            .find(|format| format.name() == name)
    }

    /// The name on the wire.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Array => "array",
            Self::Jsonl => "jsonl",
            Self::Enum => "enum",
        }
    }

    /// The options that apply unless the caller set them.
    pub(crate) fn defaults(self) -> FormatDefaults {
        let (content_type, constrained) = match self {
            Self::Text => ("text/plain", None),
            Self::Json | Self::Array => ("application/json", Some(true)),
            Self::Jsonl => ("application/jsonl", None),
            Self::Enum => ("text/enum", Some(true)),
        };
        FormatDefaults {
            content_type,
            constrained,
            // For `json` the constraint itself says it, natively or simulated.
            default_instructions: self != Self::Json,
        }
    }

    /// `INVALID_ARGUMENT` when the schema's type does not fit the format.
    pub(crate) fn check_schema(self, schema: Option<&Value>) -> Result<(), Status> {
        let Some(schema) = schema else {
            return Ok(());
        };
        let (fits, wanted) = match self {
            Self::Text | Self::Json => return Ok(()),
            Self::Array => (may_be(schema, "array"), "an array"),
            Self::Jsonl => {
                let items = schema.get("items");
                let fits =
                    may_be(schema, "array") && items.is_some_and(|items| may_be(items, "object"));
                (fits, "an array of objects")
            }
            Self::Enum => {
                let fits = ["string", "enum"].iter().any(|name| may_be(schema, name));
                (fits || schema.get("enum").is_some(), "a string or an enum")
            }
        };
        if fits {
            return Ok(());
        }
        let name = self.name();
        Err(Status::invalid_argument(format!(
            "the output format `{name}` needs a schema of {wanted}"
        )))
    }

    /// The instructions for a model; `None` if the format has none, as `text`.
    pub(crate) fn instructions(self, schema: Option<&Value>) -> Option<String> {
        instructions::text(self, schema?)
    }

    /// The output of a whole answer; `null` when nothing was found.
    pub(crate) fn parse(self, text: &str) -> Value {
        match self {
            Self::Text => Value::from(text),
            Self::Json => first_value::first_value(text).unwrap_or(Value::Null),
            Self::Array => extract::array(text),
            Self::Jsonl => extract::lines(text),
            Self::Enum => extract::word(text),
        }
    }
}

/// Whether a value of this schema can be of the type. A schema that only refers
/// to others or combines them is accepted, since it is not resolved here.
fn may_be(schema: &Value, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|one| one == name),
        Some(one) => one == name,
        None => {
            ["$ref", "oneOf", "anyOf", "allOf"].iter().any(|keyword| schema.get(keyword).is_some())
        }
    }
}
