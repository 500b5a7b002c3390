//! Whether the path of an open database still names the file that is open.
//!
//! A file can be deleted or replaced while it is open: writes to it succeed, and are
//! gone with the process. The writer looks after every commit, before it answers.

use std::path::{Path, PathBuf};

/// A database that is open, as its path named it then.
#[derive(Debug)]
pub(super) struct OpenFile {
    database: (PathBuf, Option<FileId>),
    /// Made by SQLite with the first write.
    log: (PathBuf, Option<FileId>),
    was_gone: bool,
}

/// What is not where it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gone {
    /// The database itself.
    Database,
    /// Only the write-ahead log beside it.
    Log,
}

/// The device and the number of a file on it.
type FileId = (u64, u64);

impl OpenFile {
    /// To be called while the file is open.
    pub(super) fn at(path: &Path) -> Self {
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let log = (PathBuf::from(log), None);
        Self { database: (path.to_owned(), id_of(path)), log, was_gone: false }
    }

    /// Whether something was gone when it was last looked for.
    pub(super) fn was_gone(&self) -> bool {
        self.was_gone
    }

    /// Looks whether both files are where they were. To be called after a commit: then
    /// there is a log.
    pub(super) fn find_gone(&mut self) -> Option<Gone> {
        let gone = self.look();
        if let Some(gone) = gone
            && !self.was_gone
        {
            let file = self.database.0.display();
            tracing::error!(%file, ?gone, "{DELETED}");
        }
        self.was_gone = gone.is_some();
        gone
    }

    fn look(&mut self) -> Option<Gone> {
        if id_of(&self.database.0) != self.database.1 {
            return Some(Gone::Database);
        }
        let found = id_of(&self.log.0);
        match self.log.1 {
            None => self.log.1 = found,
            known if known != found => return Some(Gone::Log),
            _ => {}
        }
        None
    }
}

/// What whoever wants to write is told.
pub(super) const DELETED: &str = "the file of the database was deleted or replaced while it is \
     open: nothing can be stored until the program that has it open is started again";

#[cfg(unix)]
fn id_of(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// Elsewhere a file that is open cannot be deleted.
#[cfg(not(unix))]
fn id_of(_: &Path) -> Option<FileId> {
    None
}
