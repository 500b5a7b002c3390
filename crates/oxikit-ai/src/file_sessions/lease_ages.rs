//! The age of leases, as observed by this process.
//!
//! A lease in a file cannot carry a deadline, because the clocks of other machines may differ.
//! Instead every process notes when it first saw a lease in its present form (fence and number of
//! renewals). A lease that stays unchanged for its whole time to live has expired.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::layout::Place;
use super::record::Held;

/// Maximum number of observed leases. Beyond it all observations start again.
const MAX_OBSERVED: usize = 10_000;

/// When this process first saw leases in their present form, by its own monotonic clock.
#[derive(Debug, Default)]
pub(super) struct LeaseAges(Mutex<HashMap<(String, String), Observation>>);

#[derive(Debug)]
struct Observation {
    fence: u64,
    renewed: u64,
    since: Instant,
}

impl LeaseAges {
    /// Time since this process first saw the lease in its present form. The real age may be
    /// greater.
    pub(super) fn age(&self, folder: &str, session: &str, fence: u64, held: &Held) -> Duration {
        let mut observations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let key = (folder.to_owned(), session.to_owned());
        if !observations.contains_key(&key) && observations.len() >= MAX_OBSERVED {
            // All ages start again at zero: leases expire later than necessary, never too early.
            observations.clear();
        }
        let observation = observations.entry(key).or_insert(Observation {
            fence,
            renewed: held.renewed,
            since: now,
        });
        if (observation.fence, observation.renewed) != (fence, held.renewed) {
            *observation = Observation { fence, renewed: held.renewed, since: now };
        }
        now.duration_since(observation.since)
    }

    pub(super) fn forget(&self, place: &Place) {
        let key = (place.folder.name.clone(), place.session.clone());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
    }
}
