//! Messages between a client and an agent.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Part;
use super::proto::{ProtoEnum, empty_is_none, read_enum};
use crate::JsonObject;
use crate::absent::null_is_default;

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Made by the sender. Senders reuse ids, so that it identifies nothing by itself.
    #[serde(alias = "message_id")]
    pub message_id: String,
    /// The conversation.
    #[serde(
        default,
        alias = "context_id",
        deserialize_with = "empty_is_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub context_id: Option<String>,
    /// The task that the message belongs to.
    #[serde(
        default,
        alias = "task_id",
        deserialize_with = "empty_is_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub task_id: Option<String>,
    /// The sender.
    pub role: Role,
    /// The content; never empty in a valid message.
    #[serde(default, deserialize_with = "null_is_default")]
    pub parts: Vec<Part>,
    /// Data of the sender about the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
    /// URIs of the extensions that the message uses.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// Other tasks that the message refers to.
    #[serde(
        default,
        alias = "reference_task_ids",
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub reference_task_ids: Vec<String>,
}

impl Message {
    /// A message outside of any task.
    pub fn new(id: impl Into<String>, role: Role, parts: Vec<Part>) -> Self {
        Self {
            message_id: id.into(),
            context_id: None,
            task_id: None,
            role,
            parts,
            metadata: None,
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        }
    }

    /// All text of the message, joined without separators.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }
}

/// The sender of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The client.
    User,
    /// The agent.
    Agent,
}

impl Role {
    /// The name in version 1.0, such as `ROLE_USER`.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "ROLE_USER",
            Self::Agent => "ROLE_AGENT",
        }
    }

    /// The name in version 0.3, such as `user`.
    pub fn name_v0_3(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Agent => "agent",
        }
    }
}

impl ProtoEnum for Role {
    const WHAT: &'static str = "a role: use ROLE_USER or ROLE_AGENT";

    // Clients that mix up the versions send the names of the other one.
    fn from_name(name: &str) -> Option<Self> {
        [Self::User, Self::Agent]
            .into_iter()
            .find(|role| role.name() == name || role.name_v0_3() == name)
    }

    fn from_number(number: i128) -> Option<Self> {
        match number {
            1 => Some(Self::User),
            2 => Some(Self::Agent),
            _ => None,
        }
    }
}

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Role {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_enum(deserializer)
    }
}
