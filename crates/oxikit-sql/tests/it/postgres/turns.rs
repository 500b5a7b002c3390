//! Turns as an agent makes them.

use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::{
    Lease, Owner, SessionStore, SnapshotWrite, StoreError, StoredSnapshot, Term,
};
use oxikit_sql::PostgresStore;
use oxikit_wire::{Message, SessionSnapshot, SessionState, SnapshotStatus};

pub(super) const LONG: Term = Term { ttl: Duration::from_secs(600), by_force: false };

/// The snapshot that follows `latest`, with one more message.
pub(super) fn after(latest: Option<&StoredSnapshot>, text: &str) -> SessionSnapshot {
    let before = latest.map(|latest| &latest.snapshot);
    let messages = before.and_then(|before| before.state.as_ref()?.messages.clone());
    let mut messages = messages.unwrap_or_default();
    messages.push(Arc::new(Message::user(text)));
    SessionSnapshot {
        parent_id: before.map(|before| before.snapshot_id.clone()),
        created_at: "2026-11-15T06:32:35.495Z".to_owned(),
        status: Some(SnapshotStatus::Completed),
        state: Some(SessionState { messages: Some(messages), ..SessionState::default() }),
        ..SessionSnapshot::default()
    }
}

/// The lease, as soon as it can be had.
pub(super) async fn wait_for_lease(store: &PostgresStore) -> Result<Lease, StoreError> {
    loop {
        match store.lease(&Owner::nobody(), "session", LONG).await {
            Err(StoreError::Conflict(_)) => tokio::time::sleep(Duration::from_millis(5)).await,
            lease => return lease,
        }
    }
}

/// A whole turn: takes the lease, reads the latest snapshot, and saves the next one, which releases the lease.
pub(super) async fn turn(store: &PostgresStore, id: &str) -> Result<Option<u64>, StoreError> {
    let lease = wait_for_lease(store).await?;
    let owner = Owner::nobody();
    let latest = store.latest(&owner, "session").await?;
    let snapshot = after(latest.as_ref(), id);
    let write = SnapshotWrite {
        lease: Some(&lease),
        releases: true,
        ..SnapshotWrite::new(&owner, "helper", "session", id)
    };
    store.save(write, &|_| Ok(Some(snapshot.clone()))).await
}

/// The texts of all messages of the latest snapshot.
pub(super) async fn texts(store: &PostgresStore) -> Vec<String> {
    let latest = store.latest(&Owner::nobody(), "session").await.unwrap();
    let messages = latest.and_then(|latest| latest.snapshot.state?.messages).unwrap_or_default();
    messages.iter().map(|message| message.text()).collect()
}
