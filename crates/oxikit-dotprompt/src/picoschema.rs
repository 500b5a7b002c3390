//! Picoschema, the short way to write a JSON Schema in front matter.
//!
//! `name: string, who to greet` and `tags?(array): string` become the schema
//! that they abbreviate; a JSON Schema stays unchanged.
//!
//! | picoschema | JSON Schema |
//! | --- | --- |
//! | `name: string, description` | a property with a type and a description |
//! | `name?: string` | a property that is not required and may be `null` |
//! | `tags(array, description): string` | an array with items of the type |
//! | `address(object): { … }` | an object |
//! | `color(enum): [RED, BLUE]` | one of the values |
//! | `(*): string` | `additionalProperties`, which are `false` otherwise |
//! | `name: Person` | the schema that is registered as `Person` |

use oxikit_wire::JsonObject;
use serde_json::{Value, json};

use crate::error::{Error, Result};

/// The names of types; other names refer to registered schemas.
const SCALARS: [&str; 6] = ["any", "boolean", "integer", "null", "number", "string"];

/// Maximum nesting of a schema. Deeper ones are an error, so that the recursion cannot overflow
/// the stack; YAML has a smaller limit, but options of a call come as JSON.
const MAX_DEPTH: usize = 64;

/// Finds a schema by its name.
pub(crate) type Lookup<'l> = &'l dyn Fn(&str) -> Option<Value>;

/// Expands a schema; `None` for an empty one.
///
/// # Errors
///
/// If a name is neither a type nor a registered schema, or a value is not a schema.
pub(crate) fn expand(schema: &Value, lookup: Lookup<'_>) -> Result<Option<Value>> {
    match schema {
        Value::Null => Ok(None),
        Value::String(text) if text.is_empty() => Ok(None),
        Value::String(text) => match split_description(text) {
            // Only at the top level `any` stays a type, as in the reference; below it means no type.
            ("any", description) => Ok(Some(described(json!({ "type": "any" }), description))),
            _ => scalar(text, lookup).map(Some),
        },
        Value::Object(members) if is_json_schema(members) => Ok(Some(schema.clone())),
        Value::Object(members) if members.get("properties").is_some_and(Value::is_object) => {
            let mut members = members.clone();
            members.insert("type".to_owned(), "object".into());
            Ok(Some(Value::Object(members)))
        }
        _ => value(schema, lookup, 0).map(Some),
    }
}

/// Whether a map is a JSON Schema: its `type` is a type name of JSON Schema. A picoschema with a
/// property `type: string` is therefore read as a JSON Schema; so does the reference.
fn is_json_schema(members: &JsonObject) -> bool {
    let kind = members.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| SCALARS.contains(&kind) || kind == "object" || kind == "array")
}

/// A type, a name or a map below the top level.
fn value(schema: &Value, lookup: Lookup<'_>, depth: usize) -> Result<Value> {
    if depth > MAX_DEPTH {
        return Err(Error::schema(format!("the schema is nested more than {MAX_DEPTH} deep")));
    }
    match schema {
        Value::String(text) => scalar(text, lookup),
        Value::Object(members) => object(members, lookup, depth),
        other => Err(Error::schema(format!(
            "a schema consists of types and maps, but here is `{other}`"
        ))),
    }
}

/// `type` or `type, description`.
fn scalar(text: &str, lookup: Lookup<'_>) -> Result<Value> {
    let (kind, description) = split_description(text);
    let schema = match kind {
        "any" => json!({}),
        _ if SCALARS.contains(&kind) => json!({ "type": kind }),
        _ => lookup(kind).ok_or_else(|| {
            Error::schema(format!(
                "there is no schema `{kind}`; use {} or the name of a registered schema",
                SCALARS.join(", ")
            ))
            .missing_definition()
        })?,
    };
    Ok(described(schema, description))
}

/// A map of properties. Properties are required unless their key has a `?`, and others are
/// forbidden unless there is a key `(*)`.
fn object(members: &JsonObject, lookup: Lookup<'_>, depth: usize) -> Result<Value> {
    let mut properties = JsonObject::new();
    let mut required = Vec::new();
    let mut additional = Value::Bool(false);
    for (key, schema) in members {
        if key == "(*)" {
            additional = value(schema, lookup, depth + 1)?;
            continue;
        }
        let key = Key::parse(key);
        let property = property(&key, schema, lookup, depth + 1)?;
        if !key.optional {
            required.push(Value::from(key.name));
        }
        properties.insert(key.name.to_owned(), property);
    }
    let mut object = JsonObject::new();
    object.insert("type".to_owned(), "object".into());
    object.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        object.insert("required".to_owned(), required.into());
    }
    object.insert("additionalProperties".to_owned(), additional);
    Ok(Value::Object(object))
}

/// One property, by the type in the brackets of its key.
fn property(key: &Key<'_>, schema: &Value, lookup: Lookup<'_>, depth: usize) -> Result<Value> {
    let Some((kind, description)) = key.kind else {
        return Ok(or_null(value(schema, lookup, depth)?, key.optional));
    };
    let property = match kind {
        "array" => {
            let items = value(schema, lookup, depth)?;
            or_null(json!({ "type": "array", "items": items }), key.optional)
        }
        "object" => or_null(value(schema, lookup, depth)?, key.optional),
        "enum" => choice(key, schema)?,
        _ => {
            return Err(Error::schema(format!(
                "`{}({kind})`: the type in brackets is `array`, `object` or `enum`",
                key.name
            )));
        }
    };
    Ok(described(property, description))
}

/// `name(enum)`: a list of values, with `null` among them if the property is optional.
fn choice(key: &Key<'_>, schema: &Value) -> Result<Value> {
    let Value::Array(values) = schema else {
        return Err(Error::schema(format!(
            "`{}(enum)` needs a list of values, as in `[RED, BLUE]`",
            key.name
        )));
    };
    let mut values = values.clone();
    if key.optional && !values.contains(&Value::Null) {
        values.push(Value::Null);
    }
    Ok(json!({ "enum": values }))
}

/// `name`, `name?`, `name(array)` or `name?(array, description)`.
struct Key<'k> {
    name: &'k str,
    optional: bool,
    kind: Option<(&'k str, Option<&'k str>)>,
}

impl<'k> Key<'k> {
    fn parse(key: &'k str) -> Self {
        let (name, kind) = match key.split_once('(') {
            Some((name, kind)) => (name, Some(kind.strip_suffix(')').unwrap_or(kind))),
            None => (key, None),
        };
        Self {
            optional: name.ends_with('?'),
            name: name.strip_suffix('?').unwrap_or(name),
            kind: kind.filter(|kind| !kind.is_empty()).map(split_description),
        }
    }
}

/// An optional property may also be null.
fn or_null(mut schema: Value, optional: bool) -> Value {
    if optional && let Some(Value::String(kind)) = schema.get("type") {
        schema["type"] = json!([kind, "null"]);
    }
    schema
}

/// Adds a description to a schema that is an object. One of a registered schema is replaced.
fn described(mut schema: Value, description: Option<&str>) -> Value {
    if let (Some(text), Value::Object(members)) = (description, &mut schema) {
        members.insert("description".to_owned(), text.into());
    }
    schema
}

/// Splits `type, description` at the first comma, so that a description may contain commas.
fn split_description(text: &str) -> (&str, Option<&str>) {
    match text.split_once(',') {
        Some((kind, rest)) => {
            let rest = rest.trim_start_matches(' ');
            (kind, (!rest.is_empty()).then_some(rest))
        }
        None => (text, None),
    }
}
