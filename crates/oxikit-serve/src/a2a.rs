//! Agents that other agents call: the Agent2Agent protocol (A2A), versions 0.3 and 1.0.
//!
//! ```
//! use oxikit::prelude::*;
//! use oxikit_serve::Server;
//! use oxikit_serve::a2a::A2aAgent;
//!
//! # fn example(ai: Oxikit, support: Agent) {
//! let server = Server::new(&ai).a2a(A2aAgent::new(&support));
//! # }
//! ```
//!
//! Both versions are served at the same URL: the JSON-RPC method, or the path of the HTTP
//! binding, tells the version. With the feature `a2a-grpc` the first agent is also served over
//! gRPC on the same port, and the others by their name as the tenant.
//!
//! A task is a numbered log of events behind [`TaskStore`](oxikit_core::ports::TaskStore).
//! Blocking calls, streams, polling and webhooks are readers of that log, so that a client that
//! loses its connection, or whose server is restarted, goes on where it was.

mod agent;
mod agent_options;
mod agents;
mod card;
mod content;
mod event_stream;
mod executor;
mod extensions;
mod follower;
mod form;
#[cfg(feature = "a2a-grpc")]
mod grpc;
#[cfg(feature = "a2a-grpc")]
mod grpc_interfaces;
mod http;
mod incoming;
mod jsonrpc;
mod methods;
mod presence;
#[cfg(not(feature = "a2a-push"))]
#[path = "a2a/no_push.rs"]
mod push;
#[cfg(feature = "a2a-push")]
mod push;
mod refusal;
mod rest;
mod runner;
mod service;
#[cfg(feature = "jwt")]
mod signer;
#[cfg(not(feature = "jwt"))]
#[path = "a2a/no_signer.rs"]
mod signer;
mod storage;
mod task_writer;
mod updates;
mod upkeep;

pub use agent_options::A2aAgent;
pub use executor::{AgentExecutor, TaskTurn};
#[cfg(feature = "a2a-push")]
pub use oxikit_outgoing::{OutgoingClient, OutgoingPolicy};
#[cfg(feature = "a2a-push")]
pub use push::PushNotifications;
#[cfg(feature = "jwt")]
pub use signer::CardSigner;
pub use updates::{Chunk, TaskUpdates};

pub use oxikit_wire::a2a::{
    AgentExtension, AgentSkill, Artifact, Message, Part, PartContent, Role, Task, TaskState,
    TaskStatus,
};

pub(crate) use agents::{A2a, Options};
#[cfg(feature = "a2a-grpc")]
pub(crate) use grpc::routes as grpc_routes;
pub(crate) use http::routes;
