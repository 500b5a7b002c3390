//! Integration tests of the developer tools.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "tests read their own files")]

#[cfg(unix)]
mod cli;
mod manager;
mod server;
mod telemetry;
