//! Leases: the right of one process to write a session.
//!
//! A lease has a number, the fence, which grows with every lease of the session. A write names
//! the fence of its lease and is rejected if the record has another one. So a process that was
//! suspended for longer than its lease cannot overwrite what its successor has written.

use std::time::Duration;

use oxikit_core::ports::{Lease, StoreError, Term};

use super::files::Files;
use super::layout::Place;
use super::record::{Held, Record};

impl Files {
    /// Whether the session has no lease, or an expired one.
    pub(super) fn is_free(&self, folder: &str, session: &str, record: &Record) -> bool {
        record.lease.as_ref().is_none_or(|held| {
            let ttl = Duration::from_millis(held.ttl_millis);
            !self.holder.is_alive(&held.holder)
                || self.lease_ages.age(folder, session, record.fence, held) >= ttl
        })
    }

    /// Whether the session has no lease any more, or one with another number.
    pub(super) fn is_lost(&self, place: &Place, fence: u64) -> Result<bool, StoreError> {
        let record = self.record(place)?;
        Ok(record.is_none_or(|record| check_fence(place, &record, fence).is_err()))
    }

    // Callers of the following functions must hold the lock of the session.

    /// Takes the lease. It fails with `Conflict` while another process holds it, unless it is
    /// taken by force.
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
        self.lease_ages.forget(place);
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
            self.lease_ages.age(&place.folder.name, &place.session, record.fence, held);
        }
        Ok(())
    }
}

/// Fails if another writer has taken the lease, or if it was released.
pub(super) fn check_fence(place: &Place, record: &Record, fence: u64) -> Result<(), StoreError> {
    match record.lease {
        Some(_) if record.fence == fence => Ok(()),
        _ => Err(StoreError::Fenced(place.session.clone())),
    }
}
