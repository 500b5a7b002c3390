//! Calls agents of other programs: the client of the Agent2Agent protocol (A2A), versions 1.0
//! and 0.3.
//!
//! ```no_run
//! use oxikit_client::a2a::{A2aClient, OutgoingMessage};
//!
//! # async fn example() -> oxikit_client::Result<()> {
//! let agent = A2aClient::connect("https://agents.example/a2a/coder").await?;
//! println!("{}: {}", agent.card().name, agent.card().description);
//! let reply = agent.send("Sort a list in Rust").await?;
//! println!("{}", reply.text());
//!
//! // The same conversation goes on, and the answer is read while it is written.
//! let question = OutgoingMessage::new("And in reverse?").follow(&reply);
//! let mut stream = agent.send_stream(question).await?;
//! while let Some(event) = stream.next().await {
//!     println!("{:?}", event?);
//! }
//! # Ok(()) }
//! ```
//!
//! The JSON-RPC and HTTP+JSON bindings are spoken, and gRPC with the feature `a2a-grpc`. Actions and agents of Genkit servers are called with
//! [`RemoteAction`](crate::RemoteAction) and [`RemoteAgent`](crate::RemoteAgent) instead.

mod binding;
mod builder;
mod call;
mod card;
mod catch_up;
mod client;
mod codec;
mod credentials;
mod dispatch;
mod endpoint;
mod error;
mod events;
mod follow;
#[cfg(feature = "a2a-grpc")]
mod grpc;
#[cfg(feature = "a2a-grpc")]
mod grpc_messages;
#[cfg(feature = "a2a-grpc")]
mod grpc_status;
#[cfg(feature = "a2a-grpc")]
mod grpc_stream;
mod guard;
mod http;
mod http_json;
mod jsonrpc;
mod link;
mod message;
mod observer;
mod problems;
mod progress;
mod push;
mod reply;
mod stream;
mod streaming;
mod tool;
#[cfg(feature = "signed-cards")]
mod verifier;

pub use binding::Binding;
pub use builder::{A2aBuilder, FoundCard};
pub use client::A2aClient;
pub use error::error_kind;
pub use link::Refusal;
pub use message::OutgoingMessage;
pub use observer::RawExchange;
pub use oxikit_outgoing::{OutgoingClient, OutgoingPolicy};
pub use oxikit_wire::a2a::{
    AgentCard, AgentInterface, AgentSkill, Artifact, ArtifactUpdate, AuthenticationInfo, ErrorKind,
    ListTasksRequest, ListTasksResponse, Message, Part, PartContent, PushConfig, Role,
    StatusUpdate, StreamResponse, Task, TaskState, TaskStatus, Version,
};
pub use problems::card_problems;
pub use reply::A2aReply;
pub use stream::A2aStream;
#[cfg(feature = "signed-cards")]
pub use verifier::{CardVerifier, SignatureInfo, VerifiedCard};
