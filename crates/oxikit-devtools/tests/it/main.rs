//! Integration tests of the developer tools.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "these are no tools")]

#[cfg(unix)]
mod cli;
mod manager;
mod server;
mod telemetry;
