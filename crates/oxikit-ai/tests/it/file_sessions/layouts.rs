//! Which layout a directory has, and what snapshots share.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use oxikit::wire::{SessionSnapshot, SessionState};
use oxikit::{FileLayout, FileSessions, Message};
use oxikit_core::ports::{Owner, Retention, SessionStore};
use tempfile::TempDir;

use super::{files_in, latest, open, open_with, put, snapshot};

/// A snapshot with these messages, one a letter.
fn talk(id: &str, parent: Option<&str>, second: u32, messages: &str) -> SessionSnapshot {
    let messages = messages.chars().map(|letter| Arc::new(Message::user(letter.to_string())));
    let state = SessionState { messages: Some(messages.collect()), ..SessionState::default() };
    SessionSnapshot { state: Some(state), ..snapshot(id, parent, second) }
}

async fn messages(store: &FileSessions, id: &str) -> Option<String> {
    let found = store.get(&Owner::nobody(), id).await.unwrap()?;
    let messages = found.snapshot.state.unwrap().messages.unwrap();
    Some(messages.iter().map(|message| message.text()).collect())
}

fn segments(directory: &Path) -> usize {
    let folder = directory.join("global/.oxikit/segments");
    if folder.exists() { files_in(&folder).len() } else { 0 }
}

#[tokio::test]
async fn a_directory_stays_in_its_layout() {
    for (layout, has_segments) in [(FileLayout::Segments, true), (FileLayout::Official, false)] {
        let directory = TempDir::new().unwrap();
        put(&open_with(&directory, layout), "s", &snapshot("a", None, 1)).await.unwrap();
        let store = open(&directory);
        put(&store, "s", &snapshot("b", Some("a"), 2)).await.unwrap();
        assert_eq!(segments(directory.path()) > 0, has_segments);
    }
    let directory = TempDir::new().unwrap();
    put(&open(&directory), "s", &snapshot("a", None, 1)).await.unwrap();
    assert!(segments(directory.path()) > 0, "a new one is in segments");
    // A store that opens the directory later keeps the layout of the first one.
    let directory = TempDir::new().unwrap();
    drop(open_with(&directory, FileLayout::Official));
    put(&open(&directory), "s", &snapshot("a", None, 1)).await.unwrap();
    assert_eq!(segments(directory.path()), 0);
    // An official store, or an older version, left no note of the layout.
    fs::remove_file(directory.path().join(".oxikit/layout")).unwrap();
    put(&open(&directory), "s", &snapshot("b", Some("a"), 2)).await.unwrap();
    assert_eq!(segments(directory.path()), 0);
}

#[tokio::test]
async fn a_session_goes_on_in_another_layout() {
    let directory = TempDir::new().unwrap();
    let official = || open_with(&directory, FileLayout::Official);
    put(&official(), "s", &talk("a", None, 1, "A")).await.unwrap();
    let segments = open_with(&directory, FileLayout::Segments);
    put(&segments, "s", &talk("b", Some("a"), 2, "AB")).await.unwrap();
    put(&segments, "s", &talk("c", Some("b"), 3, "ABC")).await.unwrap();
    put(&official(), "s", &talk("d", Some("c"), 4, "ABCD")).await.unwrap();
    for store in [segments, open(&directory)] {
        for (id, expected) in [("a", "A"), ("b", "AB"), ("c", "ABC"), ("d", "ABCD")] {
            assert_eq!(messages(&store, id).await.as_deref(), Some(expected));
        }
        assert_eq!(latest(&store, "s").await.as_deref(), Some("d"));
    }
}

#[tokio::test]
async fn branches_share_what_they_have_in_common_and_keep_it() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory);
    put(&store, "s", &talk("a", None, 1, "AB")).await.unwrap();
    put(&store, "s", &talk("b", Some("a"), 2, "ABC")).await.unwrap();
    put(&store, "s", &talk("c", Some("b"), 3, "ABCD")).await.unwrap();
    assert_eq!(segments(directory.path()), 1);
    put(&store, "s", &talk("fork", Some("a"), 4, "ABX")).await.unwrap();
    put(&store, "s", &talk("rewritten", Some("c"), 5, "AYZ")).await.unwrap();
    assert_eq!(segments(directory.path()), 3);
    let retention = Retention { max_snapshots: Some(1), ..Retention::default() };
    assert_eq!(store.prune(&retention).await.unwrap().snapshots, 3);
    for store in [&store, &open(&directory)] {
        for gone in ["a", "b", "c"] {
            assert_eq!(messages(store, gone).await, None);
        }
        assert_eq!(messages(store, "fork").await.as_deref(), Some("ABX"));
        assert_eq!(messages(store, "rewritten").await.as_deref(), Some("AYZ"));
    }
    put(&store, "s", &talk("next", Some("rewritten"), 6, "AYZQ")).await.unwrap();
    assert_eq!(messages(&store, "next").await.as_deref(), Some("AYZQ"));
    assert!(store.delete(&Owner::nobody(), "s").await.unwrap());
    assert_eq!(segments(directory.path()), 0);
}

/// The row of detached work is written again and again.
#[tokio::test]
async fn content_that_a_row_had_before_is_removed() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory);
    put(&store, "s", &talk("a", None, 1, "AB")).await.unwrap();
    for n in 0..20 {
        let mut row = talk("b", Some("a"), 2, &format!("AB{}", char::from(b'a' + n)));
        let custom = Arc::new(serde_json::json!({ "n": n }));
        row.state.as_mut().unwrap().custom = Some(custom);
        assert_eq!(put(&store, "s", &row).await.unwrap(), Some(u64::from(n) + 1));
    }
    assert_eq!(messages(&store, "b").await.as_deref(), Some("ABt"));
    assert_eq!(messages(&store, "a").await.as_deref(), Some("AB"));
    assert_eq!(segments(directory.path()), 3, "of the parent, its last message and its state");
}

#[tokio::test]
async fn many_branches_on_branches_are_read() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory);
    let mut text = "A".to_owned();
    for n in 0..150 {
        let parent = (n > 0).then(|| format!("row-{}", n - 1));
        // The last message is another one each time, so that nothing can be lengthened.
        text.pop();
        text.push_str("MZ");
        let row = talk(&format!("row-{n}"), parent.as_deref(), 1, &text);
        put(&store, "s", &row).await.unwrap();
        assert_eq!(messages(&store, &row.snapshot_id).await.as_deref(), Some(text.as_str()));
    }
    assert_eq!(messages(&store, "row-0").await.as_deref(), Some("MZ"));
}
