//! Disks that are full, files that are locked, rows that are damaged.

use std::error::Error;
use std::time::{Duration, Instant};

use oxikit_core::Status;
use oxikit_core::ports::{Owner, SessionStore, StoreError};
use oxikit_sql::{OpenError, SqliteStore};
use oxikit_wire::StatusCode;
use rusqlite::Connection;
use tempfile::TempDir;

use super::{LONG, after, file, folder, open, options, put, said, turn};

fn change(folder: &TempDir, sql: &str) {
    let changed = Connection::open(file(folder)).unwrap().execute(sql, []).unwrap();
    assert!(changed > 0, "nothing is changed by {sql}");
}

#[tokio::test]
async fn a_full_disk_is_reported_and_recovered_from() {
    let folder = folder();
    let options = options(|options| options.max_pages = Some(200));
    let store = SqliteStore::open_with(file(&folder), options).unwrap();
    put(&store, "kept", "kept-1", &after(None, "hello")).await.unwrap();
    put(&store, "large", "large-1", &after(None, &"x".repeat(300_000))).await.unwrap();
    // Several at once share a transaction: the small one among them is written.
    let (large, small) = (after(None, &"x".repeat(600_000)), after(None, "small"));
    let (one, two, three) = futures_util::future::join3(
        put(&store, "a", "a-1", &large),
        put(&store, "b", "b-1", &small),
        put(&store, "c", "c-1", &large),
    )
    .await;
    for error in [one.unwrap_err(), three.unwrap_err()] {
        assert!(matches!(error, StoreError::Full(..)), "{error:?}");
        assert_eq!(Status::from(error).code(), StatusCode::ResourceExhausted);
    }
    assert!(two.unwrap().is_some());
    assert_eq!(said(&store, "kept").await, ["hello"], "what was there is intact");
    assert_eq!(store.latest(&Owner::nobody(), "a").await.unwrap(), None, "nothing is half there");
    store.delete(&Owner::nobody(), "large").await.unwrap();
    put(&store, "a", "a-1", &after(None, &"x".repeat(200_000))).await.unwrap();
}

#[tokio::test]
async fn a_file_that_stays_locked_is_answered_in_time() {
    let folder = folder();
    let options = options(|options| options.patience = Duration::from_millis(500));
    let store = SqliteStore::open_with(file(&folder), options).unwrap();
    let other = Connection::open(file(&folder)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let start = Instant::now();
    let error = put(&store, "session", "s1", &after(None, "hello")).await.unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    assert_eq!(store.latest(&Owner::nobody(), "session").await.unwrap(), None, "reading goes on");
    other.execute_batch("COMMIT").unwrap();
    put(&store, "session", "s1", &after(None, "hello")).await.unwrap();
}

/// Its caller received a timeout and does not know that it has the lease, so it cannot release it.
#[tokio::test]
async fn a_lease_that_could_not_be_answered_is_released() {
    let folder = folder();
    let patient = options(|options| options.patience = Duration::from_millis(500));
    let store = SqliteStore::open_with(file(&folder), patient).unwrap();
    let other = Connection::open(file(&folder)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let owner = Owner::nobody();
    // The later ones are still in line when their callers give up.
    let sessions: Vec<_> = (0..8).map(|number| format!("session {number}")).collect();
    let leases = sessions.iter().map(|session| store.lease(&owner, session, LONG));
    for lease in futures_util::future::join_all(leases).await {
        assert!(matches!(lease, Err(StoreError::Unavailable(_))), "{lease:?}");
    }
    other.execute_batch("COMMIT").unwrap();
    // The queue keeps the order: all earlier jobs are done before this.
    put(&store, "another", "s1", &after(None, "hello")).await.unwrap();
    for session in &sessions {
        store.lease(&owner, session, LONG).await.unwrap();
    }
}

#[tokio::test]
async fn damaged_rows_harm_themselves_only() {
    for damage in [
        "UPDATE messages SET json = '{' WHERE json LIKE '%bad%'",
        "DELETE FROM messages WHERE json LIKE '%bad%'",
        "UPDATE messages SET json = X'ff' WHERE json LIKE '%bad%'",
        "UPDATE snapshots SET status = 'lost' WHERE id = 'bad-1'",
        "UPDATE snapshots SET artifacts = 'x' WHERE id = 'bad-1'",
        "UPDATE snapshots SET custom = 77, custom_depth = 0, custom_bytes = 1 WHERE id = 'bad-1'",
        "DELETE FROM segments WHERE session = (SELECT number FROM sessions WHERE session = 'bad')",
    ] {
        let folder = folder();
        let store = open(&folder);
        turn(&store, "good", "good-1").await.unwrap();
        turn(&store, "bad", "bad-1").await.unwrap();
        drop(store);
        change(&folder, damage);
        let store = open(&folder);
        let error = store.get(&Owner::nobody(), "bad-1").await.unwrap_err();
        assert!(matches!(error, StoreError::Damaged(..)), "{damage}: {error:?}");
        let status = Status::from(error);
        assert_eq!(status.code(), StatusCode::DataLoss);
        let outgoing = status.outgoing().message;
        assert!(!outgoing.contains("SELECT") && !outgoing.contains("app.db"), "{outgoing}");
        assert_eq!(said(&store, "good").await, ["good-1"], "{damage}");
        turn(&store, "good", "good-2").await.unwrap();
        assert!(store.delete(&Owner::nobody(), "bad").await.unwrap(), "it can be removed");
    }
}

#[test]
fn what_is_no_store_of_this_version_is_not_opened() {
    let folder = folder();
    std::fs::write(file(&folder), "this is not a database, but a text of some length".repeat(20))
        .unwrap();
    let error = SqliteStore::open(file(&folder)).unwrap_err();
    assert!(matches!(error, OpenError::NotADatabase), "{error:?}");
    std::fs::remove_file(file(&folder)).unwrap();
    drop(open(&folder));
    // The tables without tasks, which were never released.
    change_version(&folder, 1);
    let error = SqliteStore::open(file(&folder)).unwrap_err();
    assert!(matches!(error, OpenError::Unreleased { found: 1 }), "{error:?}");
    change_version(&folder, 99);
    let error = SqliteStore::open(file(&folder)).unwrap_err();
    assert!(matches!(error, OpenError::TooNew { found: 99, .. }), "{error:?}");
    let below = folder.path().join("app.db").join("below.db");
    let error = SqliteStore::open(below).unwrap_err();
    assert!(matches!(error, OpenError::File(_)) && error.source().is_some(), "{error:?}");
}

fn change_version(folder: &TempDir, version: u32) {
    let connection = Connection::open(file(folder)).unwrap();
    connection.pragma_update(None, "user_version", version).unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn other_users_cannot_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let below = folder.path().join("data");
    let store = SqliteStore::open(below.join("app.db")).unwrap();
    turn(&store, "session", "s1").await.unwrap();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&below), 0o700);
    let mut files = 0;
    for file in std::fs::read_dir(&below).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
        files += 1;
    }
    assert_eq!(files, 4, "the database, its log, its index, and the sign of life");
}
