//! The SQLite store.

mod child;
mod contract;
mod faults;
mod growth;
mod processes;
mod tasks;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::{
    Lease, Owner, SessionStore, SnapshotWrite, StoreError, StoredSnapshot, Term,
};
use oxikit_sql::{SqliteOptions, SqliteStore};
use oxikit_wire::{Message, SessionSnapshot, SessionState, SnapshotStatus};
use tempfile::TempDir;

const LONG: Term = Term { ttl: Duration::from_secs(60), by_force: false };

/// A folder in memory, if the system has one: no test here can tell whether the
/// disk keeps its word, and many write a lot.
fn folder() -> TempDir {
    TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap()
}

fn file(folder: &TempDir) -> PathBuf {
    folder.path().join("app.db")
}

fn open(folder: &TempDir) -> SqliteStore {
    SqliteStore::open(file(folder)).unwrap()
}

fn options(change: impl FnOnce(&mut SqliteOptions)) -> SqliteOptions {
    let mut options = SqliteOptions::default();
    change(&mut options);
    options
}

/// A completed snapshot after `parent`, with one message more.
fn after(parent: Option<&StoredSnapshot>, text: &str) -> SessionSnapshot {
    let parent = parent.map(|parent| &parent.snapshot);
    let state = parent.and_then(|parent| parent.state.as_ref());
    let mut messages = state.and_then(|state| state.messages.clone()).unwrap_or_default();
    messages.push(Arc::new(Message::user(text)));
    SessionSnapshot {
        parent_id: parent.map(|parent| parent.snapshot_id.clone()),
        created_at: format!("2026-11-15T06:32:00.{:06}Z", messages.len()),
        status: Some(SnapshotStatus::Completed),
        state: Some(SessionState { messages: Some(messages), ..SessionState::default() }),
        ..SessionSnapshot::default()
    }
}

async fn put(
    store: &SqliteStore,
    session: &str,
    id: &str,
    snapshot: &SessionSnapshot,
) -> Result<Option<u64>, StoreError> {
    let owner = Owner::nobody();
    let write = SnapshotWrite::new(&owner, "helper", session, id);
    store.save(write, &|_| Ok(Some(snapshot.clone()))).await
}

/// One turn: the lease, which is waited for, the latest snapshot, the next one.
async fn turn(store: &impl SessionStore, session: &str, id: &str) -> Result<(), StoreError> {
    let owner = Owner::nobody();
    let lease = wait_for_lease(store, session).await?;
    let latest = store.latest(&owner, session).await?;
    let write = SnapshotWrite {
        lease: Some(&lease),
        releases: true,
        ..SnapshotWrite::new(&owner, "helper", session, id)
    };
    store.save(write, &|_| Ok(Some(after(latest.as_ref(), id)))).await.map(drop)
}

async fn wait_for_lease(store: &impl SessionStore, session: &str) -> Result<Lease, StoreError> {
    loop {
        match store.lease(&Owner::nobody(), session, LONG).await {
            Err(StoreError::Conflict(_)) => tokio::time::sleep(Duration::from_millis(2)).await,
            other => return other,
        }
    }
}

/// The texts of all messages of the latest snapshot.
async fn said(store: &SqliteStore, session: &str) -> Vec<String> {
    let latest = store.latest(&Owner::nobody(), session).await.unwrap();
    let state = latest.and_then(|latest| latest.snapshot.state);
    let messages = state.and_then(|state| state.messages).unwrap_or_default();
    messages.iter().map(|message| message.text()).collect()
}
