//! Sessions of agents: their state, and snapshots of it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::part::present;
use crate::{JsonObject, Message, Part};

/// The state of a session. Messages, custom state and artifacts are shared between a session,
/// its snapshots and model requests, and never copied.
///
/// An absent list is not the same as an empty one: a client that manages its own state
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
    /// The artifacts that the agent has produced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Arc<Artifact>>>,
}

/// A result of an agent beside its messages, such as a document.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Artifact {
    /// A later artifact of the same name replaces this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its content.
    pub parts: Vec<Part>,
    /// Members of any names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

impl Artifact {
    /// An artifact with this name and content.
    ///
    /// ```
    /// use oxikit_wire::{Artifact, Part};
    ///
    /// let report = Artifact::new("report", [Part::text("# Tea")]);
    /// assert_eq!(report.name.as_deref(), Some("report"));
    /// ```
    pub fn new(name: impl Into<String>, parts: impl IntoIterator<Item = Part>) -> Self {
        Self { name: Some(name.into()), parts: parts.into_iter().collect(), metadata: None }
    }
}

/// The state of a session at the end of a turn, or while a detached one runs.
///
/// Snapshots of one session form a tree by `parentId`, normally a chain. Times
/// are RFC 3339 in UTC with milliseconds, such as `2026-11-15T06:32:35.495Z`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSnapshot {
    /// Id of the snapshot.
    pub snapshot_id: String,
    /// The session it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The snapshot that the turn continued from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// When it was first written.
    pub created_at: String,
    /// When it was last written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// Last sign of life of the detached turn behind a pending snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat_at: Option<String>,
    /// Progress of the turn.
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

/// Progress of the turn that a snapshot belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SnapshotStatus {
    /// The turn is detached and still runs.
    Pending,
    /// The turn succeeded; another turn may continue from this snapshot.
    Completed,
    /// It was stopped by a user or a program.
    Aborted,
    /// The turn failed.
    Failed,
    /// Pending, but without a heartbeat for too long. Never stored, only reported.
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
    /// The model completed its message.
    Stop,
    /// A length limit was reached.
    Length,
    /// A safety rule stopped it.
    Blocked,
    /// A tool waits for a response from outside.
    Interrupted,
    /// Another reason.
    Other,
    /// It was stopped by a user or a program.
    Aborted,
    /// The turn continues in the background.
    Detached,
    /// It failed.
    Failed,
    /// The reason is not known, or another server uses a name that this version does not know.
    #[serde(other)]
    Unknown,
}

/// Why a turn failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RuntimeError {
    /// The name of a status code, such as `NOT_FOUND`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Description of the failure.
    pub message: String,
    /// Details of the failure, of any form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}
