//! Who may write a session.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use oxikit_core::ports::{Lease, Owner, StoreError, Term};
use sqlx::Row;
use tokio::time::Instant;

use super::PostgresStore;
use super::bell::{Key, lock};
use super::database::failure;
use super::text::column;
use crate::known::owner_text;

/// Of so many leases of others it is known since when they are as they are; those
/// that were looked at longest ago are forgotten, and are waited for again.
const MAX_OBSERVED: usize = 10_000;

/// Leases of other writers as this process has seen them. The clock on the wall has
/// no say: whoever wants a lease measures by itself how long it has not changed.
#[derive(Debug, Default)]
pub(super) struct Observed(Mutex<HashMap<(String, String), Sight>>);

#[derive(Debug, Clone, Copy)]
struct Sight {
    state: (i64, i64),
    ttl: Duration,
    since: Instant,
}

impl Observed {
    /// Fence and beat of a lease that was last seen so and has run out if it still
    /// is so.
    pub(super) fn expired(&self, owner: &str, session: &str) -> Option<(i64, i64)> {
        let seen = lock(&self.0);
        let sight = seen.get(&(owner.to_owned(), session.to_owned()))?;
        (sight.since.elapsed() > sight.ttl).then_some(sight.state)
    }

    /// Notes how a lease is; says whether it has run out.
    pub(super) fn note(&self, owner: &str, session: &str, state: (i64, i64), ttl_ms: i64) -> bool {
        let ttl = Duration::from_millis(ttl_ms.try_into().unwrap_or_default());
        let mut seen = lock(&self.0);
        if seen.len() >= MAX_OBSERVED {
            // Nobody has asked for a lease that ran out long ago.
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

    fn forget(&self, owner: &str, session: &str) {
        lock(&self.0).remove(&(owner.to_owned(), session.to_owned()));
    }
}

/// Attempts of this process to take a lease that were never answered: the database
/// may have given it all the same.
#[derive(Debug, Default)]
pub(super) struct Unanswered(Mutex<HashMap<(String, String), Vec<i64>>>);

impl Unanswered {
    fn of(&self, key: &(String, String)) -> Vec<i64> {
        lock(&self.0).get(key).cloned().unwrap_or_default()
    }

    fn forget(&self, key: &(String, String)) {
        lock(&self.0).remove(key);
    }
}

/// An attempt under way. Unless it is answered, it is noted as one that was not,
/// also when the caller goes away.
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
            // Leases of these are waited for until they run out.
            all.clear();
        }
        all.entry(std::mem::take(&mut self.key)).or_default().push(self.number);
    }
}

impl PostgresStore {
    pub(super) async fn take_lease(
        &self,
        owner: &Owner,
        session: &str,
        term: Term,
    ) -> Result<Lease, StoreError> {
        let (owner, id) = (owner_text(owner), column(session));
        let ttl_ms = i64::try_from(term.ttl.as_millis()).unwrap_or(i64::MAX);
        let expired = self.0.observed.expired(&owner, &id);
        let (fence, beat) = expired.unzip();
        let unanswered = &self.0.unanswered;
        let key = (owner.clone(), id.clone().into_owned());
        let before = unanswered.of(&key);
        let number = fastrand::i64(..);
        let mut attempt = Attempt { unanswered, key, number, is_answered: false };
        let take = sqlx::query("SELECT * FROM take_lease($1, $2, $3, $4, $5, $6, $7, $8, $9)");
        let take = take.bind(&owner).bind(&id).bind(ttl_ms).bind(self.0.instance);
        let take = take.bind(term.by_force).bind(fence).bind(beat).bind(number).bind(&before);
        let row = self.0.database.optional(take).await?;
        let row = row.ok_or_else(|| StoreError::Conflict(session.to_owned()))?;
        attempt.is_answered = true;
        let fence: i64 = row.try_get("fence").map_err(failure)?;
        if row.try_get("is_taken").map_err(failure)? {
            if term.by_force || expired.is_some() {
                // Its former holder may be at work.
                let key = Key::Lease(owner.clone(), id.clone().into_owned());
                self.0.bell.ring(key.topic());
            }
            self.0.observed.forget(&owner, &id);
            unanswered.forget(&attempt.key);
            let fence = fence.cast_unsigned();
            return Ok(Lease { session: session.to_owned(), fence, ttl: term.ttl });
        }
        let beat = row.try_get("beat").map_err(failure)?;
        let ttl_ms = row.try_get("ttl_ms").map_err(failure)?;
        self.0.observed.note(&owner, &id, (fence, beat), ttl_ms);
        Err(StoreError::Conflict(session.to_owned()))
    }

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
