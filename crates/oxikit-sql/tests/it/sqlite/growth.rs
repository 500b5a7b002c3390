//! Writes cost what is new.

use std::sync::Arc;

use oxikit_core::ports::{Owner, Retention, SessionStore};
use oxikit_sql::SqliteStore;
use oxikit_wire::{Artifact, SessionState};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{after, file, folder, open, put, said};

/// Bytes of the database once all is written into its file.
fn size(folder: &TempDir) -> u64 {
    let connection = rusqlite::Connection::open(file(folder)).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    std::fs::metadata(file(folder)).unwrap().len()
}

/// A turn that has this state besides its messages.
async fn turn_with(store: &SqliteStore, number: usize, change: impl Fn(&mut SessionState)) {
    let latest = store.latest(&Owner::nobody(), "session").await.unwrap();
    let mut snapshot = after(latest.as_ref(), "hello");
    change(snapshot.state.as_mut().unwrap());
    put(store, "session", &format!("s{number}"), &snapshot).await.unwrap();
}

#[tokio::test]
async fn a_thousand_turns_grow_by_what_they_say() {
    let folder = folder();
    let store = open(&folder);
    let mut sizes = Vec::new();
    for number in 0..1000 {
        if number % 250 == 0 {
            sizes.push(size(&folder));
        }
        let latest = store.latest(&Owner::nobody(), "session").await.unwrap();
        let snapshot = after(latest.as_ref(), &"word ".repeat(100));
        put(&store, "session", &format!("snapshot-{number}"), &snapshot).await.unwrap();
    }
    sizes.push(size(&folder));
    let grown: Vec<_> = sizes.windows(2).map(|pair| (pair[1] - pair[0]) / 250).collect();
    assert!(grown.iter().all(|bytes| *bytes < 2000), "bytes a turn: {grown:?}");
    assert!(grown[3] <= grown[0] + grown[0] / 4, "the same at every length: {grown:?}");
    drop(store);
    assert_eq!(said(&open(&folder), "session").await.len(), 1000, "read anew, all is there");
}

/// About 100 kB, of which a number changes with each turn.
fn large_state(number: usize) -> Value {
    let rows = (0..1000).map(|row| json!({ "row": row, "text": "x".repeat(80) }));
    json!({ "turn": number, "rows": rows.collect::<Vec<_>>() })
}

#[tokio::test]
async fn a_large_state_of_which_little_changes_is_written_as_the_change() {
    let folder = folder();
    let store = open(&folder);
    turn_with(&store, 0, |state| state.custom = Some(Arc::new(large_state(0)))).await;
    let before = size(&folder);
    for number in 1..=100 {
        turn_with(&store, number, |state| state.custom = Some(Arc::new(large_state(number)))).await;
    }
    let grown = (size(&folder) - before) / 100;
    assert!(grown < 10_000, "{grown} bytes a turn");
    drop(store);
    let store = open(&folder);
    for number in [0, 1, 31, 32, 33, 34, 64, 66, 100] {
        let found = store.get(&Owner::nobody(), &format!("s{number}")).await.unwrap().unwrap();
        let custom = found.snapshot.state.unwrap().custom.unwrap();
        assert!(*custom == large_state(number), "turn {number} has its own state");
    }
}

#[tokio::test]
async fn artifacts_are_stored_once() {
    let folder = folder();
    let store = open(&folder);
    let artifacts: Vec<_> = (0..5)
        .map(|number| {
            let name = Some(format!("a{number}"));
            Arc::new(Artifact { name, parts: vec!["x".repeat(100_000).into()], metadata: None })
        })
        .collect();
    for number in 0..50 {
        turn_with(&store, number, |state| state.artifacts = Some(artifacts.clone())).await;
    }
    assert!(size(&folder) < 1_000_000, "{}", size(&folder));
}

#[tokio::test]
async fn a_row_that_is_written_again_and_again_leaves_no_rubbish() {
    let folder = folder();
    let store = open(&folder);
    for number in 0..400 {
        let mut snapshot = after(None, "hello");
        // Too different to be stored as a change.
        let custom = Value::String(number.to_string().repeat(8_000));
        snapshot.state.as_mut().unwrap().custom = Some(Arc::new(custom));
        put(&store, "session", "one", &snapshot).await.unwrap();
    }
    assert!(size(&folder) < 2_000_000, "{}", size(&folder));
}

#[tokio::test]
async fn a_prune_gives_room_back() {
    let folder = folder();
    let store = open(&folder);
    for session in 0..100 {
        let snapshot = after(None, &"x".repeat(50_000));
        put(&store, &format!("s{session}"), &format!("s{session}-1"), &snapshot).await.unwrap();
    }
    let before = size(&folder);
    let retention = Retention { max_bytes: Some(1_000_000), ..Retention::default() };
    let pruned = store.prune(&retention).await.unwrap();
    assert!((80..=82).contains(&pruned.sessions), "{pruned:?}");
    let left = size(&folder);
    assert!(left < before / 3, "{before} bytes became {left}");
    assert!(store.get(&Owner::nobody(), "s99-1").await.unwrap().is_some(), "the newest stay");
}
