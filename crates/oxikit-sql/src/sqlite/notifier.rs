//! Notifications about changes of a file, also by other processes.
//!
//! Changes by this process are published by topic. SQLite does not say what other
//! processes have changed, only that they have: a thread compares `PRAGMA data_version`
//! twice a second and then notifies all subscribers. It sleeps while there are none.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use oxikit_core::ports::{Notifier, Subscribers, Subscription, Topic};
use rusqlite::Connection;

/// Interval between two looks at the version of the file.
const POLL: Duration = Duration::from_millis(500);

/// The notifier of a store: that of its options, and the thread that watches the file.
/// The thread ends when this is closed.
#[derive(Debug)]
pub(super) struct SqliteNotifier {
    inner: Arc<dyn Notifier>,
    watch: Arc<Watch>,
    /// The thread; `None` after it was awaited.
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The state that the thread waits for.
#[derive(Debug, Default)]
struct Watch {
    state: Mutex<WatchState>,
    changed: Condvar,
}

/// The flags that wake the thread.
#[derive(Debug, Default)]
struct WatchState {
    /// Whether there is a new subscriber since the thread last counted the subscribers.
    has_new_subscriber: bool,
    /// Whether the store is closed, and the thread has to end.
    is_closed: bool,
}

impl SqliteNotifier {
    /// Starts the thread, which reads the version of the file by this connection.
    pub(super) fn start(
        inner: Arc<dyn Notifier>,
        connection: Connection,
    ) -> std::io::Result<Arc<Self>> {
        let shared = Arc::<Watch>::default();
        let (watch, subscribers) = (shared.clone(), inner.subscribers().clone());
        let thread = std::thread::Builder::new().name("oxikit-sqlite-watch".to_owned());
        // Read before there are subscribers: what they have read is not older.
        let mut seen = version(&connection);
        let thread = thread.spawn(move || {
            while watch.wait_for(&subscribers) {
                let version = version(&connection);
                if version != seen {
                    seen = version;
                    subscribers.notify_lagged();
                }
                watch.pause();
            }
        })?;
        Ok(Arc::new(Self { inner, watch: shared, thread: Mutex::new(Some(thread)) }))
    }

    /// Ends the thread, and waits until it has closed its connection. SQLite removes the
    /// write-ahead log with the last connection, and not if two are closed at the same time.
    pub(super) fn close(&self) {
        self.watch.lock().is_closed = true;
        self.watch.changed.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The last handle of a store may be dropped by that thread, in code that a waker runs.
        if let Some(thread) = thread.filter(|it| it.thread().id() != std::thread::current().id()) {
            _ = thread.join();
        }
    }
}

impl Notifier for SqliteNotifier {
    fn publish(&self, topic: Topic) {
        self.inner.publish(topic);
    }

    fn subscribers(&self) -> &Subscribers {
        self.inner.subscribers()
    }

    fn subscribe(&self, topic: Topic) -> Subscription {
        let subscription = self.inner.subscribe(topic);
        self.watch.lock().has_new_subscriber = true;
        self.watch.changed.notify_all();
        subscription
    }
}

impl Watch {
    /// Waits until there are subscribers; `false` if the store is closed.
    fn wait_for(&self, subscribers: &Subscribers) -> bool {
        // The mark is cleared before the count, so that a subscriber who comes between
        // the two is found by the mark.
        self.lock().has_new_subscriber = false;
        let is_idle = |state: &mut WatchState| {
            subscribers.is_empty() && !state.has_new_subscriber && !state.is_closed
        };
        let state = self.changed.wait_while(self.lock(), is_idle);
        !state.unwrap_or_else(PoisonError::into_inner).is_closed
    }

    /// Waits for [`POLL`], or until the store is closed.
    fn pause(&self) {
        _ = self.changed.wait_timeout_while(self.lock(), POLL, |state| !state.is_closed);
    }

    fn lock(&self) -> MutexGuard<'_, WatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Changes whenever another connection has committed. `None` if SQLite does not answer:
/// then subscribers read the file, and find the reason themselves.
fn version(connection: &Connection) -> Option<i64> {
    connection.pragma_query_value(None, "data_version", |row| row.get(0)).ok()
}
