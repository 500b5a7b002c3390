//! One task.

use std::io;
use std::sync::Arc;

use oxikit_wire::JsonObject;
use oxikit_wire::a2a::TaskStatus;
use serde::Serialize;
use tokio::time::Instant;

use super::push::Push;
use crate::ports::task_progress::{TaskProgress, changed_at};
use crate::ports::{
    MAX_PAGE_BYTES, NewTask, PushTarget, StoreError, TaskEntry, TaskEvent, TaskHead, TaskScope,
};

/// A task with its log and its webhooks.
pub(super) struct Record {
    pub(super) scope: TaskScope,
    pub(super) id: String,
    pub(super) context_id: String,
    metadata: Option<JsonObject>,
    pub(super) progress: TaskProgress,
    log: Vec<TaskEvent>,
    /// Bytes of each event as JSON.
    sizes: Vec<u64>,
    /// The place of the last change of the status among those of all tasks.
    pub(super) changed: u64,
    /// The time of the last event.
    pub(super) written_at: Instant,
    pub(super) pushes: Vec<Push>,
}

impl Record {
    pub(super) fn begin(task: NewTask, max_bytes: u64) -> Result<Self, StoreError> {
        let NewTask { scope, id, context_id, metadata, runner, entries, push } = task;
        let sizes = encoded_sizes(&entries);
        let progress = TaskProgress::begin(&runner, &entries, sizes.iter().sum(), max_bytes)
            .map_err(|refusal| refusal.about(&id))?;
        let now = Instant::now();
        let mut record = Self {
            scope,
            id,
            context_id,
            metadata,
            progress,
            log: Vec::new(),
            sizes: Vec::new(),
            changed: 0,
            written_at: now,
            pushes: push.into_iter().map(|target| Push::new(target, 0)).collect(),
        };
        record.push_events(1, entries.into_iter().map(Arc::new), sizes);
        Ok(record)
    }

    pub(super) fn position(&self) -> u64 {
        self.progress.position
    }

    pub(super) fn has_ended(&self) -> bool {
        self.progress.state.is_terminal()
    }

    /// Adds events that the progress counts already.
    pub(super) fn push_events(
        &mut self,
        turn: u64,
        entries: impl IntoIterator<Item = Arc<TaskEntry>>,
        sizes: Vec<u64>,
    ) {
        let first = self.log.len() as u64 + 1;
        self.sizes.extend(sizes);
        let events = (first..).zip(entries);
        self.log.extend(events.map(|(sequence, entry)| TaskEvent { sequence, turn, entry }));
        self.written_at = Instant::now();
    }

    pub(super) fn events(&self, position: u64, limit: usize) -> Vec<TaskEvent> {
        let read = usize::try_from(position).unwrap_or(usize::MAX);
        let rest = self.log.get(read..).unwrap_or_default();
        let sizes = self.sizes.get(read..).unwrap_or_default();
        rest[..page_length(sizes, limit)].to_vec()
    }

    /// The current status; the progress names the event that has it.
    pub(super) fn status(&self) -> Option<&TaskStatus> {
        let sequence = usize::try_from(self.progress.status_at).unwrap_or(usize::MAX);
        match &*self.log.get(sequence - 1)?.entry {
            TaskEntry::Status(entry) => Some(&entry.status),
            TaskEntry::Artifact(_) => None,
        }
    }

    /// The time of the last change of the status, in milliseconds since 1970.
    pub(super) fn changed_at(&self) -> u64 {
        self.status().map_or(0, changed_at)
    }

    pub(super) fn head(&self) -> TaskHead {
        TaskHead {
            id: self.id.clone(),
            context_id: self.context_id.clone(),
            status: self.status().cloned().unwrap_or_else(|| TaskStatus::new(self.progress.state)),
            metadata: self.metadata.clone(),
            position: self.position(),
            turns: self.progress.turns,
            runner: self.progress.runner.clone(),
        }
    }

    pub(super) fn push_targets(&self) -> Vec<PushTarget> {
        self.pushes.iter().map(|push| push.target.clone()).collect()
    }

    /// Whether a webhook has events to deliver.
    pub(super) fn is_pending(&self) -> bool {
        self.pushes.iter().any(|push| push.delivered < self.position())
    }
}

/// Bytes of each entry as JSON.
pub(super) fn encoded_sizes(entries: &[impl Serialize]) -> Vec<u64> {
    let size = |entry| {
        let mut size = ByteCount(0);
        // Counting cannot fail, and entries can always be written as JSON.
        _ = serde_json::to_writer(&mut size, entry);
        size.0
    };
    entries.iter().map(size).collect()
}

/// Number of events of these sizes that one page has.
fn page_length(sizes: &[u64], limit: usize) -> usize {
    let mut bytes = 0;
    let fits = |&(index, size): &(usize, &u64)| {
        bytes += size;
        index == 0 || bytes <= MAX_PAGE_BYTES
    };
    sizes.iter().enumerate().take(limit).take_while(fits).count()
}

/// Counts what is written to it.
struct ByteCount(u64);

impl io::Write for ByteCount {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
