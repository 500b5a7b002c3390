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
//! and none of its types are public here. The server has only tools: no prompts, resources or
//! sampling.
//!
//! With the feature `client`, `McpClient` makes actions of the tools, prompts and resources of any
//! MCP server.

// Says on docs.rs which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "client")]
mod client;
mod handler;
mod input;
mod server;
mod tool;

#[cfg(feature = "client")]
pub use client::McpClient;
pub use server::McpServer;
pub use tool::{Effect, McpTool};
