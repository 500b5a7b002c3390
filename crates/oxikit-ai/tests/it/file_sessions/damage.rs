//! Files that are damaged, removed or replaced by others.

use std::fs;
use std::time::Duration;

use oxikit_core::ports::{Owner, SessionQuery, SessionStore, StoreError, Term};
use tempfile::TempDir;

use super::{LAYOUTS, files_in, latest, open, open_with, put, snapshot};

#[tokio::test]
async fn a_torn_file_harms_only_itself() {
    let directory = TempDir::new().unwrap();
    let (store, nobody) = (open(&directory), Owner::nobody());
    for n in 0..10 {
        put(&store, &format!("s{n}"), &snapshot(&format!("a{n}"), None, 1)).await.unwrap();
        let child = snapshot(&format!("b{n}"), Some(&format!("a{n}")), 2);
        put(&store, &format!("s{n}"), &child).await.unwrap();
    }
    let global = directory.path().join("global");
    let whole = fs::read(global.join("b3.json")).unwrap();
    fs::write(global.join("b3.json"), &whole[..whole.len() / 2]).unwrap();
    fs::write(global.join("a4.json"), "").unwrap();
    fs::write(global.join("foreign.json"), "[1, 2").unwrap();
    fs::write(global.join("notes.txt"), "mine").unwrap();
    fs::create_dir(global.join("folder.json")).unwrap();
    for store in [&store, &open(&directory)] {
        let page = store.list(&nobody, &SessionQuery::default()).await.unwrap();
        assert_eq!(page.sessions.len(), 10);
        for n in 0..10 {
            let last = if n == 3 { "a3".to_owned() } else { format!("b{n}") };
            assert_eq!(latest(store, &format!("s{n}")).await, Some(last));
        }
        for damaged in ["b3", "a4", "foreign", "folder"] {
            let found = store.get(&nobody, damaged).await;
            assert!(matches!(found, Err(StoreError::Damaged(..))), "{damaged}: {found:?}");
        }
    }
    let child = snapshot("c3", Some("a3"), 3);
    put(&store, "s3", &child).await.unwrap();
    assert_eq!(latest(&store, "s3").await.as_deref(), Some("c3"));
    assert_eq!(fs::read_to_string(global.join("notes.txt")).unwrap(), "mine");
}

#[tokio::test]
async fn damaged_notes_are_made_again_and_fences_still_grow() {
    let directory = TempDir::new().unwrap();
    let (store, nobody) = (open(&directory), Owner::nobody());
    let term = Term::of(Duration::from_secs(60));
    let lost = store.lease(&nobody, "s", term).await.unwrap();
    put(&store, "s", &snapshot("a", None, 1)).await.unwrap();
    fs::write(directory.path().join("global/.oxikit/s.json"), "{").unwrap();
    assert_eq!(latest(&store, "s").await.as_deref(), Some("a"));
    let lease = store.lease(&nobody, "s", term).await.unwrap();
    assert!(lease.fence > lost.fence);
    assert!(matches!(store.renew(&nobody, &lost).await, Err(StoreError::Fenced(_))));
}

#[tokio::test]
async fn what_a_dead_process_left_half_written_is_removed() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory);
    put(&store, "s", &snapshot("a", None, 1)).await.unwrap();
    let global = directory.path().join("global");
    let before = files_in(&global);
    let dead = "0123456789abcdef0123456789abcdef";
    fs::write(global.join(format!(".{dead}-7.tmp")), "half").unwrap();
    fs::write(global.join("b.json.77.uuid.tmp"), "an official store's").unwrap();
    store.list(&Owner::nobody(), &SessionQuery::default()).await.unwrap();
    let mut expected = before;
    expected.push("b.json.77.uuid.tmp".into());
    expected.sort();
    assert_eq!(files_in(&global), expected);
}

/// A directory that cannot be written refuses, and nothing is half done.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_failed_write_leaves_the_row_as_it_is() {
    let directory = TempDir::new().unwrap();
    let (store, nobody) = (open(&directory), Owner::nobody());
    put(&store, "s", &snapshot("a", None, 1)).await.unwrap();
    let before = store.get(&nobody, "a").await.unwrap();
    // A folder in the way of the file: not even root can rename over it.
    let global = directory.path().join("global");
    fs::create_dir_all(global.join(".hidden")).unwrap();
    fs::rename(global.join(".oxikit"), global.join(".hidden/notes")).unwrap();
    fs::write(global.join(".oxikit"), "in the way").unwrap();
    let refused = put(&store, "s", &snapshot("a", None, 9)).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    fs::remove_file(global.join(".oxikit")).unwrap();
    fs::rename(global.join(".hidden/notes"), global.join(".oxikit")).unwrap();
    assert_eq!(store.get(&nobody, "a").await.unwrap(), before);
    assert_eq!(put(&store, "s", &snapshot("a", None, 9)).await.unwrap(), Some(2));
}

/// As if the process had been killed between a snapshot and the note of it.
#[tokio::test]
async fn a_turn_goes_on_from_a_snapshot_that_a_dead_process_did_not_note() {
    for layout in LAYOUTS {
        let directory = TempDir::new().unwrap();
        let (dead, owner) = (open_with(&directory, layout), Owner::nobody());
        let term = Term::of(Duration::from_secs(600));
        dead.lease(&owner, "s", term).await.unwrap();
        put(&dead, "s", &snapshot("a", None, 1)).await.unwrap();
        let notes = directory.path().join("global/.oxikit/s.json");
        let noted = fs::read(&notes).unwrap();
        put(&dead, "s", &snapshot("b", Some("a"), 2)).await.unwrap();
        drop(dead);
        fs::write(&notes, noted).unwrap();
        let pointer = r#"{"currentSnapshotId":"a","updatedAt":""}"#;
        fs::write(directory.path().join("global/.pointers/s.json"), pointer).unwrap();
        let store = open(&directory);
        store.lease(&owner, "s", term).await.unwrap();
        let found = store.latest(&owner, "s").await.unwrap().unwrap();
        assert_eq!(found.snapshot.state.unwrap().messages.unwrap().len(), 1);
        assert_eq!(latest(&store, "s").await.as_deref(), Some("b"), "{layout:?}");
    }
}
