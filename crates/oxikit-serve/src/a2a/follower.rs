//! Reads a task: from its start, from now on, or after an event that the reader has.
//!
//! Every reader follows the task's log by a position of its own. A slow reader lags behind; it
//! holds up nobody and costs no memory.

use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::{StoreError, TaskEntry, TaskEvent, TaskScope};
use oxikit_wire::a2a::{ArtifactUpdate, StatusUpdate, StreamResponse, Task, TaskState};

use super::storage::Storage;

/// Number of events that are read at once.
const BATCH: usize = 64;
/// The pause after a store has returned from waiting although there was nothing to read.
const PAUSE: Duration = Duration::from_millis(20);

/// The states at which a reader stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopAt {
    /// Terminal and interrupted states: as clients of 0.3 expect, and blocking calls.
    Interrupted,
    /// Terminal states and `input-required`. A stream of 1.0 stays open at `auth-required`.
    InputRequired,
}

impl StopAt {
    fn is_reached(self, state: TaskState) -> bool {
        match self {
            Self::Interrupted => state.is_terminal() || state.is_interrupted(),
            Self::InputRequired => state.is_terminal() || state == TaskState::InputRequired,
        }
    }
}

/// An event for a reader.
#[derive(Debug)]
pub(super) struct Followed {
    /// The position that it leads to.
    pub(super) sequence: u64,
    pub(super) response: StreamResponse,
    /// Whether it is the last one.
    pub(super) is_last: bool,
}

/// A reader of one task.
pub(super) struct Follower {
    storage: Arc<Storage>,
    scope: TaskScope,
    id: String,
    context_id: String,
    /// Events of earlier turns do not stop the reader.
    turn: u64,
    stop_at: StopAt,
    position: u64,
    /// Read but not yet given out.
    events: std::vec::IntoIter<TaskEvent>,
    /// Whether there are events to be read, as far as this process knows.
    is_behind: bool,
    is_over: bool,
}

impl Follower {
    /// A reader of the events after `position`.
    pub(super) fn new(
        storage: &Arc<Storage>,
        scope: TaskScope,
        id: &str,
        context_id: &str,
        position: u64,
        stop_at: StopAt,
    ) -> Self {
        Self {
            storage: storage.clone(),
            scope,
            id: id.to_owned(),
            context_id: context_id.to_owned(),
            turn: 0,
            stop_at,
            position,
            events: Vec::new().into_iter(),
            is_behind: false,
            is_over: false,
        }
    }

    /// The same reader, which earlier turns than this one do not stop.
    pub(super) fn of_turn(self, turn: u64) -> Self {
        Self { turn, ..self }
    }

    /// The same reader, of a turn that has ended already. These events of it are known; the
    /// others are read from the store.
    pub(super) fn of_ended_turn(self, known: Vec<TaskEvent>) -> Self {
        Self { is_behind: known.is_empty(), events: known.into_iter(), ..self }
    }

    /// The same reader, which stops at these states.
    pub(super) fn stopping_at(self, stop_at: StopAt) -> Self {
        Self { stop_at, ..self }
    }

    /// The next event of the log; `None` after the one that the reader stops at.
    async fn next_event(&mut self) -> Result<Option<TaskEvent>, StoreError> {
        let mut has_waited = false;
        while !self.is_over {
            if let Some(event) = self.next_known() {
                return Ok(Some(event));
            }
            let Self { storage, scope, id, position, .. } = &*self;
            let store = &storage.store;
            let page = store.read(scope, id, *position, BATCH).await?;
            if !page.events.is_empty() {
                self.is_behind = false;
                self.events = page.events.into_iter();
            } else if page.head.status.state.is_terminal() {
                self.is_over = true;
            } else {
                if std::mem::replace(&mut has_waited, true) {
                    tokio::time::sleep(PAUSE).await;
                }
                store.wait(scope, id, *position).await?;
            }
        }
        Ok(None)
    }

    /// The next event that is read already.
    fn next_known(&mut self) -> Option<TaskEvent> {
        let event = self.events.next()?;
        self.position = event.sequence;
        self.is_over = event.entry.state().is_some_and(|state| {
            state.is_terminal() || (event.turn >= self.turn && self.stop_at.is_reached(state))
        });
        Some(event)
    }

    /// The next event for a client; `None` after the last one.
    pub(super) async fn next(&mut self) -> Result<Option<Followed>, StoreError> {
        Ok(self.next_event().await?.map(|event| self.followed(event)))
    }

    /// The next event for a client, if it is read already.
    pub(super) fn next_ready(&mut self) -> Option<Followed> {
        if self.is_over {
            return None;
        }
        self.next_known().map(|event| self.followed(event))
    }

    fn followed(&self, event: TaskEvent) -> Followed {
        let entry = Arc::unwrap_or_clone(event.entry);
        let response = response_of(&self.id, &self.context_id, entry);
        Followed { sequence: event.sequence, response, is_last: self.is_over }
    }

    /// Whether an event can be read without waiting for the agent.
    pub(super) fn has_ready(&self) -> bool {
        !self.is_over && (self.is_behind || self.events.len() > 0)
    }

    /// Reads until the reader stops, and brings the task up to date.
    pub(super) async fn finish(mut self, task: &mut Task) -> Result<(), StoreError> {
        while let Some(event) = self.next_event().await? {
            event.apply(task);
        }
        Ok(())
    }
}

/// An entry of a task's log as clients see it.
pub(super) fn response_of(task_id: &str, context_id: &str, entry: TaskEntry) -> StreamResponse {
    let (task_id, context_id) = (task_id.to_owned(), context_id.to_owned());
    match entry {
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
