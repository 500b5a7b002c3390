//! The rows whose changes readers wait for.
//!
//! Notifications may be lost, for example when the writer is killed after its commit. The store
//! therefore looks at all rows that readers wait for, at a fixed interval, and compares their
//! versions with those that were seen before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oxikit_core::ports::{Notification, Notifier, Subscription, Topic};

/// A row, by the columns that identify it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// The id of a stream.
    Stream(String),
    /// Owner and id of a snapshot.
    Snapshot(String, String),
    /// Owner and session of a lease.
    Lease(String, String),
    /// The id of a task.
    Task(String),
    /// All webhooks of tasks.
    Pushes,
}

impl Key {
    /// The topic of changes of the row.
    pub(super) fn topic(&self) -> Topic {
        match self {
            Self::Stream(id) => Topic::of(&["stream", id]),
            Self::Snapshot(owner, id) => Topic::of(&["snapshot", owner, id]),
            Self::Lease(owner, session) => Topic::of(&["lease", owner, session]),
            Self::Task(id) => Topic::of(&["task", id]),
            Self::Pushes => Topic::of(&["task-pushes"]),
        }
    }
}

/// All rows that readers of this process wait for. Cheap to clone; clones are the same
/// rows.
#[derive(Debug, Clone)]
pub(super) struct WatchedRows {
    notifier: Arc<dyn Notifier>,
    rows: Arc<Mutex<HashMap<Key, WatchedRow>>>,
}

/// The state of a row that at least one reader waits for.
#[derive(Debug, Default)]
struct WatchedRow {
    /// The version that was seen last.
    version: Option<i64>,
    /// Number of readers. The row is dropped with the last one.
    readers: usize,
}

impl WatchedRows {
    /// Notifies readers by this notifier.
    pub(super) fn new(notifier: Arc<dyn Notifier>) -> Self {
        Self { notifier, rows: Arc::default() }
    }

    /// Waits for changes of this row: none that is committed after this call is missed.
    pub(super) fn watch(&self, key: Key) -> Watching {
        let subscription = self.notifier.subscribe(key.topic());
        lock(&self.rows).entry(key.clone()).or_default().readers += 1;
        Watching { rows: self.clone(), key, subscription }
    }

    /// Notes the version of a row. If another one was seen before, the readers of this
    /// process are notified.
    pub(super) fn saw(&self, key: &Key, version: i64) {
        let previous = match lock(&self.rows).get_mut(key) {
            Some(row) => row.version.replace(version),
            None => return,
        };
        if previous.is_some_and(|previous| previous != version) {
            self.notifier.subscribers().notify(key.topic());
        }
    }

    /// The rows that readers wait for.
    pub(super) fn keys(&self) -> Vec<Key> {
        lock(&self.rows).keys().cloned().collect()
    }
}

/// One reader that waits for changes of a row.
#[derive(Debug)]
pub(super) struct Watching {
    rows: WatchedRows,
    key: Key,
    subscription: Subscription,
}

impl Watching {
    /// Notes the version that the reader has read.
    pub(super) fn saw(&self, version: i64) {
        self.rows.saw(&self.key, version);
    }

    /// Waits until the row has changed, or returns at once if it has since the last call.
    pub(super) async fn changed(&mut self) {
        // After lost notifications nothing is read here: a thousand readers would send a
        // thousand queries. The next look at all rows finds what has changed.
        while self.subscription.next().await == Notification::Lagged {}
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut rows = lock(&self.rows.rows);
        if let Some(row) = rows.get_mut(&self.key) {
            row.readers -= 1;
            if row.readers == 0 {
                rows.remove(&self.key);
            }
        }
    }
}

/// Locks plain data that is whole after every statement.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
