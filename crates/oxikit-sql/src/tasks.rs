//! Tasks as rows: what the stores of both databases share.

use std::borrow::Borrow;
use std::sync::Arc;

use oxikit_core::ports::task_progress::{self, Append, Refusal, TaskProgress};
use oxikit_core::ports::{
    Appended, NewTurn, Received, StatusEntry, StoreError, TaskEntry, TaskHead, TaskQuery, TaskWrite,
};
use oxikit_wire::a2a::{TaskState, TaskStatus};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A step of a task that adds events: their texts, and how the progress goes on.
pub(crate) struct Change<A> {
    pub(crate) texts: Vec<String>,
    /// When the status has changed, if it has.
    pub(crate) changed_at: Option<i64>,
    step: Box<Step<A>>,
}

type Step<A> = dyn Fn(&mut TaskProgress, u64, u64) -> Result<Applied<A>, Refusal> + Send + Sync;

/// A step that was not refused.
pub(crate) struct Applied<A> {
    pub(crate) answer: A,
    /// The turn of the events.
    pub(crate) turn: u64,
    /// Not so if the events are stored already.
    pub(crate) is_new: bool,
}

impl<A> Change<A> {
    fn new(
        id: &str,
        entries: &[impl Borrow<TaskEntry>],
        step: impl Fn(&mut TaskProgress, u64, u64) -> Result<Applied<A>, Refusal>
        + Send
        + Sync
        + 'static,
    ) -> Result<Self, StoreError> {
        let (texts, changed_at) = (encode_all(id, entries)?, status_time(entries));
        Ok(Self { texts, changed_at, step: Box::new(step) })
    }

    /// Makes the step.
    pub(crate) fn apply(
        &self,
        progress: &mut TaskProgress,
        max_bytes: usize,
    ) -> Result<Applied<A>, Refusal> {
        (self.step)(progress, total_bytes(&self.texts), max_bytes as u64)
    }
}

pub(crate) fn append(id: &str, write: TaskWrite) -> Result<Change<Appended>, StoreError> {
    let entries = write.entries.clone();
    Change::new(id, &entries, move |progress, bytes, max_bytes| {
        let (answer, is_new) = match progress.append(&write, bytes, max_bytes)? {
            Append::New(answer) => (answer, true),
            Append::Repeated(answer) => (answer, false),
        };
        Ok(Applied { answer, turn: write.turn, is_new })
    })
}

pub(crate) fn receive(id: &str, received: NewTurn) -> Result<Change<Received>, StoreError> {
    let entry = TaskEntry::Status(Box::new(received.entry.clone()));
    Change::new(id, &[entry], move |progress, bytes, max_bytes| {
        let answer = progress.receive(&received, bytes, max_bytes)?;
        Ok(Applied { turn: answer.turn, answer, is_new: true })
    })
}

/// The end of a task: by anybody, or because this runner is dead.
pub(crate) fn end(
    id: &str,
    dead: Option<&str>,
    status: TaskStatus,
) -> Result<Change<u64>, StoreError> {
    let (state, dead) = (status.state, dead.map(ToOwned::to_owned));
    let entry = StatusEntry { status, received: None, metadata: None };
    Change::new(id, &[TaskEntry::Status(Box::new(entry))], move |progress, bytes, _| {
        let answer = match &dead {
            Some(runner) => progress.expire(runner, state, bytes)?,
            None => progress.end(state, bytes)?,
        };
        Ok(Applied { answer, turn: progress.turn, is_new: true })
    })
}

/// The columns of a task's head.
pub(crate) struct HeadRow {
    pub(crate) id: String,
    pub(crate) context: String,
    /// The entry with the status.
    pub(crate) status: String,
    pub(crate) metadata: Option<String>,
    pub(crate) position: i64,
    pub(crate) turns: i64,
    pub(crate) runner: Option<Arc<str>>,
}

impl HeadRow {
    pub(crate) fn decode(self) -> Result<TaskHead, StoreError> {
        let status = match decode(&self.id, &self.status)? {
            TaskEntry::Status(entry) => entry.status,
            TaskEntry::Artifact(_) => return Err(damaged(&self.id, "an event without a status")),
        };
        let metadata = self.metadata.map(|json| decode(&self.id, &json)).transpose()?;
        Ok(TaskHead {
            id: self.id,
            context_id: self.context,
            status,
            metadata,
            position: self.position.unsigned_abs(),
            turns: self.turns.unsigned_abs(),
            runner: self.runner,
        })
    }
}

/// The number of a state in its column.
pub(crate) fn state_number(state: TaskState) -> i16 {
    TaskState::ALL.iter().position(|known| *known == state).unwrap_or_default() as i16
}

/// The state of such a number.
pub(crate) fn state_of(number: i16) -> Option<TaskState> {
    TaskState::ALL.get(usize::try_from(number).ok()?).copied()
}

/// 0 while a task goes on, 1 while it waits for its client, 2 when it has ended. A task with a
/// runner goes on, whatever its state is.
pub(crate) fn phase(progress: &TaskProgress) -> i16 {
    match progress.state {
        state if state.is_terminal() => 2,
        state if state.is_interrupted() && progress.runner.is_none() => 1,
        _ => 0,
    }
}

/// The place before which a page of a list begins.
pub(crate) fn list_before(query: &TaskQuery) -> Result<i64, StoreError> {
    let Some(cursor) = &query.cursor else { return Ok(i64::MAX) };
    let is_number = cursor.bytes().all(|byte| byte.is_ascii_digit());
    let before = is_number.then(|| cursor.parse().ok()).flatten();
    before.ok_or(StoreError::Invalid("the cursor"))
}

/// When the last status among the entries has changed.
pub(crate) fn status_time(entries: &[impl Borrow<TaskEntry>]) -> Option<i64> {
    task_progress::status_time(entries).map(column_number)
}

pub(crate) fn encode_all(
    id: &str,
    entries: &[impl Borrow<TaskEntry>],
) -> Result<Vec<String>, StoreError> {
    entries.iter().map(|entry| encode(id, entry.borrow())).collect()
}

pub(crate) fn total_bytes(texts: &[String]) -> u64 {
    texts.iter().map(|text| text.len() as u64).sum()
}

pub(crate) fn encode(id: &str, value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| damaged(id, error))
}

pub(crate) fn decode<T: DeserializeOwned>(id: &str, json: &str) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(|error| damaged(id, error))
}

/// The number for a column; what is too large is the largest.
pub(crate) fn column_number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn damaged(id: &str, why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Damaged(id.to_owned(), why.into())
}
