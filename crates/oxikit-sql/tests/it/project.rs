//! The store of people's work.

mod damage;
mod documents;
mod kills;
mod moving;

use std::path::PathBuf;

use oxikit_sql::ProjectStore;
use tempfile::TempDir;

/// A folder in memory, if the system has one.
fn folder() -> TempDir {
    TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap()
}

fn file(folder: &TempDir) -> PathBuf {
    folder.path().join("project.db")
}

fn open(folder: &TempDir) -> ProjectStore {
    ProjectStore::open(file(folder)).unwrap()
}

/// Ids of the documents of a kind.
async fn ids(store: &ProjectStore, kind: &str) -> Vec<String> {
    let list = store.documents(kind).await.unwrap();
    list.documents.into_iter().map(|document| document.id).collect()
}
