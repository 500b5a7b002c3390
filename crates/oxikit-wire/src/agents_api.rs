//! The REST API for agents and their sessions.
//!
//! The members are those of Genkit's proposal for it; members that oxikit adds are marked
//! as an addition. Times are milliseconds since 1970. Servers of oxikit write these types, its
//! client and command line read them.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::absent::null_is_default;
use crate::part::present;
use crate::{
    AgentFinishReason, AgentOutput, Artifact, JsonObject, JsonPatch, Message, RuntimeError,
    SessionState, SnapshotStatus,
};

/// `GET /api/agents`: all agents by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentList {
    /// The agents.
    pub agents: BTreeMap<String, AgentSummary>,
}

/// An agent in a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSummary {
    /// Its name.
    pub name: String,
    /// Description for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the server keeps its sessions.
    pub has_store: bool,
    /// Name of the kind of store, such as `memory`; absent without a store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_type: Option<String>,
    /// Metadata of the action.
    #[serde(default, deserialize_with = "null_is_default")]
    pub metadata: JsonObject,
}

/// `GET /api/agents/{agent}`: one agent with its schemas.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentDetails {
    /// Its name.
    pub name: String,
    /// Description for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the server keeps its sessions.
    pub has_store: bool,
    /// Name of the kind of store, such as `memory`; absent without a store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_type: Option<String>,
    /// JSON Schema of the starting point of an invocation.
    pub init_schema: Value,
    /// JSON Schema of one turn.
    pub input_schema: Value,
    /// JSON Schema of the output of an invocation.
    pub output_schema: Value,
    /// JSON Schema of the chunks of an invocation's stream.
    pub stream_schema: Value,
    /// Metadata of the action.
    #[serde(default, deserialize_with = "null_is_default")]
    pub metadata: JsonObject,
}

/// Activity of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SessionActivity {
    /// A detached turn runs, or a tool waits for a response from outside.
    Active,
    /// No turn runs; another one may follow.
    Completed,
}

/// `GET /api/agents/{agent}/sessions`: a page of sessions, those written last first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionList {
    /// The sessions.
    pub sessions: Vec<SessionInfo>,
    /// Token that a request for the next page sends; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation_token: Option<String>,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// The session.
    pub session_id: String,
    /// The agent it belongs to.
    pub agent_name: String,
    /// When its first snapshot was written.
    #[serde(deserialize_with = "crate::number::integer")]
    pub created_at: u64,
    /// When its latest snapshot was written.
    #[serde(deserialize_with = "crate::number::integer")]
    pub updated_at: u64,
    /// Whether a turn runs or waits for a response.
    pub status: SessionActivity,
    /// Number of messages.
    #[serde(deserialize_with = "crate::number::integer")]
    pub message_count: usize,
    /// Whether it has artifacts.
    pub has_artifacts: bool,
    /// Members of any names about the session. oxikit adds `snapshotId` and `snapshotCount`.
    pub metadata: JsonObject,
    /// An addition: the latest snapshot's status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_status: Option<SnapshotStatus>,
    /// An addition: why the latest turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<AgentFinishReason>,
}

/// `GET /api/agents/{agent}/sessions/{session}`: a session with its content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDetails {
    /// The session.
    pub session_id: String,
    /// The agent it belongs to.
    pub agent_name: String,
    /// When its first snapshot was written.
    #[serde(deserialize_with = "crate::number::integer")]
    pub created_at: u64,
    /// When its latest snapshot was written.
    #[serde(deserialize_with = "crate::number::integer")]
    pub updated_at: u64,
    /// Whether a turn runs or waits for a response.
    pub status: SessionActivity,
    /// Members of the custom state, and `artifacts`. A custom state that is not an
    /// object, or has its own member `artifacts`, is in the member `custom`.
    pub state: JsonObject,
    /// The conversation, under `main`.
    pub threads: BTreeMap<String, Vec<Arc<Message>>>,
    /// Members of any names about the session.
    pub metadata: JsonObject,
    /// An addition: the latest snapshot.
    pub snapshot_id: String,
    /// An addition: the latest snapshot's status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_status: Option<SnapshotStatus>,
    /// An addition: why the latest turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<AgentFinishReason>,
    /// An addition: why the latest turn failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RuntimeError>,
    /// An addition: all snapshots, in the order they were written.
    pub snapshots: Vec<SnapshotInfo>,
}

/// A snapshot without its content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotInfo {
    /// The snapshot.
    pub snapshot_id: String,
    /// The snapshot that its turn continued from; absent for the first of a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// Progress of its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<SnapshotStatus>,
    /// Why its turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<AgentFinishReason>,
    /// When it was first written.
    #[serde(deserialize_with = "crate::number::integer")]
    pub created_at: u64,
    /// Number of messages.
    #[serde(deserialize_with = "crate::number::integer")]
    pub message_count: usize,
    /// Snapshots whose turns continued from this one; several mean that the session forked.
    #[serde(default, deserialize_with = "null_is_default")]
    pub children: Vec<String>,
}

/// `GET …/sessions/{session}/tree`: the forks of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotTree {
    /// The session.
    pub session_id: String,
    /// The agent it belongs to.
    pub agent_name: String,
    /// The latest snapshot, from which the next turn of the session continues.
    pub snapshot_id: String,
    /// All snapshots, in the order they were written.
    pub snapshots: Vec<SnapshotInfo>,
}

/// `GET …/snapshots/{snapshot}/diff`: the changes of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotDiff {
    /// The session.
    pub session_id: String,
    /// The snapshot.
    pub snapshot_id: String,
    /// The snapshot of the comparison; absent for a first snapshot, which is compared
    /// with an empty state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// The changes that turn the parent's state into the state of the snapshot.
    pub patch: JsonPatch,
}

/// `DELETE …/sessions/{session}`: the session was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeleted {
    /// Always true.
    pub success: bool,
    /// The session.
    pub session_id: String,
}

/// `POST …/sessions/{session}/abort`: the turns that were asked to stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionAborted {
    /// The session.
    pub session_id: String,
    /// The pending snapshot, or else the latest one.
    pub snapshot_id: String,
    /// Its status before the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<SnapshotStatus>,
    /// All snapshots whose turns were aborted.
    pub aborted: Vec<String>,
}

/// `POST …/sessions/{session}/fork`, an addition: a new session with the state of a snapshot
/// of another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionForked {
    /// The new session.
    pub session_id: String,
    /// Its only snapshot, with the same state as `parentSnapshotId`.
    pub snapshot_id: String,
    /// The session that it was made from.
    pub parent_session_id: String,
    /// The snapshot that it was made from.
    pub parent_snapshot_id: String,
}

/// `POST /api/agents/{agent}/execute`: one turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecuteRequest {
    /// A message, a text, or an input with `message`, `resume` or `detach`.
    pub input: Value,
    /// The starting point of the turn; a new session if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init: Option<ExecuteInit>,
    /// Whether the response is a stream of events (SSE).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Attributes of the trace's root span.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry_labels: Option<JsonObject>,
}

/// The starting point of a turn. If the server keeps the sessions, `sessionId` or
/// `snapshotId` names it; otherwise the other members contain the state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecuteInit {
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// An addition: the snapshot. If it is not the latest one, the session forks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<String>,
    /// The conversation so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<Arc<Message>>>,
    /// The custom state, or a whole state with `messages`, `custom` or `artifacts`.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    /// The artifacts that the agent has produced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Arc<Artifact>>>,
}

/// The response to an [`ExecuteRequest`] that does not stream.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecuteResponse {
    /// The result of the turn.
    pub result: ExecuteResult,
    /// The ids of its trace.
    pub telemetry: Telemetry,
}

/// The result of a turn; also the event `done`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecuteResult {
    /// The session; absent if the turn failed before there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The conversation. This and the next two are absent if the snapshot could not
    /// be read although the turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<Arc<Message>>>,
    /// The custom state.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub state: Option<Arc<Value>>,
    /// The artifacts that the agent has produced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Arc<Artifact>>>,
    /// An addition: the last snapshot that completed, if the server keeps the sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<String>,
    /// An addition: why the turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<AgentFinishReason>,
    /// An addition: only the last message of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Arc<Message>>,
    /// An addition: why the turn failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RuntimeError>,
}

impl ExecuteResult {
    /// Joins the output of a turn with the whole state after it. `state` is `None` if the
    /// snapshot could not be read; the members that come from it are absent then, and not empty.
    pub fn new(output: AgentOutput, state: Option<SessionState>) -> Self {
        let mut result = Self {
            session_id: output.session_id,
            snapshot_id: output.snapshot_id,
            finish_reason: output.finish_reason,
            message: output.message,
            error: output.error,
            ..Self::default()
        };
        if let Some(state) = state {
            result.messages = Some(state.messages.unwrap_or_default());
            result.state = Some(state.custom.unwrap_or_else(|| Arc::new(json!({}))));
            result.artifacts = Some(state.artifacts.unwrap_or_default());
        }
        result
    }
}

/// The ids of the trace of a turn; also the event `telemetry`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Telemetry {
    /// The trace.
    pub trace_id: String,
    /// The turn's span in it.
    pub span_id: String,
}
