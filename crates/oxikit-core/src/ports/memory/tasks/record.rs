//! One task.

use std::sync::Arc;

use oxikit_wire::JsonObject;
use oxikit_wire::a2a::TaskStatus;
use tokio::time::Instant;

use super::log::{Log, LogPage, Texts};
use super::push::Push;
use crate::ports::task_progress::{TaskProgress, changed_at};
use crate::ports::{NewTask, PushTarget, StoreError, TaskHead, TaskScope};

/// A task with its log and its webhooks.
pub(super) struct Record {
    pub(super) scope: TaskScope,
    pub(super) id: Arc<str>,
    pub(super) context_id: String,
    metadata: Option<JsonObject>,
    pub(super) progress: TaskProgress,
    pub(super) log: Log,
    /// The place of the last change of the status among those of all tasks.
    pub(super) changed: u64,
    /// The time of the last event.
    pub(super) written_at: Instant,
    pub(super) pushes: Vec<Push>,
}

/// A task that is not in the store yet.
pub(super) struct NewRecord {
    scope: TaskScope,
    pub(super) id: Arc<str>,
    context_id: String,
    metadata: Option<JsonObject>,
    progress: TaskProgress,
    texts: Texts,
    push: Option<PushTarget>,
}

impl NewRecord {
    pub(super) fn of(task: NewTask, max_bytes: u64) -> Result<Self, StoreError> {
        let NewTask { scope, id, context_id, metadata, runner, entries, push } = task;
        let texts = Texts::of(&id, &entries)?;
        let progress = TaskProgress::begin(runner, &entries, texts.bytes(), max_bytes)
            .map_err(|refusal| refusal.about(&id))?;
        Ok(Self { scope, id: id.into(), context_id, metadata, progress, texts, push })
    }

    pub(super) fn position(&self) -> u64 {
        self.progress.position
    }

    /// The record, in the memory of one that was removed. That one was often written by another
    /// thread: to free it and to allocate the same again costs more than the copy of the events.
    pub(super) fn into_record(self, removed: Option<Box<Record>>) -> Box<Record> {
        let Self { scope, id, context_id, metadata, progress, texts, push } = self;
        let mut removed = removed;
        let log = removed.as_mut().map(|removed| std::mem::take(&mut removed.log));
        let mut record = Record {
            scope,
            id,
            context_id,
            metadata,
            progress,
            log: log.map(|log| log.emptied(&texts)).unwrap_or_default(),
            changed: 0,
            written_at: Instant::now(),
            pushes: push.into_iter().map(|target| Push::new(target, 0)).collect(),
        };
        record.add(1, &texts);
        match removed {
            Some(mut place) => {
                *place = record;
                place
            }
            None => Box::new(record),
        }
    }
}

impl Record {
    pub(super) fn position(&self) -> u64 {
        self.progress.position
    }

    pub(super) fn has_ended(&self) -> bool {
        self.progress.state.is_terminal()
    }

    /// Adds events that the progress counts already.
    pub(super) fn add(&mut self, turn: u64, texts: &Texts) {
        self.log.add(turn, texts, self.has_ended());
        self.written_at = Instant::now();
    }

    /// The event that has the current status.
    fn status(&self) -> LogPage {
        self.log.event(self.progress.status_at)
    }

    /// The time of the last change of the status, in milliseconds since 1970. Only some lists need
    /// it, so that it is read from the log.
    pub(super) fn changed_at(&self) -> u64 {
        self.status().status(&self.id).ok().flatten().as_ref().map_or(0, changed_at)
    }

    pub(super) fn head(&self) -> StoredHead {
        // The status is read later, from the event that the progress names.
        let head = TaskHead {
            id: self.id.to_string(),
            context_id: self.context_id.clone(),
            status: TaskStatus::new(self.progress.state),
            metadata: self.metadata.clone(),
            position: self.position(),
            turns: self.progress.turns,
            runner: self.progress.runner.clone(),
        };
        StoredHead { head, status: self.status() }
    }

    pub(super) fn push_targets(&self) -> Vec<PushTarget> {
        self.pushes.iter().map(|push| push.target.clone()).collect()
    }

    /// Whether a webhook has events to deliver.
    pub(super) fn is_pending(&self) -> bool {
        self.pushes.iter().any(|push| push.delivered < self.position())
    }
}

/// A copy of a head. Its status is read from its text when the store is not locked any more.
pub(super) struct StoredHead {
    head: TaskHead,
    status: LogPage,
}

impl StoredHead {
    pub(super) fn decode(self) -> Result<TaskHead, StoreError> {
        let Self { mut head, status } = self;
        if let Some(status) = status.status(&head.id)? {
            head.status = status;
        }
        Ok(head)
    }
}
