//! The answer of an agent to a message.

use oxikit_core::{Result, Status};
use oxikit_wire::a2a::{Artifact, Message, Part, StreamResponse, Task, TaskState};

/// The answer of an agent: a task, or one message without a task.
#[derive(Debug, Clone, PartialEq)]
pub enum A2aReply {
    /// The task as it is now.
    Task(Task),
    /// An answer that needs no task.
    Message(Message),
}

impl A2aReply {
    /// The text of the answer: that of the message, or that of the artifacts of the task. A task
    /// without text in its artifacts answers with the message of its status.
    ///
    /// ```
    /// use oxikit_client::a2a::{A2aReply, Message, Part, Role};
    ///
    /// let message = Message::new("m1", Role::Agent, vec![Part::text("hello")]);
    /// assert_eq!(A2aReply::Message(message).text(), "hello");
    /// ```
    pub fn text(&self) -> String {
        let task = match self {
            Self::Message(message) => return message.text(),
            Self::Task(task) => task,
        };
        let texts = task.artifacts.iter().map(|artifact| text_of(&artifact.parts));
        let texts: Vec<_> = texts.filter(|text| !text.is_empty()).collect();
        match (&task.status.message, texts.is_empty()) {
            (Some(message), true) => message.text(),
            _ => texts.join("\n"),
        }
    }

    /// The task, if there is one.
    pub fn task(&self) -> Option<&Task> {
        match self {
            Self::Task(task) => Some(task),
            Self::Message(_) => None,
        }
    }

    /// The artifact of the task with this name, if there is one.
    pub fn artifact(&self, name: &str) -> Option<&Artifact> {
        self.task()?.artifacts.iter().find(|artifact| artifact.name.as_deref() == Some(name))
    }

    /// The state of the task, if there is one.
    pub fn state(&self) -> Option<TaskState> {
        self.task().map(|task| task.status.state)
    }

    /// The conversation.
    pub fn context_id(&self) -> Option<&str> {
        let id = match self {
            Self::Task(task) => Some(task.context_id.as_str()),
            Self::Message(message) => message.context_id.as_deref(),
        };
        id.filter(|id| !id.is_empty())
    }

    /// The task that takes further messages, if it has not ended.
    pub(super) fn open_task_id(&self) -> Option<&str> {
        self.task().filter(|task| !task.status.state.is_terminal()).map(|task| task.id.as_str())
    }

    pub(super) fn of(response: StreamResponse) -> Result<Self> {
        match response {
            StreamResponse::Task(task) => Ok(Self::Task(task)),
            StreamResponse::Message(message) => Ok(Self::Message(message)),
            _ => Err(Status::internal("the agent answered a message with an event of a stream")),
        }
    }
}

fn text_of(parts: &[Part]) -> String {
    parts.iter().filter_map(Part::as_text).collect()
}
