//! Integration tests of the server.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod durable;
mod kit;
mod protocol;
