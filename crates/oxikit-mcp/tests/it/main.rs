//! Integration tests of MCP servers.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod kit;
mod server;
