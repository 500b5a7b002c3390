//! The `oxikit` command, as a process of its own.

mod demo;
mod eval;
mod kit;
mod mcp;
mod mcp_kit;
mod planted;
mod repair;
mod sessions;
mod start;
mod usage;
mod watch;
