//! What agents are asked and what they answer.
//!
//! The official Python client refuses members that it does not know, at any
//! depth: nothing may be added to what is sent here.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AgentFinishReason, Artifact, GenerateResponseChunk, JsonPatch, Message, Part, RuntimeError,
    SessionState, SnapshotStatus,
};

/// What an invocation starts from. Nothing at all: a new session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentInit {
    /// The snapshot to go on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<String>,
    /// The session whose latest snapshot to go on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The state to go on from, kept by the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<SessionState>,
}

/// One turn of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentInput {
    /// What the user says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Arc<Message>>,
    /// Answers to the interrupts of the turn before, instead of a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<AgentResume>,
    /// Whether the work goes on without the caller.
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

/// What an invocation answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentOutput {
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The last good snapshot, if the server keeps the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<String>,
    /// The last good state, if the client keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<SessionState>,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Arc<Message>>,
    /// What the agent has made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Arc<Artifact>>>,
    /// Why the last turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<AgentFinishReason>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RuntimeError>,
}

/// A piece of an invocation: exactly one member is set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentStreamChunk {
    /// A piece of what the model or a tool says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_chunk: Option<GenerateResponseChunk>,
    /// A change of the custom state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_patch: Option<JsonPatch>,
    /// Something that the agent has made or made anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Arc<Artifact>>,
    /// A turn is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_end: Option<TurnEnd>,
}

impl AgentStreamChunk {
    /// All text of the piece; none if it is a piece of another kind.
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

/// Asks detached work to stop.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentAbortRequest {
    /// Its snapshot.
    pub snapshot_id: String,
}

/// What there was to stop.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentAbortResponse {
    /// The snapshot.
    pub snapshot_id: String,
    /// Its status before; absent if there is no such snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<SnapshotStatus>,
}

/// The member `agent` of an agent's metadata.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentMetadata {
    /// Who keeps the state.
    pub state_management: StateManagement,
    /// Whether detached work can be stopped.
    pub abortable: bool,
    /// JSON Schema of the custom state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_schema: Option<Value>,
}

/// Who keeps the state of an agent's sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StateManagement {
    /// The server, in a store.
    Server,
    /// The client, which sends it with every turn.
    Client,
}
