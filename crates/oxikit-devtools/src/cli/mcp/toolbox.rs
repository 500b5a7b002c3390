//! Tools with typed arguments.

use std::sync::Arc;

use oxikit_core::{Status, StatusCode};
use oxikit_mcp::{Effect, McpServer, McpTool};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::desk::Desk;
use crate::cli::failure::Failure;

/// What a tool answers.
pub(super) type Answer = Result<Value, Status>;

/// The arguments of a tool that takes none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoArguments {}

/// The tools so far.
pub(super) struct Toolbox {
    desk: Arc<Desk>,
    server: McpServer,
}

impl Toolbox {
    pub(super) fn new(desk: Arc<Desk>, instructions: &str) -> Self {
        let server = McpServer::new("oxikit", env!("CARGO_PKG_VERSION"));
        Self { desk, server: server.with_instructions(instructions) }
    }

    pub(super) fn into_server(self) -> McpServer {
        self.server
    }

    /// With this tool. Its schema is the one of its arguments, and what does not fit is
    /// refused before its code is called. No answer holds a token.
    pub(super) fn tool<A, Fut>(
        mut self,
        effect: Effect,
        name: &str,
        description: &str,
        code: fn(Arc<Desk>, A) -> Fut,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        Fut: Future<Output = Answer> + Send + 'static,
    {
        let tool = McpTool::new(name, description, effect).with_input(schema_of::<A>());
        let desk = self.desk.clone();
        self.server = self.server.tool(tool, move |arguments| {
            let desk = desk.clone();
            async move {
                let answer = match serde_json::from_value::<A>(arguments) {
                    Ok(arguments) => code(desk.clone(), arguments).await,
                    Err(error) => Err(misfit(&error)),
                };
                desk.without_tokens(answer)
            }
        });
        self
    }
}

fn misfit(error: &serde_json::Error) -> Status {
    let message = format!("the arguments do not fit: {error}; the tool's `inputSchema` says more");
    Status::invalid_argument(message)
}

fn schema_of<A: JsonSchema>() -> Value {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<A>().to_value();
    if let Some(schema) = schema.as_object_mut() {
        // They tell a model nothing.
        for member in ["$schema", "title", "description"] {
            schema.remove(member);
        }
    }
    for argument in schema["properties"].as_object_mut().into_iter().flatten() {
        simplify(argument.1);
    }
    schema
}

/// What not every client understands, and nobody misses: that an argument which may be
/// missing may also be null, and the width of numbers.
fn simplify(argument: &mut Value) {
    let Some(members) = argument.as_object_mut() else { return };
    members.remove("format");
    if let Some(Value::Array(kinds)) = members.get_mut("type")
        && let Some(kind) = kinds.iter().find(|kind| *kind != "null").cloned()
    {
        members.insert("type".to_owned(), kind);
    }
    if let Some(Value::String(text)) = members.get_mut("description") {
        *text = text.replace('\n', " ");
    }
}

impl From<Failure> for Status {
    fn from(failure: Failure) -> Self {
        let error = failure.to_json();
        let text = |member: &str| error[member].as_str().unwrap_or_default();
        let code = text("status").parse().unwrap_or(StatusCode::Unknown);
        let status = Self::public(code, text("message"));
        match error.get("details") {
            Some(details) => status.with_details(details.clone()),
            None => status,
        }
    }
}
