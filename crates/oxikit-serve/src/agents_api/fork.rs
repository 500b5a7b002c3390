//! Forks a session: a new session begins with a snapshot of another one.

use oxikit_core::ports::SnapshotWrite;
use oxikit_core::{Status, timestamp};
use oxikit_wire::{JsonObject, SessionForked, SessionSnapshot, SnapshotStatus};
use serde_json::json;
use uuid::Uuid;

use super::agent::Agent;
use super::sessions::unknown_snapshot;
use super::sessions::{Session, last_completed};

/// Creates a session from this snapshot, or else from the one that the next turn would
/// continue from. Members that the agent hides from clients are copied, and stay hidden.
pub(crate) async fn fork(
    agent: &Agent,
    id: &str,
    snapshot: Option<&str>,
) -> Result<SessionForked, Status> {
    let session = Session::find(agent, id).await?;
    let parent = beginning(agent, id, &session, snapshot).await?;
    let forked = SessionForked {
        session_id: Uuid::new_v4().to_string(),
        snapshot_id: Uuid::new_v4().to_string(),
        parent_session_id: id.to_owned(),
        parent_snapshot_id: parent.snapshot_id.clone(),
    };
    let now = timestamp::now();
    // The tree of a session holds snapshots of this session only.
    let copy = SessionSnapshot {
        parent_id: None,
        created_at: now.clone(),
        updated_at: Some(now),
        heartbeat_at: None,
        ..parent
    };
    let notes = session.store.summary(&agent.owner, id).await?.and_then(|it| it.metadata);
    let notes = with_origin(notes.unwrap_or_default(), &forked);
    let write = SnapshotWrite {
        metadata: Some(&notes),
        ..SnapshotWrite::new(&agent.owner, agent.name(), &forked.session_id, &forked.snapshot_id)
    };
    session.store.save(write, &|_| Ok(Some(copy.clone()))).await?;
    Ok(forked)
}

/// The snapshot that the new session begins with: one that a turn can continue from.
async fn beginning(
    agent: &Agent,
    id: &str,
    session: &Session,
    snapshot: Option<&str>,
) -> Result<SessionSnapshot, Status> {
    let Session { store, latest, nodes } = session;
    let from = match (snapshot, latest.snapshot.status) {
        (Some(asked), _) if nodes.iter().any(|node| node.snapshot == asked) => asked,
        (Some(asked), _) => return Err(unknown_snapshot(asked)),
        // Fails instead of silently using an older snapshot: the caller may want the result
        // of the pending work.
        (None, Some(SnapshotStatus::Pending)) => &latest.snapshot.snapshot_id,
        (None, _) => last_completed(nodes, &latest.snapshot.snapshot_id).ok_or_else(|| {
            let message = format!("no turn of session `{id}` has ended well: there is no state");
            Status::failed_precondition(message)
        })?,
    };
    let stored = store.get(&agent.owner, from).await?.ok_or_else(|| unknown_snapshot(from))?;
    match stored.snapshot.status {
        Some(SnapshotStatus::Completed) => Ok(stored.snapshot),
        Some(SnapshotStatus::Pending) => Err(Status::failed_precondition(format!(
            "snapshot `{from}` is pending: wait until its turn has ended, stop it, \
             or name an earlier snapshot"
        ))),
        status => Err(Status::failed_precondition(format!(
            "the turn of snapshot `{from}` did not end well ({}): name its parent",
            status.map_or("no status", SnapshotStatus::as_str)
        ))),
    }
}

fn with_origin(mut notes: JsonObject, forked: &SessionForked) -> JsonObject {
    let SessionForked { parent_session_id, parent_snapshot_id, .. } = forked;
    let origin = json!({ "sessionId": parent_session_id, "snapshotId": parent_snapshot_id });
    notes.insert("forkedFrom".to_owned(), origin);
    notes
}
