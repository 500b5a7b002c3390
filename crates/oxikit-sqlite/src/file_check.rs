//! Checks whether the path of an open database still names the open file.
//!
//! On Unix a file can be deleted or replaced while it is open. Writes to it succeed and are
//! lost when the process ends. So the writer compares the file's identity after every
//! commit, before it acknowledges the write.

use std::path::{Path, PathBuf};

/// The identity of an open database file and of its log.
#[derive(Debug)]
pub struct OpenFile {
    database: (PathBuf, Option<FileId>),
    /// Made by SQLite with the first write.
    log: (PathBuf, Option<FileId>),
    /// Whether the last check has failed.
    was_missing: bool,
}

/// The file that is no longer at its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingFile {
    /// The database itself.
    Database,
    /// Only the write-ahead log beside it.
    Log,
}

/// The device and the number of a file on it.
type FileId = (u64, u64);

impl OpenFile {
    /// Remembers the file at this path. Call it while the file is open.
    pub fn at(path: &Path) -> Self {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let log = (PathBuf::from(log), None);
        Self { database: (path.to_owned(), id_of(path)), log, was_missing: false }
    }

    /// Whether a file was missing at the last check.
    pub fn was_missing(&self) -> bool {
        self.was_missing
    }

    /// Checks whether both files are still at their paths. Call it after a commit: SQLite
    /// creates the log with the first write.
    pub fn find_missing(&mut self) -> Option<MissingFile> {
        let missing = self.look();
        if let Some(missing) = missing
            && !self.was_missing
        {
            let file = self.database.0.display();
            tracing::error!(%file, ?missing, "{DELETED}");
        }
        self.was_missing = missing.is_some();
        missing
    }

    /// Compares the files at the paths with those that are open.
    fn look(&mut self) -> Option<MissingFile> {
        if id_of(&self.database.0) != self.database.1 {
            return Some(MissingFile::Database);
        }
        let found = id_of(&self.log.0);
        match self.log.1 {
            None => self.log.1 = found,
            known if known != found => return Some(MissingFile::Log),
            _ => {}
        }
        None
    }
}

/// The error of every write to a deleted file.
pub const DELETED: &str = "the file of the database was deleted or replaced while it is \
     open: nothing can be stored until the program that has it open is started again";

/// The identity of the file at a path; `None` if there is none.
///
/// Only the inode is asked for. A kernel that has reported the times of a file gives the next write an
/// exact time of its own (multigrain timestamps, Linux 6.13), which every commit would then have to
/// bring to the disk: one more write than the log needs.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn id_of(path: &Path) -> Option<FileId> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, makedev, statx};
    match statx(CWD, path, AtFlags::empty(), StatxFlags::INO) {
        Ok(found) => Some((makedev(found.stx_dev_major, found.stx_dev_minor), found.stx_ino)),
        Err(rustix::io::Errno::NOSYS) => id_by_metadata(path),
        Err(_) => None,
    }
}

/// The identity of the file at a path; `None` if there is none.
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
fn id_of(path: &Path) -> Option<FileId> {
    id_by_metadata(path)
}

#[cfg(unix)]
fn id_by_metadata(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// Windows does not delete a file that is open.
#[cfg(not(unix))]
fn id_of(_: &Path) -> Option<FileId> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_same_identity_however_it_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("project.db");
        assert_eq!(id_of(&path), None);
        std::fs::write(&path, "").unwrap();
        let id = id_of(&path);
        assert!(id.is_some());
        assert_eq!(id, id_by_metadata(&path));
        std::fs::write(folder.path().join("other"), "").unwrap();
        assert_ne!(id, id_of(&folder.path().join("other")));
    }
}
