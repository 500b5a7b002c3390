//! The server.

use std::io;
use std::pin::Pin;

use oxikit_core::Status;
use rmcp::service::{ServerInitializeError, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::handler::Tools;
use crate::input::WatchedInput;
use crate::tool::{McpTool, ToolCode};

/// Serves tools to one client.
#[derive(Debug)]
pub struct McpServer {
    tools: Tools,
}

impl McpServer {
    /// A server without tools; clients see its name and version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { tools: Tools::new(name.into(), version.into()) }
    }

    /// With a text for the model: what the tools are for, and where to begin.
    pub fn with_instructions(mut self, instructions: impl Into<String>) -> Self {
        self.tools.set_instructions(instructions.into());
        self
    }

    /// With this tool. Its code gets the arguments, always an object, and answers a
    /// text, which is told as it is, or another value, which is told as compact JSON.
    /// A [`Status`] becomes a result that is marked as an error, for the model to
    /// read. A call that is given up drops the future.
    ///
    /// A second tool of the same name takes the place of the first.
    pub fn tool<F, Fut>(mut self, tool: McpTool, code: F) -> Self
    where
        F: Fn(Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, Status>> + Send + 'static,
    {
        self.tools.add(tool, ToolCode::new(code));
        self
    }

    /// Serves on the standard input and output of the process until the input ends.
    /// Nothing else may write to the output meanwhile.
    ///
    /// # Errors
    ///
    /// If the client does not begin as the protocol wants.
    pub async fn serve_stdio(self) -> io::Result<()> {
        self.serve(Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout())).await
    }

    /// The same on another pair of streams, one message a line.
    ///
    /// # Errors
    ///
    /// As [`serve_stdio`](Self::serve_stdio).
    pub async fn serve(
        self,
        input: Box<dyn AsyncRead + Send + Unpin>,
        output: Box<dyn AsyncWrite + Send + Unpin>,
    ) -> io::Result<()> {
        let input = WatchedInput::new(input, self.tools.client_left());
        let transport = AsyncRwTransport::new_server(input, output);
        // Boxed: the compiler does not see through it that it can be sent.
        let greeting: Pin<Box<dyn Future<Output = _> + Send>> =
            Box::pin(serve_server(self.tools, transport));
        match greeting.await {
            Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
            // One that only looked is no error.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error.to_string())),
        }
    }
}
