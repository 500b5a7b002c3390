//! Sessions in files: the contract, the layout, and what may happen to a directory.

mod damage;
mod growth;
mod layouts;
mod names;
mod official;
mod processes;
mod torn;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use oxikit::wire::{SessionSnapshot, SessionState, SnapshotStatus};
use oxikit::{FileLayout, FileSessions, Message};
use oxikit_core::ports::{
    LocalNotifier, Notification, Notifier, Owner, SessionStore, SnapshotWrite, StoreError, Topic,
    contract,
};
use tempfile::TempDir;

const LAYOUTS: [FileLayout; 2] = [FileLayout::Segments, FileLayout::Official];

fn open(directory: &TempDir) -> FileSessions {
    FileSessions::open(directory.path()).unwrap()
}

fn open_with(directory: &TempDir, layout: FileLayout) -> FileSessions {
    FileSessions::open_with(directory.path(), layout).unwrap()
}

/// A completed snapshot of one message, made at this second.
fn snapshot(id: &str, parent: Option<&str>, second: u32) -> SessionSnapshot {
    let messages = Some(vec![Arc::new(Message::user("hello"))]);
    SessionSnapshot {
        snapshot_id: id.to_owned(),
        parent_id: parent.map(str::to_owned),
        created_at: format!("2026-11-15T06:32:{second:02}.000Z"),
        status: Some(SnapshotStatus::Completed),
        state: Some(SessionState { messages, ..SessionState::default() }),
        ..SessionSnapshot::default()
    }
}

async fn put(
    store: &FileSessions,
    session: &str,
    snapshot: &SessionSnapshot,
) -> Result<Option<u64>, StoreError> {
    let owner = Owner::nobody();
    let write = SnapshotWrite::new(&owner, "helper", session, &snapshot.snapshot_id);
    store.save(write, &|_| Ok(Some(snapshot.clone()))).await
}

async fn latest(store: &FileSessions, session: &str) -> Option<String> {
    let latest = store.latest(&Owner::nobody(), session).await.unwrap();
    latest.map(|latest| latest.snapshot.snapshot_id)
}

/// The files below a folder, by their paths in it.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(folder).unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// The cases of the contract whose names are, or are not, about sizes. Those move
/// hundreds of megabytes and take as long as all others.
async fn check_contract(layout: FileLayout, is_about_size: bool) {
    let root = TempDir::new().unwrap();
    let make = async || {
        let directory = root.path().join(uuid::Uuid::new_v4().to_string());
        Arc::new(FileSessions::open_with(directory, layout).unwrap()) as Arc<dyn SessionStore>
    };
    let cases = contract::SESSION_STORE.iter().filter(|case| {
        let sizes =
            ["what_is_too_large_is_refused", "what_is_shared_counts_once_and_a_session_has_an_end"];
        sizes.contains(&case.name()) == is_about_size
    });
    contract::each("files", cases, make).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_contract_is_kept() {
    check_contract(FileLayout::Segments, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_contract_about_sizes_is_kept() {
    check_contract(FileLayout::Segments, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_contract_is_kept_in_the_official_layout() {
    check_contract(FileLayout::Official, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_contract_about_sizes_is_kept_in_the_official_layout() {
    check_contract(FileLayout::Official, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_publishes_with_the_notifier_it_is_given() {
    let directory = TempDir::new().unwrap();
    let notifier = Arc::new(LocalNotifier::default());
    let store = open(&directory).with_notifier(notifier.clone());
    let mut subscription = notifier.subscribe(Topic::of(&["snapshot", "global", "a"]));
    put(&store, "s", &snapshot("a", None, 1)).await.unwrap();
    assert_eq!(subscription.next().await, Notification::Changed);
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_pruned_in_the_background() {
    let both = LAYOUTS.map(|layout| [(layout, false), (layout, true)]);
    for (layout, is_restarted) in both.into_iter().flatten() {
        let directory = TempDir::new().unwrap();
        let open = async |retention| {
            let store = open_with(&directory, layout).with_retention(retention).unwrap();
            Arc::new(store) as Arc<dyn SessionStore>
        };
        match is_restarted {
            false => contract::retention_in_background(open).await,
            true => contract::retention_after_restart(open).await,
        }
    }
}
