//! The rules for the log of a task, and for what a subscriber sees of it.

use oxikit_core::ports::{TaskEntry, TaskEvent};
use oxikit_wire::a2a::{
    ArtifactUpdate, StatusUpdate, StreamResponse, Task, TaskState, TaskStatus, Version, v0_3,
};
use serde_json::Value;

/// Events that a subscriber has seen, as they were sent.
#[derive(Debug)]
pub(super) struct Observed {
    pub(super) task: String,
    version: Version,
    /// Their numbers, and their content.
    events: Vec<(u64, Value)>,
}

impl Observed {
    /// Reads the text of a stream; `None` if it has no event of a task.
    pub(super) fn of(text: &str, version: Version) -> Option<Self> {
        let whole = text.rsplit_once("\n\n")?.0;
        let mut observed = Self { task: String::new(), version, events: Vec::new() };
        for block in whole.split("\n\n") {
            let line = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
            let (Some(id), Some(data)) = (line("id: "), line("data: ")) else { continue };
            let (task, number) = id.rsplit_once(':').unwrap();
            observed.task = task.to_owned();
            let event: Value = serde_json::from_str(data).unwrap();
            observed.events.push((number.parse().unwrap(), event["result"].clone()));
        }
        (!observed.events.is_empty()).then_some(observed)
    }

    /// Checks that it is a part of the log. If the log was read before the task was removed, it
    /// may lack the last events.
    pub(super) fn check(&self, log: &[TaskEvent], may_be_longer: bool) {
        let first = self.events[0].0;
        for ((number, event), expected) in self.events.iter().zip(first..) {
            assert_eq!(*number, expected, "no gap and no duplicate: {self:?}");
            let index = usize::try_from(*number).unwrap() - 1;
            if index >= log.len() && may_be_longer {
                return;
            }
            assert!(index < log.len(), "event {number} is not in the log: {self:?} {log:?}");
            let is_task = event["kind"] == "task" || event.get("task").is_some();
            let told = match is_task {
                true => StreamResponse::Task(self.task_at(event, &log[..=index])),
                false => self.response(event, &log[index]),
            };
            assert_eq!(without_final(event), self.written(&told), "event {number} of {log:?}");
        }
    }

    /// The task as its log makes it.
    fn task_at(&self, event: &Value, log: &[TaskEvent]) -> Task {
        let status = TaskStatus::new(TaskState::Submitted);
        let mut task = Task::new(self.task.clone(), context_of(event), status);
        for event in log {
            TaskEntry::clone(&event.entry).apply(&mut task);
        }
        task
    }

    fn response(&self, event: &Value, stored: &TaskEvent) -> StreamResponse {
        let (task_id, context_id) = (self.task.clone(), context_of(event));
        match TaskEntry::clone(&stored.entry) {
            TaskEntry::Status(entry) => StreamResponse::StatusUpdate(StatusUpdate {
                task_id,
                context_id,
                status: entry.status,
                metadata: entry.metadata,
            }),
            TaskEntry::Artifact(entry) => StreamResponse::ArtifactUpdate(ArtifactUpdate {
                task_id,
                context_id,
                artifact: entry.artifact,
                append: entry.append,
                last_chunk: entry.last_chunk,
                metadata: entry.metadata,
            }),
        }
    }

    fn written(&self, response: &StreamResponse) -> Value {
        match self.version {
            Version::V0_3 => {
                without_final(&serde_json::to_value(v0_3::Out::new(response)).unwrap())
            }
            Version::V1_0 => serde_json::to_value(response).unwrap(),
        }
    }
}

/// The id of the conversation, which the log does not have.
fn context_of(event: &Value) -> String {
    let inner = event.as_object().unwrap().values().find_map(|it| it.get("contextId"));
    let context = event.get("contextId").or(inner).unwrap();
    context.as_str().unwrap().to_owned()
}

fn without_final(event: &Value) -> Value {
    let mut event = event.clone();
    event.as_object_mut().unwrap().remove("final");
    event
}

/// Checks the numbers of the events, and the states that they lead to.
pub(super) fn check_log(id: &str, log: &[TaskEvent]) {
    let mut state: Option<TaskState> = None;
    for (event, expected) in log.iter().zip(1..) {
        assert_eq!(event.sequence, expected, "{id}: {log:?}");
        assert!(
            !state.is_some_and(TaskState::is_terminal),
            "{id}: an event after the end: {log:?}"
        );
        if let Some(next) = event.entry.state() {
            let is_legal = is_legal(state, next);
            assert!(is_legal, "{id}: {state:?} to {next:?} at {expected}: {log:?}");
            state = Some(next);
        }
    }
}

/// The transitions of the specification.
fn is_legal(from: Option<TaskState>, to: TaskState) -> bool {
    use TaskState::{AuthRequired, InputRequired, Submitted, Unspecified, Working};
    match (from, to) {
        (_, Unspecified) => false,
        (None, to) => to == Submitted,
        (Some(from), _) if from.is_terminal() => false,
        (Some(_), Submitted) => false,
        (Some(InputRequired), InputRequired) | (Some(AuthRequired), AuthRequired) => false,
        (Some(Submitted | Working | InputRequired | AuthRequired), _) => true,
        (Some(_), _) => false,
    }
}
