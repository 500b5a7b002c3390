//! The transport between a chat and its agent.

use std::fmt;
use std::pin::Pin;

use async_trait::async_trait;
use futures_core::Stream;
use oxikit_wire::{
    AgentInit, AgentInput, AgentOutput, AgentStreamChunk, GetSnapshotRequest, SessionSnapshot,
    SnapshotStatus,
};

use crate::{Result, Status};

/// The transport between a [`Chat`](super::Chat) and an agent: a call in this process, or requests
/// over a network.
///
/// A transport only moves data. Retries while the agent is busy, the history, and the choice of the
/// snapshot to continue from belong to the chat.
#[async_trait]
pub trait AgentTransport: fmt::Debug + Send + Sync {
    /// Starts an invocation of one turn. A transport must not repeat it: the agent may have
    /// started to work when this fails.
    async fn invoke(&self, init: AgentInit, input: AgentInput) -> Result<Invocation>;

    /// Reads a snapshot; `NOT_FOUND` if it does not exist.
    async fn snapshot(&self, request: GetSnapshotRequest) -> Result<SessionSnapshot>;

    /// Stops detached work. Returns its previous status, or `None` if the snapshot does not exist.
    async fn abort(&self, snapshot_id: &str) -> Result<Option<SnapshotStatus>>;
}

/// A running invocation: chunks, then the output. Dropping it cancels the turn.
pub type Invocation = Pin<Box<dyn Stream<Item = Result<AgentEvent>> + Send>>;

/// An item of an [`Invocation`]: any number of chunks, then the output. An error also ends it.
#[derive(Debug, Clone)]
pub enum AgentEvent {
    /// A piece of the turn.
    Chunk(AgentStreamChunk),
    /// A chunk that is not an [`AgentStreamChunk`]. The turn goes on.
    Unreadable(Status),
    /// The result of the turn, success or failure.
    Done(AgentOutput),
}
