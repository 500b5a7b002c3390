//! Files of earlier versions.

use std::path::Path;

use oxikit_core::ports::{ProjectStore, RevisionStore};
use oxikit_sql::{OpenError, SqliteProject};
use rusqlite::Connection;

use super::{file, folder, ids, open, wait_until_closed};
use crate::revisions::{edit, shown};
use oxikit_testing::pages::{PAGE, bytes_of, damaged};

const DOCUMENTS: usize = 40;

/// A file as the first version has made it: without the tables of revisions.
fn make_first_version(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL").unwrap();
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    connection
        .execute_batch(
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
            CREATE TABLE moved (
                kind TEXT NOT NULL,
                id TEXT NOT NULL,
                version INTEGER NOT NULL,
                updated_at INTEGER NOT NULL,
                PRIMARY KEY (kind, id)
            ) WITHOUT ROWID;
            PRAGMA application_id = 0x6f787072;
            PRAGMA user_version = 1",
        )
        .unwrap();
    for number in 0..DOCUMENTS {
        connection
            .execute(
                "INSERT INTO documents (kind, id, version, created_at, updated_at, json)
                 VALUES ('dataset', ?1, 1, 1000, 2000, ?2)",
                (format!("d{number}"), json(number)),
            )
            .unwrap();
    }
}

fn json(number: usize) -> String {
    format!("[{number},\"{}\"]", "x".repeat(3000))
}

/// Names of tables and indexes with the pages that they begin at.
fn roots(path: &Path) -> Vec<(String, i64)> {
    let connection = Connection::open(path).unwrap();
    let mut select =
        connection.prepare("SELECT name, rootpage FROM sqlite_schema ORDER BY name").unwrap();
    let roots = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    roots.map(Result::unwrap).collect()
}

#[tokio::test]
async fn a_file_of_the_first_version_is_migrated() {
    let folder = folder();
    make_first_version(&file(&folder));
    let store = open(&folder);
    assert_eq!(ids(&store, "dataset").await.len(), DOCUMENTS);
    let document = store.document("dataset", "d7").await.unwrap().unwrap();
    assert_eq!((document.version, document.json), (1, json(7)));
    assert_eq!(RevisionStore::documents(&store).await.unwrap(), []);
    store.append("prompts/a.md", 0, vec![edit(0, "a")]).await.unwrap();
    drop(store);
    let store = open(&folder);
    assert_eq!(shown(&store, "prompts/a.md").await, Some((1, "a".to_owned())));
    assert_eq!(ids(&store, "dataset").await.len(), DOCUMENTS);
    drop(store);
    assert_eq!(SqliteProject::check(file(&folder)).unwrap(), [""; 0]);
}

/// The repair of a file whose first page is damaged relies on it.
#[tokio::test]
async fn a_migrated_file_has_its_tables_where_a_new_one_has_them() {
    let (old, new) = (folder(), folder());
    make_first_version(&file(&old));
    drop(open(&old));
    drop(open(&new));
    assert_eq!(roots(&file(&old)), roots(&file(&new)));
}

#[tokio::test]
async fn a_damaged_file_of_the_first_version_is_repaired() {
    let folder = folder();
    make_first_version(&file(&folder));
    let whole = bytes_of(&file(&folder));
    let mut led_to_all = 0;
    for page in 0..whole.len() / PAGE {
        let folder = super::folder();
        std::fs::write(file(&folder), damaged(&whole, page)).unwrap();
        match SqliteProject::open(file(&folder)) {
            Ok(store) => drop(store),
            Err(error) => assert!(
                matches!(error, OpenError::Damaged(_) | OpenError::NotADatabase),
                "page {page}: {error:?}"
            ),
        }
        wait_until_closed(&file(&folder));
        let repaired = SqliteProject::repair(file(&folder)).unwrap();
        let documents = &repaired.parts[0];
        led_to_all += usize::from(documents.saved < DOCUMENTS as u64 - 2);
        assert_eq!(SqliteProject::check(file(&folder)).unwrap(), [""; 0], "page {page}");
        let store = open(&folder);
        assert_eq!(ids(&store, "dataset").await.len() as u64, documents.saved);
        assert_eq!(RevisionStore::documents(&store).await.unwrap(), [], "page {page}");
        store.append("prompts/a.md", 0, vec![edit(0, "a")]).await.unwrap();
    }
    assert!(led_to_all <= 1, "{led_to_all} pages lead to all others");
}
