//! Integration tests of the server.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod durable;
#[cfg(feature = "jwt")]
mod jwt;
mod kit;
mod openapi;
mod operations;
mod protocol;
