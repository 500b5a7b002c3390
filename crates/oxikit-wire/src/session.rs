//! Sessions of agents: their state, and snapshots of it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::part::present;
use crate::{JsonObject, Message, Part};

/// What a session holds. Its pieces are shared between a session, its snapshots
/// and the requests made of them, never copied.
///
/// Absent and empty lists are told apart: a client that manages its own state
/// gets back no member that it did not send.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionState {
    /// The session it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The conversation so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<Arc<Message>>>,
    /// The application's own state.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub custom: Option<Arc<Value>>,
    /// What the agent has made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Arc<Artifact>>>,
}

/// Something an agent has made, such as a document.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Artifact {
    /// A later artifact of the same name replaces this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its content.
    pub parts: Vec<Part>,
    /// Notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

/// The state of a session at the end of a turn, or while a detached one runs.
///
/// Snapshots of one session form a tree by `parentId`, normally a chain. Times
/// are RFC 3339 in UTC with milliseconds, such as `2026-11-15T06:32:35.495Z`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSnapshot {
    /// Names the snapshot.
    pub snapshot_id: String,
    /// The session it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The snapshot that the turn went on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// When it was first written.
    pub created_at: String,
    /// When it was last written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// When the detached work behind a pending snapshot was last alive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat_at: Option<String>,
    /// How far the turn is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<SnapshotStatus>,
    /// Why the turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<AgentFinishReason>,
    /// Why the turn failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RuntimeError>,
    /// The state itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<SessionState>,
}

/// How far the turn behind a snapshot is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SnapshotStatus {
    /// Detached work goes on.
    Pending,
    /// It ended well; a turn may go on from here.
    Completed,
    /// Somebody stopped it.
    Aborted,
    /// It failed.
    Failed,
    /// Pending, but its work has not been heard of. Never stored, only reported.
    Expired,
}

impl SnapshotStatus {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Completed => "completed",
            Self::Aborted => "aborted",
            Self::Failed => "failed",
            Self::Expired => "expired",
        }
    }
}

/// Why an agent's turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentFinishReason {
    /// The model said all it had to say.
    Stop,
    /// A length limit was reached.
    Length,
    /// A safety rule stopped it.
    Blocked,
    /// A tool wants an answer from outside.
    Interrupted,
    /// Another reason.
    Other,
    /// Somebody stopped it.
    Aborted,
    /// The work goes on without the caller.
    Detached,
    /// It failed.
    Failed,
    /// Nobody knows; also what a model of another server calls by another name.
    #[serde(other)]
    Unknown,
}

/// Why a turn failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RuntimeError {
    /// The name of a status code, such as `NOT_FOUND`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// What went wrong.
    pub message: String,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}
