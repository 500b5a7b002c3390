//! Reading a row, changing it and writing it, under the lock of its session.

use std::collections::HashSet;

use oxikit_core::ports::{
    MAX_ARTIFACT_BYTES, MAX_SESSION_BYTES, MAX_SNAPSHOT_BYTES, SnapshotWrite, StoreError,
};
use oxikit_wire::{JsonObject, SessionSnapshot, SnapshotStatus};

use super::contents::Plan;
use super::files::Files;
use super::index::session_of;
use super::layout::Place;
use super::leases::check_fence;
use super::pieces::Loaded;
use super::record::{Outline, Record, Row};
use super::size::Size;

/// The arguments of a write, apart from the snapshot.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) snapshot: String,
    agent: String,
    fence: Option<u64>,
    releases: bool,
    metadata: Option<JsonObject>,
    work: Option<String>,
}

impl Change {
    pub(super) fn of(write: &SnapshotWrite<'_>) -> Result<Self, StoreError> {
        if let Some(lease) = write.lease.filter(|lease| lease.session != write.session) {
            return Err(StoreError::Fenced(lease.session.clone()));
        }
        Ok(Self {
            snapshot: write.snapshot.to_owned(),
            agent: write.agent.to_owned(),
            fence: write.lease.map(|lease| lease.fence),
            releases: write.releases,
            metadata: write.metadata.cloned(),
            work: write.work.map(ToOwned::to_owned),
        })
    }
}

/// A row and its session as they were when the lock was taken.
#[derive(Debug)]
pub(super) struct Opened {
    previous: Option<Loaded>,
    /// 0 for a new row.
    revision: u64,
    record: Record,
}

impl Opened {
    /// The row as it was.
    pub(super) fn snapshot(&self) -> Option<&SessionSnapshot> {
        self.previous.as_ref().map(|previous| &previous.snapshot)
    }
}

/// The result of a write.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) revision: u64,
    /// Ids of snapshots that were removed.
    pub(super) removed: Vec<String>,
}

impl Files {
    pub(super) fn open_row(&self, place: &Place, change: &Change) -> Result<Opened, StoreError> {
        let mut record = self.record_or_new(place)?;
        if let Some(fence) = change.fence {
            check_fence(place, &record, fence)?;
        }
        if record.pointer != self.pointer(place) {
            record = self.adopt(place)?;
        }
        let id = &change.snapshot;
        let Some(previous) = self.load(&place.folder, id)? else {
            return Ok(Opened { previous: None, revision: 0, record });
        };
        if session_of(&previous.snapshot) != Some(&place.session) {
            return Err(StoreError::Exists(id.clone()));
        }
        let revision = match record.row(id) {
            Some(row) if row.stamp == previous.stamp => row.revision,
            // Another kind of store has written it since.
            Some(row) => row.revision + 1,
            None => 1,
        };
        Ok(Opened { previous: Some(previous), revision, record })
    }

    pub(super) fn write_row(
        &self,
        place: &Place,
        change: Change,
        opened: Opened,
        mut snapshot: SessionSnapshot,
        max_chain: Option<usize>,
    ) -> Result<Written, StoreError> {
        let Opened { previous, revision, mut record } = opened;
        place.session.clone_into(snapshot.session_id.get_or_insert_default());
        if let Some(state) = &mut snapshot.state {
            place.session.clone_into(state.session_id.get_or_insert_default());
        }
        change.snapshot.clone_into(&mut snapshot.snapshot_id);
        let plan = self.plan(place, &snapshot, previous.as_ref())?;
        let own_bytes = self.make_room(place, &mut record, &snapshot, &plan)?;
        self.make_folders(place)?;
        let is_new = previous.is_none();
        let (stamp, content) = self.write_snapshot(place, &change.snapshot, &plan, is_new)?;

        // From here on the snapshot exists. If the process ends before the record is written,
        // the next writer finds the file and adopts it.
        let revision = revision + 1;
        let outline = Outline::of(&snapshot, content.as_ref());
        let pieces = record.pieces();
        let row = Row {
            work: change.work,
            own_bytes,
            elsewhere: elsewhere(&record, &change.snapshot) + plan.elsewhere(),
            ..Row::new(change.snapshot.clone(), revision, stamp, outline)
        };
        if is_new {
            record.pointer = Some(row.id.clone());
        }
        let pointed = is_new.then(|| row.clone());
        match record.rows.iter_mut().find(|known| known.id == row.id) {
            Some(known) => *known = row,
            None => record.rows.push(row),
        }
        record.agent.get_or_insert(change.agent);
        record.written = self.tick();
        if change.metadata.is_some() {
            record.metadata = change.metadata;
        }
        if change.releases {
            record.lease = None;
        }
        // Trimmed snapshots leave the record first and the disk afterwards: a record never
        // refers to a file that was removed.
        let removed = max_chain.map(|max| trim(&mut record, &change.snapshot, max));
        let removed = removed.unwrap_or_default();
        self.write_record(place, &record)?;
        if let Some(row) = pointed {
            self.write_pointer(place, &row);
        }
        self.remove_snapshots(place, &removed)?;
        self.remove_pieces(place, &pieces, &record)?;
        Ok(Written { revision, removed })
    }

    /// Fails if the snapshot is too large, or its session would be.
    ///
    /// The limit of a session counts shared content once. Counting it exactly needs all
    /// snapshots, so the bytes of the files, which are never fewer, are compared first; only if
    /// they exceed the limit is the exact number determined. Then the bytes that the snapshot
    /// does not share are returned, to be stored for the next time.
    fn make_room(
        &self,
        place: &Place,
        record: &mut Record,
        snapshot: &SessionSnapshot,
        plan: &Plan,
    ) -> Result<Option<u64>, StoreError> {
        let id = &snapshot.snapshot_id;
        let others = record.rows.iter().filter(|row| row.id != *id);
        let in_files = others.map(Row::bytes).sum::<u64>() + elsewhere(record, id);
        let fits = in_files + plan.added_bytes() <= MAX_SESSION_BYTES as u64;
        if fits && plan.bytes() <= MAX_SNAPSHOT_BYTES.min(MAX_ARTIFACT_BYTES) as u64 {
            return Ok(None);
        }
        let size = Size::of(snapshot);
        size.check(id)?;
        if fits {
            return Ok(None);
        }
        let own_bytes =
            size.own(self.parent(place, snapshot).map(|parent| parent.snapshot).as_ref());
        let others = self.count(place, record, id);
        if others + own_bytes <= MAX_SESSION_BYTES as u64 {
            return Ok(Some(own_bytes));
        }
        // The counted bytes are stored, so that the next attempt need not count again.
        self.write_record(place, record)?;
        Err(StoreError::Full(id.clone(), "the session's history is too large"))
    }

    /// The bytes of all rows but this one, with shared content counted once.
    fn count(&self, place: &Place, record: &mut Record, but: &str) -> u64 {
        let mut all = 0;
        for row in record.rows.iter_mut().filter(|row| row.id != but) {
            let count = || match self.snapshot(&place.folder, &row.id) {
                Ok(Some((snapshot, _))) => {
                    let parent = self.parent(place, &snapshot).map(|parent| parent.snapshot);
                    Size::of(&snapshot).own(parent.as_ref())
                }
                // A snapshot whose parent cannot be read shares nothing.
                _ => row.bytes(),
            };
            let bytes = row.own_bytes.unwrap_or_else(count);
            row.own_bytes = Some(bytes);
            all += bytes;
        }
        all
    }
}

/// Bytes of content that were written for a row elsewhere than in its file.
fn elsewhere(record: &Record, id: &str) -> u64 {
    record.row(id).map_or(0, |row| row.elsewhere)
}

/// Forgets the ancestors of a snapshot that are too many, as the official option
/// does; answers their ids. Work that goes on stays.
fn trim(record: &mut Record, id: &str, max: usize) -> Vec<String> {
    let (mut chain, mut seen) = (Vec::new(), HashSet::new());
    let mut next = record.row(id);
    while let Some(row) = next.filter(|row| seen.insert(row.id.as_str())) {
        if seen.len() > max && row.outline.status != Some(SnapshotStatus::Pending) {
            chain.push(row.id.clone());
        }
        next = row.outline.parent.as_deref().and_then(|parent| record.row(parent));
    }
    for id in &chain {
        record.remove(id);
    }
    chain
}
