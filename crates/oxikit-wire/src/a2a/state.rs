//! The states of a task.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::proto::{ProtoEnum, read_enum};

/// The state of a task.
///
/// A task in a terminal state never changes again. In an interrupted state it waits for the
/// client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaskState {
    /// Another side's state that this version does not know. Never produced by this crate's
    /// users.
    Unspecified,
    /// Accepted, not begun.
    Submitted,
    /// The agent works on it.
    Working,
    /// Ended well. Terminal.
    Completed,
    /// Ended by an error. Terminal.
    Failed,
    /// Ended by the client. Terminal.
    Canceled,
    /// Waits for a message of the client. Interrupted.
    InputRequired,
    /// Not accepted by the agent. Terminal.
    Rejected,
    /// Waits for the client to authenticate somewhere. Interrupted.
    AuthRequired,
}

impl TaskState {
    /// All states; the place of each is its number in the protocol.
    pub const ALL: [Self; 9] = [
        Self::Unspecified,
        Self::Submitted,
        Self::Working,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
        Self::InputRequired,
        Self::Rejected,
        Self::AuthRequired,
    ];

    /// Whether the task never changes again.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// Whether the task waits for the client.
    pub fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }

    /// The name in version 1.0, such as `TASK_STATE_INPUT_REQUIRED`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "TASK_STATE_UNSPECIFIED",
            Self::Submitted => "TASK_STATE_SUBMITTED",
            Self::Working => "TASK_STATE_WORKING",
            Self::Completed => "TASK_STATE_COMPLETED",
            Self::Failed => "TASK_STATE_FAILED",
            Self::Canceled => "TASK_STATE_CANCELED",
            Self::InputRequired => "TASK_STATE_INPUT_REQUIRED",
            Self::Rejected => "TASK_STATE_REJECTED",
            Self::AuthRequired => "TASK_STATE_AUTH_REQUIRED",
        }
    }

    /// The name in version 0.3, such as `input-required`.
    pub fn name_v0_3(self) -> &'static str {
        match self {
            Self::Unspecified => "unknown",
            Self::Submitted => "submitted",
            Self::Working => "working",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::InputRequired => "input-required",
            Self::Rejected => "rejected",
            Self::AuthRequired => "auth-required",
        }
    }

    /// The name in the HTTP and gRPC bindings of version 0.3: as [`name`](Self::name), but one
    /// state is spelled `TASK_STATE_CANCELLED`.
    pub fn name_v0_3_proto(self) -> &'static str {
        match self {
            Self::Canceled => "TASK_STATE_CANCELLED",
            _ => self.name(),
        }
    }

    /// The state of this name, in the spelling of either version.
    pub fn from_name(name: &str) -> Option<Self> {
        // The proto of 0.3 spells one state with two L.
        if matches!(name, "TASK_STATE_CANCELLED" | "cancelled") {
            return Some(Self::Canceled);
        }
        Self::ALL.into_iter().find(|state| state.name() == name || state.name_v0_3() == name)
    }
}

/// The name in version 0.3, which is the shorter one.
impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name_v0_3())
    }
}

impl ProtoEnum for TaskState {
    const WHAT: &'static str = "a state of a task";

    fn from_name(name: &str) -> Option<Self> {
        Self::from_name(name)
    }

    fn from_number(number: i128) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }
}

impl Serialize for TaskState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for TaskState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_enum(deserializer)
    }
}
