//! Snapshots of a session, and what their turns have changed.

use oxikit_core::{Status, StatusCode, json_patch};
use oxikit_wire::{SessionSnapshot, SnapshotDiff};
use serde_json::Value;

use super::agent::Agent;
use super::sessions::{Session, unknown_snapshot};

/// Reads one snapshot of a session. The session is looked up first, so that a snapshot of
/// another session is not found under this path.
pub(super) async fn get(agent: &Agent, session: &str, id: &str) -> Result<SessionSnapshot, Status> {
    let Session { nodes, .. } = Session::find(agent, session).await?;
    if nodes.iter().all(|node| node.snapshot != id) {
        return Err(unknown_snapshot(id));
    }
    agent.snapshot(id).await
}

/// The changes of a snapshot's turn, as a JSON patch against the state of its parent. The first
/// snapshot of a session is compared with the empty state.
pub(super) async fn diff(agent: &Agent, session: &str, id: &str) -> Result<SnapshotDiff, Status> {
    let snapshot = get(agent, session, id).await?;
    // Official servers write rows that name themselves as their parent.
    let parent_id = snapshot.parent_id.clone().filter(|parent| parent != id);
    let before = match &parent_id {
        None => Value::Object(Default::default()),
        Some(parent) => match agent.snapshot(parent).await {
            Ok(parent) => state_of(parent)?,
            Err(status) if status.code() == StatusCode::NotFound => {
                let message =
                    format!("the parent `{parent}` of this snapshot is not kept any more");
                return Err(Status::not_found(message));
            }
            Err(status) => return Err(status),
        },
    };
    Ok(SnapshotDiff {
        session_id: session.to_owned(),
        snapshot_id: id.to_owned(),
        parent_id,
        patch: json_patch::diff(&before, &state_of(snapshot)?),
    })
}

fn state_of(snapshot: SessionSnapshot) -> Result<Value, Status> {
    Ok(serde_json::to_value(snapshot.state.unwrap_or_default())?)
}
