//! The studio's own tools as an MCP server, for coding agents and other programs.

use oxikit::mcp::{Effect, McpServer};

use crate::{App, tools};

/// A server with the web and file tools of the studio.
pub fn server(app: &App) -> McpServer {
    let registry = app.ai.registry();
    let server = McpServer::new("research-studio", env!("CARGO_PKG_VERSION"))
        .with_instructions("Reads pages, feeds, documents and the weather.");
    let actions = tools::NAMES.iter().filter_map(|name| registry.get(&format!("/tool/{name}")));
    actions.fold(server, |server, action| server.action(registry, action, Effect::Reads))
}
