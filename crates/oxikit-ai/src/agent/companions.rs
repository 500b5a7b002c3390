//! The actions beside an agent: reading its snapshots, stopping its work.

use std::sync::Arc;

use oxikit_core::ports::{Owner, SnapshotWrite};
use oxikit_core::timestamp::{self, is_lost};
use oxikit_core::{Action, ActionKind, Context, Result, Status};
use oxikit_wire::{
    AgentAbortRequest, AgentAbortResponse, AgentFinishReason, GetSnapshotRequest, SessionSnapshot,
    SnapshotStatus,
};

use super::Definition;

/// Both companion actions, with the agent's own name. Those of an agent without a store fail
/// with the reason that it has none, as the official ones do.
pub(super) fn actions(agent: &Arc<Definition>) -> [Action; 2] {
    let (reader, stopper) = (agent.clone(), agent.clone());
    let snapshot = Action::builder(ActionKind::AgentSnapshot, &agent.name)
        .description(format!("Reads a snapshot of agent '{}'.", agent.name))
        .handler(move |request: GetSnapshotRequest, ctx: Context| {
            let agent = reader.clone();
            async move { get(&agent, &Owner::of(ctx.data()), request).await }
        });
    let abort = Action::builder(ActionKind::AgentAbort, &agent.name)
        .description(format!("Stops detached work of agent '{}'.", agent.name))
        .handler(move |request: AgentAbortRequest, ctx: Context| {
            let agent = stopper.clone();
            async move { abort(&agent, &Owner::of(ctx.data()), request).await }
        });
    [snapshot, abort]
}

async fn get(
    agent: &Definition,
    owner: &Owner,
    request: GetSnapshotRequest,
) -> Result<SessionSnapshot> {
    let store = agent.store()?;
    let (stored, what) = match (request.snapshot_id, request.session_id) {
        (Some(id), None) => (store.get(owner, &id).await?, format!("Snapshot '{id}'")),
        (None, Some(id)) if id.trim().is_empty() => {
            return Err(Status::invalid_argument("a session id is not blank"));
        }
        (None, Some(id)) => (store.latest(owner, &id).await?, format!("Session '{id}'")),
        _ => {
            return Err(Status::invalid_argument(
                "exactly one of 'snapshotId' and 'sessionId' is needed",
            ));
        }
    };
    let Some(stored) = stored.filter(|stored| agent.owns(stored)) else {
        return Err(Status::not_found(format!("{what} not found")));
    };
    let mut snapshot = stored.snapshot;
    if is_lost(snapshot.status, snapshot.heartbeat_at.as_deref()) {
        snapshot.status = Some(SnapshotStatus::Expired);
    }
    // Clients wait for a status; a foreign store may have left it out.
    snapshot.status.get_or_insert(SnapshotStatus::Completed);
    snapshot.state = snapshot.state.map(|state| agent.shown(state)).transpose()?;
    Ok(snapshot)
}

/// Stops the work behind a pending snapshot: it writes the status `aborted`, which the process
/// that does the work notices. Returns the status before; `None` if there is no such snapshot.
async fn abort(
    agent: &Definition,
    owner: &Owner,
    request: AgentAbortRequest,
) -> Result<AgentAbortResponse> {
    let store = agent.store()?;
    let id = request.snapshot_id;
    let Some(stored) = store.get(owner, &id).await?.filter(|stored| agent.owns(stored)) else {
        return Ok(AgentAbortResponse { snapshot_id: id, status: None });
    };
    // The store may call the update several times, so the last status is the right one.
    let before = std::sync::Mutex::new(None);
    let session = stored.snapshot.session_id.unwrap_or_default();
    let write = SnapshotWrite::new(owner, &agent.name, &session, &id);
    let stop = |row: Option<&SessionSnapshot>| {
        let status = row.and_then(|row| row.status);
        *before.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = status;
        let row = row.filter(|row| row.status == Some(SnapshotStatus::Pending));
        Ok(row.map(|row| SessionSnapshot {
            status: Some(SnapshotStatus::Aborted),
            finish_reason: Some(AgentFinishReason::Aborted),
            updated_at: Some(timestamp::now()),
            heartbeat_at: None,
            ..row.clone()
        }))
    };
    store.save(write, &stop).await?;
    let status = before.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(AgentAbortResponse { snapshot_id: id, status })
}
