//! Integration tests of the developer tools.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(unix)]
mod cli;
mod manager;
mod server;
mod telemetry;
