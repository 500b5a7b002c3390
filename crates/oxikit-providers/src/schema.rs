//! Adapts JSON Schemas to what providers accept.

use serde_json::{Value, json};

/// `format` values that schemars writes for numbers; Gemini and OpenAI refuse
/// them.
const NUMBER_FORMATS: [&str; 12] = [
    "int8", "int16", "int32", "int64", "int", "uint8", "uint16", "uint32", "uint64", "uint",
    "float", "double",
];

/// The schema without the keywords that providers refuse.
pub(crate) fn cleaned(schema: &Value) -> Value {
    let mut schema = schema.clone();
    clean(&mut schema);
    schema
}

fn clean(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.shift_remove("$schema");
            let is_number_format = members
                .get("format")
                .and_then(Value::as_str)
                .is_some_and(|format| NUMBER_FORMATS.contains(&format));
            if is_number_format {
                members.shift_remove("format");
            }
            members.values_mut().for_each(clean);
        }
        Value::Array(items) => items.iter_mut().for_each(clean),
        _ => {}
    }
}

/// The schema of a tool's arguments; `None` if it is not one of an object, because models send
/// only objects. A tool without a schema gets that of an empty object.
pub(crate) fn arguments(schema: Option<&Value>) -> Option<Value> {
    let schema = schema.map(cleaned).unwrap_or_default();
    if schema.as_object().is_none_or(|members| members.is_empty()) {
        return Some(json!({"type": "object", "properties": {}}));
    }
    // A schema without a type is a union or a reference, which the provider checks itself.
    (schema.get("type").is_none() || is_object(&schema)).then_some(schema)
}

/// Whether the schema accepts only objects. Some providers enforce no other schemas.
pub(crate) fn is_object(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_formats_and_the_dialect_are_dropped_at_any_depth() {
        let schema = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {
                "age": {"type": "integer", "format": "uint8"},
                "at": {"type": "string", "format": "date-time"},
                "sizes": {"type": "array", "items": {"type": "number", "format": "double"}},
            },
        });
        assert_eq!(
            cleaned(&schema),
            json!({"type": "object", "properties": {
                "age": {"type": "integer"},
                "at": {"type": "string", "format": "date-time"},
                "sizes": {"type": "array", "items": {"type": "number"}},
            }})
        );
    }

    #[test]
    fn a_tool_takes_an_object_or_nothing() {
        let empty = json!({"type": "object", "properties": {}});
        assert_eq!(arguments(None), Some(empty.clone()));
        assert_eq!(arguments(Some(&json!({"$schema": "x"}))), Some(empty));
        assert_eq!(arguments(Some(&json!({"type": "string"}))), None);
    }
}
