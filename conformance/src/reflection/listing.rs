//! The answers to `listActions`, action by action.
//!
//! Schemas are compared by their shape: the type, and the names and types of the
//! members. Words, formats and limits are the language's own, a count is a number,
//! and an `Option` takes `null` as well.

use serde_json::{Map, Value, json};

use super::compare::{self, Difference};
use super::names::Names;

/// Members whose values are schemas, at any depth.
const SCHEMAS: [&str; 6] =
    ["inputSchema", "outputSchema", "customOptions", "configSchema", "stateSchema", "schema"];

/// Where two lists differ; the places begin with the key of the action.
pub(super) fn differences(recorded: &Value, ours: &Value) -> Vec<Difference> {
    let empty = Map::new();
    let [recorded, ours] = [recorded, ours].map(|list| list.as_object().unwrap_or(&empty));
    // Some recordings show the first action only.
    let is_whole = !recorded.contains_key("...");
    let mut found = Vec::new();
    for (key, action) in recorded.iter().filter(|(key, _)| key.starts_with('/')) {
        match ours.get(key) {
            Some(ours) => {
                let [action, ours] = [action, ours].map(with_shapes);
                compare::values(&Names::default(), key, &action, &ours, &mut found);
            }
            None => found.push(Difference::new(key, Some(&json!("listed")), None)),
        }
    }
    let further = ours.keys().filter(|key| is_whole && !recorded.contains_key(*key));
    found.extend(further.map(|key| Difference::new(key, None, Some(&json!("listed")))));
    found
}

/// The value with shapes for the schemas in it. A schema that allows anything is the
/// same as none.
pub(super) fn with_shapes(value: &Value) -> Value {
    let Value::Object(members) = value else { return value.clone() };
    let is_schema =
        |key: &String, value: &Value| SCHEMAS.contains(&key.as_str()) && value.is_object();
    let shaped = members.iter().filter_map(|(key, value)| {
        let value = if is_schema(key, value) { shape(value)? } else { with_shapes(value) };
        Some((key.clone(), value))
    });
    shaped.collect()
}

/// The type of a schema, and names and types of its members.
fn shape(schema: &Value) -> Option<Value> {
    let members = schema["properties"].as_object().into_iter().flatten();
    let members: Map<_, _> =
        members.map(|(name, member)| (name.clone(), json!(type_name(member)))).collect();
    Some(json!({ "type": type_name(schema)?, "members": members }))
}

fn type_name(schema: &Value) -> Option<&str> {
    let variants = ["anyOf", "oneOf"].iter().find_map(|key| schema[key].as_array());
    let mut names = match (&schema["type"], variants) {
        (Value::Array(names), _) => names.iter().filter_map(Value::as_str).collect(),
        (Value::String(name), _) => vec![name.as_str()],
        (_, Some(variants)) => variants.iter().filter_map(type_name).collect(),
        _ => Vec::new(),
    };
    names.retain(|name| *name != "null");
    match names.first() {
        Some(&"integer") => Some("number"),
        name => name.copied(),
    }
}
