//! Integration tests of the client: scripted servers that speak every dialect,
//! and oxikit's own server.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod a2a;
mod agent_replay;
mod agent_server;
mod durable;
mod errors;
mod limits;
mod oxikit_server;
// The canary, the name server and the forms of URLs are those of the tests of outgoing requests.
#[allow(dead_code, reason = "not all of it is used here")]
#[path = "../../../oxikit-outgoing/tests/it/peer.rs"]
mod outgoing_peer;
mod peer;
mod prompt_manager;
mod tolerance;
// The same agents are talked to without a network in the tests of the core.
#[path = "../../../oxikit-core/tests/it/toy_agent.rs"]
mod toy_agent;
#[path = "../../../oxikit-outgoing/tests/it/url_forms.rs"]
mod url_forms;
