//! Files that end anywhere, as a power cut may leave them.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use oxikit::wire::{SessionSnapshot, SessionState};
use oxikit::{FileSessions, Message};
use oxikit_core::ports::{Owner, SessionStore, StoreError};
use tempfile::TempDir;

use super::{files_in, open, put, snapshot};

const TURNS: usize = 4;

/// A turn of a session: as many messages as its number.
fn turn(session: &str, n: usize) -> SessionSnapshot {
    let message = |place| Arc::new(Message::user(format!("{session}: message {place}")));
    let messages = Some((0..n).map(message).collect());
    let custom = Some(Arc::new(serde_json::json!({ "turn": n })));
    let state = SessionState { messages, custom, ..SessionState::default() };
    let parent = (n > 1).then(|| format!("{session}-{}", n - 1));
    let id = format!("{session}-{n}");
    SessionSnapshot { state: Some(state), ..snapshot(&id, parent.as_deref(), n as u32) }
}

/// A snapshot as it is found.
fn stored(session: &str, n: usize) -> SessionSnapshot {
    let mut turn = turn(session, n);
    turn.session_id = Some(session.to_owned());
    turn.state.as_mut().unwrap().session_id = Some(session.to_owned());
    turn
}

fn copy(from: &Path, to: &Path) {
    for file in files_in(from) {
        let target = to.join(&file);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(from.join(&file), target).unwrap();
    }
}

/// Everything that is found is as it was written; what is not found is named. The
/// other session is not touched.
async fn check_turns(store: &FileSessions, cut: &str) {
    let owner = Owner::nobody();
    for n in 1..=TURNS {
        let other = store.get(&owner, &format!("other-{n}")).await.unwrap().unwrap();
        assert_eq!(other.snapshot, stored("other", n), "{cut}");
        match store.get(&owner, &format!("s-{n}")).await {
            Ok(Some(found)) => assert_eq!(found.snapshot, stored("s", n), "{cut}"),
            Ok(None) | Err(StoreError::Damaged(..)) => {}
            Err(error) => panic!("{cut}: {error}"),
        }
    }
}

/// The session goes on from the last turn that is whole, with other messages than
/// before: they must not get into turns that are damaged.
async fn go_on(store: &FileSessions, cut: &str) {
    let owner = Owner::nobody();
    let latest = store.latest(&owner, "s").await.unwrap().map(|latest| latest.snapshot);
    let n = latest.as_ref().map_or(0, |latest| latest.snapshot_id[2..].parse().unwrap());
    assert!(latest.is_none_or(|latest| latest == stored("s", n)), "{cut}");
    let mut next = turn("s", n + 1);
    next.snapshot_id = "next".to_owned();
    next.created_at = "2027-01-01T00:00:00.000Z".to_owned();
    let messages = next.state.as_mut().unwrap().messages.as_mut().unwrap();
    messages[n] = Arc::new(Message::user("s: message !"));
    messages.extend((0..TURNS).map(|n| Arc::new(Message::user(format!("s: message {n}")))));
    put(store, "s", &next).await.unwrap();
    let found = store.latest(&owner, "s").await.unwrap().unwrap().snapshot;
    assert_eq!(found.state.unwrap().messages, next.state.unwrap().messages, "{cut}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_cut_anywhere_is_reported_and_nothing_is_mixed() {
    let original = TempDir::new().unwrap();
    let store = open(&original);
    for n in 1..=TURNS {
        put(&store, "s", &turn("s", n)).await.unwrap();
        put(&store, "other", &turn("other", n)).await.unwrap();
    }
    drop(store);
    let files: Vec<_> = files_in(original.path())
        .into_iter()
        .filter(|file| file.starts_with("global") && !file.to_str().unwrap().contains("other"))
        .collect();
    assert!(files.len() > 2 * TURNS, "{files:?}");
    for file in files {
        let bytes = fs::read(original.path().join(&file)).unwrap();
        // All places would take long; these are in every line, and at its ends.
        let is_near_end = |place: usize| {
            bytes[place.saturating_sub(1)..].iter().take(2).any(|byte| *byte == b'\n')
        };
        let places = (0..=bytes.len()).filter(|place| place % 37 == 0 || is_near_end(*place));
        for place in places {
            let directory = TempDir::new().unwrap();
            copy(original.path(), directory.path());
            let path = directory.path().join(&file);
            fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(place as u64).unwrap();
            let (store, cut) = (open(&directory), format!("{} at {place}", file.display()));
            check_turns(&store, &cut).await;
            go_on(&store, &cut).await;
            check_turns(&open(&directory), &cut).await;
        }
    }
}

/// Lines of a process that was killed before it answered are not read, and what is
/// written next is not appended to them.
#[tokio::test]
async fn lines_that_were_never_acknowledged_are_not_read() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory);
    put(&store, "s", &turn("s", 1)).await.unwrap();
    put(&store, "s", &turn("s", 2)).await.unwrap();
    for file in files_in(&directory.path().join("global/.oxikit")) {
        if file.to_str().unwrap() == "changed" {
            continue;
        }
        let path = directory.path().join("global/.oxikit").join(file);
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend_from_slice(b"{\"role\":\"user\",\"content\":[{\"te");
        fs::write(path, bytes).unwrap();
    }
    put(&store, "s", &turn("s", 3)).await.unwrap();
    for store in [store, open(&directory)] {
        for n in 1..=3 {
            let found = store.get(&Owner::nobody(), &format!("s-{n}")).await.unwrap().unwrap();
            assert_eq!((found.snapshot, found.revision), (stored("s", n), 1));
        }
        assert_eq!(store.tree(&Owner::nobody(), "s").await.unwrap().len(), 3);
    }
}
