//! Makes the OpenAPI document from a table of routes and the schemas of their types. There is no second
//! description of the API: the doc comments of the types are the texts of the document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::components::Components;
use super::route::{About, Describe};

/// A route with its whole path, to be described.
#[derive(Debug, Clone)]
pub struct DescribedRoute {
    /// Such as `GET`.
    pub method: &'static str,
    /// Such as `/api/v1/actions/{*key}`.
    pub path: String,
    /// Its description.
    pub about: About,
}

/// An HTTP status of errors, its name in the document, and its meaning.
pub type StatusMeaning = (u16, &'static str, &'static str);

/// What an OpenAPI document says besides its routes.
///
/// ```
/// use std::collections::BTreeSet;
///
/// use oxikit_http::api::OpenApi;
///
/// const OPEN_API: OpenApi = OpenApi {
///     title: "shop",
///     version: "1",
///     description: "Sells tea.",
///     tags: &[("tea", "Tea")],
///     tag_of: |_| "tea",
///     errors: &[(404, "NotFound", "There is no such tea")],
///     error: |generator| generator.subschema_for::<String>(),
///     failures: |_, _, _| BTreeSet::from([404]),
///     also_sent: &[],
///     also_taken: &[],
/// };
/// assert_eq!(OPEN_API.describe([])["openapi"], "3.1.0");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct OpenApi {
    /// The title of the document.
    pub title: &'static str,
    /// The version of the API.
    pub version: &'static str,
    /// What the API is for.
    pub description: &'static str,
    /// The tags of operations, each with its description.
    pub tags: &'static [(&'static str, &'static str)],
    /// The tag of an operation, by its path.
    pub tag_of: fn(&str) -> &'static str,
    /// Every status that an error has.
    pub errors: &'static [StatusMeaning],
    /// The body of errors.
    pub error: Describe,
    /// The statuses of the errors of a route. The arguments are its method, its description, and
    /// whether it has parameters.
    pub failures: fn(&str, &About, bool) -> BTreeSet<u16>,
    /// Types that clients receive in other ways than by a response, such as messages of a socket.
    pub also_sent: &'static [Describe],
    /// Types that clients send in other ways than by a request.
    pub also_taken: &'static [Describe],
}

impl OpenApi {
    /// The OpenAPI document of these routes.
    pub fn describe(&self, routes: impl IntoIterator<Item = DescribedRoute>) -> Value {
        let mut components = Components::new();
        let error = components.sent(self.error);
        let mut paths: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
        for route in routes {
            let operation = self.operation(&route, &mut components);
            let path = paths.entry(route.path.replace("{*", "{")).or_default();
            path.insert(route.method.to_ascii_lowercase(), operation);
        }
        for message in self.also_sent {
            _ = components.sent(*message);
        }
        for message in self.also_taken {
            _ = components.taken(*message);
        }
        let schemas = components.finish(&mut paths);
        let tags =
            self.tags.iter().map(|(name, about)| json!({"name": name, "description": about}));
        json!({
            "openapi": "3.1.0",
            "info": {
                "title": self.title,
                "version": self.version,
                "description": self.description,
            },
            "security": [{"token": []}],
            "tags": tags.collect::<Vec<_>>(),
            "paths": paths,
            "components": {
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
                "responses": self.error_responses(&error),
                "schemas": schemas,
            },
        })
    }

    /// One operation: its parameters, body and responses.
    fn operation(&self, route: &DescribedRoute, components: &mut Components) -> Value {
        let DescribedRoute { method, path, about } = route;
        let mut parameters: Vec<Value> = path.split('/').filter_map(in_path).collect();
        if let Some(query) = about.query {
            parameters.extend(components.query(query));
        }
        let mut operation = json!({
            "operationId": about.id,
            "tags": [(self.tag_of)(path)],
            "summary": about.summary,
        });
        let failures = (self.failures)(method, about, !parameters.is_empty());
        let mut responses = self.failure_responses(failures);
        if !parameters.is_empty() {
            operation["parameters"] = parameters.into();
        }
        if let Some(body) = about.body {
            let schema = components.taken(body);
            let content = json!({"application/json": {"schema": schema}});
            operation["requestBody"] = json!({"required": true, "content": content});
        }
        responses.insert(about.success.to_string(), answer(about, components));
        responses.sort_keys();
        operation["responses"] = responses.into();
        operation
    }

    /// References to the error responses with these statuses.
    fn failure_responses(&self, codes: BTreeSet<u16>) -> Map<String, Value> {
        let named = |code: u16| {
            let (_, name, _) = self.errors.iter().find(|(known, ..)| *known == code)?;
            Some((code.to_string(), json!({"$ref": format!("#/components/responses/{name}")})))
        };
        codes.into_iter().filter_map(named).collect()
    }

    /// The error responses that all routes share.
    fn error_responses(&self, error: &Value) -> Map<String, Value> {
        let response = |(http, name, meaning): &StatusMeaning| {
            let content = json!({"application/json": {"schema": error}});
            let mut response = json!({"description": meaning, "content": content});
            let text = json!({"type": "string"});
            match http {
                401 => response["headers"] = json!({"WWW-Authenticate": {"schema": text}}),
                429 => response["headers"] = json!({"Retry-After": {"schema": text}}),
                _ => {}
            }
            ((*name).to_owned(), response)
        };
        self.errors.iter().map(response).collect()
    }
}

/// The parameter of a segment such as `{dataset}`; `None` for other segments.
fn in_path(part: &str) -> Option<Value> {
    let name = part.strip_prefix('{')?.strip_suffix('}')?.trim_start_matches('*');
    Some(json!({
        "name": name, "in": "path", "required": true,
        "schema": {"type": "string", "minLength": 1},
    }))
}

/// The successful response: a body, a stream of events, or both.
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
        answer["headers"] = json!({oxikit_wire::headers::TRACE_ID: {
            "description": "The trace of the run",
            "schema": {"type": "string"},
        }});
    }
    answer
}
