//! Integration tests of the developer tools.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod manager;
mod server;
