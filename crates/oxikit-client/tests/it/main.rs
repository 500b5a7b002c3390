//! Integration tests of the client: scripted servers that speak every dialect,
//! and oxikit's own server.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod durable;
mod errors;
mod limits;
mod oxikit_server;
mod peer;
mod tolerance;
