//! What the store does with its files. Everything here blocks.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

use oxikit_core::ports::{Owner, StoreError, StoredSnapshot};
use oxikit_wire::SessionSnapshot;
use serde::{Deserialize, Serialize};

use super::disk::{self, Stamp, Writer, failure};
use super::index::{self, Indexes, Sessions, session_of};
use super::journal::Journal;
use super::layout::{Folder, OURS, Place};
use super::leases::Sights;
use super::locks::{Holder, Locks, number_of};
use super::record::{Record, Row};

/// The directory, and what this process knows of it.
#[derive(Debug)]
pub(super) struct Files {
    root: PathBuf,
    pub(super) locks: Locks,
    pub(super) holder: Holder,
    pub(super) writer: Writer,
    pub(super) sights: Sights,
    indexes: Indexes,
    /// When something was last written, as far as we know.
    clock: AtomicU64,
}

/// What the official stores write into a pointer.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pointer {
    current_snapshot_id: String,
    updated_at: String,
}

/// What was found when a row was asked for.
pub(super) enum Lookup {
    Nothing,
    Found(Box<StoredSnapshot>),
    /// The row and what is noted of it do not fit: somebody is writing, or another
    /// kind of store has written. Whoever has the lock can tell.
    Unsettled(Place),
}

impl Files {
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        disk::folder_builder().recursive(true).create(directory)?;
        let root = directory.canonicalize()?;
        let ours = root.join(OURS);
        disk::make_folder(&ours)?;
        disk::make_folder(&ours.join(FENCES))?;
        let holder = Holder::open(ours.join("holders"))?;
        Ok(Self {
            locks: Locks::open(ours.join("locks"))?,
            writer: Writer::new(holder.id.clone()),
            holder,
            sights: Sights::default(),
            indexes: Indexes::default(),
            clock: AtomicU64::new(0),
            root,
        })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn folder(&self, owner: &Owner) -> Result<Folder, StoreError> {
        Folder::of(&self.root, owner)
    }

    /// The folders of all owners.
    pub(super) fn folders(&self) -> Result<Vec<(Folder, Owner)>, StoreError> {
        let entries = fs::read_dir(&self.root).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let entries = entries.map_err(|error| failure("sessions", error))?;
        let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let named = |entry: &fs::DirEntry| Folder::named(&self.root, entry.file_name().to_str()?);
        Ok(entries.iter().filter(|entry| is_folder(entry)).filter_map(named).collect())
    }

    /// The snapshot and its revision.
    pub(super) fn get(&self, folder: &Folder, id: &str) -> Result<Lookup, StoreError> {
        let Some((snapshot, stamp)) = self.snapshot(folder, id)? else {
            return Ok(Lookup::Nothing);
        };
        let place = session_of(&snapshot).and_then(|session| folder.session(session).ok());
        let Some(place) = place else {
            // A row of no session, by another kind of store.
            let stored = StoredSnapshot { revision: 1, agent: None, snapshot };
            return Ok(Lookup::Found(Box::new(stored)));
        };
        let record = self.record(&place)?;
        let row = record.as_ref().and_then(|record| record.row(id));
        Ok(match row.filter(|row| row.stamp == stamp) {
            Some(row) => {
                let revision = row.revision;
                let agent = record.and_then(|record| record.agent);
                Lookup::Found(Box::new(StoredSnapshot { revision, agent, snapshot }))
            }
            None => Lookup::Unsettled(place),
        })
    }

    /// The same by whoever has the lock of its session.
    pub(super) fn get_locked(
        &self,
        place: &Place,
        id: &str,
    ) -> Result<Option<StoredSnapshot>, StoreError> {
        if let Lookup::Found(stored) = self.get(&place.folder, id)? {
            return Ok(Some(*stored));
        }
        let record = self.adopt(place)?;
        let Some((snapshot, _)) = self.snapshot(&place.folder, id)? else { return Ok(None) };
        let revision = record.row(id).map_or(1, |row| row.revision);
        Ok(Some(StoredSnapshot { revision, agent: record.agent, snapshot }))
    }

    /// The session's latest snapshot, if nobody else has written.
    pub(super) fn latest(&self, place: &Place) -> Result<Lookup, StoreError> {
        check(&place.folder)?;
        if let Some(record) = self.record(place)?
            && let Some(latest) = record.latest()
            && record.pointer.is_some()
            && record.pointer == self.pointer(place)
        {
            return match self.snapshot(&place.folder, &latest.id) {
                Ok(Some((snapshot, stamp))) if stamp == latest.stamp => {
                    let (revision, agent) = (latest.revision, record.agent.clone());
                    Ok(Lookup::Found(Box::new(StoredSnapshot { revision, agent, snapshot })))
                }
                Ok(_) | Err(StoreError::Damaged(..)) => Ok(Lookup::Unsettled(place.clone())),
                Err(error) => Err(error),
            };
        }
        let is_there = |record: &Record| !record.rows.is_empty();
        let is_there = self.sessions(&place.folder)?.get(&place.session).is_some_and(is_there);
        Ok(if is_there { Lookup::Unsettled(place.clone()) } else { Lookup::Nothing })
    }

    /// The same by whoever has the lock. What cannot be read does not count.
    pub(super) fn latest_locked(
        &self,
        place: &Place,
    ) -> Result<Option<StoredSnapshot>, StoreError> {
        let record = self.adopt(place)?;
        let Some(latest) = record.latest() else { return Ok(None) };
        let Some((snapshot, _)) = self.snapshot(&place.folder, &latest.id)? else {
            return Ok(None);
        };
        let revision = latest.revision;
        Ok(Some(StoredSnapshot { revision, agent: record.agent, snapshot }))
    }

    /// Takes over what other kinds of stores have written to the session, and mends
    /// its pointer. Only for whoever has the lock.
    pub(super) fn adopt(&self, place: &Place) -> Result<Record, StoreError> {
        let mut record = self.record_or_new(place)?;
        let mut is_new = self
            .indexes
            .look(&place.folder, &self.holder, |index| record.adopt(index.files_of(&place.session)))
            .map_err(|error| failure(&place.session, error))?;
        let Some(latest) = record.latest() else { return Ok(record) };
        self.make_folders(place)?;
        if self.pointer(place).as_ref() != Some(&latest.id) {
            self.write_pointer(place, latest);
        }
        is_new |= record.pointer.as_ref() != Some(&latest.id);
        if is_new {
            record.pointer = Some(latest.id.clone());
            self.write_record(place, &record)?;
        }
        Ok(record)
    }

    /// All sessions of a folder as they are now.
    pub(super) fn sessions(&self, folder: &Folder) -> Result<Arc<Sessions>, StoreError> {
        check(folder)?;
        let sessions = self
            .indexes
            .look(folder, &self.holder, index::Index::sessions)
            .map_err(|error| failure("sessions", error))?;
        let written = sessions.values().map(|record| record.written).max();
        self.clock.fetch_max(written.unwrap_or_default(), Relaxed);
        Ok(sessions)
    }

    /// The time, but always later than before, whatever the clock on the wall does.
    pub(super) fn tick(&self) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = u64::try_from(now.as_nanos()).unwrap_or_default();
        let later = |last: u64| Some(now.max(last + 1));
        let last = self.clock.fetch_update(Relaxed, Relaxed, later);
        now.max(last.unwrap_or_default() + 1)
    }

    pub(super) fn snapshot(
        &self,
        folder: &Folder,
        id: &str,
    ) -> Result<Option<(SessionSnapshot, Stamp)>, StoreError> {
        let path = folder.snapshot(id)?;
        check(folder)?;
        index::read_snapshot(&path, id).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                StoreError::Damaged(id.to_owned(), Box::new(error))
            }
            _ => failure(id, error),
        })
    }

    /// What is noted of the session. A damaged note counts as none, but the numbers
    /// of its leases must not be used again: so many there cannot have been.
    pub(super) fn record(&self, place: &Place) -> Result<Option<Record>, StoreError> {
        Ok(Journal::read(&place.record()).map(|journal| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let lost = |()| Record { fence: now.as_secs(), ..Record::default() };
            journal.map_or_else(lost, |journal| journal.record)
        }))
    }

    pub(super) fn record_or_new(&self, place: &Place) -> Result<Record, StoreError> {
        match self.record(place)? {
            Some(record) => Ok(record),
            None => Ok(Record { fence: self.fence_floor(place), ..Record::default() }),
        }
    }

    pub(super) fn write_record(&self, place: &Place, record: &Record) -> Result<(), StoreError> {
        let path = place.record();
        let former = Journal::read(&path).and_then(Result::ok);
        let written = Journal::write(former, &path, record, &self.writer);
        let mark = |is_added| if is_added { disk::touch(&place.folder.mark()) } else { Ok(()) };
        let marked = written.and_then(mark);
        marked.map_err(|error| failure(&place.session, error))
    }

    /// Removes the record; leases to come have greater numbers all the same.
    pub(super) fn remove_record(&self, place: &Place, record: &Record) -> Result<(), StoreError> {
        let floor = self.fence_floor(place).max(record.fence);
        let remove = || {
            self.writer.replace(&self.fence_path(place), floor.to_string().as_bytes())?;
            disk::remove(&place.record())?;
            disk::sync_folder(&place.folder.records())
        };
        remove().map_err(|error| failure(&place.session, error))
    }

    pub(super) fn make_folders(&self, place: &Place) -> Result<(), StoreError> {
        let made = place.folder.all().iter().try_for_each(|folder| disk::make_folder(folder));
        made.map_err(|error| failure(&place.session, error))
    }

    /// The snapshot that the session's pointer names.
    pub(super) fn pointer(&self, place: &Place) -> Option<String> {
        let pointer = index::read_json::<Pointer>(&place.pointer())?.ok()?;
        Some(pointer.current_snapshot_id)
    }

    /// Points to this snapshot. It is a shortcut for official readers: if it cannot
    /// be written, they look for themselves.
    pub(super) fn write_pointer(&self, place: &Place, row: &Row) {
        let pointer = Pointer {
            current_snapshot_id: row.id.clone(),
            updated_at: row.outline.updated_at().to_owned(),
        };
        let bytes = serde_json::to_vec_pretty(&pointer).map_err(io::Error::from);
        let written = bytes.and_then(|bytes| self.writer.replace(&place.pointer(), &bytes));
        if let Err(error) = written {
            tracing::warn!(session = place.session, %error, "pointer is not written");
        }
    }

    /// The greatest number of a lease of a session that is gone.
    fn fence_floor(&self, place: &Place) -> u64 {
        let read = disk::read(&self.fence_path(place));
        let text = read.ok().flatten().and_then(|found| String::from_utf8(found.bytes).ok());
        text.and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// Sessions share these files, as they do locks.
    fn fence_path(&self, place: &Place) -> PathBuf {
        let number = number_of(&place.folder.name, &place.session);
        self.root.join(OURS).join(FENCES).join(format!("{number:02}"))
    }
}

const FENCES: &str = "fences";

/// Refuses folders that are links to others.
fn check(folder: &Folder) -> Result<(), StoreError> {
    let all = folder.all();
    let checked = all.iter().try_for_each(|path| disk::folder_written(path).map(drop));
    checked.map_err(|error| failure("sessions", error))
}
