//! Sessions, as far as the actions of an agent show them.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::Uri;
use oxikit_core::Status;
use oxikit_core::timestamp::epoch_millis;
use oxikit_serve::inside::{activity, shown_state};
use oxikit_wire::{
    AgentAbortResponse, JsonObject, SessionAborted, SessionDetails, SessionSnapshot, SnapshotInfo,
    SnapshotStatus,
};
use serde_json::json;

use super::Agent;
use crate::server::reply::{Answer, json as answer};
use crate::server::shared::Shared;

/// `GET /api/agents/{agent}/sessions/{session}[?runtime=]`: its latest snapshot.
pub(crate) async fn session(
    State(shared): State<Arc<Shared>>,
    Path((name, session)): Path<(String, String)>,
    uri: Uri,
) -> Answer {
    let agent = Agent::find(shared, &name, &uri).await?;
    let latest = latest(&agent, &session).await?;
    let mut state = latest.state.clone().unwrap_or_default();
    let messages = state.messages.take().unwrap_or_default();
    let created_at = epoch_millis(&latest.created_at);
    let info = SnapshotInfo {
        snapshot_id: latest.snapshot_id.clone(),
        parent_id: latest.parent_id.clone(),
        status: latest.status,
        finish_reason: latest.finish_reason,
        created_at,
        message_count: messages.len(),
        children: Vec::new(),
    };
    answer(&SessionDetails {
        session_id: session,
        agent_name: name,
        created_at,
        updated_at: epoch_millis(latest.updated_at.as_ref().unwrap_or(&latest.created_at)),
        status: activity(latest.status, latest.finish_reason),
        state: shown_state(state)?,
        threads: BTreeMap::from([("main".to_owned(), messages)]),
        metadata: JsonObject::from_iter([("snapshotId".to_owned(), json!(latest.snapshot_id))]),
        snapshot_id: latest.snapshot_id,
        snapshot_status: latest.status,
        finish_reason: latest.finish_reason,
        error: latest.error,
        snapshots: vec![info],
    })
}

/// `POST /api/agents/{agent}/sessions/{session}/abort[?runtime=]`.
pub(crate) async fn abort(
    State(shared): State<Arc<Shared>>,
    Path((name, session)): Path<(String, String)>,
    uri: Uri,
) -> Answer {
    let agent = Agent::find(shared, &name, &uri).await?;
    let latest = latest(&agent, &session).await?;
    let input = json!({"snapshotId": latest.snapshot_id});
    let stopped: AgentAbortResponse = agent.companion("agent-abort", input).await?;
    let was_pending = latest.status == Some(SnapshotStatus::Pending);
    answer(&SessionAborted {
        session_id: session,
        status: latest.status,
        aborted: was_pending.then(|| stopped.snapshot_id.clone()).into_iter().collect(),
        snapshot_id: stopped.snapshot_id,
    })
}

/// `GET /api/agents/{agent}/sessions[?runtime=]`.
pub(crate) async fn list_sessions(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    uri: Uri,
) -> Answer {
    let agent = Agent::find(shared, &name, &uri).await?;
    Err(needs_store(&agent, "list its sessions").into())
}

/// `DELETE /api/agents/{agent}/sessions/{session}[?runtime=]`.
pub(crate) async fn delete_session(
    State(shared): State<Arc<Shared>>,
    Path((name, _)): Path<(String, String)>,
    uri: Uri,
) -> Answer {
    let agent = Agent::find(shared, &name, &uri).await?;
    Err(needs_store(&agent, "delete its sessions").into())
}

async fn latest(agent: &Agent, session: &str) -> Result<SessionSnapshot, Status> {
    if !agent.has_store() {
        return Err(needs_store(agent, "show its sessions"));
    }
    agent.companion("agent-snapshot", json!({"sessionId": session})).await
}

/// Runtimes have no action for this.
fn needs_store(agent: &Agent, what: &str) -> Status {
    let name = agent.name();
    if agent.has_store() {
        return Status::failed_precondition(format!(
            "the runtime of agent `{name}` offers the tools no way to {what}; \
             ask an application that serves `/api/agents` itself"
        ));
    }
    let message = format!("agent `{name}` has no session store: its clients keep the state");
    Status::failed_precondition(message)
}
