//! The typed edge of actions: JSON in, JSON out, each value checked once.
//!
//! Most schemas are derived from a type, and parsing into the type already proves them. Then text
//! is parsed straight into the type. Only schemas that say more than the type need a JSON tree.

use std::any::TypeId;

use oxikit_wire::number;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Payload, Schema, Status, exact, payload};

/// The check for the values of one place: input, init or output. Without a schema every value
/// that parses is accepted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Check {
    schema: Option<Schema>,
}

impl Check {
    /// Checks by this schema, or by the type's own.
    pub(crate) fn new<T: JsonSchema + 'static>(schema: Option<Schema>) -> Self {
        // `()` ignores its value and the other two accept any JSON: there is nothing to check.
        let free = [TypeId::of::<()>(), TypeId::of::<Value>(), TypeId::of::<Payload>()];
        let derive = || (!free.contains(&TypeId::of::<T>())).then(Schema::of::<T>);
        Self { schema: schema.or_else(derive) }
    }

    pub(crate) fn schema(&self) -> Option<&Schema> {
        self.schema.as_ref()
    }

    /// Reads a value from outside.
    ///
    /// Text is parsed once, straight into the type, when the type proves the
    /// schema; a tree is built only for schemas that say more than the type, and
    /// to explain a refusal. Text is scanned once more for a type that has maps or
    /// trees in it, as those would silently take the last of two members with one name.
    pub(crate) fn decode<T: DeserializeOwned + 'static>(
        &self,
        payload: Payload,
    ) -> Result<T, Status> {
        if TypeId::of::<T>() == TypeId::of::<()>() {
            // An action without input ignores what is sent.
            return Payload::of(()).parse();
        }
        let Some(schema) = &self.schema else {
            return payload.try_parse().map_err(refuse);
        };
        if !schema.is_proven_by_type() {
            if TypeId::of::<T>() == TypeId::of::<Value>() {
                let value: Value = payload.try_parse().map_err(refuse)?;
                schema.validate(&value)?;
                return Ok(payload::same_type(value));
            }
            let value = payload.try_to_value().map_err(refuse)?;
            schema.validate(&value)?;
            // From the text once more and not from the tree, which a type with
            // borrowed or raw parts could not be read from.
            return payload.try_parse().map_err(refuse);
        }
        let text = match payload.downcast() {
            Ok(value) => return Ok(value),
            Err(payload) => payload.to_json()?,
        };
        // serde takes a list for a struct, the schema does not.
        let is_list = text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
        let error = if is_list && schema.as_json().get("type") == Some(&Value::from("object")) {
            None
        } else {
            match serde_json::from_slice(&text) {
                Ok(value) => {
                    if schema.has_free_parts() {
                        exact::check_exact(&text)?;
                    }
                    return Ok(value);
                }
                Err(error) => Some(error),
            }
        };
        // Refused. The schema reports the place and the reason better than the parser does.
        let value: Value = serde_json::from_slice(&text).map_err(refuse)?;
        schema.validate(&value)?;
        match error {
            // The schema accepts `1.0` as an integer, serde does not.
            Some(_) => number::from_slice(&text).map_err(refuse),
            None => serde_json::from_slice(&text).map_err(refuse),
        }
    }

    /// Checks the value that user code returned. Official runtimes report an output that
    /// breaks its schema as `INVALID_ARGUMENT`, and so does this one.
    pub(crate) fn encode<T: Serialize + Send + Sync + 'static>(
        &self,
        value: T,
    ) -> Result<Payload, Status> {
        let payload = Payload::of(value);
        if let Some(schema) = &self.schema
            && !schema.is_proven_by_type()
        {
            schema.validate(&payload.to_value()?)?;
        }
        Ok(payload)
    }
}

fn refuse(error: serde_json::Error) -> Status {
    Status::invalid_argument(format!("the input does not fit: {error}")).caused_by(error)
}
