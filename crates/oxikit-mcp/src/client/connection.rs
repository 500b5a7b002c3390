//! The connection to a server. This file and `content.rs` are the only ones of the client that know
//! rmcp, whose generic code is compiled here once.

use std::pin::Pin;
use std::time::Duration;

use oxikit_core::{Result, Status, StatusCode};
use oxikit_wire::JsonObject;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig,
    GetPromptRequestParams, GetPromptResult, Implementation, Prompt, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResult, Resource, Tool,
};
use rmcp::service::{ClientInitializeError, RunningService, serve_client_with_lifecycle};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientLifecycleMode, RoleClient, ServiceError};

/// Timeout of the handshake.
const START: Duration = Duration::from_secs(20);

/// Where the server is.
pub(super) enum Target {
    Http(String),
    Program { program: String, arguments: Vec<String> },
}

pub(super) struct Connection(RunningService<RoleClient, ClientConfig>);

type Opened = Result<RunningService<RoleClient, ClientConfig>, ClientInitializeError>;
type Opening = Pin<Box<dyn Future<Output = Opened> + Send>>;

impl Connection {
    /// Connects with the handshake that all servers of today have. A server that refuses it is
    /// asked for a newer version of the protocol, over a new connection.
    pub(super) async fn open(target: &Target) -> Result<Self> {
        match open_with(target, ClientLifecycleMode::Initialize).await {
            Ok(connection) => Ok(connection),
            Err(first) => {
                let preferred_versions = ProtocolVersion::KNOWN_VERSIONS.to_vec();
                let discover = ClientLifecycleMode::Discover { preferred_versions };
                open_with(target, discover).await.map_err(|_| first)
            }
        }
    }

    pub(super) async fn tools(&self) -> Result<Vec<Tool>> {
        self.0.list_all_tools().await.map_err(status_of)
    }

    pub(super) async fn prompts(&self) -> Result<Vec<Prompt>> {
        self.0.list_all_prompts().await.map_err(status_of)
    }

    pub(super) async fn resources(&self) -> Result<Vec<Resource>> {
        self.0.list_all_resources().await.map_err(status_of)
    }

    pub(super) async fn call_tool(
        &self,
        name: &str,
        arguments: JsonObject,
    ) -> Result<CallToolResult> {
        let request = CallToolRequestParams::new(name.to_owned()).with_arguments(arguments);
        self.0.call_tool(request).await.map_err(status_of)
    }

    pub(super) async fn prompt(
        &self,
        name: &str,
        arguments: JsonObject,
    ) -> Result<GetPromptResult> {
        let request = GetPromptRequestParams::new(name).with_arguments(arguments);
        self.0.get_prompt(request).await.map_err(status_of)
    }

    pub(super) async fn resource(&self, uri: &str) -> Result<ReadResourceResult> {
        self.0.read_resource(ReadResourceRequestParams::new(uri)).await.map_err(status_of)
    }
}

async fn open_with(target: &Target, lifecycle: ClientLifecycleMode) -> Result<Connection> {
    let name = Implementation::new("oxikit", env!("CARGO_PKG_VERSION"));
    let mut config = ClientConfig::new(ClientCapabilities::default(), name);
    config.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
    let opening: Opening = match target {
        Target::Http(url) => {
            let transport = StreamableHttpClientTransport::from_uri(url.as_str());
            Box::pin(serve_client_with_lifecycle(config, transport, lifecycle))
        }
        Target::Program { program, arguments } => {
            let mut command = tokio::process::Command::new(program);
            command.args(arguments);
            let transport = TokioChildProcess::new(command).map_err(|error| {
                unavailable(format!("`{program}` cannot be started: {error}")).caused_by(error)
            })?;
            Box::pin(serve_client_with_lifecycle(config, transport, lifecycle))
        }
    };
    match tokio::time::timeout(START, opening).await {
        Ok(Ok(service)) => Ok(Connection(service)),
        Ok(Err(error)) => {
            Err(unavailable(format!("the MCP server cannot be reached: {error}")).caused_by(error))
        }
        Err(_) => Err(unavailable("the MCP server does not answer the handshake".to_owned())),
    }
}

fn unavailable(text: String) -> Status {
    Status::new(StatusCode::Unavailable, text)
}

/// The error of a request. What the server says is not public: it may name what is inside of it.
fn status_of(error: ServiceError) -> Status {
    /// The code of JSON-RPC for an unknown tool or wrong arguments.
    const INVALID_PARAMS: i32 = -32602;
    let code = match &error {
        ServiceError::McpError(error) if error.code.0 == INVALID_PARAMS => {
            StatusCode::InvalidArgument
        }
        ServiceError::McpError(_) => StatusCode::Internal,
        ServiceError::Cancelled { .. } => StatusCode::Cancelled,
        ServiceError::Timeout { .. } => StatusCode::DeadlineExceeded,
        _ => StatusCode::Unavailable,
    };
    Status::new(code, format!("the MCP server has not answered the request: {error}"))
        .caused_by(error)
}
