//! A server for the Model Context Protocol (MCP), which offers tools to coding agents and other
//! programs.
//!
//! ```no_run
//! use oxikit_mcp::{Effect, McpServer, McpTool};
//! use serde_json::json;
//!
//! # async fn example() -> std::io::Result<()> {
//! let add = McpTool::new("add", "Adds two numbers.", Effect::Reads).with_input(json!({
//!     "type": "object",
//!     "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
//!     "required": ["a", "b"],
//! }));
//! let server = McpServer::new("calculator", "1.0.0").tool(add, |arguments| async move {
//!     Ok(json!(arguments["a"].as_f64().unwrap_or_default() + arguments["b"].as_f64().unwrap_or_default()))
//! });
//! server.serve_stdio().await
//! # }
//! ```
//!
//! The crate `rmcp` implements the protocol. Its generic code is compiled once, in this crate,
//! and none of its types are public here. Only tools are supported: no prompts, resources or
//! sampling.

mod handler;
mod input;
mod server;
mod tool;

pub use server::McpServer;
pub use tool::{Effect, McpTool};
