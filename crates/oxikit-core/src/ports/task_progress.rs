//! How far a task is, and the rules by which it goes on. They are the same for every
//! [`TaskStore`](super::TaskStore); a store keeps the values and makes each step one transaction.

use std::borrow::Borrow;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use oxikit_wire::a2a::{TaskState, TaskStatus};
use serde::{Deserialize, Serialize};

use super::{Appended, NewTurn, Received, StoreError, TaskEntry, TaskWrite};
use crate::timestamp;

/// The state of a task in a store, besides its log, its webhooks and its constant values.
///
/// A step that is refused changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskProgress {
    /// The current state.
    pub state: TaskState,
    /// The sequence number of the event that has the current status.
    pub status_at: u64,
    /// Number of events.
    pub position: u64,
    /// Bytes of all events, as JSON.
    pub bytes: u64,
    /// Number of turns that were received.
    pub turns: u64,
    /// The turn that the runner works on, or the last that one has worked on.
    pub turn: u64,
    /// The runner that works on the task, if one does.
    pub runner: Option<Arc<str>>,
    /// By this a repeated write is recognised.
    pub last_write: Option<LastWrite>,
}

/// The last write of a runner, and the answer to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastWrite {
    /// The runner.
    pub runner: Arc<str>,
    /// The turn of the write.
    pub turn: u64,
    /// The number of the write.
    pub number: u64,
    /// The position after it.
    pub position: u64,
    /// Number of turns that were received before it.
    pub turns: u64,
    /// Whether the runner has left the task with it.
    pub is_released: bool,
}

/// The result of [`TaskProgress::append`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Append {
    /// The entries are to be stored.
    New(Appended),
    /// They are stored already.
    Repeated(Appended),
}

/// Why a step is refused. It becomes a [`StoreError`] with the id of the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The task is in a terminal state.
    Ended,
    /// Another runner has the task, or none.
    Fenced,
    /// The number of the write does not follow the last one.
    Conflict,
    /// A limit is reached.
    Full(&'static str),
    /// The step makes no sense.
    Invalid(&'static str),
}

impl Refusal {
    /// The error of the step on the task with this id.
    pub fn about(self, id: &str) -> StoreError {
        let id = id.to_owned();
        match self {
            Self::Ended => StoreError::Ended(id),
            Self::Fenced => StoreError::Fenced(id),
            Self::Conflict => StoreError::Conflict(id),
            Self::Full(why) => StoreError::Full(id, why),
            Self::Invalid(what) => StoreError::Invalid(what),
        }
    }
}

impl TaskProgress {
    /// A new task with these entries of its first turn, which have this many bytes.
    ///
    /// # Errors
    ///
    /// If the first entry has no status, if a terminal state is not the last entry, or if the
    /// entries are too long.
    pub fn begin(
        runner: Arc<str>,
        entries: &[impl Borrow<TaskEntry>],
        bytes: u64,
        max_bytes: u64,
    ) -> Result<Self, Refusal> {
        let state = entries.first().and_then(|entry| entry.borrow().state());
        let state = state.ok_or(Refusal::Invalid("a task without a status"))?;
        let mut progress = Self {
            state,
            status_at: 1,
            position: 0,
            bytes: 0,
            turns: 1,
            turn: 1,
            runner: Some(runner),
            last_write: None,
        };
        progress.add(entries, bytes, max_bytes)?;
        Ok(progress)
    }

    /// Adds the entries of a runner's write, which have this many bytes.
    ///
    /// # Errors
    ///
    /// As [`TaskStore::append`](super::TaskStore::append).
    pub fn append(
        &mut self,
        write: &TaskWrite,
        bytes: u64,
        max_bytes: u64,
    ) -> Result<Append, Refusal> {
        if let Some(answer) = self.repeated(write) {
            return Ok(Append::Repeated(answer));
        }
        self.check_open()?;
        // A turn before the current one is of the time before the runner has left the task and
        // taken it again.
        if self.runner.as_ref() != Some(&write.runner) || write.turn < self.turn {
            return Err(Refusal::Fenced);
        }
        if write.turn > self.turns {
            return Err(Refusal::Invalid("a turn that was not received"));
        }
        // A runner that takes a task again need not know its former numbers.
        let last = self.last_write.as_ref().filter(|last| !last.is_released);
        if last.is_some_and(|last| write.number != last.number + 1) {
            return Err(Refusal::Conflict);
        }
        self.add(&write.entries, bytes, max_bytes)?;
        self.turn = write.turn;
        if write.releases && write.turn == self.turns {
            self.runner = None;
        }
        let is_released = self.runner.is_none();
        let (position, turns) = (self.position, self.turns);
        self.last_write = Some(LastWrite {
            runner: write.runner.clone(),
            turn: write.turn,
            number: write.number,
            position,
            turns,
            is_released,
        });
        Ok(Append::New(Appended { position, turns, is_released }))
    }

    /// Adds a client's message, which has this many bytes, as a new turn.
    ///
    /// # Errors
    ///
    /// As [`TaskStore::receive`](super::TaskStore::receive).
    pub fn receive(
        &mut self,
        received: &NewTurn,
        bytes: u64,
        max_bytes: u64,
    ) -> Result<Received, Refusal> {
        self.check_open()?;
        if received.entry.status.state.is_terminal() {
            return Err(Refusal::Invalid("a message that ends its task"));
        }
        if self.runner.is_some() && self.turns - self.turn >= received.max_waiting {
            return Err(Refusal::Full("too many messages wait for the agent"));
        }
        self.check_bytes(bytes, max_bytes)?;
        self.add_status(received.entry.status.state, bytes);
        self.turns += 1;
        let is_claimed = self.runner.is_none();
        if is_claimed {
            self.turn = self.turns;
            self.runner = Some(received.runner.clone());
        }
        Ok(Received { position: self.position, turn: self.turns, is_claimed })
    }

    /// Ends the task in this state, whoever works on it; answers the position. The event belongs
    /// to the current [`turn`](Self::turn).
    ///
    /// # Errors
    ///
    /// As [`TaskStore::end`](super::TaskStore::end).
    pub fn end(&mut self, state: TaskState, bytes: u64) -> Result<u64, Refusal> {
        self.check_open()?;
        if !state.is_terminal() {
            return Err(Refusal::Invalid("an end without a terminal state"));
        }
        self.add_status(state, bytes);
        self.runner = None;
        Ok(self.position)
    }

    /// Ends the task if this runner works on it; answers the position.
    ///
    /// # Errors
    ///
    /// As [`TaskStore::expire`](super::TaskStore::expire).
    pub fn expire(&mut self, runner: &str, state: TaskState, bytes: u64) -> Result<u64, Refusal> {
        self.check_open()?;
        if self.runner.as_deref() != Some(runner) {
            return Err(Refusal::Fenced);
        }
        self.end(state, bytes)
    }

    /// The answer to this write, if it is the last one.
    fn repeated(&self, write: &TaskWrite) -> Option<Appended> {
        let last = self.last_write.as_ref()?;
        let is_same =
            last.runner == write.runner && (last.turn, last.number) == (write.turn, write.number);
        let LastWrite { position, turns, is_released, .. } = *last;
        is_same.then_some(Appended { position, turns, is_released })
    }

    fn check_open(&self) -> Result<(), Refusal> {
        if self.state.is_terminal() { Err(Refusal::Ended) } else { Ok(()) }
    }

    fn check_bytes(&self, added: u64, max_bytes: u64) -> Result<(), Refusal> {
        if self.bytes.saturating_add(added) > max_bytes {
            return Err(Refusal::Full("the task is too long"));
        }
        Ok(())
    }

    fn add(
        &mut self,
        entries: &[impl Borrow<TaskEntry>],
        bytes: u64,
        max_bytes: u64,
    ) -> Result<(), Refusal> {
        let is_end = |entry: &TaskEntry| entry.state().is_some_and(TaskState::is_terminal);
        let (last, others) = entries.split_last().map_or((None, entries), |(l, o)| (Some(l), o));
        if others.iter().any(|entry| is_end(entry.borrow())) {
            return Err(Refusal::Invalid("an entry behind a terminal state"));
        }
        // The end is stored beyond the limit too: without it, readers would wait for ever.
        let ends = last.is_some_and(|entry| is_end(entry.borrow()));
        if !ends {
            self.check_bytes(bytes, max_bytes)?;
        }
        for entry in entries {
            self.position += 1;
            if let Some(state) = entry.borrow().state() {
                (self.state, self.status_at) = (state, self.position);
            }
        }
        self.bytes += bytes;
        if ends {
            self.runner = None;
        }
        Ok(())
    }

    fn add_status(&mut self, state: TaskState, bytes: u64) {
        self.position += 1;
        self.bytes += bytes;
        (self.state, self.status_at) = (state, self.position);
    }
}

/// When the last status among these entries has changed; see [`changed_at`].
pub fn status_time(entries: &[impl Borrow<TaskEntry>]) -> Option<u64> {
    entries.iter().rev().find_map(|entry| match entry.borrow() {
        TaskEntry::Status(entry) => Some(changed_at(&entry.status)),
        TaskEntry::Artifact(_) => None,
    })
}

/// When a status has changed, in milliseconds since 1970: the time that it names, or now if it
/// names none that can be read. Lists are filtered by it.
pub fn changed_at(status: &TaskStatus) -> u64 {
    let named = status.timestamp.as_deref().map_or(0, timestamp::epoch_millis);
    if named > 0 {
        return named;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
