//! The description of the API, made from the table of routes and the types of what they
//! take and answer.

mod components;
mod failures;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{Response, StatusCode as HttpStatus};
use bytes::Bytes;
use oxikit_serve::inside::json_response;
use serde_json::{Map, Value, json};

use super::route::About;
use super::routes::described;
use components::Components;

/// Made once: nothing in it depends on the process.
static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| describe().to_string().into());

/// `GET /api/v1/openapi.json`.
pub(crate) async fn document() -> Response<Body> {
    json_response(HttpStatus::OK, DOCUMENT.clone())
}

/// Where a tag is explained.
const TAGS: &[(&str, &str)] = &[
    ("tools", "The developer tools themselves"),
    ("runtimes", "Runtimes that have registered"),
    ("actions", "What runtimes offer"),
    ("runs", "Runs of actions"),
    ("app", "The application that the tools have started"),
    ("agents", "Agents and their sessions"),
    ("traces", "Traces and log lines"),
    ("datasets", "Data sets"),
    ("evaluations", "Evaluations"),
];

fn tag_of(path: &str) -> &'static str {
    if path.starts_with("/api/agents") {
        return "agents";
    }
    let below = path.strip_prefix("/api/v1/").unwrap_or_default();
    match below.split('/').next().unwrap_or_default() {
        "runtimes" => "runtimes",
        "actions" | "values" => "actions",
        "run" | "stream" | "runs" => "runs",
        "app" => "app",
        "traces" | "logs" => "traces",
        "datasets" => "datasets",
        "evaluations" => "evaluations",
        _ => "tools",
    }
}

fn describe() -> Value {
    let mut components = Components::new();
    let mut paths: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for route in described() {
        let operation = operation(route.method, &route.path, &route.about, &mut components);
        let path = paths.entry(route.path.replace("{*", "{")).or_default();
        path.insert(route.method.to_ascii_lowercase(), operation);
    }
    let schemas = components.finish(&mut paths);
    let tags = TAGS.iter().map(|(name, about)| json!({"name": name, "description": about}));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "oxikit developer tools",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Streams are described by the schema of one event: an object with \
                `data`, a text that holds JSON, and where events have them `event` and `id`.",
        },
        "security": [{"token": []}],
        "tags": tags.collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": failures::responses(),
            "schemas": schemas,
        },
    })
}

fn operation(method: &str, path: &str, about: &About, components: &mut Components) -> Value {
    let mut parameters: Vec<Value> = path.split('/').filter_map(in_path).collect();
    if let Some(query) = about.query {
        parameters.extend(components.query(query));
    }
    let mut operation = json!({
        "operationId": about.id,
        "tags": [tag_of(path)],
        "summary": about.summary,
    });
    let mut responses = failures::of(method, about, !parameters.is_empty());
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = about.body {
        let schema = components.taken(body);
        let content = json!({"application/json": {"schema": schema}});
        operation["requestBody"] = json!({"required": true, "content": content});
    }
    responses.insert("200".to_owned(), answer(about, components));
    responses.sort_keys();
    operation["responses"] = responses.into();
    operation
}

fn in_path(part: &str) -> Option<Value> {
    let name = part.strip_prefix('{')?.strip_suffix('}')?.trim_start_matches('*');
    Some(json!({
        "name": name, "in": "path", "required": true,
        "schema": {"type": "string", "minLength": 1},
    }))
}

fn answer(about: &About, components: &mut Components) -> Value {
    let mut content = Map::new();
    if let Some(json) = about.json {
        content.insert("application/json".to_owned(), json!({"schema": components.sent(json)}));
    }
    if let Some(event) = about.event {
        content.insert("text/event-stream".to_owned(), json!({"schema": components.event(event)}));
    }
    let mut answer = json!({"description": about.summary, "content": content});
    if about.has_trace {
        answer["headers"] = json!({"x-genkit-trace-id": {
            "description": "The trace of the run",
            "schema": {"type": "string"},
        }});
    }
    answer
}
