//! The store of people's work.

mod damage;
mod documents;
mod kills;
mod moving;
mod revision_damage;
mod revisions;
mod versions;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use oxikit_core::ports::ProjectStore;
use oxikit_sql::SqliteProject;
use oxikit_traces::TraceStore;
use rusqlite::Connection;
use tempfile::TempDir;

/// A folder in memory, if the system has one.
fn folder() -> TempDir {
    TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap()
}

fn file(folder: &TempDir) -> PathBuf {
    folder.path().join("project.db")
}

fn open(folder: &TempDir) -> SqliteProject {
    SqliteProject::open(file(folder)).unwrap()
}

/// Waits until the store that was dropped has closed its file.
fn wait_until_closed(path: &Path) {
    let log = path.with_file_name("project.db-wal");
    let end = Instant::now() + Duration::from_secs(10);
    while log.metadata().is_ok_and(|log| log.len() > 0) && Instant::now() < end {
        std::thread::yield_now();
    }
}

/// A trace database as the unreleased version 4 has left it: with a table of documents,
/// which the store of a project moves to its own file.
fn make_old_traces(path: &Path) -> Connection {
    drop(TraceStore::open(path).unwrap());
    let old = Connection::open(path).unwrap();
    old.busy_timeout(Duration::from_secs(10)).unwrap();
    old.execute_batch(
        "CREATE TABLE documents (
            number INTEGER PRIMARY KEY,
            kind TEXT NOT NULL,
            id TEXT NOT NULL,
            version INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL,
            json TEXT NOT NULL,
            UNIQUE (kind, id)
        );
        PRAGMA user_version = 4",
    )
    .unwrap();
    old
}

/// Ids of the documents of a kind.
async fn ids(store: &SqliteProject, kind: &str) -> Vec<String> {
    let list = store.documents(kind).await.unwrap();
    list.documents.into_iter().map(|document| document.id).collect()
}
