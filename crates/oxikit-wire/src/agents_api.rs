//! The REST API for agents and their sessions.
//!
//! The members are those of Genkit's proposal for it; what oxikit adds is marked
//! as an addition. Times are milliseconds since 1970.

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
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the server keeps its sessions.
    pub has_store: bool,
    /// What the store calls itself, such as `memory`.
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
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the server keeps its sessions.
    pub has_store: bool,
    /// What the store calls itself, such as `memory`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_type: Option<String>,
    /// JSON Schema of what an invocation starts from.
    pub init_schema: Value,
    /// JSON Schema of one turn.
    pub input_schema: Value,
    /// JSON Schema of what an invocation answers.
    pub output_schema: Value,
    /// JSON Schema of the pieces of an invocation.
    pub stream_schema: Value,
    /// Metadata of the action.
    #[serde(default, deserialize_with = "null_is_default")]
    pub metadata: JsonObject,
}

/// Whether a session waits for something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SessionActivity {
    /// Detached work goes on, or a tool waits for an answer.
    Active,
    /// Nothing goes on; another turn may follow.
    Completed,
}

/// `GET /api/agents/{agent}/sessions`: a page of sessions, those written last first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionList {
    /// The sessions.
    pub sessions: Vec<SessionInfo>,
    /// Asks for the next page; absent on the last one.
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
    /// Whether it waits for something.
    pub status: SessionActivity,
    /// How many messages it has.
    #[serde(deserialize_with = "crate::number::integer")]
    pub message_count: usize,
    /// Whether it has artifacts.
    pub has_artifacts: bool,
    /// Notes on the session; added are `snapshotId` and `snapshotCount`.
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
    /// Whether it waits for something.
    pub status: SessionActivity,
    /// Members of the custom state, and `artifacts`. A custom state that is no
    /// object, or has `artifacts` of its own, is under `custom`.
    pub state: JsonObject,
    /// The conversation, under `main`.
    pub threads: BTreeMap<String, Vec<Arc<Message>>>,
    /// Notes on the session.
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
    /// The one that its turn went on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// How far its turn is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<SnapshotStatus>,
    /// Why its turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<AgentFinishReason>,
    /// When it was first written.
    #[serde(deserialize_with = "crate::number::integer")]
    pub created_at: u64,
    /// How many messages it has.
    #[serde(deserialize_with = "crate::number::integer")]
    pub message_count: usize,
    /// Snapshots whose turns went on from here; more than one is a fork.
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
    /// The latest snapshot: a turn on the session goes on from here.
    pub snapshot_id: String,
    /// All snapshots, in the order they were written.
    pub snapshots: Vec<SnapshotInfo>,
}

/// `GET …/snapshots/{snapshot}/diff`: what a turn has changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotDiff {
    /// The session.
    pub session_id: String,
    /// The snapshot.
    pub snapshot_id: String,
    /// What it is compared with; absent for a first snapshot, which is compared
    /// with nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// Makes the state of the parent that of the snapshot.
    pub patch: JsonPatch,
}

/// `DELETE …/sessions/{session}`: the session is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeleted {
    /// Always true.
    pub success: bool,
    /// The session.
    pub session_id: String,
}

/// `POST …/sessions/{session}/abort`: what there was to stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionAborted {
    /// The session.
    pub session_id: String,
    /// The pending snapshot, or else the latest one.
    pub snapshot_id: String,
    /// Its status before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<SnapshotStatus>,
    /// All snapshots whose work was stopped.
    pub aborted: Vec<String>,
}

/// `POST …/sessions/{session}/fork`, an addition: a new session that begins where
/// another one was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionForked {
    /// The new session.
    pub session_id: String,
    /// Its only snapshot, with the state of the other one.
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
    /// What the turn goes on from; nothing is a new session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init: Option<ExecuteInit>,
    /// Whether to answer with events as they come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Attributes of the trace's root span.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry_labels: Option<JsonObject>,
}

/// What a turn goes on from. If the server keeps the sessions: `sessionId` or
/// `snapshotId`; else the other members.
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
    /// What the agent has made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Arc<Artifact>>>,
}

/// The answer to a turn as a whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExecuteResponse {
    /// What came of it.
    pub result: ExecuteResult,
    /// Where its trace is.
    pub telemetry: Telemetry,
}

/// What came of a turn; also the event `done`.
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
    /// What the agent has made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Arc<Artifact>>>,
    /// An addition: the last good snapshot, if the server keeps the sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<String>,
    /// An addition: why the turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<AgentFinishReason>,
    /// An addition: the answer alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Arc<Message>>,
    /// An addition: why the turn failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RuntimeError>,
}

impl ExecuteResult {
    /// What came of a turn, with the whole state behind it if that could be read.
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

/// Where the trace of a turn is; also the event `telemetry`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Telemetry {
    /// The trace.
    pub trace_id: String,
    /// The turn's span in it.
    pub span_id: String,
}
