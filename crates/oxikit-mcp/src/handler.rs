//! Implements rmcp's `ServerHandler`: lists the tools and runs their calls.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use oxikit_core::{Status, StatusCode};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::tool::{McpTool, Outcome, ToolFunction};

/// Time that running calls get after the input has ended. A client may send all its requests
/// at once, close the input and read the responses; a client that is gone must not keep the
/// server running. After it calls are answered with `CANCELLED`.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// The tools of a server and its description.
#[derive(Debug)]
pub(crate) struct ToolHandler {
    config: ServerConfig,
    /// The order in which the tools were added.
    listed: Vec<Tool>,
    functions: BTreeMap<String, ToolFunction>,
    input_ended: CancellationToken,
}

impl ToolHandler {
    pub(crate) fn new(name: String, version: String) -> Self {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let config =
            ServerConfig::new(capabilities).with_server_info(Implementation::new(name, version));
        Self {
            config,
            listed: Vec::new(),
            functions: BTreeMap::new(),
            input_ended: CancellationToken::new(),
        }
    }

    pub(crate) fn set_instructions(&mut self, instructions: String) {
        self.config.instructions = Some(instructions);
    }

    pub(crate) fn add(&mut self, tool: McpTool, function: ToolFunction) {
        self.listed.retain(|listed| listed.name != tool.name());
        self.functions.insert(tool.name().to_owned(), function);
        self.listed.push(tool.into_listed());
    }

    /// The token to cancel when the input has ended.
    pub(crate) fn input_ended(&self) -> CancellationToken {
        self.input_ended.clone()
    }
}

impl ServerHandler for ToolHandler {
    fn get_info(&self) -> ServerConfig {
        self.config.clone()
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.listed.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name;
        let function = self.functions.get(&*name).ok_or_else(|| {
            let message = format!("there is no tool `{name}`; `tools/list` lists the tools");
            ErrorData::invalid_params(message, None)
        })?;
        let work = function.call(Value::Object(request.arguments.unwrap_or_default()));
        let outcome = tokio::select! {
            // rmcp sends no response for a call that panics, so the client would wait forever.
            outcome = AssertUnwindSafe(work).catch_unwind() => outcome.unwrap_or_else(|_| {
                tracing::error!(tool = %name, "a tool panicked");
                Err(Status::public(StatusCode::Internal, "the tool panicked; the log of the server shows where"))
            }),
            () = context.ct.cancelled_owned() => Err(Status::cancelled()),
            () = drained(self.input_ended()) => Err(Status::cancelled()),
        };
        Ok(result_of(outcome).into())
    }
}

/// Completes when the input has ended and the drain timeout is over.
async fn drained(input_ended: CancellationToken) {
    input_ended.cancelled_owned().await;
    tokio::time::sleep(DRAIN_TIMEOUT).await;
}

/// The result that the model reads. An error is a result with `isError`, because clients do not
/// show protocol errors to the model.
fn result_of(outcome: Outcome) -> CallToolResult {
    match outcome {
        Ok(Value::String(text)) => CallToolResult::success(vec![ContentBlock::text(text)]),
        Ok(value) => CallToolResult::success(vec![ContentBlock::text(value.to_string())]),
        Err(status) => {
            let outgoing = status.outgoing();
            let text = serde_json::to_string(&outgoing).unwrap_or(outgoing.message);
            CallToolResult::error(vec![ContentBlock::text(text)])
        }
    }
}
