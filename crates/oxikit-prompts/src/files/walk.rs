//! Lists the documents of a directory.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry};
use std::io;
use std::path::Path;
use std::time::Duration;

use super::{Stamp, TEMPORARY};
use crate::document::is_document;

/// Maximum nesting depth of folders. Deeper ones are named as a problem.
const MAX_DEPTH: usize = 16;
/// Maximum number of documents of a directory. More are not served, and named as a problem.
const MAX_FILES: usize = 20_000;
/// Folders with many files that are no prompts. Names that begin with a dot are ignored too.
const IGNORED_FOLDERS: [&str; 2] = ["node_modules", "target"];
/// Age after which a temporary file was left behind by a process that has ended.
const LEFT_BEHIND: Duration = Duration::from_secs(60);

/// The files of a directory.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// The documents by their path below the directory.
    pub(crate) files: BTreeMap<String, Stamp>,
    /// Files and folders that cannot be served, with the reason. The empty path is the directory.
    pub(crate) problems: BTreeMap<String, String>,
}

impl Walk {
    /// Lists the documents below a folder. Symbolic links are not followed.
    pub(super) fn of(root: &Path) -> Self {
        let mut walk = Self::default();
        walk.enter(root, "", 0);
        walk
    }

    /// Whether the directory itself cannot be read. Then nothing is known about its files.
    pub(crate) fn is_unreadable(&self) -> bool {
        self.problems.contains_key("")
    }

    fn enter(&mut self, folder: &Path, prefix: &str, depth: usize) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => {
                let path = prefix.trim_end_matches('/').to_owned();
                self.problems.insert(path, format!("the folder cannot be read: {error}"));
                return;
            }
        };
        for entry in entries.flatten() {
            if let Some(name) = entry.file_name().to_str() {
                self.meet(&entry, prefix, name, depth);
            }
        }
    }

    fn meet(&mut self, entry: &DirEntry, prefix: &str, name: &str, depth: usize) {
        if name.starts_with('.') {
            return remove_left_behind(entry, name);
        }
        let path = format!("{prefix}{name}");
        let Ok(kind) = entry.file_type() else { return };
        if kind.is_dir() {
            match depth < MAX_DEPTH {
                _ if IGNORED_FOLDERS.contains(&name) => {}
                true => self.enter(&entry.path(), &format!("{path}/"), depth + 1),
                false => self.problem(path, "folders may be nested 16 deep at most"),
            }
        } else if kind.is_symlink() {
            if is_document(name) || fs::metadata(entry.path()).is_ok_and(|target| target.is_dir()) {
                self.problem(path, "it is a symbolic link, which is not followed");
            }
        } else if is_document(name) {
            match entry.metadata() {
                _ if !kind.is_file() => self.problem(path, "it is not a regular file"),
                _ if self.files.len() >= MAX_FILES => {
                    self.problem(path, "a directory may have 20,000 documents at most");
                }
                Ok(metadata) => _ = self.files.insert(path, Stamp::of(&metadata)),
                // It was removed meanwhile.
                Err(_) => {}
            }
        }
    }

    fn problem(&mut self, path: String, message: &str) {
        // Enough to see what is wrong; a hostile folder must not fill the memory.
        if self.problems.len() < MAX_FILES {
            self.problems.insert(path, message.to_owned());
        }
    }
}

/// Removes a temporary file of a process that was killed while it wrote.
fn remove_left_behind(entry: &DirEntry, name: &str) {
    let is_old = |entry: &DirEntry| -> io::Result<bool> {
        let metadata = entry.metadata()?;
        let age = metadata.modified()?.elapsed().unwrap_or_default();
        Ok(metadata.is_file() && age > LEFT_BEHIND)
    };
    if name.ends_with(TEMPORARY) && is_old(entry).unwrap_or(false) {
        // Another process may have removed it.
        _ = fs::remove_file(entry.path());
    }
}
