//! Remembers the modification time and size of files, to tell changes from other events.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use oxikit_local::untrusted_file;

/// The first bytes of an SQLite database.
const SQLITE_HEAD: &[u8; 16] = b"SQLite format 3\0";
/// Number of consecutive restarts, each within [`FEEDBACK_TIME`] of the previous one and caused
/// by the same file, after which that file counts as written by the application. A person does
/// not save that fast.
const FEEDBACK_CHANGES: u32 = 5;
const FEEDBACK_TIME: Duration = Duration::from_secs(3);

/// The files of a project as of the last check.
#[derive(Debug, Default)]
pub(super) struct Stamps {
    files: HashMap<PathBuf, Stamp>,
    last: Option<Cause>,
    written_by_application: HashSet<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stamp {
    Folder,
    File { modified: Option<SystemTime>, length: u64 },
}

/// The file that caused the last restart.
#[derive(Debug)]
struct Cause {
    path: PathBuf,
    at: Instant,
    in_a_row: u32,
}

impl Stamps {
    /// Whether this file or folder has changed since the last check. Databases never count,
    /// because applications write them.
    pub(super) fn changed(&mut self, path: &Path) -> bool {
        let now = stamp(path);
        let before = match now {
            Some(now) => self.files.insert(path.to_owned(), now),
            None => self.files.remove(path),
        };
        now != before && !self.written_by_application.contains(path) && !is_database(path)
    }

    /// Whether the application writes this changed file after each of its starts. From then on
    /// [`changed`](Self::changed) ignores the file.
    pub(super) fn is_written_by_application(&mut self, path: &Path) -> bool {
        let now = Instant::now();
        let in_a_row = match &self.last {
            Some(last) if last.path == path && now - last.at < FEEDBACK_TIME => last.in_a_row + 1,
            _ => 1,
        };
        self.last = Some(Cause { path: path.to_owned(), at: now, in_a_row });
        in_a_row >= FEEDBACK_CHANGES && self.written_by_application.insert(path.to_owned())
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let file = fs::metadata(path).ok()?;
    Some(if file.is_dir() {
        Stamp::Folder
    } else {
        Stamp::File { modified: file.modified().ok(), length: file.len() }
    })
}

fn is_database(path: &Path) -> bool {
    let mut head = [0; SQLITE_HEAD.len()];
    let read = |head: &mut [u8]| untrusted_file::open(path)?.0.read_exact(head);
    read(&mut head).is_ok() && head == *SQLITE_HEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_another_time_or_size_and_never_an_access() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("main.rs");
        let mut stamps = Stamps::default();
        assert!(!stamps.changed(&path), "it was not there and is not there");
        fs::write(&path, "one").unwrap();
        assert!(stamps.changed(&path));
        untrusted_file::read_text(&path, 100).unwrap();
        assert!(!stamps.changed(&path), "it was read");
        fs::write(&path, "longer").unwrap();
        assert!(stamps.changed(&path));
        let later = SystemTime::now() + Duration::from_secs(1);
        fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        assert!(stamps.changed(&path), "as `touch` does it");
        fs::remove_file(&path).unwrap();
        assert!(stamps.changed(&path));
        assert!(!stamps.changed(&path));
    }

    #[test]
    fn a_database_is_not_a_source_whatever_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sessions.data");
        fs::write(&path, [SQLITE_HEAD.as_slice(), b"pages"].concat()).unwrap();
        assert!(!Stamps::default().changed(&path));
    }

    #[test]
    fn a_file_that_follows_every_restart_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (written, edited) = (dir.path().join("state.json"), dir.path().join("main.rs"));
        let mut stamps = Stamps::default();
        for _ in 1..FEEDBACK_CHANGES {
            assert!(!stamps.is_written_by_application(&written));
        }
        assert!(!stamps.is_written_by_application(&edited), "another file ends the row");
        for _ in 1..FEEDBACK_CHANGES {
            assert!(!stamps.is_written_by_application(&written));
        }
        assert!(stamps.is_written_by_application(&written));
        fs::write(&written, "again").unwrap();
        assert!(!stamps.changed(&written));
    }
}
