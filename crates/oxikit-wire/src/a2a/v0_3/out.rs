//! Writing of tasks, messages and events.

use serde::{Serialize, Serializer};

use crate::a2a::members::Members;
use crate::a2a::{
    Artifact, ArtifactUpdate, Message, StatusUpdate, StreamResponse, Task, TaskStatus,
};

/// Writes a value in the JSON of version 0.3.
///
/// ```
/// use oxikit_wire::a2a::{StatusUpdate, StreamResponse, TaskState, TaskStatus, v0_3};
///
/// let event = StreamResponse::StatusUpdate(StatusUpdate {
///     task_id: "t".to_owned(),
///     context_id: "c".to_owned(),
///     status: TaskStatus::new(TaskState::InputRequired),
///     metadata: None,
/// });
/// let json = serde_json::to_string(&v0_3::Out::new(&event).with_final(true)).unwrap();
/// assert_eq!(
///     json,
///     r#"{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"input-required"},"final":true}"#,
/// );
/// ```
#[derive(Debug)]
pub struct Out<'a, T> {
    pub(super) value: &'a T,
    pub(super) binding: Binding,
    is_final: bool,
}

/// The two forms of JSON that version 0.3 has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binding {
    JsonRpc,
    Rest,
}

impl<'a, T> Out<'a, T> {
    /// The value in the JSON of the JSON-RPC binding.
    pub fn new(value: &'a T) -> Self {
        Self { value, binding: Binding::JsonRpc, is_final: false }
    }

    /// The value in the JSON of the HTTP binding.
    pub fn rest(value: &'a T) -> Self {
        Self { value, binding: Binding::Rest, is_final: false }
    }

    /// The `final` member of a status update: whether the stream ends after it.
    #[must_use]
    pub fn with_final(mut self, is_final: bool) -> Self {
        self.is_final = is_final;
        self
    }

    /// Another value in the same form.
    pub(super) fn of<'b, U>(&self, value: &'b U) -> Out<'b, U> {
        Out { value, binding: self.binding, is_final: self.is_final }
    }

    /// The values of a list in the same form.
    pub(super) fn each<'b, U>(&self, items: &'b [U]) -> Each<'b, U> {
        Each { items, binding: self.binding }
    }

    /// Begins an object, with its `kind` in the binding that has kinds.
    pub(super) fn open<S: Serializer>(
        &self,
        serializer: S,
        kind: &'static str,
    ) -> Result<Members<S::SerializeMap>, S::Error> {
        let mut members = Members(serializer.serialize_map(None)?);
        if self.binding == Binding::JsonRpc {
            members.put("kind", kind)?;
        }
        Ok(members)
    }
}

/// A list of values in the same form. It is not an [`Out`] of a slice: that would have an
/// implementation for slices of slices without end, which the compiler tries for generic callers.
pub(super) struct Each<'a, T> {
    items: &'a [T],
    binding: Binding,
}

impl<T> Serialize for Each<'_, T>
where
    for<'b> Out<'b, T>: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { items, binding } = *self;
        serializer.collect_seq(items.iter().map(|value| Out { value, binding, is_final: false }))
    }
}

impl Serialize for Out<'_, Task> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let task = self.value;
        let mut members = self.open(serializer, "task")?;
        members.put("id", &task.id)?;
        members.put("contextId", &task.context_id)?;
        members.put("status", &self.of(&task.status))?;
        let artifacts = (!task.artifacts.is_empty()).then(|| self.each(&task.artifacts));
        members.put_some("artifacts", artifacts)?;
        let history = (!task.history.is_empty()).then(|| self.each(&task.history));
        members.put_some("history", history)?;
        members.put_some("metadata", task.metadata.as_ref())?;
        members.end()
    }
}

impl Serialize for Out<'_, TaskStatus> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let TaskStatus { state, message, timestamp } = self.value;
        let mut members = Members(serializer.serialize_map(None)?);
        let state = match self.binding {
            Binding::JsonRpc => state.name_v0_3(),
            Binding::Rest => state.name_v0_3_proto(),
        };
        members.put("state", state)?;
        members.put_some("message", message.as_ref().map(|message| self.of(message)))?;
        members.put_some("timestamp", timestamp.as_ref())?;
        members.end()
    }
}

impl Serialize for Out<'_, Message> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let message = self.value;
        let mut members = self.open(serializer, "message")?;
        members.put("messageId", &message.message_id)?;
        members.put_some("contextId", message.context_id.as_ref())?;
        members.put_some("taskId", message.task_id.as_ref())?;
        let parts = self.each(&message.parts);
        match self.binding {
            Binding::JsonRpc => {
                members.put("role", message.role.name_v0_3())?;
                members.put("parts", &parts)?;
                members.put_list("referenceTaskIds", &message.reference_task_ids)?;
            }
            Binding::Rest => {
                members.put("role", message.role.name())?;
                members.put("content", &parts)?;
            }
        }
        members.put_list("extensions", &message.extensions)?;
        members.put_some("metadata", message.metadata.as_ref())?;
        members.end()
    }
}

impl Serialize for Out<'_, Artifact> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let artifact = self.value;
        let mut members = Members(serializer.serialize_map(None)?);
        members.put("artifactId", &artifact.artifact_id)?;
        members.put_some("name", artifact.name.as_ref())?;
        members.put_some("description", artifact.description.as_ref())?;
        members.put("parts", &self.each(&artifact.parts))?;
        members.put_list("extensions", &artifact.extensions)?;
        members.put_some("metadata", artifact.metadata.as_ref())?;
        members.end()
    }
}

impl Serialize for Out<'_, StatusUpdate> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let StatusUpdate { task_id, context_id, status, metadata } = self.value;
        let mut members = self.open(serializer, "status-update")?;
        members.put("taskId", task_id)?;
        members.put("contextId", context_id)?;
        members.put("status", &self.of(status))?;
        match self.binding {
            Binding::JsonRpc => members.put("final", &self.is_final)?,
            // Proto JSON leaves out what is false.
            Binding::Rest => members.put_true("final", self.is_final)?,
        }
        members.put_some("metadata", metadata.as_ref())?;
        members.end()
    }
}

impl Serialize for Out<'_, ArtifactUpdate> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let update = self.value;
        let mut members = self.open(serializer, "artifact-update")?;
        members.put("taskId", &update.task_id)?;
        members.put("contextId", &update.context_id)?;
        members.put("artifact", &self.of(&update.artifact))?;
        members.put_true("append", update.append)?;
        members.put_true("lastChunk", update.last_chunk)?;
        members.put_some("metadata", update.metadata.as_ref())?;
        members.end()
    }
}

/// In the HTTP binding, an object with one member that names the kind.
impl Serialize for Out<'_, StreamResponse> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.binding == Binding::JsonRpc {
            return match self.value {
                StreamResponse::Task(task) => self.of(task).serialize(serializer),
                StreamResponse::Message(message) => self.of(message).serialize(serializer),
                StreamResponse::StatusUpdate(update) => self.of(update).serialize(serializer),
                StreamResponse::ArtifactUpdate(update) => self.of(update).serialize(serializer),
            };
        }
        let mut members = Members(serializer.serialize_map(Some(1))?);
        match self.value {
            StreamResponse::Task(task) => members.put("task", &self.of(task))?,
            StreamResponse::Message(message) => members.put("message", &self.of(message))?,
            StreamResponse::StatusUpdate(update) => {
                members.put("statusUpdate", &self.of(update))?;
            }
            StreamResponse::ArtifactUpdate(update) => {
                members.put("artifactUpdate", &self.of(update))?;
            }
        }
        members.end()
    }
}
