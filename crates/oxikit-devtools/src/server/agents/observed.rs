//! What can be known of sessions without their store: which ones have left traces, and
//! the snapshots that the agent shows.

use std::collections::{BTreeMap, HashSet};

use oxikit_core::timestamp::epoch_millis;
use oxikit_core::{Status, StatusCode};
use oxikit_serve::inside::{activity, shown_state};
use oxikit_sql::{SeenSession, SeenSessionQuery};
use oxikit_wire::rpc::ListSessionsParams;
use oxikit_wire::{
    JsonObject, SessionActivity, SessionDetails, SessionSnapshot, SnapshotInfo, SnapshotStatus,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::Agent;
use crate::server::reply::Failure;
use crate::telemetry::trace_failure;

/// So many ancestors of a snapshot are looked at: each is a run of the application.
const MAX_ANCESTORS: usize = 200;

/// Sessions that traces tell of, those with the newest trace first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ObservedList {
    sessions: Vec<ObservedSession>,
    #[serde(skip_serializing_if = "Option::is_none")]
    continuation_token: Option<String>,
    /// Always `traces`: there may be sessions that are older than the traces, and
    /// others may be gone.
    source: &'static str,
}

/// As in a list of the runtime, without what only a store knows.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ObservedSession {
    session_id: String,
    agent_name: String,
    created_at: u64,
    updated_at: u64,
    status: SessionActivity,
    /// How many traces of it there are.
    turns: u32,
    metadata: JsonObject,
}

pub(super) async fn list(
    agent: &Agent,
    asked: ListSessionsParams,
) -> Result<ObservedList, Failure> {
    let mut query = SeenSessionQuery::of(agent.name());
    query.limit = asked.limit.and_then(|limit| limit.try_into().ok()).unwrap_or(query.limit);
    query.after = asked.continuation_token;
    query.is_running = asked.status.map(|status| status == SessionActivity::Active);
    let page = agent.shared.traces.sessions(&query).await.map_err(trace_failure)?;
    let session = |seen: SeenSession| ObservedSession {
        session_id: seen.session_id,
        agent_name: agent.name().to_owned(),
        created_at: seen.first_seen as u64,
        updated_at: seen.last_seen as u64,
        status: if seen.is_running { SessionActivity::Active } else { SessionActivity::Completed },
        turns: seen.turns,
        metadata: JsonObject::new(),
    };
    Ok(ObservedList {
        sessions: page.sessions.into_iter().map(session).collect(),
        continuation_token: page.next,
        source: "traces",
    })
}

/// The session as its snapshots tell it. Of branches only the one that leads to the
/// latest snapshot is seen.
pub(super) async fn details(agent: &Agent, session: String) -> Result<SessionDetails, Status> {
    let latest = agent.snapshot(json!({"sessionId": session})).await;
    let latest = latest.map_err(|status| match status.code() {
        StatusCode::NotFound => Status::not_found(format!("there is no session `{session}`")),
        _ => status,
    })?;
    let mut line = Line { infos: vec![info(&latest)], content: None, is_whole: true };
    line.walk(agent, &latest).await?;
    let (created_at, is_whole) = (line.infos[0].created_at, line.is_whole);
    let state = line.content.unwrap_or_else(|| latest.state.clone().unwrap_or_default());
    let messages = state.messages.clone().unwrap_or_default();
    let mut metadata = JsonObject::from_iter([
        ("snapshotId".to_owned(), json!(latest.snapshot_id)),
        ("source".to_owned(), json!("snapshots")),
    ]);
    match is_whole {
        true => metadata.insert("snapshotCount".to_owned(), json!(line.infos.len())),
        false => metadata.insert("isCut".to_owned(), json!(true)),
    };
    Ok(SessionDetails {
        session_id: session,
        agent_name: agent.name().to_owned(),
        created_at,
        updated_at: epoch_millis(latest.updated_at.as_ref().unwrap_or(&latest.created_at)),
        status: activity(latest.status, latest.finish_reason),
        state: shown_state(state)?,
        threads: BTreeMap::from([("main".to_owned(), messages)]),
        metadata,
        snapshot_id: latest.snapshot_id,
        snapshot_status: latest.status,
        finish_reason: latest.finish_reason,
        error: latest.error,
        snapshots: line.infos,
    })
}

/// A snapshot and those before it, oldest first.
struct Line {
    infos: Vec<SnapshotInfo>,
    /// Of the newest completed one, if the latest is none.
    content: Option<oxikit_wire::SessionState>,
    is_whole: bool,
}

impl Line {
    /// Follows the parents, as far as they are kept.
    async fn walk(&mut self, agent: &Agent, latest: &SessionSnapshot) -> Result<(), Status> {
        let mut needs_content = latest.status != Some(SnapshotStatus::Completed);
        // Official runtimes write rows that name themselves as their parent.
        let mut seen = HashSet::from([latest.snapshot_id.clone()]);
        let mut next = latest.parent_id.clone();
        while let Some(parent) = next.filter(|parent| seen.insert(parent.clone())) {
            if self.infos.len() > MAX_ANCESTORS {
                self.is_whole = false;
                break;
            }
            let mut snapshot = match agent.snapshot(json!({"snapshotId": parent})).await {
                Ok(snapshot) => snapshot,
                Err(status) if status.code() == StatusCode::NotFound => break,
                Err(status) => return Err(status),
            };
            let mut info = info(&snapshot);
            info.children.extend(self.infos.last().map(|child| child.snapshot_id.clone()));
            self.infos.push(info);
            if needs_content && snapshot.status == Some(SnapshotStatus::Completed) {
                self.content = Some(snapshot.state.take().unwrap_or_default());
                needs_content = false;
            }
            next = snapshot.parent_id;
        }
        self.infos.reverse();
        Ok(())
    }
}

fn info(snapshot: &SessionSnapshot) -> SnapshotInfo {
    let messages = snapshot.state.as_ref().and_then(|state| state.messages.as_ref());
    SnapshotInfo {
        snapshot_id: snapshot.snapshot_id.clone(),
        parent_id: snapshot.parent_id.clone(),
        status: snapshot.status,
        finish_reason: snapshot.finish_reason,
        created_at: epoch_millis(&snapshot.created_at),
        message_count: messages.map_or(0, Vec::len),
        children: Vec::new(),
    }
}
