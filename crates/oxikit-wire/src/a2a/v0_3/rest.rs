//! The JSON of the HTTP binding of version 0.3, which is that of its proto file.
//!
//! Enums have long names, objects have no `kind`, a message has `content` instead of `parts`, and
//! results are wrapped in a member that names them. [`Out::rest`](super::Out::rest) writes it. The
//! proto file has neither names of files nor `referenceTaskIds`, so both are lost here.
//!
//! ```
//! use oxikit_wire::a2a::{SendMessageRequest, v0_3::rest};
//!
//! let json = r#"{"message":{"messageId":"m1","role":"ROLE_USER","content":[{"text":"hello"}]}}"#;
//! let rest::In::<SendMessageRequest>(request) = serde_json::from_str(json).unwrap();
//! assert_eq!(request.message.text(), "hello");
//! ```

use serde::{Deserialize, Deserializer};

use super::part::ProtoPart;
use super::{params, push, read, read_by};
use crate::JsonObject;
use crate::a2a::task::only_one;
use crate::a2a::{
    Artifact, ArtifactUpdate, ListPushConfigsResponse, ListTasksResponse, Message, Part,
    PushConfig, SendMessageRequest, StatusUpdate, StreamResponse, Task, TaskStatus,
};
use crate::absent::null_is_default;

/// A value that is read from the JSON of the HTTP binding.
///
/// Members may be in snake_case. Messages may have the form of the JSON-RPC binding.
#[derive(Debug, Clone, PartialEq)]
pub struct In<T>(
    /// The value.
    pub T,
);

/// The body of the request that registers a webhook, in the form that servers of version 0.3 read.
///
/// ```
/// use oxikit_wire::a2a::{PushConfig, v0_3::rest};
///
/// let config: PushConfig =
///     serde_json::from_str(r#"{"taskId":"t1","id":"c1","url":"https://example.com"}"#).unwrap();
/// let json = serde_json::to_value(rest::RegisterPush(&config)).unwrap();
/// assert_eq!(json["parent"], "tasks/t1");
/// assert_eq!(json["config"]["name"], "tasks/t1/pushNotificationConfigs/c1");
/// let rest::In::<PushConfig>(read) = serde_json::from_value(json).unwrap();
/// assert_eq!(read, config);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct RegisterPush<'a>(
    /// The webhook, with its task.
    pub &'a PushConfig,
);

read_by! {
    Part: ProtoPart;
    Message: read::MessageMembers<ProtoPart>;
    Artifact: read::ArtifactMembers<ProtoPart>;
    Task: read::TaskMembers<ProtoPart>;
    TaskStatus: read::StatusMembers<ProtoPart>;
    SendMessageRequest: params::SendMembers<ProtoPart>;
    PushConfig: push::NamedConfigMembers;
    ListPushConfigsResponse: push::NamedConfigList;
    ListTasksResponse: TaskList;
}

impl<'de> Deserialize<'de> for In<StreamResponse> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Event::deserialize(deserializer).map(|event| Self(event.response))
    }
}

/// An event of the HTTP binding with its `final` member, which version 1.0 does not have.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "WrappedEvent")]
pub struct Event {
    /// The event.
    pub response: StreamResponse,
    /// Whether the server ends the stream after it.
    pub is_final: bool,
}

/// The members of an event as they are read. Exactly one is there.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrappedEvent {
    task: Option<read::TaskMembers<ProtoPart>>,
    /// Its name in the proto file is `msg`.
    #[serde(alias = "msg")]
    message: Option<read::MessageMembers<ProtoPart>>,
    #[serde(alias = "status_update")]
    status_update: Option<StatusUpdateMembers>,
    #[serde(alias = "artifact_update")]
    artifact_update: Option<ArtifactUpdateMembers>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StatusUpdateMembers {
    #[serde(alias = "task_id")]
    task_id: String,
    #[serde(default, alias = "context_id", deserialize_with = "null_is_default")]
    context_id: String,
    status: read::StatusMembers<ProtoPart>,
    #[serde(default, rename = "final", deserialize_with = "null_is_default")]
    is_final: bool,
    metadata: Option<JsonObject>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactUpdateMembers {
    #[serde(alias = "task_id")]
    task_id: String,
    #[serde(default, alias = "context_id", deserialize_with = "null_is_default")]
    context_id: String,
    artifact: read::ArtifactMembers<ProtoPart>,
    #[serde(default, deserialize_with = "null_is_default")]
    append: bool,
    #[serde(default, alias = "last_chunk", deserialize_with = "null_is_default")]
    last_chunk: bool,
    metadata: Option<JsonObject>,
}

impl TryFrom<WrappedEvent> for Event {
    type Error = &'static str;

    fn try_from(event: WrappedEvent) -> Result<Self, Self::Error> {
        let is_final = event.status_update.as_ref().is_some_and(|update| update.is_final);
        let response = only_one([
            event.task.map(|task| task.try_into().map(StreamResponse::Task)),
            event.message.map(|message| message.try_into().map(StreamResponse::Message)),
            event.status_update.map(|update| update.try_into().map(StreamResponse::StatusUpdate)),
            event.artifact_update.map(|update| Ok(StreamResponse::ArtifactUpdate(update.into()))),
        ])??;
        Ok(Self { response, is_final })
    }
}

impl TryFrom<StatusUpdateMembers> for StatusUpdate {
    type Error = &'static str;

    fn try_from(update: StatusUpdateMembers) -> Result<Self, Self::Error> {
        Ok(Self {
            task_id: update.task_id,
            context_id: update.context_id,
            status: update.status.try_into()?,
            metadata: update.metadata,
        })
    }
}

impl From<ArtifactUpdateMembers> for ArtifactUpdate {
    fn from(update: ArtifactUpdateMembers) -> Self {
        Self {
            task_id: update.task_id,
            context_id: update.context_id,
            artifact: update.artifact.into(),
            append: update.append,
            last_chunk: update.last_chunk,
            metadata: update.metadata,
        }
    }
}

#[derive(Deserialize)]
struct TaskList {
    #[serde(default, deserialize_with = "read::list")]
    tasks: Vec<read::TaskMembers<ProtoPart>>,
}

impl TryFrom<TaskList> for ListTasksResponse {
    type Error = &'static str;

    fn try_from(list: TaskList) -> Result<Self, Self::Error> {
        let tasks: Result<Vec<Task>, _> = list.tasks.into_iter().map(TryInto::try_into).collect();
        Ok(Self { tasks: tasks?, ..Self::default() })
    }
}
