//! Waking those who wait for a change.
//!
//! Writes of this process ring by id. For those of other processes a thread asks
//! SQLite twice a second whether anything has changed, and rings for all; it sleeps
//! while nobody waits.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::Notify;

const POLL: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
pub(super) struct Bells {
    state: Mutex<State>,
    /// Rung when the first one begins to wait, and at the end.
    stirred: Condvar,
}

#[derive(Debug, Default)]
struct State {
    by_id: HashMap<String, Bell>,
    is_closed: bool,
}

#[derive(Debug, Default)]
struct Bell {
    notify: Arc<Notify>,
    listeners: usize,
}

impl Bells {
    /// Hears what is rung from now on.
    pub(super) fn listen(self: &Arc<Self>, id: &str) -> Listener {
        let mut state = self.lock();
        if state.by_id.is_empty() {
            self.stirred.notify_all();
        }
        let bell = state.by_id.entry(id.to_owned()).or_default();
        bell.listeners += 1;
        Listener { bells: self.clone(), id: id.to_owned(), notify: bell.notify.clone() }
    }

    pub(super) fn ring(&self, id: &str) {
        if let Some(bell) = self.lock().by_id.get(id) {
            bell.notify.notify_waiters();
        }
    }

    fn ring_all(&self) {
        self.lock().by_id.values().for_each(|bell| bell.notify.notify_waiters());
    }

    /// Ends the thread.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.stirred.notify_all();
    }

    /// Starts the thread that hears other processes.
    pub(super) fn watch(self: &Arc<Self>, connection: Connection) -> std::io::Result<()> {
        let bells = self.clone();
        let watch = move || {
            let mut seen = None;
            while bells.wait_for_listeners() {
                let version = version(&connection);
                if version != seen {
                    seen = version;
                    bells.ring_all();
                }
                bells.pause();
            }
        };
        let thread = std::thread::Builder::new().name("oxikit-sqlite-watch".to_owned());
        thread.spawn(watch).map(drop)
    }

    /// `false` if the store is closed.
    fn wait_for_listeners(&self) -> bool {
        let is_idle = |state: &mut State| state.by_id.is_empty() && !state.is_closed;
        let state = self.stirred.wait_while(self.lock(), is_idle);
        !state.unwrap_or_else(PoisonError::into_inner).is_closed
    }

    fn pause(&self) {
        _ = self.stirred.wait_timeout_while(self.lock(), POLL, |state| !state.is_closed);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Changes whenever another connection has committed. `None` if SQLite does not
/// say: then those who wait find out themselves.
fn version(connection: &Connection) -> Option<i64> {
    connection.pragma_query_value(None, "data_version", |row| row.get(0)).ok()
}

/// Somebody who waits.
#[derive(Debug)]
pub(super) struct Listener {
    bells: Arc<Bells>,
    id: String,
    notify: Arc<Notify>,
}

impl Listener {
    /// What is rung after this call ends the future.
    pub(super) fn heard(&self) -> impl Future<Output = ()> + Send + '_ {
        self.notify.notified()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut state = self.bells.lock();
        if let Some(bell) = state.by_id.get_mut(&self.id) {
            bell.listeners -= 1;
            if bell.listeners == 0 {
                state.by_id.remove(&self.id);
            }
        }
    }
}
