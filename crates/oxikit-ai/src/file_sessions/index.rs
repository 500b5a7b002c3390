//! An index of a folder of sessions. Only files that have changed are read again.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use oxikit_wire::SessionSnapshot;

use super::disk::{self, Stamp};
use super::journal::Journal;
use super::layout::{Folder, id_of};
use super::locks::{self, Holder};
use super::pieces::Loaded;
use super::record::{Outline, Record};

/// Maximum number of indexed folders. Beyond it the whole cache is cleared.
const MAX_FOLDERS: usize = 256;
/// Minimum age of a modification time that can be trusted. File systems count time in steps, so a
/// file that changes twice within one step has the same modification time both times.
const SETTLED: Duration = Duration::from_millis(100);

/// All sessions of a folder, also those without a snapshot yet.
pub(super) type Sessions = HashMap<String, Record>;

/// The indexes of all folders.
#[derive(Debug, Default)]
pub(super) struct Indexes {
    folders: Mutex<HashMap<String, Arc<Mutex<Index>>>>,
    /// Number of calls of [`look`](Self::look) so far.
    asked: AtomicU64,
}

impl Indexes {
    /// Passes an up-to-date index of the folder to `with`.
    ///
    /// Calls are grouped: callers that arrive while the folder is read wait for the lock, and the
    /// first of them reads it for all. This matters after a crash, when many sessions are looked
    /// up at once.
    pub(super) fn look<T>(
        &self,
        folder: &Folder,
        holder: &Holder,
        with: impl FnOnce(&Index) -> T,
    ) -> io::Result<T> {
        let index = {
            let mut indexes = lock(&self.folders);
            if indexes.len() >= MAX_FOLDERS && !indexes.contains_key(&folder.name) {
                indexes.clear();
            }
            indexes.entry(folder.name.clone()).or_default().clone()
        };
        // Every call takes a number *before* the lock. A reading covers all numbers that were given
        // out before it began (`read_for`), so a call with a smaller number needs no reading of its
        // own: everything written before that call is in the index.
        let own = self.asked.fetch_add(1, Ordering::SeqCst);
        let mut index = lock(&index);
        if index.read_for <= own {
            let asked = self.asked.load(Ordering::SeqCst);
            index.refresh(folder, holder)?;
            index.read_for = asked;
        }
        Ok(with(&index))
    }
}

#[derive(Debug, Default)]
pub(super) struct Index {
    /// When the folder, that of the records and a record were written, if nothing can
    /// have happened since unseen.
    settled: Option<[u64; 3]>,
    files: HashMap<String, Entry>,
    records: HashMap<String, (Stamp, Option<Record>)>,
    /// Made when it is asked for.
    sessions: OnceLock<Arc<Sessions>>,
    /// Value of [`Indexes::asked`] when the last reading began.
    read_for: u64,
}

#[derive(Debug)]
struct Entry {
    stamp: Stamp,
    /// The session and what the snapshot is; `None` if it cannot be read.
    content: Option<(String, Outline)>,
}

impl Index {
    /// The sessions with all that other kinds of stores have written.
    pub(super) fn sessions(&self) -> Arc<Sessions> {
        self.sessions.get_or_init(|| Arc::new(self.collect())).clone()
    }

    /// The snapshots of a session that are there and can be read.
    pub(super) fn files_of<'a>(
        &'a self,
        session: &'a str,
    ) -> impl Iterator<Item = (&'a str, Stamp, &'a Outline)> {
        self.readable().filter(move |(of, _)| *of == session).map(|(_, file)| file)
    }

    fn readable(&self) -> impl Iterator<Item = (&str, (&str, Stamp, &Outline))> {
        self.files.iter().filter_map(|(id, entry)| {
            let (session, outline) = entry.content.as_ref()?;
            Some((session.as_str(), (id.as_str(), entry.stamp, outline)))
        })
    }

    fn refresh(&mut self, folder: &Folder, holder: &Holder) -> io::Result<()> {
        let written = [
            disk::folder_written(&folder.path)?,
            disk::folder_written(&folder.records())?,
            disk::stamp(&folder.mark())?.map_or(0, |mark| mark.modified),
        ];
        if self.settled == Some(written) {
            return Ok(());
        }
        // Until all is read nothing is known for sure.
        self.settled = None;
        self.read_records(folder, holder)?;
        self.read_files(folder, holder)?;
        self.sessions = OnceLock::new();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let settled = u64::try_from(now.saturating_sub(SETTLED).as_nanos()).unwrap_or_default();
        self.settled = written.iter().all(|written| *written < settled).then_some(written);
        Ok(())
    }

    fn read_records(&mut self, folder: &Folder, holder: &Holder) -> io::Result<()> {
        let mut previous = std::mem::take(&mut self.records);
        each_file(&folder.records(), holder, |id, path, stamp| {
            let known = previous.remove_entry(id).filter(|(_, (of, _))| *of == stamp);
            let (id, record) = known.unwrap_or_else(|| {
                let journal = Journal::read(path).and_then(Result::ok);
                (id.to_owned(), (stamp, journal.map(|(journal, _)| journal.record)))
            });
            self.records.insert(id, record);
        })
    }

    fn read_files(&mut self, folder: &Folder, holder: &Holder) -> io::Result<()> {
        let mut previous = std::mem::take(&mut self.files);
        // Snapshots that a record describes need not be read.
        let mut noted: HashMap<&str, (Stamp, &str, &Outline)> = HashMap::new();
        for (session, (_, record)) in &self.records {
            for row in record.iter().flat_map(|record| &record.rows) {
                noted.insert(&row.id, (row.stamp, session, &row.outline));
            }
        }
        each_file(&folder.path, holder, |id, path, stamp| {
            let known = previous.remove_entry(id).filter(|(_, entry)| entry.stamp == stamp);
            let (id, entry) = known.unwrap_or_else(|| {
                let noted = noted.get(id).filter(|(of, ..)| *of == stamp);
                let noted = noted
                    .map(|(_, session, outline)| ((*session).to_owned(), Outline::clone(outline)));
                let content = noted.or_else(|| read_outline(folder, id, path));
                (id.to_owned(), Entry { stamp, content })
            });
            self.files.insert(id, entry);
        })
    }

    fn collect(&self) -> Sessions {
        let mut files: HashMap<&str, Vec<_>> = HashMap::new();
        for (session, file) in self.readable() {
            files.entry(session).or_default().push(file);
        }
        let ids = files.keys().copied().chain(self.records.keys().map(String::as_str));
        let sessions = ids.collect::<std::collections::HashSet<_>>().into_iter().map(|session| {
            let record = self.records.get(session).and_then(|(_, record)| record.clone());
            let mut record = record.unwrap_or_default();
            record.adopt(files.get(session).into_iter().flatten().copied());
            (session.to_owned(), record)
        });
        sessions.collect()
    }
}

/// The snapshot in this file, without content that is elsewhere. `None` if there is
/// none; an error says why it is not one.
pub(super) fn read_snapshot(path: &Path, id: &str) -> io::Result<Option<Loaded>> {
    let Some(found) = disk::read(path)? else { return Ok(None) };
    let loaded = Loaded::parse(&found.bytes, found.stamp)?;
    if loaded.snapshot.snapshot_id != id {
        let why = "the file has another name than the snapshot";
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(Some(loaded))
}

/// The session that a snapshot belongs to.
pub(super) fn session_of(snapshot: &SessionSnapshot) -> Option<&str> {
    let state = || snapshot.state.as_ref()?.session_id.as_deref();
    snapshot.session_id.as_deref().or_else(state)
}

fn read_outline(folder: &Folder, id: &str, path: &Path) -> Option<(String, Outline)> {
    match read_snapshot(path, id) {
        Ok(found) => {
            let Loaded { snapshot, content, .. } = found?;
            // A session id that is not a valid file name can never be looked up, so a snapshot
            // with such an id belongs to no session.
            let session = folder.session(session_of(&snapshot)?).ok()?.session;
            Some((session, Outline::of(&snapshot, content.as_ref())))
        }
        Err(error) => {
            tracing::warn!(folder = folder.name, id, %error, "snapshot is damaged, others are served");
            None
        }
    }
}

/// Reads a JSON file of this store; `None` if there is none. `Err` is a damaged file, which was
/// logged.
pub(super) fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Option<Result<T, ()>> {
    let read = disk::read(path).and_then(|found| {
        let value = found.map(|found| serde_json::from_slice(&found.bytes));
        Ok(value.transpose()?)
    });
    read.map_err(|error| tracing::warn!(file = %path.display(), %error, "file is damaged"))
        .transpose()
}

/// Goes through the files that are named after an id; none if there is no folder.
fn each_file(
    folder: &Path,
    holder: &Holder,
    mut with: impl FnMut(&str, &Path, Stamp),
) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let (name, path) = (entry.file_name(), entry.path());
        let Some(name) = name.to_str() else { continue };
        locks::remove_unfinished(holder, &path, name);
        // A file that was removed since the listing is skipped.
        if let (Some(id), Ok(metadata)) = (id_of(name), entry.metadata()) {
            with(id, &path, Stamp::of(&metadata));
        }
    }
    Ok(())
}

/// Locks data that is whole after every statement; a panic elsewhere does not spoil
/// it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
