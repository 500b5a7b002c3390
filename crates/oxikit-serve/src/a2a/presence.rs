//! The name under which this process works on tasks.
//!
//! Other processes take a runner for dead when it does not renew its name. A process without
//! work would write to the store every second for nothing, so it gives its name up after
//! [`IDLE`] and takes a new one with its next work. A new name has no past: no other process
//! can have seen it without renewals.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use oxikit_core::ports::{StoreError, TaskStore};
use tokio::time::Instant;

/// Time without work after which the name is given up.
const IDLE: Duration = Duration::from_secs(10);

/// The name of this process, while it has work.
pub(super) struct Presence {
    store: Arc<dyn TaskStore>,
    state: Mutex<State>,
}

struct State {
    name: Option<Arc<str>>,
    /// Whether the store knows the name.
    is_registered: bool,
    /// Number of [`Present`]s.
    users: usize,
    /// Time at which the last of them was dropped.
    idle_since: Instant,
}

/// Keeps the name of this process while it has work.
pub(super) struct Present {
    presence: Arc<Presence>,
    pub(super) name: Arc<str>,
}

impl Presence {
    pub(super) fn new(store: Arc<dyn TaskStore>) -> Self {
        let state =
            State { name: None, is_registered: false, users: 0, idle_since: Instant::now() };
        Self { store, state: Mutex::new(state) }
    }

    /// The name, which the store knows when this returns.
    pub(super) async fn enter(self: &Arc<Self>) -> Result<Present, StoreError> {
        let (present, is_registered) = {
            let mut state = self.state();
            let name = state.name.get_or_insert_with(|| oxikit_core::random_id().into());
            // A copy: the counts of its references are not shared with all other requests.
            let name = Arc::from(&**name);
            state.users += 1;
            (Present { presence: self.clone(), name }, state.is_registered)
        };
        if !is_registered {
            self.store.renew(&present.name).await?;
            self.state().is_registered = true;
        }
        Ok(present)
    }

    /// Renews the name. If there was no work for a while, it is given up and answered: the caller
    /// makes the store forget it.
    pub(super) async fn renew(&self) -> Result<Option<Arc<str>>, StoreError> {
        let (name, is_idle) = {
            let mut state = self.state();
            let is_idle = state.users == 0 && state.idle_since.elapsed() >= IDLE;
            if is_idle {
                state.is_registered = false;
            }
            let name = if is_idle { state.name.take() } else { state.name.clone() };
            (name, is_idle)
        };
        match name {
            None => Ok(None),
            Some(name) if is_idle => Ok(Some(name)),
            Some(name) => self.store.renew(&name).await.map(|()| None),
        }
    }

    /// The current name.
    pub(super) fn name(&self) -> Option<Arc<str>> {
        self.state().name.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        let mut state = self.presence.state();
        state.users -= 1;
        if state.users == 0 {
            state.idle_since = Instant::now();
        }
    }
}
