//! Tasks and their events.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::proto::empty_is_none;
use super::{Message, Part, TaskState};
use crate::JsonObject;
use crate::absent::null_is_default;

/// The work of an agent on the messages of a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Made by the server.
    pub id: String,
    /// The conversation that the task belongs to.
    #[serde(default, alias = "context_id", deserialize_with = "null_is_default")]
    pub context_id: String,
    /// The current state, with its message and time.
    pub status: TaskStatus,
    /// The results so far.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// The messages so far, in order of arrival, without the one of the current status.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Message>,
    /// Data of the agent about the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

impl Task {
    /// A task without history and artifacts.
    pub fn new(id: impl Into<String>, context_id: impl Into<String>, status: TaskStatus) -> Self {
        Self {
            id: id.into(),
            context_id: context_id.into(),
            status,
            artifacts: Vec::new(),
            history: Vec::new(),
            metadata: None,
        }
    }

    /// Changes the status. The message of the status before joins the history.
    pub fn set_status(&mut self, status: TaskStatus) {
        let previous = std::mem::replace(&mut self.status, status);
        self.history.extend(previous.message);
    }

    /// Adds an artifact, or replaces the one with its id. If `append` is set, its parts are added
    /// to those of the artifact with its id, and its other members replace those of the artifact
    /// where they are present; an artifact that is not there is added.
    pub fn add_artifact(&mut self, artifact: Artifact, append: bool) {
        let same = |known: &&mut Artifact| known.artifact_id == artifact.artifact_id;
        match self.artifacts.iter_mut().rev().find(same) {
            None => self.artifacts.push(artifact),
            Some(known) if append => known.append(artifact),
            Some(known) => *known = artifact,
        }
    }

    /// Adds the parts of an artifact as [`add_artifact`](Self::add_artifact) does with `append`,
    /// and copies no more than them.
    pub fn append_artifact(&mut self, artifact: &Artifact) {
        let same = |known: &&mut Artifact| known.artifact_id == artifact.artifact_id;
        match self.artifacts.iter_mut().rev().find(same) {
            None => self.artifacts.push(artifact.clone()),
            Some(known) => {
                known.parts.extend_from_slice(&artifact.parts);
                known.take_members(artifact);
            }
        }
    }
}

/// A state of a task, since when, and what the agent says about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskStatus {
    /// The state.
    pub state: TaskState,
    /// A message of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// RFC 3339; in what we write, UTC with milliseconds.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

impl TaskStatus {
    /// A status without message and time.
    pub fn new(state: TaskState) -> Self {
        Self { state, message: None, timestamp: None }
    }
}

/// A result of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Identifies the artifact within its task.
    #[serde(alias = "artifact_id")]
    pub artifact_id: String,
    /// A name for people.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A description for people.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The content. A chunk that is appended adds parts; nothing joins them.
    #[serde(default, deserialize_with = "null_is_default")]
    pub parts: Vec<Part>,
    /// Data of the agent about the artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
    /// URIs of the extensions that the artifact uses.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
}

impl Artifact {
    /// An artifact with these parts, and nothing else.
    pub fn new(id: impl Into<String>, parts: Vec<Part>) -> Self {
        Self {
            artifact_id: id.into(),
            name: None,
            description: None,
            parts,
            metadata: None,
            extensions: Vec::new(),
        }
    }

    fn append(&mut self, mut chunk: Self) {
        self.parts.append(&mut chunk.parts);
        self.take_members(&chunk);
    }

    /// Takes the members besides the parts, where the chunk has them.
    fn take_members(&mut self, chunk: &Self) {
        for (known, new) in
            [(&mut self.name, &chunk.name), (&mut self.description, &chunk.description)]
        {
            if new.is_some() && known != new {
                known.clone_from(new);
            }
        }
        if let Some(metadata) = &chunk.metadata {
            self.metadata.get_or_insert_default().extend(metadata.clone());
        }
        for extension in &chunk.extensions {
            if !self.extensions.contains(extension) {
                self.extensions.push(extension.clone());
            }
        }
    }

    /// All its text.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }

    /// The value of its first data part; `None` if it has none or if the value is not a `T`.
    ///
    /// ```
    /// use oxikit_wire::a2a::{Artifact, Part};
    ///
    /// let artifact = Artifact::new("sum", vec![Part::text("three: "), Part::data(3)]);
    /// assert_eq!((artifact.text(), artifact.data()), ("three: ".to_owned(), Some(3)));
    /// ```
    pub fn data<T: DeserializeOwned>(&self) -> Option<T> {
        T::deserialize(self.parts.iter().find_map(Part::as_data)?).ok()
    }

    /// The same artifact with a name.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}

/// An event: the state of a task has changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusUpdate {
    /// The task.
    #[serde(alias = "task_id")]
    pub task_id: String,
    /// Its conversation.
    #[serde(default, alias = "context_id", deserialize_with = "null_is_default")]
    pub context_id: String,
    /// The new status.
    pub status: TaskStatus,
    /// Data of the agent about the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

/// An event: an artifact, or a chunk of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactUpdate {
    /// The task.
    #[serde(alias = "task_id")]
    pub task_id: String,
    /// Its conversation.
    #[serde(default, alias = "context_id", deserialize_with = "null_is_default")]
    pub context_id: String,
    /// The artifact, or what is added to it.
    pub artifact: Artifact,
    /// Whether the parts are added to those of the artifact with this id. Otherwise the artifact
    /// replaces it.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "is_false")]
    pub append: bool,
    /// Whether no more chunks of this artifact follow.
    #[serde(
        default,
        alias = "last_chunk",
        deserialize_with = "null_is_default",
        skip_serializing_if = "is_false"
    )]
    pub last_chunk: bool,
    /// Data of the agent about the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

/// An answer to a message, or one event of a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "ResponseMembers")]
pub enum StreamResponse {
    /// The whole task.
    Task(Task),
    /// An answer without a task.
    Message(Message),
    /// The state has changed.
    StatusUpdate(StatusUpdate),
    /// An artifact, or a chunk of one.
    ArtifactUpdate(ArtifactUpdate),
}

/// The members of a response as they are read. Exactly one is there.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResponseMembers {
    task: Option<Task>,
    message: Option<Message>,
    #[serde(alias = "status_update")]
    status_update: Option<StatusUpdate>,
    #[serde(alias = "artifact_update")]
    artifact_update: Option<ArtifactUpdate>,
}

impl TryFrom<ResponseMembers> for StreamResponse {
    type Error = &'static str;

    fn try_from(members: ResponseMembers) -> Result<Self, Self::Error> {
        let ResponseMembers { task, message, status_update, artifact_update } = members;
        only_one([
            task.map(Self::Task),
            message.map(Self::Message),
            status_update.map(Self::StatusUpdate),
            artifact_update.map(Self::ArtifactUpdate),
        ])
    }
}

/// The response among the four that an object may have.
pub(super) fn only_one<T>(responses: [Option<T>; 4]) -> Result<T, &'static str> {
    let mut found = responses.into_iter().flatten();
    match (found.next(), found.next()) {
        (Some(response), None) => Ok(response),
        _ => Err("expected one of `task`, `message`, `statusUpdate` and `artifactUpdate`"),
    }
}

fn is_false(value: &bool) -> bool {
    !value
}
