//! The MCP server and its connection.

use std::io;
use std::pin::Pin;

use oxikit_core::{Action, Call, Registry, Status};
use rmcp::service::{ServerInitializeError, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::handler::ToolHandler;
use crate::input::WatchedInput;
use crate::tool::{Effect, McpTool, ToolFunction};

/// An MCP server that offers tools to one client.
///
/// ```no_run
/// use oxikit_mcp::{Effect, McpServer, McpTool};
/// use serde_json::json;
///
/// # async fn example() -> std::io::Result<()> {
/// let time = McpTool::new("uptime", "Returns the uptime in seconds.", Effect::Reads);
/// let started = std::time::Instant::now();
/// McpServer::new("clock", "1.0.0")
///     .with_instructions("Tells how long this server runs.")
///     .tool(time, move |_| async move { Ok(json!(started.elapsed().as_secs())) })
///     .serve_stdio()
///     .await
/// # }
/// ```
#[derive(Debug)]
pub struct McpServer {
    handler: ToolHandler,
}

impl McpServer {
    /// Creates a server without tools. Clients see its name and version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { handler: ToolHandler::new(name.into(), version.into()) }
    }

    /// Sets the instructions for the model: the purpose of the tools and how to begin.
    pub fn with_instructions(mut self, instructions: impl Into<String>) -> Self {
        self.handler.set_instructions(instructions.into());
        self
    }

    /// Adds a tool. A second tool of the same name replaces the first.
    ///
    /// `function` gets the arguments, which are always an object. A string that it returns is
    /// sent as text, any other value as compact JSON. A [`Status`] is sent as a result with
    /// `isError`, so that the model can read it; only public messages are sent, see
    /// [`Status::public`]. When the client cancels a call, the future is dropped.
    pub fn tool<F, Fut>(mut self, tool: McpTool, function: F) -> Self
    where
        F: Fn(Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, Status>> + Send + 'static,
    {
        self.handler.add(tool, ToolFunction::new(function));
        self
    }

    /// Adds an action as a tool, with its name, its description and the schema of its input, which
    /// is checked. It runs in this registry, as a new trace.
    ///
    /// ```
    /// use oxikit_core::{Action, ActionKind, Registry};
    /// use oxikit_mcp::{Effect, McpServer};
    ///
    /// let registry = Registry::default();
    /// let double = Action::builder(ActionKind::Tool, "double").handler(|n: u32| async move { Ok(2 * n) });
    /// let server = McpServer::new("numbers", "1.0.0").action(&registry, double, Effect::Reads);
    /// ```
    pub fn action(self, registry: &Registry, action: Action, effect: Effect) -> Self {
        let descriptor = action.descriptor();
        let description = descriptor.description.clone().unwrap_or_default();
        let tool = McpTool::new(action.name(), description, effect);
        let tool = match &descriptor.input_schema {
            Some(schema) => tool.with_input(schema.clone()),
            None => tool,
        };
        let registry = registry.clone();
        self.tool(tool, move |arguments| {
            let (action, registry) = (action.clone(), registry.clone());
            async move { action.run(Call::new(arguments).in_registry(&registry)).await?.parse() }
        })
    }

    /// Serves on the standard input and output of the process until the input ends.
    /// While it runs, nothing else may write to the standard output: logs belong on the
    /// standard error.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidData`] if the client does not begin with `initialize`. A client
    /// that closes the connection before that is not an error.
    pub async fn serve_stdio(self) -> io::Result<()> {
        self.serve(Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout())).await
    }

    /// Serves on another pair of streams, with one JSON message per line.
    ///
    /// # Errors
    ///
    /// The same as [`serve_stdio`](Self::serve_stdio).
    pub async fn serve(
        self,
        input: Box<dyn AsyncRead + Send + Unpin>,
        output: Box<dyn AsyncWrite + Send + Unpin>,
    ) -> io::Result<()> {
        let input = WatchedInput::new(input, self.handler.input_ended());
        let transport = AsyncRwTransport::new_server(input, output);
        // Without the box the compiler cannot prove that the future is `Send`.
        let handshake: Pin<Box<dyn Future<Output = _> + Send>> =
            Box::pin(serve_server(self.handler, transport));
        match handshake.await {
            Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
            // The client has closed the connection before the handshake.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error.to_string())),
        }
    }
}
