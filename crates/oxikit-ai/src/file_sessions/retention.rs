//! Removes sessions and snapshots that exceed the limits of a [`Retention`].

use std::cmp::Reverse;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use oxikit_core::ports::{Retention, StoreError};
use oxikit_wire::SnapshotStatus;

use super::disk::{self, failure};
use super::files::Files;
use super::layout::Place;
use super::record::{Record, Row};

/// The removed parts of a session.
#[derive(Debug, Default)]
pub(super) struct Removed {
    /// Whether the session itself was removed.
    pub(super) is_gone: bool,
    /// Ids of its snapshots.
    pub(super) snapshots: Vec<String>,
}

/// A session without a lease and without unfinished work.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) place: Place,
    pub(super) written: u64,
    /// Whether it is too old, or beyond the limits after all that were written later.
    pub(super) is_to_go: bool,
}

impl Files {
    /// All sessions of all owners that are not in use, the oldest write first. Sessions in use
    /// count towards the limits, but are not removed.
    pub(super) fn candidates(&self, retention: &Retention) -> Result<Vec<Candidate>, StoreError> {
        let Retention { max_sessions, max_bytes, .. } = *retention;
        let mut sessions = Vec::new();
        for (folder, _) in self.folders()? {
            for (session, record) in self.sessions(&folder)?.iter() {
                let Ok(place) = folder.session(session) else { continue };
                let bytes = record.rows.iter().map(Row::bytes).sum::<u64>();
                let has_snapshots = !record.rows.is_empty();
                let is_in_use = self.is_in_use(&place, record);
                sessions.push((record.written, bytes, has_snapshots, is_in_use, place));
            }
        }
        sessions.sort_by_key(|(written, ..)| Reverse(*written));
        let (mut candidates, mut number, mut total) = (Vec::new(), 0, 0);
        for (written, bytes, has_snapshots, is_in_use, place) in sessions {
            number += usize::from(has_snapshots);
            total += bytes;
            let is_to_go = is_too_old(written, retention)
                || max_sessions.is_some_and(|max| number > max)
                || max_bytes.is_some_and(|max| total > max);
            if !is_in_use {
                candidates.push(Candidate { place, written, is_to_go });
            }
        }
        candidates.reverse();
        Ok(candidates)
    }

    /// Whether the session has a lease or unfinished work.
    fn is_in_use(&self, place: &Place, record: &Record) -> bool {
        !self.is_free(&place.folder.name, &place.session, record)
            || record.rows.iter().any(|row| row.work.is_some())
    }

    // Callers of the following functions must hold the lock of the session.

    /// Removes the session as a whole.
    pub(super) fn delete(&self, place: &Place) -> Result<Removed, StoreError> {
        let record = self.adopt(place)?;
        let snapshots: Vec<_> = record.rows.iter().map(|row| row.id.clone()).collect();
        self.remove_snapshots(place, &snapshots)?;
        let removed = place.pieces().remove_all().and_then(|()| disk::remove(&place.pointer()));
        removed.map_err(|error| failure(&place.session, error))?;
        // The record is removed last: if the deletion is interrupted, the rest still has its
        // agent and metadata, and can be deleted again.
        if self.record(place)?.is_some() {
            self.remove_record(place, &record)?;
        }
        Ok(Removed { is_gone: !snapshots.is_empty(), snapshots })
    }

    /// Removes the session if it is not in use and was not written since, or else
    /// the snapshots that are too many.
    pub(super) fn prune(
        &self,
        place: &Place,
        written: u64,
        is_to_go: bool,
        max_snapshots: Option<usize>,
    ) -> Result<Removed, StoreError> {
        let mut record = self.adopt(place)?;
        if record.written != written || self.is_in_use(place, &record) {
            return Ok(Removed::default());
        }
        if is_to_go || record.rows.is_empty() {
            return self.delete(place);
        }
        let snapshots = max_snapshots.map(|max| superfluous(&record, max)).unwrap_or_default();
        if snapshots.is_empty() {
            return Ok(Removed::default());
        }
        let before = record.pieces();
        for id in &snapshots {
            record.remove(id);
        }
        self.write_record(place, &record)?;
        self.remove_snapshots(place, &snapshots)?;
        self.remove_pieces(place, &before, &record)?;
        Ok(Removed { is_gone: false, snapshots })
    }
}

/// Whether a session with this time of its last write is too old.
fn is_too_old(written: u64, retention: &Retention) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let age = now.saturating_sub(Duration::from_nanos(written));
    retention.max_age.is_some_and(|max| age > max)
}

/// The oldest snapshots beyond the maximum that have children. The last snapshot of a branch is
/// kept, since it is the one that a client continues from.
fn superfluous(record: &Record, max: usize) -> Vec<String> {
    let parents = record.parents();
    let too_many = record.rows.len().saturating_sub(max);
    let may_go = record.rows[..too_many].iter().filter(|row| {
        parents.contains(row.id.as_str()) && row.outline.status != Some(SnapshotStatus::Pending)
    });
    may_go.map(|row| row.id.clone()).collect()
}
