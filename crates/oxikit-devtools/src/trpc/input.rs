//! Inputs of procedures: objects whose members are read one by one, with the error texts of
//! the official server.

use serde_json::{Map, Value};

use super::failure::Failure;

/// The input of a procedure: an object whose members are read by name.
pub(super) struct Members(Map<String, Value>);

impl Members {
    /// The members of an input that may be missing.
    pub(super) fn optional(input: Option<&str>) -> Result<Self, Failure> {
        match input {
            Some(_) => Self::required(input),
            None => Ok(Self(Map::new())),
        }
    }

    /// The members of an input. A missing one, another type, and a repeated member are errors.
    pub(super) fn required(input: Option<&str>) -> Result<Self, Failure> {
        let Some(input) = input else {
            return Err(Failure::issue("object", "undefined", &[]));
        };
        match serde_json::from_str(input).map_err(|error| Failure::unreadable(&error))? {
            Value::Object(members) => {
                Failure::check_exact(input)?;
                Ok(Self(members))
            }
            other => Err(Failure::issue("object", type_name(Some(&other)), &[])),
        }
    }

    /// A member that must be a string.
    pub(super) fn text(&self, name: &str) -> Result<String, Failure> {
        match self.0.get(name) {
            Some(Value::String(text)) => Ok(text.clone()),
            other => Err(Failure::issue("string", type_name(other), &[name])),
        }
    }

    /// A member that may be missing but not `null`, as in the official server.
    pub(super) fn optional_text(&self, name: &str) -> Result<Option<String>, Failure> {
        match self.0.get(name) {
            None => Ok(None),
            Some(_) => self.text(name).map(Some),
        }
    }
}

/// The name of the type in error messages, which are those of the validation library Zod.
fn type_name(value: Option<&Value>) -> &'static str {
    match value {
        None => "undefined",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "boolean",
        Some(Value::Number(_)) => "number",
        Some(Value::String(_)) => "string",
        Some(Value::Array(_)) => "array",
        Some(Value::Object(_)) => "object",
    }
}
