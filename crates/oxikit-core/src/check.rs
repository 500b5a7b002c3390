//! The typed edge: JSON in, JSON out, each value checked once.

use std::any::TypeId;

use oxikit_wire::number;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Payload, Schema, Status, exact, payload};

/// How values of one place (input, init, output) are checked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Check {
    schema: Option<Schema>,
}

impl Check {
    /// Checks by this schema, or by the type's own.
    pub(crate) fn new<T: JsonSchema + 'static>(schema: Option<Schema>) -> Self {
        // Neither nothing nor anything has a schema worth checking.
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
    /// to explain a refusal. Text is looked at once more for a type that has maps or
    /// trees in it, as those would take the last of two members with one name.
    pub(crate) fn decode<T: DeserializeOwned + 'static>(
        &self,
        payload: Payload,
    ) -> Result<T, Status> {
        if TypeId::of::<T>() == TypeId::of::<()>() {
            // Whoever takes nothing does not mind what is sent.
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
        // Refused; a tree tells where and why better than the parser does.
        let value: Value = serde_json::from_slice(&text).map_err(refuse)?;
        schema.validate(&value)?;
        match error {
            // A float may be what the schema calls an integer.
            Some(_) => number::from_slice(&text).map_err(refuse),
            None => serde_json::from_slice(&text).map_err(refuse),
        }
    }

    /// Takes what user code returned. Official runtimes report an output that
    /// breaks its schema as `INVALID_ARGUMENT`; so do we.
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
