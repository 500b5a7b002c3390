//! The operations of the store on its files. All of them block, so they run on blocking threads.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

use oxikit_core::ports::{Owner, StoreError, StoredSnapshot};
use oxikit_wire::SessionSnapshot;

use super::choice::{self, FileLayout};
use super::disk::{self, Stamp, Writer, failure};
use super::index::{self, Indexes, Sessions, session_of};
use super::journal::Journals;
use super::layout::{FENCES, Folder, OURS, Place};
use super::lease_ages::LeaseAges;
use super::locks::{Holder, Locks};
use super::pieces::Loaded;
use super::record::Record;

/// The directory, and what this process knows of it.
#[derive(Debug)]
pub(super) struct Files {
    root: PathBuf,
    pub(super) locks: Locks,
    pub(super) holder: Holder,
    pub(super) writer: Writer,
    /// The layout in which snapshots are written; both are read.
    pub(super) layout: FileLayout,
    pub(super) lease_ages: LeaseAges,
    indexes: Indexes,
    pub(super) journals: Journals,
    /// Greatest time of a write that this process knows. Times of writes must not go back when
    /// the clock is set back, since pages of sessions are ordered by them.
    clock: AtomicU64,
}

/// The result of looking up a row.
pub(super) enum Lookup {
    Nothing,
    Found(Box<StoredSnapshot>),
    /// The row and its note in the record differ: another process is writing, or another kind of
    /// store has written. Reading again under the lock decides.
    Unsettled(Place),
}

impl Files {
    pub(super) fn open(directory: &Path, layout: Option<FileLayout>) -> io::Result<Self> {
        disk::folder_builder().recursive(true).create(directory)?;
        let root = directory.canonicalize()?;
        let ours = root.join(OURS);
        disk::make_folder(&ours)?;
        disk::make_folder(&ours.join(FENCES))?;
        let holder = Holder::open(ours.join("holders"))?;
        let writer = Writer::new(holder.id.clone());
        Ok(Self {
            layout: choice::choose(&root, layout, &writer)?,
            locks: Locks::open(ours.join("locks"))?,
            writer,
            holder,
            lease_ages: LeaseAges::default(),
            indexes: Indexes::default(),
            journals: Journals::default(),
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

    /// The same; the caller must hold the lock of the session.
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

    /// The session's latest snapshot, unless another kind of store has written.
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

    /// The same; the caller must hold the lock. Unreadable snapshots are skipped.
    pub(super) fn latest_locked(
        &self,
        place: &Place,
    ) -> Result<Option<StoredSnapshot>, StoreError> {
        let mut record = self.adopt(place)?;
        while let Some(latest) = record.latest() {
            let (id, revision) = (latest.id.clone(), latest.revision);
            match self.snapshot(&place.folder, &id) {
                Ok(Some((snapshot, _))) => {
                    return Ok(Some(StoredSnapshot { revision, agent: record.agent, snapshot }));
                }
                Err(error @ StoreError::Damaged(..)) => {
                    tracing::warn!(id, %error, "snapshot is damaged, one before it is served");
                }
                Err(error) => return Err(error),
                Ok(None) => {}
            }
            record.rows.retain(|row| row.id != id);
        }
        Ok(None)
    }

    /// Takes over what other kinds of stores have written to the session, and mends
    /// its pointer. The caller must hold the lock.
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

    /// The present time in nanoseconds since 1970, but always later than before, even if the
    /// clock was set back.
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
        let loaded = self.load(folder, id)?;
        Ok(loaded.map(|loaded| (loaded.snapshot, loaded.stamp)))
    }

    /// The snapshot, and where its content is if it is not in its file.
    pub(super) fn load(&self, folder: &Folder, id: &str) -> Result<Option<Loaded>, StoreError> {
        let path = folder.snapshot(id)?;
        check(folder)?;
        load(folder, &path, id).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                StoreError::Damaged(id.to_owned(), Box::new(error))
            }
            _ => failure(id, error),
        })
    }

    pub(super) fn make_folders(&self, place: &Place) -> Result<(), StoreError> {
        let made = place.folder.all().iter().try_for_each(|folder| disk::make_folder(folder));
        made.map_err(|error| failure(&place.session, error))
    }
}

/// Reads a snapshot and its content. Whoever writes the snapshot anew meanwhile may
/// remove content that it had: then it is read again.
fn load(folder: &Folder, path: &Path, id: &str) -> io::Result<Option<Loaded>> {
    loop {
        let Some(mut loaded) = index::read_snapshot(path, id)? else { return Ok(None) };
        let Some(content) = &loaded.content else { return Ok(Some(loaded)) };
        let session = session_of(&loaded.snapshot).unwrap_or_default();
        let place = folder.session(session).map_err(io::Error::other)?;
        let Err(error) = content.read_into(&place.pieces(), &mut loaded.snapshot) else {
            return Ok(Some(loaded));
        };
        if disk::stamp(path)? == Some(loaded.stamp) {
            return Err(error);
        }
    }
}

/// Refuses folders that are links to others.
fn check(folder: &Folder) -> Result<(), StoreError> {
    let all = folder.all();
    let checked = all.iter().try_for_each(|path| disk::folder_written(path).map(drop));
    checked.map_err(|error| failure("sessions", error))
}
