//! Notices that files of the project were changed.
//!
//! The operating system reports more than changes: files that were opened, and
//! several steps for one save. A file has changed when its time of modification or
//! its size differ from what was last seen. What the application itself writes is
//! left out, as every restart would cause the next one.

mod stamps;

use std::path::{Path, PathBuf};
use std::time::Duration;

use notify_debouncer_full::notify::{self, EventKind, RecommendedWatcher, RecursiveMode};
use notify_debouncer_full::{DebounceEventResult, Debouncer, RecommendedCache, new_debouncer};
use tokio::sync::mpsc;

use stamps::Stamps;

/// An editor writes a file in several steps: they are one change.
const SETTLE: Duration = Duration::from_millis(150);
/// Folders with what was built, installed or recorded. All that begin with a dot
/// count as such too.
const IGNORED_FOLDERS: [&str; 7] =
    ["target", "node_modules", "dist", "build", "__pycache__", "venv", "vendor"];
/// Files that applications write while they run, and editors while they save.
const IGNORED_ENDINGS: [&str; 10] =
    [".log", ".db", "-wal", "-shm", "-journal", ".sqlite", ".sqlite3", ".pyc", ".tmp", "~"];
/// `SqliteStore` marks the processes that use a database by files with this in their names.
const SQLITE_STORE_MARK: &str = "-alive-";
/// Deeper folders are not looked into.
const MAX_DEPTH: usize = 32;

/// Watches the files of a project.
pub(crate) fn watch_files(root: &Path) -> notify::Result<FileWatcher> {
    // A full queue means that a change is waiting to be seen: another adds nothing.
    let (tx, changes) = mpsc::channel(64);
    let watcher = new_debouncer(SETTLE, None, move |events: DebounceEventResult| {
        // What the system could not tell may have been a change.
        let events = events.unwrap_or_default();
        let changed = events.iter().filter(|event| !matches!(event.kind, EventKind::Access(_)));
        for path in changed.flat_map(|event| &event.paths) {
            _ = tx.try_send(path.clone());
        }
    })?;
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let mut watcher = FileWatcher { root, watcher, changes, stamps: Stamps::default() };
    watcher.watcher.watch(&watcher.root, RecursiveMode::NonRecursive)?;
    watcher.watch_below(&watcher.root.clone(), 0);
    Ok(watcher)
}

/// Watches each folder by itself, so that the large ignored ones cost nothing.
#[derive(Debug)]
pub(crate) struct FileWatcher {
    root: PathBuf,
    watcher: Debouncer<RecommendedWatcher, RecommendedCache>,
    changes: mpsc::Receiver<PathBuf>,
    stamps: Stamps,
}

impl FileWatcher {
    /// The next file that was changed, below the project. All that changed with it
    /// are left out. It is cancel safe.
    pub(crate) async fn changed(&mut self) -> Option<PathBuf> {
        loop {
            let path = self.changes.recv().await?;
            if let Some(file) = self.seen(&path) {
                while let Ok(path) = self.changes.try_recv() {
                    _ = self.seen(&path);
                }
                if self.stamps.is_written_by_application(&path) {
                    let file = file.display();
                    tracing::warn!(%file, "changes after every restart; it is not watched any more");
                    continue;
                }
                return Some(file);
            }
        }
    }

    /// Whether this counts. A new folder is watched from now on.
    fn seen(&mut self, path: &Path) -> Option<PathBuf> {
        let file = path.strip_prefix(&self.root).ok()?.to_owned();
        if !counts(&file) || !self.stamps.changed(path) {
            return None;
        }
        if path.is_dir() {
            self.watch_folder(path, file.components().count());
        }
        Some(file)
    }

    fn watch_folder(&mut self, folder: &Path, depth: usize) {
        if let Err(error) = self.watcher.watch(folder, RecursiveMode::NonRecursive) {
            tracing::warn!(folder = %folder.display(), %error, "changes here are not noticed");
        }
        self.watch_below(folder, depth);
    }

    fn watch_below(&mut self, folder: &Path, depth: usize) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if !counts(Path::new(&name)) {
                continue;
            }
            let path = entry.path();
            self.stamps.changed(&path);
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && depth < MAX_DEPTH {
                self.watch_folder(&path, depth + 1);
            }
        }
    }
}

/// Whether a change of this file, below the project, is one of the source.
fn counts(file: &Path) -> bool {
    let mut names = file.iter().map(|name| name.to_string_lossy());
    let is_source = names.next_back().is_some_and(|name| {
        !is_ignored(&name)
            && !name.contains(SQLITE_STORE_MARK)
            && !IGNORED_ENDINGS.iter().any(|ending| name.ends_with(ending))
    });
    is_source && !names.any(|name| is_ignored(&name))
}

fn is_ignored(name: &str) -> bool {
    IGNORED_FOLDERS.contains(&name) || (name.starts_with('.') && !name.starts_with(".env"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_count_and_what_programs_write_does_not() {
        for file in ["src/main.rs", "index.ts", ".env", ".env.local", "prompts/a.prompt", "src"] {
            assert!(counts(Path::new(file)), "{file}");
        }
        for file in [
            "target/debug/app",
            "a/node_modules/x/index.js",
            ".git/index",
            ".genkit/traces/1",
            ".oxikit/devtools.db",
            "app.log",
            "data.db-wal",
            "app.db-alive-4242-1",
            "sessions-journal",
            "src/main.rs~",
            ".main.rs.swp",
            "",
        ] {
            assert!(!counts(Path::new(file)), "{file}");
        }
    }
}
