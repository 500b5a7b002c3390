//! The description of the API.

use std::collections::{BTreeMap, BTreeSet};

use oxikit_core::Schema;
use oxikit_devtools::route_table;
use serde_json::{Value, json};

use oxikit_testing::tools::kit;

async fn document() -> Value {
    let (status, document) = kit().await.get("/api/v1/openapi.json").await;
    assert_eq!(status, 200);
    document
}

/// Every operation with its path and method.
fn operations(document: &Value) -> Vec<(&str, &str, &Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths
        .flat_map(|(path, item)| {
            item.as_object().unwrap().iter().map(|(method, it)| (&**path, &**method, it))
        })
        .collect()
}

/// Every place with a reference, with its reference.
fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match (&**name, value) {
                    ("$ref", Value::String(reference)) => found.push(reference),
                    _ => references(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[tokio::test]
async fn every_route_of_our_own_is_described_and_nothing_else() {
    let document = document().await;
    let described: BTreeSet<(String, String)> = operations(&document)
        .into_iter()
        .map(|(path, method, _)| (method.to_uppercase(), path.to_owned()))
        .collect();
    let is_own = |path: &str| path.starts_with("/api/v1/") || path.starts_with("/api/agents");
    let served: BTreeSet<(String, String)> = route_table()
        .into_iter()
        .filter(|(_, path)| is_own(path))
        .map(|(method, path)| (method.to_owned(), path.replace("{*", "{")))
        .collect();
    assert_eq!(described, served);
}

#[tokio::test]
async fn every_operation_says_what_it_takes_and_answers() {
    let document = document().await;
    assert_eq!(document["openapi"], "3.1.0");
    let tags: BTreeSet<_> =
        document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str()).collect();
    let mut ids = BTreeSet::new();
    let mut used = BTreeSet::new();
    for (path, method, operation) in operations(&document) {
        let what = format!("{method} {path}");
        let id = operation["operationId"].as_str().unwrap();
        let is_name = |c: char| c.is_ascii_alphanumeric();
        assert!(id.chars().all(is_name) && id.starts_with(char::is_lowercase), "{id}");
        assert!(ids.insert(id), "{id} is there twice");
        used.insert(operation["tags"][0].as_str());
        assert!(operation["summary"].is_string(), "{what}");
        let empty = Vec::new();
        let parameters = operation["parameters"].as_array().unwrap_or(&empty);
        let named: BTreeSet<_> = parameters
            .iter()
            .filter(|it| it["in"] == "path")
            .map(|it| format!("{{{}}}", it["name"].as_str().unwrap()))
            .collect();
        let in_path: BTreeSet<_> =
            path.split('/').filter(|part| part.starts_with('{')).map(str::to_owned).collect();
        assert_eq!(named, in_path, "{what}");
        for parameter in parameters {
            let schema = &parameter["schema"];
            assert!(schema["type"].is_string() || schema["$ref"].is_string(), "{what} {parameter}");
        }
        let has_body =
            operation["requestBody"]["content"]["application/json"]["schema"] != json!(null);
        assert_eq!(has_body, matches!(method, "post" | "patch"), "{what}");
        let answers = operation["responses"].as_object().unwrap();
        assert!(!answers["200"]["content"].as_object().unwrap().is_empty(), "{what}");
        for (code, answer) in answers {
            assert!(code.parse::<u16>().is_ok(), "{what} {code}");
            let is_error = code != "200";
            assert_eq!(answer["$ref"].is_string(), is_error, "{what} {code}");
        }
    }
    assert_eq!(used, tags);
}

#[tokio::test]
async fn references_lead_somewhere_and_every_schema_can_be_used() {
    let document = document().await;
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 100, "{}", found.len());
    for reference in &found {
        assert!(document.pointer(&reference[1..]).is_some(), "{reference} leads nowhere");
    }
    let found: BTreeSet<_> = found.into_iter().collect();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let reference = format!("#/components/schemas/{name}");
        assert!(found.contains(&*reference), "nothing refers to {name}");
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        assert!(name.chars().all(is_name), "{name}");
        assert!(schema.is_object(), "{name}");
        let whole = json!({"$ref": reference, "components": document["components"]});
        let bytes = whole.to_string().len();
        assert!(bytes < 256 * 1024, "{bytes}");
        Schema::from_json(whole).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// The schema of an answer holds what is answered.
#[tokio::test]
async fn answers_fit_their_schemas() {
    let kit = kit().await;
    let (_, document) = kit.get("/api/v1/openapi.json").await;
    let mut checked = BTreeMap::new();
    for (path, method, operation) in operations(&document) {
        let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"];
        let needs = operation["parameters"].as_array().is_some_and(|parameters| {
            parameters.iter().any(|parameter| parameter["required"] == true)
        });
        if method != "get" || needs || schema.is_null() {
            continue;
        }
        let (status, answer) = kit.get(path).await;
        let schema = match status {
            200 => schema.clone(),
            _ => json!({"$ref": "#/components/schemas/Error"}),
        };
        let mut whole = schema;
        whole["components"] = document["components"].clone();
        let schema = Schema::from_json(whole).unwrap();
        schema.validate(&answer).unwrap_or_else(|error| panic!("{path} {answer}: {error}"));
        checked.insert(path, status);
    }
    assert!(checked.len() > 8, "{checked:?}");
}
