//! The events that an agent publishes for a task.

use std::fmt;
use std::sync::Arc;

use oxikit_core::ports::{ArtifactEntry, StatusEntry, TaskEntry};
use oxikit_core::{Result, Status, timestamp};
use oxikit_wire::a2a::{Artifact, Message, Part, Role, TaskState, TaskStatus};

use super::task_writer::{First, TaskWriter};

/// Publishes the events of one turn of a task.
///
/// A turn ends with [`complete`](Self::complete), [`fail`](Self::fail), [`reject`](Self::reject)
/// or [`ask`](Self::ask). Nothing can be published after that: such calls are logged and answer
/// an error.
///
/// Clients see an event when it is stored, never before. These calls return when their event and
/// all before it are stored: `complete`, `fail`, `reject`, `ask`, [`flush`](Self::flush), and
/// [`status`](Self::status) with a terminal or interrupted state. The other ones,
/// [`working`](Self::working), [`artifact`](Self::artifact), [`chunk`](Self::chunk) and `status`
/// with another state, return when the event has been given to the store or waits behind a write
/// that is on its way: events that are published faster than the store can write are stored
/// together. At most 64 events wait; a call beyond that returns when the store has taken them.
///
/// An event whose write fails is not stored, and neither are those behind it. The next call
/// answers the error, or the one that waits. A call that is dropped does not take its event back.
pub struct TaskUpdates {
    writer: Arc<TaskWriter>,
    context_id: String,
}

impl TaskUpdates {
    pub(super) fn new(writer: Arc<TaskWriter>, context_id: &str) -> Self {
        Self { writer, context_id: context_id.to_owned() }
    }

    /// The task.
    pub fn task_id(&self) -> &str {
        self.writer.task_id()
    }

    /// The conversation.
    pub fn context_id(&self) -> &str {
        &self.context_id
    }

    /// A message of the agent about this task.
    pub fn message(&self, parts: Vec<Part>) -> Message {
        let mut message = Message::new(oxikit_core::random_id(), Role::Agent, parts);
        message.task_id = Some(self.task_id().to_owned());
        message.context_id = Some(self.context_id.clone());
        message
    }

    /// Says that the agent works, and on what.
    ///
    /// # Errors
    ///
    /// If the turn is over or an event could not be stored; so do all methods below.
    pub async fn working(&mut self, text: impl Into<String>) -> Result<()> {
        let message = self.message(vec![Part::text(text)]);
        self.status(TaskState::Working, Some(message)).await
    }

    /// Asks the client for input and ends the turn. The client's answer is the next turn.
    pub async fn ask(&mut self, text: impl Into<String>) -> Result<()> {
        let message = self.message(vec![Part::text(text)]);
        self.status(TaskState::InputRequired, Some(message)).await
    }

    /// Completes the task.
    pub async fn complete(&mut self) -> Result<()> {
        self.status(TaskState::Completed, None).await
    }

    /// Fails the task, with a text for the client.
    pub async fn fail(&mut self, text: impl Into<String>) -> Result<()> {
        let message = self.message(vec![Part::text(text)]);
        self.status(TaskState::Failed, Some(message)).await
    }

    /// Rejects the task: the agent does not do this.
    pub async fn reject(&mut self, text: impl Into<String>) -> Result<()> {
        let message = self.message(vec![Part::text(text)]);
        self.status(TaskState::Rejected, Some(message)).await
    }

    /// Changes the state. [`AuthRequired`](TaskState::AuthRequired) does not end the turn: the
    /// agent goes on when it has been authorised.
    pub async fn status(&mut self, state: TaskState, message: Option<Message>) -> Result<()> {
        let status = TaskStatus { state, message, timestamp: Some(timestamp::now()) };
        let entry = StatusEntry { status, received: None, metadata: None };
        self.publish(TaskEntry::Status(Box::new(entry))).await
    }

    /// Publishes a whole artifact. It replaces the one with its id.
    pub async fn artifact(&mut self, artifact: Artifact) -> Result<()> {
        self.publish(artifact_entry(artifact, Chunk::WHOLE)).await
    }

    /// Adds a chunk to the artifact with this id.
    pub async fn chunk(&mut self, artifact: Artifact, chunk: Chunk) -> Result<()> {
        self.publish(artifact_entry(artifact, chunk)).await
    }

    /// Answers with a message and without a task. Only before anything else is published, by
    /// agents that [may](super::AgentExecutor::may_reply).
    pub async fn reply(&mut self, mut message: Message) -> Result<()> {
        let Some(first) = self.writer.reply() else {
            return Err(Status::failed_precondition(
                "the task is stored already: complete it, or answer first",
            ));
        };
        // There is no task that the message could belong to.
        message.task_id = None;
        message.context_id = Some(self.context_id.clone());
        // A client that has left needs no answer.
        _ = first.send(First::Reply(Box::new(message)));
        Ok(())
    }

    /// Waits until everything that was published is stored.
    pub async fn flush(&mut self) -> Result<()> {
        self.writer.flush().await
    }

    async fn publish(&mut self, entry: TaskEntry) -> Result<()> {
        self.writer.publish(entry).await
    }
}

impl fmt::Debug for TaskUpdates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskUpdates")
            .field("task_id", &self.task_id())
            .field("end", &self.writer.end())
            .finish_non_exhaustive()
    }
}

/// The event of an artifact.
fn artifact_entry(artifact: Artifact, chunk: Chunk) -> TaskEntry {
    let Chunk { append, last_chunk } = chunk;
    TaskEntry::Artifact(Box::new(ArtifactEntry { artifact, append, last_chunk, metadata: None }))
}

/// How a chunk changes its artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// Whether its parts are added to those of the artifact. The first chunk replaces it.
    pub append: bool,
    /// Whether no more chunks follow.
    pub last_chunk: bool,
}

impl Chunk {
    /// A whole artifact.
    pub const WHOLE: Self = Self { append: false, last_chunk: true };
    /// The first chunk of an artifact.
    pub const FIRST: Self = Self { append: false, last_chunk: false };
    /// A further chunk.
    pub const NEXT: Self = Self { append: true, last_chunk: false };
    /// The last chunk.
    pub const LAST: Self = Self { append: true, last_chunk: true };
}
