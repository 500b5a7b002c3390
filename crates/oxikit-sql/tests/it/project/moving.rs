//! Documents that earlier versions have kept beside the traces.

use std::path::Path;

use oxikit_core::ports::ProjectStore;
use oxikit_sql::{OpenError, SqliteProject};
use oxikit_traces::TraceStore;
use rusqlite::Connection;
use tempfile::TempDir;

use super::{file, folder, ids, make_old_traces};
use oxikit_testing::pages::{PAGE, bytes_of, damaged};

const DOCUMENTS: usize = 40;

fn old_file(folder: &TempDir) -> std::path::PathBuf {
    folder.path().join("traces.db")
}

/// A trace database with documents, as earlier versions have left it.
fn make_old(path: &Path) {
    let old = make_old_traces(path);
    for number in 0..DOCUMENTS {
        old.execute(
            "INSERT INTO documents (kind, id, version, created_at, updated_at, json)
             VALUES ('dataset', ?1, 3, 1000, 2000, ?2)",
            (format!("d{number}"), format!("[\"{}\"]", "x".repeat(number * 300))),
        )
        .unwrap();
    }
}

fn left(path: &Path) -> i64 {
    let old = Connection::open(path).unwrap();
    old.query_row("SELECT COUNT(*) FROM documents", [], |row| row.get(0)).unwrap()
}

fn open_beside(folder: &TempDir) -> SqliteProject {
    SqliteProject::open_beside(file(folder), &old_file(folder)).unwrap()
}

#[tokio::test]
async fn documents_beside_the_traces_are_moved_once() {
    let folder = folder();
    make_old(&old_file(&folder));
    let before = bytes_of(&old_file(&folder));
    let store = open_beside(&folder);
    let expected: Vec<String> = (0..DOCUMENTS).map(|number| format!("d{number}")).collect();
    assert_eq!(ids(&store, "dataset").await, expected, "in the order they were made");
    let document = store.document("dataset", "d2").await.unwrap().unwrap();
    assert_eq!((document.version, document.created_at, document.updated_at), (3, 1000, 2000));
    assert_eq!(document.json.len(), 604);
    assert_eq!(left(&old_file(&folder)), 0, "they are in one place only");

    // A process that was killed before it removed them there leaves them in both files.
    store.delete_document("dataset", "d7").await.unwrap();
    store.put_document("dataset", "d8", "[]".to_owned(), Some(3)).await.unwrap();
    drop(store);
    std::fs::remove_file(old_file(&folder).with_file_name("traces.db-wal")).ok();
    std::fs::write(old_file(&folder), &before).unwrap();
    let store = open_beside(&folder);
    let mut expected = expected;
    expected.remove(7);
    assert_eq!(ids(&store, "dataset").await, expected, "what was deleted does not come back");
    assert_eq!(store.document("dataset", "d8").await.unwrap().unwrap().json, "[]");
    assert_eq!(left(&old_file(&folder)), 0);
}

/// Documents that were moved are not lost with the old file, and the file of this version has
/// nothing to move.
#[tokio::test]
async fn the_old_file_is_refused_by_the_trace_store_and_may_be_deleted_after_the_move() {
    let folder = folder();
    make_old(&old_file(&folder));
    drop(open_beside(&folder));
    let error = TraceStore::open(old_file(&folder)).unwrap_err();
    assert!(matches!(error, OpenError::Unreleased { found: 4 }), "{error:?}");
    std::fs::remove_file(old_file(&folder)).unwrap();
    drop(TraceStore::open(old_file(&folder)).unwrap());
    assert_eq!(ids(&open_beside(&folder), "dataset").await.len(), DOCUMENTS);
}

#[tokio::test]
async fn what_an_earlier_version_has_changed_since_is_moved_too() {
    let folder = folder();
    make_old(&old_file(&folder));
    drop(open_beside(&folder));
    let old = Connection::open(old_file(&folder)).unwrap();
    for (id, updated_at) in [("d1", 3000), ("d2", 1500), ("fresh", 3000)] {
        old.execute(
            "INSERT INTO documents (kind, id, version, created_at, updated_at, json)
             VALUES ('dataset', ?1, 1, 1000, ?2, '[\"changed\"]')",
            (id, updated_at),
        )
        .unwrap();
    }
    drop(old);
    let store = open_beside(&folder);
    for (id, is_changed) in [("d1", true), ("d2", false), ("fresh", true)] {
        let json = store.document("dataset", id).await.unwrap().unwrap().json;
        assert_eq!(json == r#"["changed"]"#, is_changed, "{id}");
    }
}

#[tokio::test]
async fn a_damaged_page_of_the_old_file_costs_what_is_on_it() {
    let folder = folder();
    make_old(&old_file(&folder));
    let whole = bytes_of(&old_file(&folder));
    let mut nothing_moved = 0;
    for page in 0..whole.len() / PAGE {
        let folder = super::folder();
        std::fs::write(old_file(&folder), damaged(&whole, page)).unwrap();
        let store = open_beside(&folder);
        let moved = ids(&store, "dataset").await;
        nothing_moved += usize::from(moved.len() < DOCUMENTS / 2);
        for id in &moved {
            let document = store.document("dataset", id).await.unwrap().unwrap();
            let number: usize = id[1..].parse().unwrap();
            assert_eq!(document.json.len(), number * 300 + 4, "page {page}: {id}");
        }
    }
    // Some say which tables there are, and one where all pages of this one are.
    assert!(nothing_moved <= 6, "{nothing_moved} pages");
}
