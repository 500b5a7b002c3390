//! The state of a stream: enough to go on after a lost connection.

use oxikit_wire::a2a::{StreamResponse, Task, TaskState, TaskStatus};

use super::A2aReply;

/// The place in the stream of a task.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) task_id: Option<String>,
    state: Option<TaskState>,
    /// The id of the last event, if the server numbers the events of a task.
    pub(super) event_id: Option<String>,
}

impl Progress {
    pub(super) fn of_task(task_id: Option<String>) -> Self {
        Self { task_id, ..Self::default() }
    }

    /// Takes note of an event. Returns whether the stream ends with it.
    pub(super) fn note(
        &mut self,
        event: &StreamResponse,
        is_final: bool,
        event_id: Option<String>,
    ) -> bool {
        let (task_id, state) = match event {
            StreamResponse::Message(_) => return true,
            StreamResponse::Task(task) => (&task.id, Some(task.status.state)),
            StreamResponse::StatusUpdate(update) => (&update.task_id, Some(update.status.state)),
            StreamResponse::ArtifactUpdate(update) => (&update.task_id, None),
        };
        // Ids of any other form mean nothing to a server that is asked to go on.
        self.event_id = event_id.filter(|id| is_numbered(id, task_id));
        self.task_id = Some(task_id.clone());
        self.state = state.or(self.state);
        // A task that waits for a message sends nothing more. As the first event it may be the
        // state before the message that was sent just now.
        let is_asking = matches!(event, StreamResponse::StatusUpdate(_))
            && state == Some(TaskState::InputRequired);
        is_final || is_asking || state.is_some_and(TaskState::is_terminal)
    }

    /// Whether a server may end the stream here.
    pub(super) fn may_end(&self) -> bool {
        self.state.is_some_and(|state| state.is_terminal() || state.is_interrupted())
    }
}

/// Whether the id of an event is `<task>:<number>`.
fn is_numbered(event_id: &str, task_id: &str) -> bool {
    let number = event_id.strip_prefix(task_id).and_then(|rest| rest.strip_prefix(':'));
    number.is_some_and(|number| number.parse::<u64>().is_ok())
}

/// Adds an event to the answer so far.
pub(super) fn merge(reply: &mut Option<A2aReply>, event: &StreamResponse) {
    let begin = |id: &str, context_id: &str| {
        Task::new(id, context_id, TaskStatus::new(TaskState::Unspecified))
    };
    match event {
        StreamResponse::Task(task) => *reply = Some(A2aReply::Task(task.clone())),
        StreamResponse::Message(message) => *reply = Some(A2aReply::Message(message.clone())),
        StreamResponse::StatusUpdate(update) => {
            let task = task_of(reply, || begin(&update.task_id, &update.context_id));
            task.set_status(update.status.clone());
        }
        StreamResponse::ArtifactUpdate(update) => {
            let task = task_of(reply, || begin(&update.task_id, &update.context_id));
            task.add_artifact(update.artifact.clone(), update.append);
        }
    }
}

/// The task of the answer. Some servers send events before the task itself.
fn task_of(reply: &mut Option<A2aReply>, begin: impl FnOnce() -> Task) -> &mut Task {
    if !matches!(reply, Some(A2aReply::Task(_))) {
        *reply = Some(A2aReply::Task(begin()));
    }
    match reply {
        Some(A2aReply::Task(task)) => task,
        _ => unreachable!("the line before has set it"),
    }
}
