//! Integration tests of the client: scripted servers that speak every dialect,
//! and oxikit's own server.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agent_replay;
mod agent_server;
mod durable;
mod errors;
mod limits;
mod oxikit_server;
mod peer;
mod tolerance;
// The same agents are talked to without a network in the tests of the core.
#[path = "../../../oxikit-core/tests/it/toy_agent.rs"]
mod toy_agent;
