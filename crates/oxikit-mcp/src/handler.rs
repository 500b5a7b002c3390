//! The tools behind rmcp's door.

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

use crate::tool::{McpTool, Outcome, ToolCode};

/// When the client has left, what still runs gets this long: one that sends all its
/// requests at once and closes is answered, and one that is gone is not waited for.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// All tools, and who serves them.
#[derive(Debug)]
pub(crate) struct Tools {
    config: ServerConfig,
    /// In the order of their adding.
    listed: Vec<Tool>,
    codes: BTreeMap<String, ToolCode>,
    client_left: CancellationToken,
}

impl Tools {
    pub(crate) fn new(name: String, version: String) -> Self {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let config =
            ServerConfig::new(capabilities).with_server_info(Implementation::new(name, version));
        Self {
            config,
            listed: Vec::new(),
            codes: BTreeMap::new(),
            client_left: CancellationToken::new(),
        }
    }

    pub(crate) fn set_instructions(&mut self, instructions: String) {
        self.config.instructions = Some(instructions);
    }

    pub(crate) fn add(&mut self, tool: McpTool, code: ToolCode) {
        self.listed.retain(|listed| listed.name != tool.name());
        self.codes.insert(tool.name().to_owned(), code);
        self.listed.push(tool.into_listed());
    }

    /// Fires when the input has ended.
    pub(crate) fn client_left(&self) -> CancellationToken {
        self.client_left.clone()
    }
}

impl ServerHandler for Tools {
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
        let code = self.codes.get(&*name).ok_or_else(|| {
            let message = format!("there is no tool `{name}`; `tools/list` names them");
            ErrorData::invalid_params(message, None)
        })?;
        let work = code.call(Value::Object(request.arguments.unwrap_or_default()));
        let outcome = tokio::select! {
            // Without this a tool that panics would never be answered.
            outcome = AssertUnwindSafe(work).catch_unwind() => outcome.unwrap_or_else(|_| {
                tracing::error!(tool = %name, "a tool panicked");
                Err(Status::public(StatusCode::Internal, "the tool broke; its log says where"))
            }),
            () = context.ct.cancelled_owned() => Err(Status::cancelled()),
            () = last_answers_are_due(self.client_left()) => Err(Status::cancelled()),
        };
        Ok(result_of(outcome).into())
    }
}

async fn last_answers_are_due(client_left: CancellationToken) {
    client_left.cancelled_owned().await;
    tokio::time::sleep(LAST_ANSWERS).await;
}

/// What the model reads.
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
