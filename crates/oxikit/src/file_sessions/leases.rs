//! The right to write a session.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use oxikit_core::ports::{Lease, StoreError, Term};
use tokio::time::Instant;

use super::files::Files;
use super::layout::Place;
use super::record::{Held, Record};

/// So many leases are remembered.
const MAX_SIGHTS: usize = 10_000;

/// When this process first saw leases as they are. The clocks of others have no
/// say, nor has that on the wall.
#[derive(Debug, Default)]
pub(super) struct Sights(Mutex<HashMap<(String, String), Sight>>);

#[derive(Debug)]
struct Sight {
    fence: u64,
    renewed: u64,
    since: Instant,
}

impl Sights {
    /// For how long the lease has been as it is, as far as we know.
    fn age(&self, folder: &str, session: &str, fence: u64, held: &Held) -> Duration {
        let mut sights = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let key = (folder.to_owned(), session.to_owned());
        if !sights.contains_key(&key) && sights.len() >= MAX_SIGHTS {
            // Their time begins again: late, but safe.
            sights.clear();
        }
        let sight = sights.entry(key).or_insert(Sight { fence, renewed: held.renewed, since: now });
        if (sight.fence, sight.renewed) != (fence, held.renewed) {
            *sight = Sight { fence, renewed: held.renewed, since: now };
        }
        now.duration_since(sight.since)
    }

    fn forget(&self, place: &Place) {
        let key = (place.folder.name.clone(), place.session.clone());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
    }
}

impl Files {
    /// Whether nobody has the session's lease.
    pub(super) fn is_free(&self, folder: &str, session: &str, record: &Record) -> bool {
        record.lease.as_ref().is_none_or(|held| {
            let ttl = Duration::from_millis(held.ttl_millis);
            !self.holder.is_alive(&held.holder)
                || self.sights.age(folder, session, record.fence, held) >= ttl
        })
    }

    /// Whether the lease with this number is not the session's any more.
    pub(super) fn is_lost(&self, place: &Place, fence: u64) -> Result<bool, StoreError> {
        let record = self.record(place)?;
        Ok(record.is_none_or(|record| check_fence(place, &record, fence).is_err()))
    }

    // What follows is for whoever has the lock.

    pub(super) fn lease(&self, place: &Place, term: Term) -> Result<Lease, StoreError> {
        self.make_folders(place)?;
        let mut record = self.record_or_new(place)?;
        let is_free = self.is_free(&place.folder.name, &place.session, &record);
        if !is_free && !term.by_force {
            return Err(StoreError::Conflict(place.session.clone()));
        }
        if record.lease.is_some() {
            // Its holder may have died between a snapshot and the note of it. The next turn
            // must go on from that snapshot, or it becomes a branch when it is found.
            record = self.adopt(place)?;
        }
        record.fence += 1;
        let ttl_millis = u64::try_from(term.ttl.as_millis()).unwrap_or(u64::MAX);
        record.lease = Some(Held { holder: self.holder.id.clone(), ttl_millis, renewed: 0 });
        self.write_lease(place, &record)?;
        Ok(Lease { session: place.session.clone(), fence: record.fence, ttl: term.ttl })
    }

    pub(super) fn renew(&self, place: &Place, fence: u64) -> Result<(), StoreError> {
        let mut record = self.record_or_new(place)?;
        check_fence(place, &record, fence)?;
        if let Some(held) = &mut record.lease {
            held.renewed += 1;
        }
        self.write_lease(place, &record)
    }

    pub(super) fn release(&self, place: &Place, fence: u64) -> Result<(), StoreError> {
        let mut record = self.record_or_new(place)?;
        if check_fence(place, &record, fence).is_err() {
            return Ok(());
        }
        self.sights.forget(place);
        record.lease = None;
        if record.rows.is_empty() {
            // A session that was never written leaves nothing behind.
            return self.remove_record(place, &record);
        }
        self.write_record(place, &record)
    }

    /// Writes the record, and begins to count the time of its lease.
    fn write_lease(&self, place: &Place, record: &Record) -> Result<(), StoreError> {
        self.write_record(place, record)?;
        if let Some(held) = &record.lease {
            self.sights.age(&place.folder.name, &place.session, record.fence, held);
        }
        Ok(())
    }
}

/// Fails if another writer has got the lease, or it was given back.
pub(super) fn check_fence(place: &Place, record: &Record, fence: u64) -> Result<(), StoreError> {
    match record.lease {
        Some(_) if record.fence == fence => Ok(()),
        _ => Err(StoreError::Fenced(place.session.clone())),
    }
}
