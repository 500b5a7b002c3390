//! How an agent is reached.

use std::fmt;
use std::pin::Pin;

use async_trait::async_trait;
use futures_core::Stream;
use oxikit_wire::{
    AgentInit, AgentInput, AgentOutput, AgentStreamChunk, GetSnapshotRequest, SessionSnapshot,
    SnapshotStatus,
};

use crate::Result;

/// The way to an agent: in this process, or over a network.
#[async_trait]
pub trait AgentDoor: fmt::Debug + Send + Sync {
    /// Starts an invocation of one turn. It is never repeated: the agent may have
    /// begun to work when this fails.
    async fn invoke(&self, init: AgentInit, input: AgentInput) -> Result<Invocation>;

    /// Reads a snapshot; `NOT_FOUND` if there is no such.
    async fn snapshot(&self, request: GetSnapshotRequest) -> Result<SessionSnapshot>;

    /// Stops detached work. Answers the status before; none if there is no such
    /// snapshot.
    async fn abort(&self, snapshot_id: &str) -> Result<Option<SnapshotStatus>>;
}

/// A running invocation: chunks, then the output. Dropping it cancels the turn.
pub type Invocation = Pin<Box<dyn Stream<Item = Result<AgentEvent>> + Send>>;

/// What an invocation yields: any number of chunks, then its output. An error is
/// the end, too.
#[derive(Debug, Clone)]
pub enum AgentEvent {
    /// A piece of the turn.
    Chunk(AgentStreamChunk),
    /// How the turn ended, well or not.
    Done(AgentOutput),
}
