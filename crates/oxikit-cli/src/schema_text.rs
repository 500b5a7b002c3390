//! Describes in a few words what a JSON Schema accepts.

use serde_json::Value;

/// Maximum number of members in a description. Further ones are shown as `…`.
const MAX_MEMBERS: usize = 8;

/// Whether the schema accepts strings.
pub(super) fn is_text(schema: &Value) -> bool {
    match &schema["type"] {
        Value::String(kind) => kind == "string",
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "string"),
        _ => false,
    }
}

/// A short description of the accepted values.
pub(super) fn brief(schema: &Value) -> String {
    match word(schema) {
        "text" => "a text".to_owned(),
        "number" => "a number".to_owned(),
        "list" => "a list".to_owned(),
        "object" => members(schema).unwrap_or_else(|| "an object".to_owned()),
        word => word.to_owned(),
    }
}

/// The members of an object, `{"city": text, "days"?: number}`.
fn members(schema: &Value) -> Option<String> {
    let properties = schema["properties"].as_object().filter(|members| !members.is_empty())?;
    let is_required = |name: &str| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|it| it == name))
    };
    let member = |(name, schema): (&String, &Value)| {
        let mark = if is_required(name) { "" } else { "?" };
        format!("{}{mark}: {}", Value::from(name.as_str()), word(schema))
    };
    let mut members: Vec<_> = properties.iter().take(MAX_MEMBERS).map(member).collect();
    if properties.len() > MAX_MEMBERS {
        members.push("…".to_owned());
    }
    Some(format!("{{{}}}", members.join(", ")))
}

/// The type of the accepted values in one or two words.
fn word(schema: &Value) -> &'static str {
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null"),
        kind => Some(kind),
    };
    match kind.and_then(Value::as_str) {
        Some("string") => "text",
        Some("integer" | "number") => "number",
        Some("boolean") => "true or false",
        Some("array") => "list",
        Some("object") => "object",
        Some("null") => "nothing",
        _ => "any JSON",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_is_described_in_a_few_words() {
        for (schema, expected) in [
            (json!({"type": "string"}), "a text"),
            (json!({"type": ["null", "integer"]}), "a number"),
            (json!({"type": "array", "items": {}}), "a list"),
            (json!({"type": "object"}), "an object"),
            (json!({}), "any JSON"),
            (json!(true), "any JSON"),
            (
                json!({"type": "object", "required": ["city"], "properties":
                    {"city": {"type": "string"}, "days": {"type": "integer"}, "x": {}}}),
                r#"{"city": text, "days"?: number, "x"?: any JSON}"#,
            ),
        ] {
            assert_eq!(brief(&schema), expected);
        }
        assert!(is_text(&json!({"type": ["string", "null"]})) && !is_text(&json!({})));
    }
}
