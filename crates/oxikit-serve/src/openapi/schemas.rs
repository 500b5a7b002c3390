//! Schemas of actions as components of one document.
//!
//! An action's schema is a document of its own: `#` is its root, and shared parts
//! are under `definitions` or `$defs`. Here all of them become components with
//! names of their own, and references are rewritten to match.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The beginning of all references to components.
const COMPONENTS: &str = "#/components/schemas/";

/// Maximum depth of a schema. Deeper parts are dropped; the registry accepts no deeper ones.
const DEPTH: usize = 128;

/// All components so far.
#[derive(Default)]
pub(crate) struct Schemas {
    components: Map<String, Value>,
    operations: BTreeSet<String>,
}

impl Schemas {
    /// Adds a component without changes.
    pub(crate) fn insert(&mut self, name: &str, schema: Value) {
        self.components.insert(name.to_owned(), schema);
    }

    /// Adds an action's schema, and answers a reference to it; without a schema, the schema `{}`
    /// that accepts every value.
    pub(crate) fn add(&mut self, name: &str, schema: Option<&Value>) -> Value {
        let Some(Value::Object(schema)) = schema else { return json!({}) };
        let root = self.unique_component(name);
        // Taken at once: the parts must not get the name of the whole.
        self.components.insert(root.clone(), Value::Null);
        let mut parts = BTreeMap::new();
        for keyword in ["definitions", "$defs"] {
            for part in
                schema.get(keyword).and_then(Value::as_object).into_iter().flat_map(Map::keys)
            {
                let component = self.unique_component(&format!("{root}.{part}"));
                self.components.insert(component.clone(), Value::Null);
                parts.insert((keyword, part.clone()), component);
            }
        }
        let rewriter = Rewriter { root: &root, parts: &parts, schema };
        let mut whole = rewriter.object(schema, 0);
        whole.shift_remove("definitions");
        whole.shift_remove("$defs");
        for ((keyword, part), component) in &parts {
            let part = rewriter.schema(&schema[*keyword][part], 0);
            self.components.insert(component.clone(), part);
        }
        let reference = json!({ "$ref": format!("{COMPONENTS}{root}") });
        self.components.insert(root, Value::Object(whole));
        reference
    }

    /// Adds the schema of a type as it is sent: with all members that are always there.
    pub(crate) fn add_sent<T: JsonSchema>(&mut self, name: &str) -> Value {
        self.add(name, Some(&sent::<T>()))
    }

    /// Adds the schema of an event of a stream. Its data is a text, which holds JSON.
    pub(crate) fn add_event<T: JsonSchema>(&mut self, name: &str) -> Value {
        let mut schema = sent::<T>();
        for form in schema["oneOf"].as_array_mut().into_iter().flatten() {
            if let Some(data) = form.pointer_mut("/properties/data") {
                *data = json!({
                    "type": "string",
                    "contentMediaType": "application/json",
                    "contentSchema": data.take(),
                });
            }
        }
        self.add(name, Some(&schema))
    }

    /// An operation id that is not used yet.
    pub(crate) fn unique_operation(&mut self, path: &str) -> String {
        let id = unique(&plain(path), |id| self.operations.contains(id));
        self.operations.insert(id.clone());
        id
    }

    pub(crate) fn into_components(self) -> Map<String, Value> {
        self.components
    }

    fn unique_component(&self, name: &str) -> String {
        unique(&plain(name), |name| self.components.contains_key(name))
    }
}

/// The schema of a type as it is serialised. It differs from the schema of what is accepted:
/// members with a default are always sent.
fn sent<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft07().for_serialize().into_generator();
    generator.into_root_schema_for::<T>().to_value()
}

/// Rewrites one action's schema.
struct Rewriter<'a> {
    root: &'a str,
    /// The component of each shared part, by keyword and name.
    parts: &'a BTreeMap<(&'static str, String), String>,
    schema: &'a Map<String, Value>,
}

impl Rewriter<'_> {
    fn schema(&self, schema: &Value, depth: usize) -> Value {
        match schema {
            _ if depth > DEPTH => json!({}),
            Value::Object(members) => Value::Object(self.object(members, depth)),
            other => other.clone(),
        }
    }

    fn object(&self, members: &Map<String, Value>, depth: usize) -> Map<String, Value> {
        let is_tuple = members.get("items").is_some_and(Value::is_array);
        let mut rewritten = Map::new();
        for (keyword, value) in members {
            let keyword = match keyword.as_str() {
                // They would change what references are relative to.
                "$schema" | "$id" | "$anchor" => continue,
                // Lists had another name in draft 7.
                "items" if is_tuple => "prefixItems",
                "additionalItems" if is_tuple => "items",
                keyword => keyword,
            };
            let value = match keyword {
                "$ref" => match value.as_str().and_then(|reference| self.reference(reference)) {
                    Some(reference) => json!(reference),
                    // Refers to nothing that is here: anything may stand there.
                    None => continue,
                },
                _ => self.value(keyword, value, depth + 1),
            };
            rewritten.insert(keyword.to_owned(), value);
        }
        rewritten
    }

    /// The value of a keyword: schemas in it are rewritten, data is kept.
    fn value(&self, keyword: &str, value: &Value, depth: usize) -> Value {
        match (keyword, value) {
            (
                "properties" | "patternProperties" | "definitions" | "$defs" | "dependentSchemas",
                Value::Object(named),
            ) => named
                .iter()
                .map(|(name, schema)| (name.clone(), self.schema(schema, depth)))
                .collect(),
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(schemas)) => {
                schemas.iter().map(|schema| self.schema(schema, depth)).collect()
            }
            (
                "items"
                | "additionalItems"
                | "unevaluatedItems"
                | "contains"
                | "not"
                | "if"
                | "then"
                | "else"
                | "additionalProperties"
                | "unevaluatedProperties"
                | "propertyNames"
                | "contentSchema",
                schema,
            ) => self.schema(schema, depth),
            (_, data) => data.clone(),
        }
    }

    /// The reference in the whole document that replaces a reference within one schema; `None`
    /// if its target does not exist.
    fn reference(&self, reference: &str) -> Option<String> {
        let pointer = reference.strip_prefix('#')?;
        let known = |keyword| Some((keyword, pointer.strip_prefix('/')?.strip_prefix(keyword)?));
        let part =
            ["definitions", "$defs"].into_iter().filter_map(known).find_map(|(keyword, rest)| {
                let rest = rest.strip_prefix('/')?;
                let (name, below) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                let component = self.parts.get(&(keyword, unescaped(name)))?;
                self.schema[keyword][&unescaped(name)].pointer(below)?;
                Some(format!("{COMPONENTS}{component}{below}"))
            });
        let in_root = || {
            let is_shared = pointer.starts_with("/definitions/") || pointer.starts_with("/$defs/");
            let leads =
                pointer.is_empty() || leads_somewhere(self.schema, pointer.strip_prefix('/')?);
            (leads && !is_shared).then(|| format!("{COMPONENTS}{}{pointer}", self.root))
        };
        part.or_else(in_root)
    }
}

fn leads_somewhere(schema: &Map<String, Value>, pointer: &str) -> bool {
    let (first, rest) = pointer.split_at(pointer.find('/').unwrap_or(pointer.len()));
    schema.get(&unescaped(first)).is_some_and(|value| value.pointer(rest).is_some())
}

/// Decodes a part of a JSON pointer in a URI fragment: first percent-encoding, then `~1` and
/// `~0`, in that order.
fn unescaped(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = (first == b'%').then(|| after.get(..2)).flatten();
        let byte = escaped
            .and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok())
            .inspect(|_| rest = &after[2..]);
        bytes.push(byte.unwrap_or_else(|| {
            rest = after;
            first
        }));
    }
    String::from_utf8_lossy(&bytes).replace("~1", "/").replace("~0", "~")
}

/// The name with `_` in place of all characters that OpenAPI does not allow in the names of
/// components.
fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// The name, with the first number behind it that makes it unique if it is taken.
fn unique(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut candidates =
        std::iter::once(name.to_owned()).chain((2_u32..).map(|number| format!("{name}_{number}")));
    candidates.find(|name| !is_taken(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_without_a_target_are_left_out_and_names_do_not_clash() {
        let mut schemas = Schemas::default();
        let schema = json!({
            "properties": {
                "lost": { "$ref": "#/definitions/Nothing" },
                "deep": { "$ref": "#/definitions/A<B>/no/where" },
                "remote": { "$ref": "https://example.com/x.json" },
                "kept": { "$ref": "#/definitions/A<B>" },
            },
            "definitions": { "A<B>": { "type": "string" }, "A_B_": { "type": "null" } },
        });
        schemas.add("x", Some(&schema));
        let again = schemas.add("x", Some(&json!({ "$ref": "#" })));
        assert_eq!(again["$ref"], "#/components/schemas/x_2");
        let components = Value::Object(schemas.into_components());
        let properties = json!({
            "lost": {}, "deep": {}, "remote": {},
            "kept": { "$ref": "#/components/schemas/x.A_B_" },
        });
        assert_eq!(components["x"]["properties"], properties);
        assert_eq!(components["x.A_B_"], json!({ "type": "string" }));
        assert_eq!(components["x.A_B__2"], json!({ "type": "null" }));
        assert_eq!(components["x_2"], again_of("x_2"));
    }

    fn again_of(name: &str) -> Value {
        json!({ "$ref": format!("{COMPONENTS}{name}") })
    }
}
