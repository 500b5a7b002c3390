//! The schemas of the OpenAPI document.
//!
//! A type that occurs in requests and in responses can have two schemas: a member with a default
//! is optional in a request and always present in a response. The schema for requests then gets
//! the suffix `Input`.

use std::collections::{BTreeMap, BTreeSet};

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::route::Describe;

/// The path of schemas in the document.
const PATH: &str = "/components/schemas";
/// The suffix of the name of a type whose schema differs in requests.
const TAKEN: &str = "Input";

/// The schemas that were collected so far.
pub(super) struct Components {
    sent: SchemaGenerator,
    taken: SchemaGenerator,
    /// The names of the schemas of events.
    events: BTreeSet<String>,
}

impl Components {
    pub(super) fn new() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = PATH.into();
                settings.meta_schema = None;
            })
        };
        let sent = settings().for_serialize().into_generator();
        let taken = settings().for_deserialize().into_generator();
        Self { sent, taken, events: BTreeSet::new() }
    }

    /// The schema of a response.
    pub(super) fn sent(&mut self, describe: Describe) -> Value {
        describe(&mut self.sent).to_value()
    }

    /// The schema of an event of a stream.
    pub(super) fn event(&mut self, describe: Describe) -> Value {
        let schema = self.sent(describe);
        let name = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
        self.events.extend(name.map(str::to_owned));
        schema
    }

    /// The schema of a request body.
    pub(super) fn taken(&mut self, describe: Describe) -> Value {
        describe(&mut self.taken).to_value()
    }

    /// The members of a query as parameters.
    pub(super) fn query(&mut self, describe: Describe) -> Vec<Value> {
        let schema = describe(&mut self.taken).to_value();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let members = schema["properties"].as_object().cloned().unwrap_or_default();
        let parameter = |(name, mut schema): (String, Value)| {
            let is_required = required.iter().any(|known| *known == *name);
            let members = schema.as_object_mut();
            let description = members.and_then(|members| members.remove("description"));
            let mut parameter = json!({
                "name": name, "in": "query", "required": is_required, "schema": not_null(schema),
            });
            if let Some(description) = description {
                parameter["description"] = description;
            }
            parameter
        };
        members.into_iter().map(parameter).collect()
    }

    /// All schemas. References of requests are renamed where their schema differs.
    pub(super) fn finish(
        mut self,
        paths: &mut BTreeMap<String, Map<String, Value>>,
    ) -> Map<String, Value> {
        let mut schemas = self.sent.take_definitions(true);
        for name in &self.events {
            match schemas.get_mut(name) {
                Some(Value::Object(event)) if event.contains_key("oneOf") => {
                    let forms = event["oneOf"].as_array_mut();
                    forms.into_iter().flatten().for_each(data_as_text);
                }
                Some(event) => data_as_text(event),
                None => {}
            }
        }
        let taken = self.taken.take_definitions(true);
        let other = differing(&schemas, &taken);
        for (name, mut schema) in taken {
            rename(&mut schema, &other);
            let is_other = other.contains(&name);
            schemas.insert(if is_other { name + TAKEN } else { name }, schema);
        }
        for operation in paths.values_mut().flat_map(Map::values_mut) {
            for part in ["parameters", "requestBody"] {
                if let Some(part) = operation.get_mut(part) {
                    rename(part, &other);
                }
            }
        }
        schemas.sort_keys();
        schemas
    }
}

/// The data of an event is a text, which holds JSON.
fn data_as_text(event: &mut Value) {
    if let Some(data) = event.pointer_mut("/properties/data") {
        *data = json!({
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": data.take(),
        });
    }
}

/// The types whose schemas differ, or refer to such.
fn differing(sent: &Map<String, Value>, taken: &Map<String, Value>) -> BTreeSet<String> {
    let is_other =
        |(name, schema): &(&String, &Value)| sent.get(*name).is_some_and(|known| known != *schema);
    let mut other: BTreeSet<String> =
        taken.iter().filter(is_other).map(|(name, _)| name.clone()).collect();
    // A type that refers to a differing one differs itself, because its reference gets the suffix.
    // Repeated until no more are found.
    loop {
        let refers = |(name, schema): &(&String, &Value)| {
            let mut renamed = (*schema).clone();
            rename(&mut renamed, &other);
            !other.contains(*name) && sent.contains_key(*name) && renamed != **schema
        };
        let more: Vec<_> = taken.iter().filter(refers).map(|(name, _)| name.clone()).collect();
        if more.is_empty() {
            return other;
        }
        other.extend(more);
    }
}

/// Adds the suffix to references to these types.
fn rename(schema: &mut Value, other: &BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get_mut("$ref")
                && reference.rsplit('/').next().is_some_and(|name| other.contains(name))
            {
                reference.push_str(TAKEN);
            }
            members.values_mut().for_each(|value| rename(value, other));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, other)),
        _ => {}
    }
}

/// The schema without `null`, which a query cannot contain.
fn not_null(mut schema: Value) -> Value {
    let is_null = |schema: &Value| schema["type"] == "null";
    if let Some(choices) = schema["anyOf"].as_array_mut() {
        choices.retain(|choice| !is_null(choice));
        if let [only] = choices.as_slice() {
            return only.clone();
        }
    }
    if let Some(types) = schema["type"].as_array_mut() {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            schema["type"] = only.clone();
        }
    }
    if let Some(members) = schema.as_object_mut() {
        members.retain(|name, value| !(name == "default" && value.is_null()));
        members.retain(|name, value| !(name == "anyOf" && value.is_null()));
    }
    schema
}
