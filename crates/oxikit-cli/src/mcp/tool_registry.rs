//! Registers MCP tools whose arguments are Rust types.
//!
//! The input schema of a tool comes from the type of its arguments. The registry checks the
//! arguments and redacts the result; the tools themselves are in the modules beside this one.

use std::sync::Arc;

use oxikit_core::{Status, StatusCode};
use oxikit_mcp::{Effect, McpServer, McpTool};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::redaction::without_tokens;
use super::state::McpState;
use crate::failure::Failure;

/// The result of a tool. An error reaches the model as a result with `isError`.
pub(super) type ToolResult = Result<Value, Status>;

/// The arguments of a tool that takes none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoArguments {}

/// Collects the tools of the server.
pub(super) struct ToolRegistry {
    state: Arc<McpState>,
    server: McpServer,
}

impl ToolRegistry {
    pub(super) fn new(state: Arc<McpState>, instructions: &str) -> Self {
        let server = McpServer::new("oxikit", env!("CARGO_PKG_VERSION"));
        Self { state, server: server.with_instructions(instructions) }
    }

    pub(super) fn into_server(self) -> McpServer {
        self.server
    }

    /// Adds a tool. Arguments that do not match its schema are rejected before `code` is
    /// called, and no result contains a token of the developer tools.
    pub(super) fn tool<A, Fut>(
        mut self,
        effect: Effect,
        name: &str,
        description: &str,
        code: fn(Arc<McpState>, A) -> Fut,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        Fut: Future<Output = ToolResult> + Send + 'static,
    {
        let tool = McpTool::new(name, description, effect).with_input(schema_of::<A>());
        let state = self.state.clone();
        self.server = self.server.tool(tool, move |arguments| {
            let state = state.clone();
            async move {
                let result = match serde_json::from_value::<A>(arguments) {
                    Ok(arguments) => code(state.clone(), arguments).await,
                    Err(error) => Err(mismatch(&error)),
                };
                match state.manager() {
                    Ok(Some(manager)) => without_tokens(result, manager),
                    _ => result,
                }
            }
        });
        self
    }
}

fn mismatch(error: &serde_json::Error) -> Status {
    let message = format!("the arguments do not match the tool's `inputSchema`: {error}");
    Status::invalid_argument(message)
}

fn schema_of<A: JsonSchema>() -> Value {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<A>().to_value();
    if let Some(schema) = schema.as_object_mut() {
        // These members only cost tokens; a model does not need them.
        for member in ["$schema", "title", "description"] {
            schema.remove(member);
        }
    }
    for argument in schema["properties"].as_object_mut().into_iter().flatten() {
        simplify(argument.1);
    }
    schema
}

/// Removes what some MCP clients do not understand and no model needs: that an optional
/// argument may also be null, and the format (width) of numbers.
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
