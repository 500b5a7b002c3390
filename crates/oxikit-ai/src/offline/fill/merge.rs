//! Two schemas made into one that asks for both.

use serde_json::{Map, Value, json};

/// Adds to `schema` all that `other` asks for.
pub(super) fn merge(schema: &mut Map<String, Value>, other: &Map<String, Value>) {
    for (keyword, theirs) in other {
        let merged = match schema.get(keyword) {
            None => theirs.clone(),
            Some(ours) if ours == theirs => continue,
            Some(ours) => match keyword.as_str() {
                "properties" | "patternProperties" => properties(ours, theirs),
                "required" => union(ours, theirs),
                "type" | "enum" => intersection(ours, theirs),
                "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
                    bound(ours, theirs, f64::max)
                }
                "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
                    bound(ours, theirs, f64::min)
                }
                "items" | "additionalProperties" => both(ours, theirs),
                "anyOf" | "oneOf" | "allOf" => {
                    let theirs = json!({ keyword.as_str(): theirs });
                    also(schema, theirs);
                    continue;
                }
                _ => theirs.clone(),
            },
        };
        schema.insert(keyword.clone(), merged);
    }
}

/// Asks for one more schema, to be merged later.
fn also(schema: &mut Map<String, Value>, other: Value) {
    let all = schema.entry("allOf").or_insert_with(|| json!([]));
    if let Some(all) = all.as_array_mut() {
        all.push(other);
    }
}

fn properties(ours: &Value, theirs: &Value) -> Value {
    let mut merged = ours.as_object().cloned().unwrap_or_default();
    for (name, theirs) in theirs.as_object().into_iter().flatten() {
        let value = match merged.get(name) {
            None => theirs.clone(),
            Some(ours) => both(ours, theirs),
        };
        merged.insert(name.clone(), value);
    }
    Value::Object(merged)
}

fn both(ours: &Value, theirs: &Value) -> Value {
    match (ours, theirs) {
        (Value::Bool(false), _) | (_, Value::Bool(false)) => Value::Bool(false),
        (Value::Bool(true), other) | (other, Value::Bool(true)) => other.clone(),
        _ if ours == theirs => ours.clone(),
        _ => json!({ "allOf": [ours, theirs] }),
    }
}

fn union(ours: &Value, theirs: &Value) -> Value {
    let mut merged = list(ours);
    merged.extend(list(theirs));
    merged.dedup();
    Value::Array(merged)
}

fn intersection(ours: &Value, theirs: &Value) -> Value {
    let theirs = list(theirs);
    let mut merged = list(ours);
    // Every integer is a number.
    let allows = |one: &Value| {
        theirs.contains(one) || (*one == "integer" && theirs.contains(&Value::from("number")))
    };
    if merged.contains(&Value::from("number")) && theirs.contains(&Value::from("integer")) {
        merged.push(Value::from("integer"));
    }
    merged.retain(allows);
    Value::Array(merged)
}

fn bound(ours: &Value, theirs: &Value, choose: fn(f64, f64) -> f64) -> Value {
    match (ours.as_f64(), theirs.as_f64()) {
        (Some(one), Some(other)) if choose(one, other) == one => ours.clone(),
        _ => theirs.clone(),
    }
}

fn list(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items.clone(),
        one => vec![one.clone()],
    }
}
