//! The OpenAPI 3.1 document of the served actions, made from their schemas.
//!
//! It is generated from the same table that requests are routed by, so a path cannot be served
//! and not be described. The server's own pages are left out.

mod agents_paths;
mod failures;
mod schemas;

use std::collections::BTreeMap;

use oxikit_core::{ActionKind, Schema};
use oxikit_wire::a2a::v0_3;
use serde_json::{Map, Value, json};

use crate::auth::Security;
use crate::durable::POSITION;
use crate::exposed::{Expose, Exposed};
use oxikit_http::reply::{SPAN_ID, STREAM_ID, TRACE_ID};
use schemas::Schemas;

/// The name of the server's own security scheme. That of an action has its
/// operation id behind it.
const CALLER: &str = "caller";

/// The parts of a server that its document describes.
pub(crate) struct Api<'a> {
    pub(crate) exposed: &'a Exposed,
    /// Stands before every path, without slashes around it.
    pub(crate) prefix: &'a str,
    /// The demands of the server's context provider; nothing if callers need no credentials or the
    /// provider does not describe it.
    pub(crate) security: Security,
    /// Whether the API of agents is served.
    pub(crate) has_agents_api: bool,
    /// Whether the server has a store for durable streams.
    pub(crate) has_streams: bool,
}

impl Api<'_> {
    /// The whole document.
    pub(crate) fn document(&self) -> Value {
        let mut schemas = Schemas::default();
        schemas.insert("Error", error_schema());
        let mut exposed: Vec<_> = self.exposed.iter().collect();
        // Sorted, so that the document is the same for every start of the same application.
        exposed.sort_by(|a, b| a.path.cmp(&b.path));

        let (mut schemes, mut agent_schemes) = (Map::new(), Vec::new());
        let mut paths = Map::new();
        let mut tags: Vec<&str> = Vec::new();
        for expose in exposed {
            let mut operation = self.operation(expose, &mut schemas);
            if let Some(own) = expose.provider.as_ref().map(|own| own.security())
                && !own.requirements().is_empty()
            {
                let name = format!("{CALLER}.{}", operation["operationId"].as_str().unwrap_or("?"));
                let requirements = declare(&own, &name, &mut schemes);
                if expose.action.kind() == ActionKind::Agent {
                    agent_schemes.extend(requirements.iter().cloned());
                }
                operation["security"] = requirements.into();
            }
            paths.insert(self.path(&expose.path), json!({ "post": operation }));
            let kind = expose.action.kind().as_str();
            if !tags.contains(&kind) {
                tags.push(kind);
            }
        }
        if self.has_agents_api {
            let mut own = Map::new();
            agents_paths::add_paths(&mut own, &mut schemas);
            self.secure_agents(&mut own, &agent_schemes);
            paths.append(&mut own);
            tags.push(agents_paths::TAG);
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
            "components": {
                "schemas": schemas.into_components(),
                "responses": failures::responses(),
            },
            "tags": tags,
        });
        if !self.security.requirements().is_empty() {
            document["security"] = declare(&self.security, CALLER, &mut schemes).into();
        }
        if !schemes.is_empty() {
            document["components"]["securitySchemes"] = schemes.into();
        }
        document
    }

    /// The operations of the API of agents are those of all agents, and some agents have
    /// a scheme of their own: one of all these is needed.
    fn secure_agents(&self, paths: &mut Map<String, Value>, own: &[Value]) {
        if own.is_empty() {
            return;
        }
        let mut security = match self.security.requirements().is_empty() {
            true => vec![json!({})],
            false => declare(&self.security, CALLER, &mut Map::new()),
        };
        security.extend(own.iter().cloned());
        let security = Value::from(security);
        let items = paths.iter_mut().filter(|(path, _)| path.contains("{agent}"));
        let members = items.filter_map(|(_, item)| item.as_object_mut()).flatten();
        for (_, operation) in members.filter(|(member, _)| *member != "parameters") {
            operation["security"] = security.clone();
        }
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

    fn operation(&self, expose: &Expose, schemas: &mut Schemas) -> Value {
        let (action, path) = (&expose.action, &expose.path);
        let descriptor = action.descriptor();
        let input = schemas.add(&format!("{path}.input"), descriptor.input_schema.as_ref());
        let output = schemas.add(&format!("{path}.output"), descriptor.output_schema.as_ref());
        let chunk = schemas.add(&format!("{path}.chunk"), descriptor.stream_schema.as_ref());
        let mut members = json!({ "data": input });
        if descriptor.init_schema.is_some() {
            let init = schemas.add(&format!("{path}.init"), descriptor.init_schema.as_ref());
            members["init"] = json!({ "anyOf": [init, { "type": "null" }] });
        }
        let mut wrapper = json!({ "type": "object", "properties": members });
        // An action that has an init can begin without an input.
        let needs_data = descriptor.init_schema.is_none()
            && descriptor.input_schema.as_ref().is_some_and(|schema| !takes_null(schema));
        if needs_data {
            wrapper["required"] = json!(["data"]);
        }
        let mut operation = json!({
            "operationId": schemas.unique_operation(path),
            "tags": [action.kind().as_str()],
            "summary": action.name(),
            "parameters": [{
                "name": "stream", "in": "query", "required": false, "schema": { "type": "string" },
                "description": "`true` streams the run, as `Accept: text/event-stream` does.",
            }],
            "requestBody": {
                "required": needs_data,
                "content": { "application/json": { "schema": wrapper } },
            },
            "responses": failures::of(true),
        });
        operation["responses"]["200"] = json!({
            "description": "The output, or with `Accept: text/event-stream` the whole run.",
            "headers": run_headers(),
            "content": {
                "application/json": { "schema": {
                    "type": "object", "properties": { "result": output }, "required": ["result"],
                }},
                "text/event-stream": { "schema": stream_schema(&chunk, &output) },
            },
        });
        if expose.is_durable && self.has_streams {
            describe_durable(&mut operation);
        }
        if let Some(description) = &descriptor.description {
            operation["description"] = json!(description);
        }
        operation
    }
}

/// Whether an action with this input schema can be called without an input.
fn takes_null(schema: &Value) -> bool {
    Schema::from_json(schema.clone()).is_ok_and(|schema| schema.validate(&Value::Null).is_ok())
}

/// The response headers that name a run.
fn run_headers() -> Value {
    let header = |about: &str| json!({ "description": about, "schema": { "type": "string" } });
    json!({
        TRACE_ID.as_str(): header("Names the trace of the run."),
        SPAN_ID.as_str(): header("Names the span of the run."),
    })
}

/// Adds the headers and the response by which a durable stream is read again.
fn describe_durable(operation: &mut Value) {
    let id = "The stream, to be read again.";
    let position = "Number of blocks of the stream that the client has received; 0 if absent.";
    let schema = json!({ "type": "string" });
    for (name, about) in [(STREAM_ID, id), (POSITION, position)] {
        let header = json!({ "description": about, "schema": schema });
        operation["responses"]["200"]["headers"][name.as_str()] = header;
        let parameter = json!({
            "name": name.as_str(), "in": "header", "required": false,
            "description": about, "schema": schema,
        });
        if let Some(parameters) = operation["parameters"].as_array_mut() {
            parameters.push(parameter);
        }
    }
    let gone = "There is no such stream, or the client has received all of it.";
    operation["responses"]["204"] = json!({ "description": gone });
}

/// The schema of the blocks of a stream. OpenAPI has no notation for a sequence of events, so
/// it describes one block.
fn stream_schema(chunk: &Value, output: &Value) -> Value {
    let block = |member: &str, schema: &Value| json!({ "type": "object", "properties": { member: schema }, "required": [member] });
    json!({
        "description": "A block, which ends with an empty line: `data: {\"message\": …}` for \
            each chunk, then one `data: {\"result\": …}`, or `error: {\"error\": …}` with \
            `status`, `message` and `details`.",
        "type": "object",
        "properties": { "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": { "anyOf": [block("message", chunk), block("result", output)] },
        }},
    })
}

/// Adds security schemes to the document; answers their requirements. The name of the only scheme
/// is `prefix`, several have their own names behind it.
fn declare(security: &Security, prefix: &str, schemes: &mut Map<String, Value>) -> Vec<Value> {
    let is_only = security.schemes().len() == 1;
    let name = |own: &String| match is_only {
        true => prefix.to_owned(),
        false => format!("{prefix}.{own}"),
    };
    for (own, scheme) in security.schemes() {
        schemes.insert(name(own), json!(v0_3::Out::new(scheme)));
    }
    let requirement = |requirement: &BTreeMap<String, Vec<String>>| {
        let members = requirement.iter().map(|(own, scopes)| (name(own), json!(scopes)));
        Value::Object(members.collect())
    };
    security.requirements().iter().map(requirement).collect()
}

/// The schema `Error`: the body of every response that is not a success.
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
