//! Locks for one writer at a time, among threads and processes, and the detection of dead processes.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard};

use super::disk;

/// Number of locks that all sessions share. A fixed number means that lock files are never
/// removed, which could not be done without a race, and that at most this many threads wait for
/// other processes. Part of the layout: all processes must use the same number.
pub(super) const LOCKS: usize = 64;

/// A taken lock: no other thread or process can write the session until it is dropped.
#[derive(Debug)]
pub(super) struct Guard {
    /// Closing it gives the lock back.
    _file: File,
    _turn: OwnedMutexGuard<()>,
}

/// The locks of a directory.
#[derive(Debug)]
pub(super) struct Locks {
    folder: PathBuf,
    turns: Vec<Arc<Mutex<()>>>,
}

impl Locks {
    pub(super) fn open(folder: PathBuf) -> io::Result<Self> {
        disk::make_folder(&folder)?;
        Ok(Self { folder, turns: (0..LOCKS).map(|_| Arc::default()).collect() })
    }

    /// The file of a lock.
    pub(super) fn path(&self, number: usize) -> PathBuf {
        self.folder.join(format!("{number:02}"))
    }

    /// Waits for this lock. Waiters of this process wait in the order of their arrival, and only
    /// the first of them occupies a thread, since a lock of a file can only be waited for by a
    /// blocking call.
    pub(super) async fn take(&self, number: usize) -> io::Result<Guard> {
        let turn = self.turns[number].clone().lock_owned().await;
        let path = self.path(number);
        let take = move || {
            let file = disk::file_options().create(true).truncate(false).open(path)?;
            file.lock()?;
            Ok(Guard { _file: file, _turn: turn })
        };
        tokio::task::spawn_blocking(take).await.map_err(io::Error::other)?
    }
}

/// A number below [`LOCKS`] that all processes find for these names.
pub(super) fn number_of(folder: &str, id: &str) -> usize {
    let name = [folder.as_bytes(), b"/", id.as_bytes()];
    let sum = name.into_iter().fold(disk::FNV, disk::fnv);
    (sum % LOCKS as u64) as usize
}

/// A file that this process keeps locked as long as it lives. The operating system releases the
/// lock when the process ends in any way, so other processes can tell whether it is alive.
#[derive(Debug)]
pub(super) struct Holder {
    folder: PathBuf,
    pub(super) id: String,
    _file: File,
}

impl Holder {
    pub(super) fn open(folder: PathBuf) -> io::Result<Self> {
        disk::make_folder(&folder)?;
        let id = format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..));
        let path = folder.join(&id);
        // The file gets its name only after it is locked. Otherwise another process could take it
        // for the file of a dead process.
        let unnamed = folder.join(format!(".{id}"));
        let file = disk::file_options().create_new(true).open(&unnamed)?;
        file.lock()?;
        fs::rename(&unnamed, &path)?;
        let holder = Self { folder, id, _file: file };
        holder.remove_dead_holders()?;
        Ok(holder)
    }

    /// Whether the process with this holder id is alive.
    pub(super) fn is_alive(&self, id: &str) -> bool {
        let is_id = id.len() == self.id.len() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        id == self.id || (is_id && is_locked(&self.folder.join(id)))
    }

    /// Removes the files of processes that have ended.
    fn remove_dead_holders(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            if !self.is_alive(name) {
                // Another process may have been faster.
                _ = disk::remove(&entry.path());
            }
        }
        Ok(())
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // The lock ends in any case.
        _ = disk::remove(&self.folder.join(&self.id));
    }
}

fn is_locked(path: &Path) -> bool {
    match File::open(path) {
        Ok(file) => match file.try_lock_shared() {
            Ok(()) => false,
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
        },
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Removes an unfinished file of a process that has ended.
pub(super) fn remove_unfinished(holder: &Holder, path: &Path, name: &str) {
    let Some(by) = disk::unfinished_by(name) else { return };
    if !holder.is_alive(by) {
        _ = disk::remove(path);
    }
}
