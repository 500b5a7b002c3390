//! Tells those who wait for a change of a snapshot.

use std::hash::{BuildHasher, RandomState};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::ports::Owner;

/// More bells wake fewer waiters in vain, and cost their memory in every store.
const BELLS: usize = 256;

/// A fixed number of bells. A snapshot always has the same one, and shares it with
/// others: whoever is woken looks whether it was meant.
pub(super) struct Bells {
    bells: Box<[Notify]>,
    hasher: RandomState,
}

impl Default for Bells {
    fn default() -> Self {
        Self { bells: (0..BELLS).map(|_| Notify::new()).collect(), hasher: RandomState::new() }
    }
}

impl Bells {
    fn of(&self, owner: &Owner, snapshot: &str) -> &Notify {
        let hash = self.hasher.hash_one((owner, snapshot));
        // The remainder is smaller than any `usize`.
        &self.bells[(hash % BELLS as u64) as usize]
    }

    pub(super) fn ring(&self, owner: &Owner, snapshot: &str) {
        self.of(owner, snapshot).notify_waiters();
    }

    /// Resolves when the bell rings after this call, also if it is awaited later.
    pub(super) fn hear(&self, owner: &Owner, snapshot: &str) -> Notified<'_> {
        self.of(owner, snapshot).notified()
    }
}
