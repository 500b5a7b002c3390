//! Directories that are shared with official stores.

use std::fs;
use std::path::Path;
use std::time::Duration;

use oxikit::wire::{SessionSnapshot, SnapshotStatus};
use oxikit::{FileLayout, FileSessions};
use oxikit_core::ports::{Owner, SessionQuery, SessionStore};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{LAYOUTS, files_in, latest, open_with, put, snapshot};

fn open(directory: &TempDir) -> FileSessions {
    open_with(directory, FileLayout::Official)
}

/// Writes files as an official store does.
fn write(root: &Path, files: &Value) {
    for (path, content) in files.as_object().unwrap() {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, serde_json::to_string_pretty(content).unwrap()).unwrap();
    }
}

fn row(id: &str, session: &str, parent: Option<&str>, second: u32) -> Value {
    let mut row = snapshot(id, parent, second);
    row.session_id = Some(session.to_owned());
    serde_json::to_value(row).unwrap()
}

#[tokio::test]
async fn what_an_official_store_wrote_is_served_and_gone_on_with() {
    let recorded = oxikit_recordings::json("agents/file-store.json");
    let directory = TempDir::new().unwrap();
    write(directory.path(), &recorded["afterFirst"]);
    let done = &recorded["detachedDone"];
    let id = done["snapshotId"].as_str().unwrap();
    write(directory.path(), &json!({ format!("global/{id}.json"): done }));

    let (store, nobody) = (open(&directory), Owner::nobody());
    let first = "2841734b-9716-42c8-a09b-ebbe4fc4516a";
    let expected: SessionSnapshot =
        serde_json::from_value(recorded["afterFirst"][format!("global/{first}.json")].clone())
            .unwrap();
    let found = store.latest(&nobody, "sess-A").await.unwrap().unwrap();
    assert_eq!((found.revision, &found.agent, &found.snapshot), (1, &None, &expected));
    assert_eq!(store.get(&nobody, first).await.unwrap(), Some(found));
    // A finished detached row names itself as its parent, and here has no pointer.
    assert_eq!(latest(&store, "sess-D").await.as_deref(), Some(id));
    let pointer = fs::read(directory.path().join("global/.pointers/sess-D.json")).unwrap();
    let pointer: Value = serde_json::from_slice(&pointer).unwrap();
    assert_eq!(pointer["currentSnapshotId"], done["snapshotId"]);

    let page = store.list(&nobody, &SessionQuery::default()).await.unwrap();
    let mut sessions: Vec<_> =
        page.sessions.iter().map(|found| (found.session.as_str(), found.messages)).collect();
    sessions.sort_unstable();
    assert_eq!(sessions, [("sess-A", 2), ("sess-D", 2)]);

    put(&store, "sess-A", &snapshot("next", Some(first), 59)).await.unwrap();
    assert_eq!(latest(&store, "sess-A").await.as_deref(), Some("next"));
    let tree = store.tree(&nobody, "sess-A").await.unwrap();
    let tree: Vec<_> = tree.iter().map(|node| node.snapshot.as_str()).collect();
    assert_eq!(tree, [first, "next"]);
    assert!(store.delete(&nobody, "sess-A").await.unwrap());
    assert_eq!(store.get(&nobody, first).await.unwrap(), None);
    assert_eq!(latest(&store, "sess-D").await.as_deref(), Some(id));
}

#[tokio::test]
async fn files_are_written_as_an_official_store_writes_them() {
    let recorded = oxikit_recordings::json("agents/file-store.json");
    let directory = TempDir::new().unwrap();
    let store = open(&directory);
    for (path, content) in recorded["afterFirst"].as_object().unwrap() {
        if path.contains(".pointers") {
            continue;
        }
        let snapshot: SessionSnapshot = serde_json::from_value(content.clone()).unwrap();
        put(&store, "sess-A", &snapshot).await.unwrap();
        // The same members and the same indentation; their order is not a promise.
        let text = fs::read_to_string(directory.path().join(path)).unwrap();
        let written: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(&written, content);
        assert_eq!(text, serde_json::to_string_pretty(&written).unwrap());
        assert!(text.starts_with("{\n  \"snapshotId\": \""), "{text}");
    }
    let pointer =
        fs::read_to_string(directory.path().join("global/.pointers/sess-A.json")).unwrap();
    let expected = "{\n  \"currentSnapshotId\": \"2841734b-9716-42c8-a09b-ebbe4fc4516a\",\n  \
                    \"updatedAt\": \"2026-11-15T06:32:35.495Z\"\n}";
    assert_eq!(pointer, expected);
    let global: Vec<_> = files_in(&directory.path().join("global"));
    let global: Vec<_> = global.iter().map(|path| path.to_str().unwrap()).collect();
    let snapshot = "2841734b-9716-42c8-a09b-ebbe4fc4516a.json";
    assert_eq!(global, [".oxikit/sess-A.json", ".pointers/sess-A.json", snapshot]);
}

#[tokio::test]
async fn the_pointer_is_advanced_by_new_rows_only() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory);
    let pointer = || {
        let text = fs::read(directory.path().join("global/.pointers/s.json")).unwrap();
        let pointer: Value = serde_json::from_slice(&text).unwrap();
        pointer["currentSnapshotId"].as_str().unwrap().to_owned()
    };
    put(&store, "s", &snapshot("a", None, 1)).await.unwrap();
    put(&store, "s", &snapshot("b", Some("a"), 2)).await.unwrap();
    put(&store, "s", &snapshot("a", None, 3)).await.unwrap();
    assert_eq!(pointer(), "b");
    for stale in [json!({ "currentSnapshotId": "gone", "updatedAt": "x" }), json!([]), json!(1)] {
        write(directory.path(), &json!({ "global/.pointers/s.json": stale }));
        assert_eq!(latest(&store, "s").await.as_deref(), Some("b"), "{stale}");
        assert_eq!(pointer(), "b", "{stale} is mended");
    }
    fs::remove_dir_all(directory.path().join("global/.pointers")).unwrap();
    assert_eq!(latest(&store, "s").await.as_deref(), Some("b"));
    assert_eq!(pointer(), "b");
}

#[tokio::test]
async fn what_another_store_writes_meanwhile_is_seen() {
    let directory = TempDir::new().unwrap();
    let (store, nobody) = (open(&directory), Owner::nobody());
    let mut pending = snapshot("a", None, 1);
    pending.status = Some(SnapshotStatus::Pending);
    put(&store, "s", &pending).await.unwrap();
    let mut aborted = row("a", "s", None, 1);
    aborted["status"] = json!("aborted");
    let abort = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        write(directory.path(), &json!({ "global/a.json": aborted }));
    };
    let changed = tokio::time::timeout(Duration::from_secs(5), store.changed(&nobody, "a", 1));
    let (changed, ()) = tokio::join!(changed, abort);
    changed.expect("the write was not noticed within a second").unwrap();
    let found = store.get(&nobody, "a").await.unwrap().unwrap();
    assert_eq!((found.revision, found.snapshot.status), (2, Some(SnapshotStatus::Aborted)));
    assert_eq!(found.agent.as_deref(), Some("helper"));

    let pointer = json!({ "currentSnapshotId": "b", "updatedAt": "2026-11-15T06:32:02.000Z" });
    write(
        directory.path(),
        &json!({ "global/b.json": row("b", "s", Some("a"), 2), "global/.pointers/s.json": pointer }),
    );
    assert_eq!(latest(&store, "s").await.as_deref(), Some("b"));
    let saved = put(&store, "s", &snapshot("b", Some("a"), 3)).await.unwrap();
    assert_eq!(saved, Some(2), "the official writing was the first");
    fs::remove_file(directory.path().join("global/b.json")).unwrap();
    assert_eq!(latest(&store, "s").await.as_deref(), Some("a"));
}

#[tokio::test]
async fn a_directory_without_our_notes_works() {
    let directory = TempDir::new().unwrap();
    let (store, nobody) = (open(&directory), Owner::nobody());
    put(&store, "s", &snapshot("a", None, 1)).await.unwrap();
    put(&store, "s", &snapshot("b", Some("a"), 2)).await.unwrap();
    drop(store);
    fs::remove_dir_all(directory.path().join("global/.oxikit")).unwrap();
    fs::remove_dir_all(directory.path().join(".oxikit")).unwrap();
    let store = open(&directory);
    let found = store.latest(&nobody, "s").await.unwrap().unwrap();
    assert_eq!((found.snapshot.snapshot_id.as_str(), found.agent), ("b", None));
    let page = store.list(&nobody, &SessionQuery::default()).await.unwrap();
    assert_eq!((page.sessions.len(), page.sessions[0].agent.as_str()), (1, ""));
    put(&store, "s", &snapshot("c", Some("b"), 3)).await.unwrap();
    let found = store.get(&nobody, "a").await.unwrap().unwrap();
    assert_eq!(found.agent.as_deref(), Some("helper"), "whoever goes on is its agent");
}

#[tokio::test]
async fn a_chain_may_have_a_length() {
    for layout in LAYOUTS {
        let directory = TempDir::new().unwrap();
        let (store, nobody) = (open_with(&directory, layout).with_max_chain(2), Owner::nobody());
        put(&store, "s", &snapshot("a", None, 1)).await.unwrap();
        put(&store, "s", &snapshot("b", Some("a"), 2)).await.unwrap();
        put(&store, "s", &snapshot("fork", Some("a"), 3)).await.unwrap();
        put(&store, "s", &snapshot("c", Some("b"), 4)).await.unwrap();
        let tree = store.tree(&nobody, "s").await.unwrap();
        let tree: Vec<_> = tree.iter().map(|node| node.snapshot.as_str()).collect();
        assert_eq!(tree, ["b", "fork", "c"]);
        assert_eq!(store.get(&nobody, "a").await.unwrap(), None);
        let left = store.get(&nobody, "c").await.unwrap().unwrap().snapshot;
        assert_eq!(left.state.unwrap().messages, snapshot("c", None, 4).state.unwrap().messages);
    }
}
