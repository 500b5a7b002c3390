//! Leases: the exclusive right to write a session.
//!
//! The rules are those of the SQLite store: a fence that grows with every lease and is checked
//! by every write, a beat that renewals increment, and expiry measured by the waiting process
//! as the time without a new beat. A holder whose process has ended is found by the lock that
//! its always open connection holds.
//!
//! Here an answer can be lost on the network, so a process may hold a lease without knowing.
//! Each attempt has a random number, which is stored with the lease. The next attempt of the
//! process names the numbers of its unanswered ones, and a lease with one of them is its own.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use oxikit_core::ports::{Lease, Owner, StoreError, Term};
use sqlx::Row;
use tokio::time::Instant;

use super::PostgresStore;
use super::database::failure;
use super::text::column;
use super::watched::{Key, lock};
use crate::known::owner_text;

/// Maximum number of observed leases. Beyond it expired observations are dropped, or else all
/// of them, and the time to live of each is measured from the beginning.
const MAX_OBSERVED: usize = 10_000;

/// Leases of other writers as this process has observed them. Wall clocks are not compared:
/// each process measures with its own clock how long a lease has not changed.
#[derive(Debug, Default)]
pub(super) struct Observed(Mutex<HashMap<(String, String), Sight>>);

/// A lease as it was seen, and since when it has not changed.
#[derive(Debug, Clone, Copy)]
struct Sight {
    /// Fence and beat.
    state: (i64, i64),
    /// The time to live that its holder has chosen.
    ttl: Duration,
    since: Instant,
}

impl Observed {
    /// Fence and beat of a lease that has expired if the database still has the same ones.
    pub(super) fn expired(&self, owner: &str, session: &str) -> Option<(i64, i64)> {
        let seen = lock(&self.0);
        let sight = seen.get(&(owner.to_owned(), session.to_owned()))?;
        (sight.since.elapsed() > sight.ttl).then_some(sight.state)
    }

    /// Records the state of a lease. Returns whether the lease has expired.
    pub(super) fn note(&self, owner: &str, session: &str, state: (i64, i64), ttl_ms: i64) -> bool {
        let ttl = Duration::from_millis(ttl_ms.try_into().unwrap_or_default());
        let mut seen = lock(&self.0);
        if seen.len() >= MAX_OBSERVED {
            // An old observation means that no caller waits for the lease any more.
            seen.retain(|_, sight| sight.since.elapsed() < sight.ttl * 2);
            if seen.len() >= MAX_OBSERVED {
                seen.clear();
            }
        }
        let now = Sight { state, ttl, since: Instant::now() };
        let sight = seen.entry((owner.to_owned(), session.to_owned())).or_insert(now);
        if sight.state != state {
            *sight = now;
        }
        sight.since.elapsed() > sight.ttl
    }

    /// Drops the observation of a lease that this process has taken.
    fn forget(&self, owner: &str, session: &str) {
        lock(&self.0).remove(&(owner.to_owned(), session.to_owned()));
    }
}

/// Attempts of this process to take a lease that were never answered. The database may have
/// granted it nevertheless.
#[derive(Debug, Default)]
pub(super) struct Unanswered(Mutex<HashMap<(String, String), Vec<i64>>>);

impl Unanswered {
    /// The numbers of the attempts for this owner and session.
    fn of(&self, key: &(String, String)) -> Vec<i64> {
        lock(&self.0).get(key).cloned().unwrap_or_default()
    }

    /// Drops the attempts: the lease was taken by an answered one.
    fn forget(&self, key: &(String, String)) {
        lock(&self.0).remove(key);
    }
}

/// A running attempt. Unless it is answered, its drop records it as unanswered; this includes
/// a cancelled caller.
struct Attempt<'a> {
    unanswered: &'a Unanswered,
    key: (String, String),
    number: i64,
    is_answered: bool,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        let mut all = lock(&self.unanswered.0);
        if all.len() >= MAX_OBSERVED {
            // The leases of forgotten attempts are free when they expire.
            all.clear();
        }
        all.entry(std::mem::take(&mut self.key)).or_default().push(self.number);
    }
}

impl PostgresStore {
    /// Takes the lease, or fails with `Conflict` if it is held. A held lease is observed from
    /// then on, so that a later call finds out that it has expired.
    pub(super) async fn take_lease(
        &self,
        owner: &Owner,
        session: &str,
        term: Term,
    ) -> Result<Lease, StoreError> {
        let (owner, id) = (owner_text(owner), column(session));
        let ttl_ms = i64::try_from(term.ttl.as_millis()).unwrap_or(i64::MAX);
        // Only a lease that this process has watched for its whole time to live counts as
        // expired.
        let expired = self.0.observed.expired(&owner, &id);
        let (fence, beat) = expired.unzip();
        let unanswered = &self.0.unanswered;
        let key = (owner.clone(), id.clone().into_owned());
        let before = unanswered.of(&key);
        let number = fastrand::i64(..);
        let mut attempt = Attempt { unanswered, key, number, is_answered: false };
        // The database checks again what this process has observed: fence and beat must still be
        // the same for an expired lease to be taken.
        let take = sqlx::query("SELECT * FROM take_lease($1, $2, $3, $4, $5, $6, $7, $8, $9)");
        let take = take.bind(&owner).bind(&id).bind(ttl_ms).bind(self.0.instance);
        let take = take.bind(term.by_force).bind(fence).bind(beat).bind(number).bind(&before);
        let row = self.0.database.optional(take).await?;
        let row = row.ok_or_else(|| StoreError::Conflict(session.to_owned()))?;
        attempt.is_answered = true;
        let fence: i64 = row.try_get("fence").map_err(failure)?;
        if row.try_get("is_taken").map_err(failure)? {
            if term.by_force || expired.is_some() {
                // The previous holder may still be running: the notification stops it.
                self.publish(&Key::Lease(owner.clone(), id.clone().into_owned()));
            }
            self.0.observed.forget(&owner, &id);
            unanswered.forget(&attempt.key);
            let fence = fence.cast_unsigned();
            return Ok(Lease { session: session.to_owned(), fence, ttl: term.ttl });
        }
        let beat = row.try_get("beat").map_err(failure)?;
        let ttl_ms = row.try_get("ttl_ms").map_err(failure)?;
        // The observation begins or goes on; the caller tries again later.
        self.0.observed.note(&owner, &id, (fence, beat), ttl_ms);
        Err(StoreError::Conflict(session.to_owned()))
    }

    /// Increments the beat, which shows all waiting processes that the holder is alive. Fails
    /// with `Fenced` if the lease was taken by another writer.
    pub(super) async fn renew_lease(&self, owner: &Owner, lease: &Lease) -> Result<(), StoreError> {
        let renew = sqlx::query(
            "UPDATE leases SET beat = beat + 1
             WHERE owner = $1 AND session = $2 AND fence = $3 AND is_held",
        );
        let renew = renew.bind(owner_text(owner)).bind(column(&lease.session));
        match self.0.database.execute(renew.bind(lease.fence.cast_signed())).await? {
            0 => Err(StoreError::Fenced(lease.session.clone())),
            _ => Ok(()),
        }
    }

    /// Frees the lease, unless it belongs to another writer by now.
    pub(super) async fn release_lease(
        &self,
        owner: &Owner,
        lease: &Lease,
    ) -> Result<(), StoreError> {
        let release = sqlx::query(
            "UPDATE leases SET is_held = false WHERE owner = $1 AND session = $2 AND fence = $3",
        );
        let release = release.bind(owner_text(owner)).bind(column(&lease.session));
        self.0.database.execute(release.bind(lease.fence.cast_signed())).await.map(drop)
    }
}
