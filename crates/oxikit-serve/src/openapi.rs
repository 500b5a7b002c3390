//! The OpenAPI 3.1 document of the served actions, made from their schemas.

pub(crate) mod schemas;

use oxikit_core::Action;
use serde_json::{Map, Value, json};

use crate::agents_api;
use crate::exposed::Exposed;
use schemas::Schemas;

/// What the document is about.
pub(crate) struct Api<'a> {
    pub(crate) exposed: &'a Exposed,
    /// Stands before every path, without slashes around it.
    pub(crate) prefix: &'a str,
    /// How callers show who they are, if they have to.
    pub(crate) security_scheme: Option<Value>,
    /// Whether the API of agents is served.
    pub(crate) has_agents_api: bool,
}

impl Api<'_> {
    /// The whole document.
    pub(crate) fn document(&self) -> Value {
        let mut schemas = Schemas::default();
        schemas.insert("Error", error_schema());
        let mut exposed: Vec<_> = self.exposed.iter().collect();
        exposed.sort_by(|a, b| a.path.cmp(&b.path));

        let mut paths = Map::new();
        let mut tags: Vec<&str> = Vec::new();
        for expose in exposed {
            let operation = operation(&expose.action, &expose.path, &mut schemas);
            paths.insert(self.path(&expose.path), json!({ "post": operation }));
            let kind = expose.action.kind().as_str();
            if !tags.contains(&kind) {
                tags.push(kind);
            }
        }
        if self.has_agents_api {
            agents_api::add_paths(&mut paths, &mut schemas);
            tags.push(agents_api::TAG);
        }
        let tags: Vec<_> = tags.iter().map(|tag| json!({ "name": tag })).collect();
        let mut document = json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Actions",
                "version": "1",
                "description": "Every action is called by POST with its input under `data`.",
            },
            "paths": paths,
            "components": { "schemas": schemas.into_components() },
            "tags": tags,
        });
        if let Some(scheme) = &self.security_scheme {
            document["components"]["securitySchemes"] = json!({ "caller": scheme });
            document["security"] = json!([{ "caller": [] }]);
        }
        document
    }

    fn path(&self, path: &str) -> String {
        let whole = if self.prefix.is_empty() {
            format!("/{path}")
        } else {
            format!("/{}/{path}", self.prefix)
        };
        // Braces would make a template of it.
        whole.replace('{', "%7B").replace('}', "%7D")
    }
}

fn operation(action: &Action, path: &str, schemas: &mut Schemas) -> Value {
    let descriptor = action.descriptor();
    let input = schemas.add(&format!("{path}.input"), descriptor.input_schema.as_ref());
    let output = schemas.add(&format!("{path}.output"), descriptor.output_schema.as_ref());
    let chunk = schemas.add(&format!("{path}.chunk"), descriptor.stream_schema.as_ref());
    let mut members = json!({ "data": input });
    if descriptor.init_schema.is_some() {
        members["init"] = schemas.add(&format!("{path}.init"), descriptor.init_schema.as_ref());
    }
    let mut operation = json!({
        "operationId": schemas.unique_operation(path),
        "tags": [action.kind().as_str()],
        "summary": action.name(),
        "requestBody": {
            "required": true,
            "content": { "application/json": {
                "schema": { "type": "object", "properties": members }
            }},
        },
        "responses": {
            "200": {
                "description": "The output, or with `Accept: text/event-stream` the whole run.",
                "headers": {
                    "x-genkit-trace-id": {
                        "description": "Names the trace of the run.",
                        "schema": { "type": "string" },
                    },
                },
                "content": {
                    "application/json": { "schema": {
                        "type": "object", "properties": { "result": output }, "required": ["result"],
                    }},
                    "text/event-stream": { "schema": stream_schema(&chunk, &output) },
                },
            },
            "default": {
                "description": "A refusal or a failure.",
                "content": { "application/json": {
                    "schema": { "$ref": "#/components/schemas/Error" }
                }},
            },
        },
    });
    if let Some(description) = &descriptor.description {
        operation["description"] = json!(description);
    }
    operation
}

/// What stands in the blocks of a stream.
fn stream_schema(chunk: &Value, output: &Value) -> Value {
    let block = |member: &str, schema: &Value| json!({ "type": "object", "properties": { member: schema }, "required": [member] });
    let error = json!({ "$ref": "#/components/schemas/Error" });
    json!({
        "description": "Blocks that end with an empty line: `data: {\"message\": …}` for each \
            chunk, then one `data: {\"result\": …}` or `error: {\"error\": …}`.",
        "anyOf": [block("message", chunk), block("result", output), block("error", &error)],
    })
}

fn error_schema() -> Value {
    let names: Vec<_> =
        oxikit_core::StatusCode::ALL.iter().skip(1).map(|code| code.name()).collect();
    json!({
        "type": "object",
        "properties": {
            "code": { "type": "integer", "description": "The HTTP status; not in streams." },
            "status": { "type": "string", "enum": names },
            "message": { "type": "string" },
            "details": { "description": "More about it, such as the list of schema errors." },
        },
        "required": ["status", "message"],
    })
}
