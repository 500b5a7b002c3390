//! Reading of messages and tasks. `P` is the form of a part, which differs between the bindings;
//! all other members are read in the spelling of both.

use serde::Deserialize;

use crate::JsonObject;
use crate::a2a::proto::empty_is_none;
use crate::a2a::{Artifact, Message, Part, Role, Task, TaskState, TaskStatus};
use crate::absent::null_is_default;

/// Tells the type of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    Task,
    Message,
    StatusUpdate,
    ArtifactUpdate,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "P: Deserialize<'de>"))]
pub(crate) struct MessageMembers<P> {
    /// Clients may leave it out, as the examples of the specification do.
    pub(super) kind: Option<Kind>,
    #[serde(alias = "message_id")]
    pub(super) message_id: String,
    pub(super) role: Role,
    #[serde(alias = "content", default = "Vec::new", deserialize_with = "list")]
    pub(super) parts: Vec<P>,
    #[serde(default, alias = "task_id", deserialize_with = "empty_is_none")]
    pub(super) task_id: Option<String>,
    #[serde(default, alias = "context_id", deserialize_with = "empty_is_none")]
    pub(super) context_id: Option<String>,
    #[serde(default, alias = "reference_task_ids", deserialize_with = "null_is_default")]
    pub(super) reference_task_ids: Vec<String>,
    #[serde(default, deserialize_with = "null_is_default")]
    pub(super) extensions: Vec<String>,
    pub(super) metadata: Option<JsonObject>,
}

impl<P: Into<Part>> TryFrom<MessageMembers<P>> for Message {
    type Error = &'static str;

    fn try_from(members: MessageMembers<P>) -> Result<Self, Self::Error> {
        if members.kind.is_some_and(|kind| kind != Kind::Message) {
            return Err("the `kind` of a message must be `message`");
        }
        Ok(Self {
            message_id: members.message_id,
            context_id: members.context_id,
            task_id: members.task_id,
            role: members.role,
            parts: parts(members.parts),
            metadata: members.metadata,
            extensions: members.extensions,
            reference_task_ids: members.reference_task_ids,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "P: Deserialize<'de>"))]
pub(crate) struct ArtifactMembers<P> {
    #[serde(alias = "artifact_id")]
    artifact_id: String,
    #[serde(default, deserialize_with = "empty_is_none")]
    name: Option<String>,
    #[serde(default, deserialize_with = "empty_is_none")]
    description: Option<String>,
    #[serde(default = "Vec::new", deserialize_with = "list")]
    parts: Vec<P>,
    #[serde(default, deserialize_with = "null_is_default")]
    extensions: Vec<String>,
    metadata: Option<JsonObject>,
}

impl<P: Into<Part>> From<ArtifactMembers<P>> for Artifact {
    fn from(members: ArtifactMembers<P>) -> Self {
        Self {
            artifact_id: members.artifact_id,
            name: members.name,
            description: members.description,
            parts: parts(members.parts),
            metadata: members.metadata,
            extensions: members.extensions,
        }
    }
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "P: Deserialize<'de>"))]
pub(crate) struct StatusMembers<P> {
    state: TaskState,
    /// Its name in the proto file is `update`.
    #[serde(alias = "update")]
    message: Option<MessageMembers<P>>,
    #[serde(default, deserialize_with = "empty_is_none")]
    timestamp: Option<String>,
}

impl<P: Into<Part>> TryFrom<StatusMembers<P>> for TaskStatus {
    type Error = &'static str;

    fn try_from(members: StatusMembers<P>) -> Result<Self, Self::Error> {
        Ok(Self {
            state: members.state,
            message: members.message.map(TryInto::try_into).transpose()?,
            timestamp: members.timestamp,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "P: Deserialize<'de>"))]
pub(crate) struct TaskMembers<P> {
    pub(super) id: String,
    #[serde(default, alias = "context_id", deserialize_with = "null_is_default")]
    pub(super) context_id: String,
    pub(super) status: StatusMembers<P>,
    #[serde(default = "Vec::new", deserialize_with = "list")]
    pub(super) artifacts: Vec<ArtifactMembers<P>>,
    #[serde(default = "Vec::new", deserialize_with = "list")]
    pub(super) history: Vec<MessageMembers<P>>,
    pub(super) metadata: Option<JsonObject>,
}

impl<P: Into<Part>> TryFrom<TaskMembers<P>> for Task {
    type Error = &'static str;

    fn try_from(members: TaskMembers<P>) -> Result<Self, Self::Error> {
        Ok(Self {
            id: members.id,
            context_id: members.context_id,
            status: members.status.try_into()?,
            artifacts: members.artifacts.into_iter().map(Into::into).collect(),
            history: messages(members.history)?,
            metadata: members.metadata,
        })
    }
}

fn parts<P: Into<Part>>(parts: Vec<P>) -> Vec<Part> {
    parts.into_iter().map(Into::into).collect()
}

fn messages<P: Into<Part>>(list: Vec<MessageMembers<P>>) -> Result<Vec<Message>, &'static str> {
    list.into_iter().map(TryInto::try_into).collect()
}

/// Reads a list whose items have no default; `null` is an empty one.
pub(super) fn list<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
