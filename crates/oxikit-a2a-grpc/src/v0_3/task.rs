//! Tasks, messages and events.

use oxikit_wire::a2a::{self, A2aError};

use super::part::Part;
use crate::content::{read_role, read_state, role_number, state_number};
use crate::text::{optional, or_empty, required};
use crate::value::{Struct, Timestamp, object};

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Task {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(string, tag = "2")]
    context_id: String,
    #[prost(message, optional, tag = "3")]
    status: Option<TaskStatus>,
    #[prost(message, repeated, tag = "4")]
    artifacts: Vec<Artifact>,
    #[prost(message, repeated, tag = "5")]
    history: Vec<Message>,
    #[prost(message, optional, tag = "6")]
    metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct TaskStatus {
    /// The place of the state in [`a2a::TaskState::ALL`].
    #[prost(int32, tag = "1")]
    state: i32,
    #[prost(message, optional, tag = "2")]
    message: Option<Message>,
    #[prost(message, optional, tag = "3")]
    timestamp: Option<Timestamp>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Message {
    #[prost(string, tag = "1")]
    message_id: String,
    #[prost(string, tag = "2")]
    context_id: String,
    #[prost(string, tag = "3")]
    task_id: String,
    #[prost(int32, tag = "4")]
    role: i32,
    #[prost(message, repeated, tag = "5")]
    content: Vec<Part>,
    #[prost(message, optional, tag = "6")]
    metadata: Option<Struct>,
    #[prost(string, repeated, tag = "7")]
    extensions: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Artifact {
    #[prost(string, tag = "1")]
    artifact_id: String,
    // There is no field 2.
    #[prost(string, tag = "3")]
    name: String,
    #[prost(string, tag = "4")]
    description: String,
    #[prost(message, repeated, tag = "5")]
    parts: Vec<Part>,
    #[prost(message, optional, tag = "6")]
    metadata: Option<Struct>,
    #[prost(string, repeated, tag = "7")]
    extensions: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StatusUpdate {
    #[prost(string, tag = "1")]
    task_id: String,
    #[prost(string, tag = "2")]
    context_id: String,
    #[prost(message, optional, tag = "3")]
    status: Option<TaskStatus>,
    #[prost(bool, tag = "4")]
    is_final: bool,
    #[prost(message, optional, tag = "5")]
    metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ArtifactUpdate {
    #[prost(string, tag = "1")]
    task_id: String,
    #[prost(string, tag = "2")]
    context_id: String,
    #[prost(message, optional, tag = "3")]
    artifact: Option<Artifact>,
    #[prost(bool, tag = "4")]
    append: bool,
    #[prost(bool, tag = "5")]
    last_chunk: bool,
    #[prost(message, optional, tag = "6")]
    metadata: Option<Struct>,
}

/// An event, or the answer to a message: `SendMessageResponse` is the same with the first two kinds
/// only.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct StreamResponse {
    #[prost(oneof = "Payload", tags = "1, 2, 3, 4")]
    payload: Option<Payload>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Payload {
    #[prost(message, tag = "1")]
    Task(Task),
    #[prost(message, tag = "2")]
    Message(Message),
    #[prost(message, tag = "3")]
    StatusUpdate(StatusUpdate),
    #[prost(message, tag = "4")]
    ArtifactUpdate(ArtifactUpdate),
}

impl From<&a2a::Task> for Task {
    fn from(task: &a2a::Task) -> Self {
        Self {
            id: task.id.clone(),
            context_id: task.context_id.clone(),
            status: Some((&task.status).into()),
            artifacts: task.artifacts.iter().map(Into::into).collect(),
            history: task.history.iter().map(Into::into).collect(),
            metadata: task.metadata.as_ref().map(Into::into),
        }
    }
}

impl TryFrom<Task> for a2a::Task {
    type Error = A2aError;

    fn try_from(task: Task) -> Result<Self, A2aError> {
        Ok(Self {
            id: task.id,
            context_id: task.context_id,
            status: required(task.status, "status")?.try_into()?,
            artifacts: task
                .artifacts
                .into_iter()
                .map(TryInto::try_into)
                .collect::<Result<_, _>>()?,
            history: task.history.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
            metadata: object(task.metadata)?,
        })
    }
}

impl From<&a2a::TaskStatus> for TaskStatus {
    fn from(status: &a2a::TaskStatus) -> Self {
        Self {
            state: state_number(status.state),
            message: status.message.as_ref().map(Into::into),
            timestamp: status.timestamp.as_deref().and_then(Timestamp::read),
        }
    }
}

impl TryFrom<TaskStatus> for a2a::TaskStatus {
    type Error = A2aError;

    fn try_from(status: TaskStatus) -> Result<Self, A2aError> {
        Ok(Self {
            state: read_state(status.state),
            message: status.message.map(TryInto::try_into).transpose()?,
            timestamp: status.timestamp.and_then(Timestamp::text),
        })
    }
}

impl From<&a2a::Message> for Message {
    fn from(message: &a2a::Message) -> Self {
        Self {
            message_id: message.message_id.clone(),
            context_id: or_empty(message.context_id.as_ref()),
            task_id: or_empty(message.task_id.as_ref()),
            role: role_number(message.role),
            content: message.parts.iter().map(Into::into).collect(),
            metadata: message.metadata.as_ref().map(Into::into),
            extensions: message.extensions.clone(),
        }
    }
}

impl TryFrom<Message> for a2a::Message {
    type Error = A2aError;

    fn try_from(message: Message) -> Result<Self, A2aError> {
        Ok(Self {
            message_id: message.message_id,
            context_id: optional(message.context_id),
            task_id: optional(message.task_id),
            role: read_role(message.role)?,
            parts: message.content.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
            metadata: object(message.metadata)?,
            extensions: message.extensions,
            reference_task_ids: Vec::new(),
        })
    }
}

impl From<&a2a::Artifact> for Artifact {
    fn from(artifact: &a2a::Artifact) -> Self {
        Self {
            artifact_id: artifact.artifact_id.clone(),
            name: or_empty(artifact.name.as_ref()),
            description: or_empty(artifact.description.as_ref()),
            parts: artifact.parts.iter().map(Into::into).collect(),
            metadata: artifact.metadata.as_ref().map(Into::into),
            extensions: artifact.extensions.clone(),
        }
    }
}

impl TryFrom<Artifact> for a2a::Artifact {
    type Error = A2aError;

    fn try_from(artifact: Artifact) -> Result<Self, A2aError> {
        Ok(Self {
            artifact_id: artifact.artifact_id,
            name: optional(artifact.name),
            description: optional(artifact.description),
            parts: artifact.parts.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
            metadata: object(artifact.metadata)?,
            extensions: artifact.extensions,
        })
    }
}

impl From<&a2a::StreamResponse> for StreamResponse {
    fn from(response: &a2a::StreamResponse) -> Self {
        event(response, false)
    }
}

/// An event with the mark of the last one, which only an update of the status can have.
pub(crate) fn event(response: &a2a::StreamResponse, is_final: bool) -> StreamResponse {
    let payload = match response {
        a2a::StreamResponse::Task(task) => Payload::Task(task.into()),
        a2a::StreamResponse::Message(message) => Payload::Message(message.into()),
        a2a::StreamResponse::StatusUpdate(update) => Payload::StatusUpdate(StatusUpdate {
            task_id: update.task_id.clone(),
            context_id: update.context_id.clone(),
            status: Some((&update.status).into()),
            is_final,
            metadata: update.metadata.as_ref().map(Into::into),
        }),
        a2a::StreamResponse::ArtifactUpdate(update) => Payload::ArtifactUpdate(ArtifactUpdate {
            task_id: update.task_id.clone(),
            context_id: update.context_id.clone(),
            artifact: Some((&update.artifact).into()),
            append: update.append,
            last_chunk: update.last_chunk,
            metadata: update.metadata.as_ref().map(Into::into),
        }),
    };
    StreamResponse { payload: Some(payload) }
}

impl TryFrom<StreamResponse> for a2a::StreamResponse {
    type Error = A2aError;

    fn try_from(response: StreamResponse) -> Result<Self, A2aError> {
        Ok(match required(response.payload, "payload")? {
            Payload::Task(task) => Self::Task(task.try_into()?),
            Payload::Message(message) => Self::Message(message.try_into()?),
            Payload::StatusUpdate(update) => Self::StatusUpdate(a2a::StatusUpdate {
                task_id: update.task_id,
                context_id: update.context_id,
                status: required(update.status, "status")?.try_into()?,
                metadata: object(update.metadata)?,
            }),
            Payload::ArtifactUpdate(update) => Self::ArtifactUpdate(a2a::ArtifactUpdate {
                task_id: update.task_id,
                context_id: update.context_id,
                artifact: required(update.artifact, "artifact")?.try_into()?,
                append: update.append,
                last_chunk: update.last_chunk,
                metadata: object(update.metadata)?,
            }),
        })
    }
}
