//! Detects changes of the project's files, for `oxikit start --watch`.
//!
//! The operating system reports more than changes: files that were opened, and several events
//! for one save. A file counts as changed when its modification time or its size differs from
//! the last check. Files that the application itself writes are ignored; otherwise every
//! restart would cause the next one.

mod stamps;

use std::path::{Path, PathBuf};
use std::time::Duration;

use notify_debouncer_full::notify::{self, EventKind, RecommendedWatcher, RecursiveMode};
use notify_debouncer_full::{DebounceEventResult, Debouncer, RecommendedCache, new_debouncer};
use tokio::sync::mpsc;

use stamps::Stamps;

/// Events within this time count as one change, because editors write a file in several
/// steps.
const SETTLE: Duration = Duration::from_millis(150);
/// Folders with build results, dependencies or data. Names that begin with a dot are ignored
/// too.
const IGNORED_FOLDERS: [&str; 7] =
    ["target", "node_modules", "dist", "build", "__pycache__", "venv", "vendor"];
/// Files that applications write while they run, and editors while they save.
const IGNORED_ENDINGS: [&str; 10] =
    [".log", ".db", "-wal", "-shm", "-journal", ".sqlite", ".sqlite3", ".pyc", ".tmp", "~"];
/// Part of the names of the files by which `SqliteStore` marks the processes that use a
/// database.
const SQLITE_STORE_MARK: &str = "-alive-";
/// Maximum depth of watched folders. Deeper ones are ignored.
const MAX_DEPTH: usize = 32;

/// Watches the files of a project.
pub(crate) fn watch_files(root: &Path) -> notify::Result<FileWatcher> {
    // A full channel already holds a change, so events beyond it can be dropped.
    let (tx, changes) = mpsc::channel(64);
    let watcher = new_debouncer(SETTLE, None, move |events: DebounceEventResult| {
        // An error of the operating system is ignored; later events still arrive.
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

/// Watches each folder separately, so that large ignored folders need no watches.
#[derive(Debug)]
pub(crate) struct FileWatcher {
    root: PathBuf,
    watcher: Debouncer<RecommendedWatcher, RecommendedCache>,
    changes: mpsc::Receiver<PathBuf>,
    stamps: Stamps,
}

impl FileWatcher {
    /// The next changed file, relative to the project. Changes that are already reported with
    /// it are merged into one. Cancel safe.
    pub(crate) async fn changed(&mut self) -> Option<PathBuf> {
        loop {
            let path = self.changes.recv().await?;
            if let Some(file) = self.seen(&path) {
                // One save can change several files. All pending changes are recorded as seen, so that
                // they cause one restart.
                while let Ok(path) = self.changes.try_recv() {
                    _ = self.seen(&path);
                }
                if self.stamps.is_written_by_application(&path) {
                    let file = file.display();
                    tracing::warn!(%file, "this file changed after every restart, so it is no longer watched");
                    continue;
                }
                return Some(file);
            }
        }
    }

    /// The relative path if this is a change of a source file. A new folder is added to the
    /// watched ones.
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
            tracing::warn!(folder = %folder.display(), %error, "this folder could not be watched; changes in it do not restart the application");
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

/// Whether this file, relative to the project, counts as source.
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
