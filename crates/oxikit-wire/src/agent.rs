//! Input, output and stream of agent actions, and of the actions that read and abort their
//! snapshots.
//!
//! The official Python client rejects members that it does not know, at any
//! depth: no member may be added to the types that are sent.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AgentFinishReason, Artifact, GenerateResponseChunk, JsonPatch, Message, Part, RuntimeError,
    SessionState, SnapshotStatus,
};

/// The starting point of an invocation. Without any member a new session starts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentInit {
    /// The snapshot to continue from. If it is not the latest of its session, the session forks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<String>,
    /// The session to continue from its latest snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The state to continue from, for agents whose state is kept by the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<SessionState>,
}

/// One turn of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentInput {
    /// The message of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Arc<Message>>,
    /// Answers to the interrupts of the turn before, instead of a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<AgentResume>,
    /// Whether the turn continues in the background after the caller has got its response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detach: Option<bool>,
}

/// Answers to interrupts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentResume {
    /// Tool responses given from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub respond: Option<Vec<Part>>,
    /// Tool requests to be run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<Vec<Part>>,
}

/// The output of an invocation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentOutput {
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The last snapshot that completed, if the server keeps the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<String>,
    /// The last state that completed, if the client keeps the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<SessionState>,
    /// The last message of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Arc<Message>>,
    /// The artifacts that the agent has produced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Arc<Artifact>>>,
    /// Why the last turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<AgentFinishReason>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RuntimeError>,
}

/// A chunk of the stream of an invocation: exactly one member is set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentStreamChunk {
    /// A chunk of a message of the model or of a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_chunk: Option<GenerateResponseChunk>,
    /// A change of the custom state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_patch: Option<JsonPatch>,
    /// An artifact that is new or replaces the one of the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Arc<Artifact>>,
    /// The end of a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_end: Option<TurnEnd>,
}

impl AgentStreamChunk {
    /// All text of the chunk; empty if it is not a model chunk.
    pub fn to_text(&self) -> String {
        self.model_chunk.as_ref().map(GenerateResponseChunk::to_text).unwrap_or_default()
    }
}

/// The end of a turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnEnd {
    /// The snapshot of the turn, if the server keeps the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<String>,
    /// Why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<AgentFinishReason>,
}

/// Asks for a snapshot: exactly one member is set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetSnapshotRequest {
    /// The snapshot itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<String>,
    /// The session whose latest snapshot is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// Asks a detached turn to stop.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentAbortRequest {
    /// The pending snapshot of the turn.
    pub snapshot_id: String,
}

/// The response to an [`AgentAbortRequest`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentAbortResponse {
    /// The snapshot.
    pub snapshot_id: String,
    /// Its status before the request; absent if there is no such snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<SnapshotStatus>,
}

/// The member `agent` of an agent's metadata.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentMetadata {
    /// The side that keeps the state of sessions.
    pub state_management: StateManagement,
    /// Whether detached turns can be aborted.
    pub abortable: bool,
    /// JSON Schema of the custom state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_schema: Option<Value>,
}

/// The side that keeps the state of an agent's sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StateManagement {
    /// The server, in a store.
    Server,
    /// The client, which sends it with every turn.
    Client,
}
