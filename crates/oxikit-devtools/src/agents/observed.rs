//! Sessions of runtimes that do not list them: the sessions that occur in stored traces, and the
//! snapshots that the agent returns.
//!
//! Both are approximations, and the responses say so with `source`: a session without a stored trace
//! is missing, a deleted one may still be listed, and branches that the latest snapshot does not
//! descend from are not found.

use std::collections::{BTreeMap, HashSet};

use oxikit_core::timestamp::epoch_millis;
use oxikit_core::{Status, StatusCode};
use oxikit_serve::agents_api::{activity, shown_state};
use oxikit_traces::{SeenSession, SeenSessionQuery};
use oxikit_wire::rpc::ListSessionsParams;
use oxikit_wire::{
    JsonObject, SessionActivity, SessionDetails, SessionSnapshot, SnapshotInfo, SnapshotStatus,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::Agent;
use oxikit_http::HttpError;
use oxikit_traces::trace_failure;

/// Maximum number of ancestors of a snapshot that are read: each is a run of the application.
/// Beyond it the history is cut, and `isCut` says so.
const MAX_ANCESTORS: usize = 200;

/// Sessions that occur in traces, those with the newest trace first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ObservedList {
    sessions: Vec<ObservedSession>,
    #[serde(skip_serializing_if = "Option::is_none")]
    continuation_token: Option<String>,
    /// Always `traces`: sessions without a stored trace are missing, and listed ones may have
    /// been deleted.
    source: &'static str,
}

/// A session as in the list of a runtime, without the members that only its store knows.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ObservedSession {
    session_id: String,
    agent_name: String,
    created_at: u64,
    updated_at: u64,
    status: SessionActivity,
    /// Number of traces of the session.
    turns: u32,
    metadata: JsonObject,
}

/// One page of the sessions in stored traces.
///
/// # Errors
///
/// Those of the trace store, such as an invalid continuation token.
pub(super) async fn list(
    agent: &Agent,
    asked: ListSessionsParams,
) -> Result<ObservedList, HttpError> {
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

/// A session read from its snapshots. Only the branch that leads to the latest snapshot is found.
///
/// # Errors
///
/// `NOT_FOUND` if the agent has no such session, and the errors of the runs that read snapshots.
pub(super) async fn details(agent: &Agent, session: String) -> Result<SessionDetails, Status> {
    let latest = agent.snapshot(json!({"sessionId": session})).await;
    let latest = latest.map_err(|status| match status.code() {
        StatusCode::NotFound => Status::not_found(format!("there is no session `{session}`")),
        _ => status,
    })?;
    let mut history = History { infos: vec![info(&latest)], content: None, is_whole: true };
    history.walk(agent, &latest).await?;
    let (created_at, is_whole) = (history.infos[0].created_at, history.is_whole);
    let state = history.content.unwrap_or_else(|| latest.state.clone().unwrap_or_default());
    let messages = state.messages.clone().unwrap_or_default();
    let mut metadata = JsonObject::from_iter([
        ("snapshotId".to_owned(), json!(latest.snapshot_id)),
        ("source".to_owned(), json!("snapshots")),
    ]);
    match is_whole {
        true => metadata.insert("snapshotCount".to_owned(), json!(history.infos.len())),
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
        snapshots: history.infos,
    })
}

/// A snapshot and its ancestors, oldest first.
struct History {
    infos: Vec<SnapshotInfo>,
    /// The state of the newest completed snapshot, if the latest is not completed.
    content: Option<oxikit_wire::SessionState>,
    is_whole: bool,
}

impl History {
    /// Reads the ancestors, as far as they exist.
    async fn walk(&mut self, agent: &Agent, latest: &SessionSnapshot) -> Result<(), Status> {
        let mut needs_content = latest.status != Some(SnapshotStatus::Completed);
        // Official runtimes write rows that name themselves as their parent.
        let mut seen = HashSet::from([latest.snapshot_id.clone()]);
        let mut next = latest.parent_id.clone();
        // Each step is a run of the agent's snapshot action; `seen` ends cycles.
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

/// The entry of a snapshot in the history. Its children are filled in by [`History::walk`].
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
