//! Tasks that are gone with the process.

mod list;
mod log;
mod push;
mod pushes;
mod record;
mod records;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use oxikit_wire::a2a::{TaskState, TaskStatus};

use super::lock;
use crate::ports::task_progress::{Append, Refusal, TaskProgress};
use crate::ports::{
    Appended, DuePush, LocalNotifier, NewTask, NewTurn, Notifier, PushTarget, Received,
    StatusEntry, StoreError, TaskEntry, TaskHead, TaskList, TaskPage, TaskQuery, TaskRetention,
    TaskScope, TaskStore, TaskWrite, Topic,
};
use log::Texts;
use record::{NewRecord, Record};
use records::Records;

/// Limits of [`MemoryTasks`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MemoryTaskOptions {
    /// How long a task in a terminal state can be read again.
    pub keep_ended: Duration,
    /// Maximum number of tasks. The task that ended first is evicted for a new one; if none has
    /// ended, the new one is refused with [`Full`](StoreError::Full).
    pub max_tasks: usize,
    /// Maximum bytes of the events of one task. More are refused with
    /// [`Full`](StoreError::Full), except a terminal state.
    pub max_task_bytes: usize,
    /// Notifies readers of new events; a [`LocalNotifier`] unless another one is given.
    pub notifier: Arc<dyn Notifier>,
}

impl Default for MemoryTaskOptions {
    fn default() -> Self {
        Self {
            keep_ended: Duration::from_secs(3600),
            max_tasks: 10_000,
            max_task_bytes: 64 * 1024 * 1024,
            notifier: Arc::new(LocalNotifier::default()),
        }
    }
}

impl MemoryTaskOptions {
    /// Notifies readers by this notifier.
    #[must_use]
    pub fn with_notifier(mut self, notifier: Arc<dyn Notifier>) -> Self {
        self.notifier = notifier;
        self
    }
}

/// A [`TaskStore`] inside of the process: its tasks survive a client that leaves, and nothing
/// else.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// use oxikit_core::ports::memory::MemoryTasks;
/// use oxikit_core::ports::{Owner, TaskQuery, TaskScope, TaskStore};
///
/// let store = MemoryTasks::default();
/// let scope = TaskScope::new(Owner::nobody(), "coder");
/// let query = TaskQuery { limit: 50, ..TaskQuery::default() };
/// assert_eq!(store.list(&scope, &query).await?.total, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct MemoryTasks {
    options: MemoryTaskOptions,
    records: Mutex<Records>,
}

impl MemoryTasks {
    /// A store with these limits.
    pub fn new(options: MemoryTaskOptions) -> Self {
        Self { options, records: Mutex::default() }
    }

    fn max_bytes(&self) -> u64 {
        self.options.max_task_bytes as u64
    }

    /// Changes a task, and notifies its readers.
    fn change<T>(
        &self,
        id: &str,
        scope: Option<&TaskScope>,
        change: impl FnOnce(&mut Record) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut records = lock(&self.records);
        let (answer, is_pending) = records.change(id, scope, change)?;
        drop(records);
        self.options.notifier.publish(task_topic(id));
        if is_pending {
            self.options.notifier.publish(push_topic());
        }
        Ok(answer)
    }

    /// Ends a task by this step of its progress.
    fn finish(
        &self,
        id: &str,
        scope: Option<&TaskScope>,
        status: TaskStatus,
        step: impl FnOnce(&mut TaskProgress, TaskState, u64) -> Result<u64, Refusal>,
    ) -> Result<u64, StoreError> {
        let state = status.state;
        let entry = StatusEntry { status, received: None, metadata: None };
        let texts = Texts::of(id, &[TaskEntry::Status(Box::new(entry))])?;
        self.change(id, scope, |record| {
            let end = step(&mut record.progress, state, texts.bytes());
            let end = end.map_err(|refusal| refusal.about(id))?;
            record.add(record.progress.turn, &texts);
            Ok(end)
        })
    }

    fn with<T>(
        &self,
        scope: &TaskScope,
        id: &str,
        read: impl FnOnce(&Record) -> T,
    ) -> Result<T, StoreError> {
        lock(&self.records).own(scope, id).map(read)
    }
}

#[async_trait]
impl TaskStore for MemoryTasks {
    async fn create(&self, task: NewTask) -> Result<u64, StoreError> {
        let new = NewRecord::of(task, self.max_bytes())?;
        let (id, position) = (new.id.clone(), new.position());
        let (is_pending, removed) = lock(&self.records).insert(new, &self.options)?;
        drop(removed);
        self.options.notifier.publish(task_topic(&id));
        if is_pending {
            self.options.notifier.publish(push_topic());
        }
        Ok(position)
    }

    async fn append(&self, id: &str, write: TaskWrite) -> Result<Appended, StoreError> {
        let (texts, max) = (Texts::of(id, &write.entries)?, self.max_bytes());
        self.change(id, None, |record| {
            let appended = record.progress.append(&write, texts.bytes(), max);
            match appended.map_err(|refusal| refusal.about(id))? {
                Append::Repeated(answer) => Ok(answer),
                Append::New(answer) => {
                    record.add(write.turn, &texts);
                    Ok(answer)
                }
            }
        })
    }

    async fn receive(
        &self,
        scope: &TaskScope,
        id: &str,
        received: NewTurn,
    ) -> Result<Received, StoreError> {
        let entry = TaskEntry::Status(Box::new(received.entry.clone()));
        let (texts, max) = (Texts::of(id, &[entry])?, self.max_bytes());
        self.change(id, Some(scope), |record| {
            let answer = record.progress.receive(&received, texts.bytes(), max);
            let answer = answer.map_err(|refusal| refusal.about(id))?;
            record.add(answer.turn, &texts);
            Ok(answer)
        })
    }

    async fn end(
        &self,
        scope: &TaskScope,
        id: &str,
        status: TaskStatus,
    ) -> Result<u64, StoreError> {
        self.finish(id, Some(scope), status, |progress, state, bytes| progress.end(state, bytes))
    }

    async fn expire(&self, id: &str, runner: &str, status: TaskStatus) -> Result<u64, StoreError> {
        self.finish(id, None, status, |progress, state, bytes| {
            progress.expire(runner, state, bytes)
        })
    }

    async fn head(&self, scope: &TaskScope, id: &str) -> Result<TaskHead, StoreError> {
        self.with(scope, id, Record::head)?.decode()
    }

    async fn read(
        &self,
        scope: &TaskScope,
        id: &str,
        position: u64,
        limit: usize,
    ) -> Result<TaskPage, StoreError> {
        let read = |record: &Record| (record.log.page(position, limit), record.head());
        let (events, head) = self.with(scope, id, read)?;
        Ok(TaskPage { events: events.decode(id)?, head: head.decode()? })
    }

    async fn wait(&self, scope: &TaskScope, id: &str, position: u64) -> Result<(), StoreError> {
        let mut subscription = self.options.notifier.subscribe(task_topic(id));
        let is_readable = |record: &Record| record.has_ended() || record.position() > position;
        while !self.with(scope, id, is_readable)? {
            subscription.next().await;
        }
        Ok(())
    }

    async fn list(&self, scope: &TaskScope, query: &TaskQuery) -> Result<TaskList, StoreError> {
        let found = lock(&self.records).list(scope, query)?;
        found.decode()
    }

    async fn put_push(
        &self,
        scope: &TaskScope,
        id: &str,
        target: PushTarget,
    ) -> Result<(), StoreError> {
        lock(&self.records).put_push(scope, id, target)
    }

    async fn push_targets(
        &self,
        scope: &TaskScope,
        id: &str,
    ) -> Result<Vec<PushTarget>, StoreError> {
        self.with(scope, id, Record::push_targets)
    }

    async fn remove_push(
        &self,
        scope: &TaskScope,
        id: &str,
        target: &str,
    ) -> Result<bool, StoreError> {
        lock(&self.records).remove_push(scope, id, target)
    }

    async fn claim_pushes(&self, runner: &str, limit: usize) -> Result<Vec<DuePush>, StoreError> {
        Ok(lock(&self.records).claim_pushes(runner, limit))
    }

    async fn release_push(
        &self,
        runner: &str,
        push: &DuePush,
        position: u64,
        attempts: u32,
        pause: Duration,
    ) -> Result<(), StoreError> {
        if lock(&self.records).release_push(runner, push, position, attempts, pause) {
            self.options.notifier.publish(push_topic());
        }
        Ok(())
    }

    async fn push_wait(&self) -> Result<(), StoreError> {
        let mut subscription = self.options.notifier.subscribe(push_topic());
        let is_due = lock(&self.records).has_due_push();
        if !is_due {
            subscription.next().await;
        }
        Ok(())
    }

    async fn renew(&self, runner: &str) -> Result<(), StoreError> {
        lock(&self.records).renew(runner);
        Ok(())
    }

    async fn runners(&self) -> Result<Vec<(String, u64)>, StoreError> {
        Ok(lock(&self.records).runners())
    }

    async fn tasks_of(&self, runner: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        Ok(lock(&self.records).tasks_of(runner, limit))
    }

    async fn forget(&self, runner: &str) -> Result<(), StoreError> {
        lock(&self.records).forget(runner);
        self.options.notifier.publish(push_topic());
        Ok(())
    }

    async fn prune(&self, retention: &TaskRetention) -> Result<u64, StoreError> {
        let pruned = lock(&self.records).prune(retention);
        for id in &pruned {
            self.options.notifier.publish(task_topic(id));
        }
        Ok(pruned.len() as u64)
    }
}

fn task_topic(id: &str) -> Topic {
    Topic::of(&["task", id])
}

fn push_topic() -> Topic {
    Topic::of(&["task-pushes"])
}

impl fmt::Debug for MemoryTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTasks").field("tasks", &lock(&self.records).len()).finish()
    }
}
