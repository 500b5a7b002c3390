//! The number of bytes that a turn writes does not depend on the length of its session.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use oxikit::wire::{Artifact, Part, SessionSnapshot, SessionState};
use oxikit::{FileLayout, FileSessions, Message};
use oxikit_core::ports::{Owner, SessionStore, SnapshotWrite, Term};
use serde_json::json;
use tempfile::TempDir;

use super::{files_in, open_with, snapshot};

/// The snapshot of a turn: two messages more than the one before; every tenth writes
/// one of its five artifacts anew.
fn turn(n: usize) -> SessionSnapshot {
    let message = |place: usize| Arc::new(Message::user(format!("message {place:06}")));
    let artifact = |place: usize| {
        Arc::new(Artifact {
            name: Some(format!("artifact {place:06}")),
            parts: vec![Part::text("x".repeat(500))],
            ..Artifact::default()
        })
    };
    let state = SessionState {
        messages: Some((0..2 * n).map(message).collect()),
        artifacts: Some(
            (1..6).map(|place| artifact(if place == n / 10 % 6 { n / 10 } else { 0 })).collect(),
        ),
        custom: Some(Arc::new(json!({ "large and the same": "y".repeat(500) }))),
        ..SessionState::default()
    };
    let parent = (n > 1).then(|| format!("turn-{:06}", n - 1));
    let id = format!("turn-{n:06}");
    SessionSnapshot { state: Some(state), ..snapshot(&id, parent.as_deref(), 1) }
}

/// A turn as an agent writes it: under a lease that the write gives back.
async fn take_turn(store: &FileSessions, n: usize) {
    let (owner, turn) = (Owner::nobody(), turn(n));
    let lease = store.lease(&owner, "s", Term::of(Duration::from_secs(60))).await.unwrap();
    let write = SnapshotWrite {
        lease: Some(&lease),
        releases: true,
        ..SnapshotWrite::new(&owner, "helper", "s", &turn.snapshot_id)
    };
    store.save(write, &|_| Ok(Some(turn.clone()))).await.unwrap();
}

fn contents(root: &Path) -> HashMap<PathBuf, Vec<u8>> {
    let read = |path: PathBuf| (path.clone(), fs::read(root.join(path)).unwrap());
    files_in(root).into_iter().map(read).collect()
}

/// Bytes that files have got more, or that were written anew.
fn written(before: &HashMap<PathBuf, Vec<u8>>, after: &HashMap<PathBuf, Vec<u8>>) -> usize {
    let written = after.iter().map(|(path, now)| match before.get(path) {
        Some(before) if now.starts_with(before) => now.len() - before.len(),
        _ => now.len(),
    });
    written.sum()
}

/// Number of bytes that these turns write.
async fn measure(layout: FileLayout, turns: [usize; 2]) -> [usize; 2] {
    let directory = TempDir::new().unwrap();
    let store = open_with(&directory, layout);
    let mut measured = Vec::new();
    for n in 1..=turns[1] {
        let before = turns.contains(&n).then(|| contents(directory.path()));
        take_turn(&store, n).await;
        if let Some(before) = before {
            measured.push(written(&before, &contents(directory.path())));
        }
    }
    let last = store.latest(&Owner::nobody(), "s").await.unwrap().unwrap().snapshot;
    let expected = SessionSnapshot { session_id: Some("s".to_owned()), ..turn(turns[1]) };
    assert_eq!(last.state.unwrap().messages, expected.state.unwrap().messages);
    measured.try_into().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_writes_what_is_new_however_long_the_session_is() {
    let (segments, official) = tokio::join!(
        measure(FileLayout::Segments, [10, 500]),
        measure(FileLayout::Official, [10, 100])
    );
    println!("segments, turns 10 and 500: {segments:?}; official, 10 and 100: {official:?}");
    assert!(2 * segments[1] <= 3 * segments[0], "{segments:?}");
    assert!(official[1] > 3 * official[0], "it is measured: {official:?}");
}
