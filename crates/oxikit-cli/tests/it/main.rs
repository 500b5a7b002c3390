//! Tests that run the `oxikit` command as a separate process.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "the rules are for the program, not for its tests"
)]

mod a2a;
mod advice;
mod approvals;
mod demo;
mod eval;
mod hostile;
mod hostile_files;
mod kit;
mod mcp;
mod mcp_kit;
mod planted;
mod prompt;
mod prompt_server;
mod repair;
mod sessions;
mod start;
mod unread;
mod usage;
mod watch;
