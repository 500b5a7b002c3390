//! The client of MCP servers: their tools, prompts and resources as actions.

mod actions;
mod connection;
mod content;

use std::fmt;
use std::sync::Arc;

use oxikit_core::{Action, Result, Status, StatusCode};
use oxikit_wire::{JsonObject, Message, Part};
use serde_json::Value;

use connection::{Connection, Target};

/// A connection to an MCP server, whose tools, prompts and resources become ordinary actions.
/// Clones share the connection; it is closed with the last clone and the last action.
///
/// ```no_run
/// use oxikit_core::Registry;
/// use oxikit_mcp::McpClient;
///
/// # async fn example(registry: &Registry) -> oxikit_core::Result<()> {
/// let toolbox = McpClient::connect("http://127.0.0.1:5000/mcp").await?;
/// for tool in toolbox.tools().await? {
///     registry.register(tool); // called by models as any other tool
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct McpClient(Arc<Connection>);

impl McpClient {
    /// Connects to a server at this URL, by streamable HTTP. The URL is the application's own
    /// choice: it may be on this machine or in a private network.
    ///
    /// # Errors
    ///
    /// `UNAVAILABLE` if the server cannot be reached or does not speak MCP.
    pub async fn connect(url: &str) -> Result<Self> {
        Self::open(Target::Http(url.to_owned())).await
    }

    /// Starts a program and speaks to it over its standard input and output. The program ends with
    /// the connection. Its standard error is that of this process.
    ///
    /// # Errors
    ///
    /// `UNAVAILABLE` if the program cannot be started or does not speak MCP.
    pub async fn spawn<T: Into<String>>(
        program: impl Into<String>,
        arguments: impl IntoIterator<Item = T>,
    ) -> Result<Self> {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Self::open(Target::Program { program: program.into(), arguments }).await
    }

    async fn open(target: Target) -> Result<Self> {
        Ok(Self(Arc::new(Connection::open(&target).await?)))
    }

    /// The tools of the server as actions, with their descriptions and schemas. The metadata
    /// `mcp` has the hints of the server; a tool with `readOnlyHint` is declared as one that only
    /// reads.
    ///
    /// Arguments are checked against the schema before they are sent. The output is the structured
    /// content of the result, or its text: as JSON if it is JSON, several texts as a list.
    ///
    /// # Errors
    ///
    /// `UNAVAILABLE` if the connection is lost, `INTERNAL` if the server answers with an error or a
    /// schema is not valid.
    pub async fn tools(&self) -> Result<Vec<Action>> {
        let tools = self.0.tools().await?;
        tools.into_iter().map(|tool| actions::tool(self, tool)).collect()
    }

    /// The tool of this name.
    ///
    /// # Errors
    ///
    /// As [`tools`](Self::tools), and `NOT_FOUND` if the server has no such tool.
    pub async fn tool(&self, name: &str) -> Result<Action> {
        let tools = self.tools().await?;
        let names: Vec<_> = tools.iter().map(|tool| tool.name().to_owned()).collect();
        let missing = || {
            let status = Status::not_found(format!("the MCP server has no tool `{name}`"));
            status.with_hint(format!("there are: {}", names.join(", ")))
        };
        tools.into_iter().find(|tool| tool.name() == name).ok_or_else(missing)
    }

    /// Calls a tool.
    ///
    /// # Errors
    ///
    /// `FAILED_PRECONDITION` with the text of the server if the tool fails, `INVALID_ARGUMENT` if
    /// the server refuses the name or the arguments, `UNAVAILABLE` if the connection is lost.
    pub async fn call_tool(&self, name: &str, arguments: JsonObject) -> Result<Value> {
        let result = self.0.call_tool(name, arguments).await?;
        let output = content::output_of(&result);
        match result.is_error {
            Some(true) => {
                let text = match output {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                let text = format!("the tool `{name}` failed: {text}");
                Err(Status::new(StatusCode::FailedPrecondition, text))
            }
            _ => Ok(output),
        }
    }

    /// The prompts of the server as actions, which answer with their messages.
    ///
    /// # Errors
    ///
    /// As [`tools`](Self::tools).
    pub async fn prompts(&self) -> Result<Vec<Action>> {
        let prompts = self.0.prompts().await?;
        prompts.into_iter().map(|prompt| actions::prompt(self, prompt)).collect()
    }

    /// The messages of a prompt, for `Generate::messages`.
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool).
    pub async fn prompt(&self, name: &str, arguments: JsonObject) -> Result<Vec<Message>> {
        Ok(content::messages_of(self.0.prompt(name, arguments).await?))
    }

    /// The resources of the server as actions, which are found by their URIs.
    ///
    /// # Errors
    ///
    /// As [`tools`](Self::tools).
    pub async fn resources(&self) -> Result<Vec<Action>> {
        let resources = self.0.resources().await?;
        Ok(resources.into_iter().map(|resource| actions::resource(self, resource)).collect())
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool).
    pub async fn read_resource(&self, uri: &str) -> Result<Vec<Part>> {
        Ok(content::parts_of(self.0.resource(uri).await?))
    }
}

impl fmt::Debug for McpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpClient").finish_non_exhaustive()
    }
}
