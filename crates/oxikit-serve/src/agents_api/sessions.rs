//! Lists, reads and deletes sessions, and stops their work.

use std::collections::BTreeMap;
use std::sync::Arc;

use oxikit_core::Status;
use oxikit_core::ports::{
    SessionQuery, SessionStore, SessionSummary, SnapshotNode, StoredSnapshot,
};
use oxikit_core::timestamp::{epoch_millis, is_lost};
#[cfg(feature = "dev-tools")]
use oxikit_wire::rpc::ListSessionsParams;
use oxikit_wire::{
    AgentFinishReason, JsonObject, SessionAborted, SessionActivity, SessionDeleted, SessionDetails,
    SessionInfo, SessionList, SessionState, SnapshotInfo, SnapshotStatus, SnapshotTree,
};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::Value;

use super::agent::Agent;

/// Number of sessions per page if the request does not name one.
const DEFAULT_PAGE: usize = 50;
/// Maximum number of sessions per page.
const MAX_PAGE: usize = 200;
/// Maximum number of queries for one page. A page whose status matches few sessions may then
/// be incomplete, and the client continues with the next one.
const MAX_ROUNDS: usize = 20;

/// A page of sessions.
pub(crate) async fn list(agent: &Agent, asked: Page) -> Result<SessionList, Status> {
    let store = agent.store()?;
    let mut query = SessionQuery {
        agent: Some(agent.name().to_owned()),
        // The store counts lost work as active, so only active sessions can be preselected.
        is_active: (asked.status == Some(SessionActivity::Active)).then_some(true),
        limit: asked.limit,
        after: asked.token,
    };
    let mut sessions = Vec::new();
    for _ in 0..MAX_ROUNDS {
        // Only as many as are missing, so that the token of the last page fits the result.
        query.limit = asked.limit - sessions.len();
        let page = store.list(&agent.owner, &query).await?;
        let found = page.sessions.into_iter().map(info);
        sessions.extend(found.filter(|it| asked.status.is_none_or(|status| it.status == status)));
        query.after = page.next;
        if query.after.is_none() || sessions.len() >= asked.limit {
            break;
        }
    }
    Ok(SessionList { sessions, continuation_token: query.after })
}

/// A session with the content of its newest completed snapshot.
pub(crate) async fn details(agent: &Agent, id: &str) -> Result<SessionDetails, Status> {
    let Session { store, latest, nodes } = Session::find(agent, id).await?;
    let notes = store.summary(&agent.owner, id).await?.and_then(|summary| summary.metadata);
    let latest = agent.snapshot(&latest.snapshot.snapshot_id).await?;
    let completed = match latest.status {
        Some(SnapshotStatus::Completed) => None,
        _ => last_completed(&nodes, &latest.snapshot_id),
    };
    let state = match completed {
        Some(id) => agent.snapshot(id).await?.state,
        None => latest.state.clone(),
    };
    let mut state = state.unwrap_or_default();
    let messages = state.messages.take().unwrap_or_default();
    let updated_at = latest.updated_at.as_ref().unwrap_or(&latest.created_at);
    let created_at = nodes.iter().map(|node| epoch_millis(&node.created_at)).min();
    Ok(SessionDetails {
        session_id: id.to_owned(),
        agent_name: agent.name().to_owned(),
        created_at: created_at.unwrap_or_else(|| epoch_millis(&latest.created_at)),
        updated_at: epoch_millis(updated_at),
        status: activity(latest.status, latest.finish_reason),
        state: shown_state(state)?,
        threads: BTreeMap::from([("main".to_owned(), messages)]),
        metadata: counted(notes, &latest.snapshot_id, nodes.len()),
        snapshot_status: latest.status,
        finish_reason: latest.finish_reason,
        error: latest.error,
        snapshot_id: latest.snapshot_id,
        snapshots: infos(&nodes),
    })
}

/// All snapshots of a session.
pub(super) async fn tree(agent: &Agent, id: &str) -> Result<SnapshotTree, Status> {
    let Session { latest, nodes, .. } = Session::find(agent, id).await?;
    Ok(SnapshotTree {
        session_id: id.to_owned(),
        agent_name: agent.name().to_owned(),
        snapshot_id: latest.snapshot.snapshot_id,
        snapshots: infos(&nodes),
    })
}

/// Removes a session; its work is stopped first.
pub(crate) async fn delete(agent: &Agent, id: &str) -> Result<SessionDeleted, Status> {
    let Session { store, nodes, .. } = Session::find(agent, id).await?;
    for node in nodes.iter().filter(|node| node.status == Some(SnapshotStatus::Pending)) {
        // Work that cannot be stopped cannot write any more once its session is deleted.
        if let Err(status) = agent.abort(&node.snapshot).await {
            tracing::warn!(session = id, snapshot = node.snapshot, %status, "work not stopped");
        }
    }
    match store.delete(&agent.owner, id).await? {
        true => Ok(SessionDeleted { success: true, session_id: id.to_owned() }),
        false => Err(unknown_session(id)),
    }
}

/// Stops the detached work of a session, or only that behind the snapshot that the
/// body names.
pub(super) async fn abort(agent: &Agent, id: &str, body: &[u8]) -> Result<SessionAborted, Status> {
    let asked = SnapshotBody::parse(body)?.snapshot_id;
    let Session { latest, nodes, .. } = Session::find(agent, id).await?;
    let is_pending = |node: &&SnapshotNode| node.status == Some(SnapshotStatus::Pending);
    let mut snapshots: Vec<String> = match asked {
        Some(snapshot) if nodes.iter().any(|node| node.snapshot == snapshot) => vec![snapshot],
        Some(snapshot) => return Err(unknown_snapshot(&snapshot)),
        None => nodes.iter().filter(is_pending).map(|node| node.snapshot.clone()).collect(),
    };
    // Without pending work the newest snapshot is named: its status tells the client how the
    // work has ended.
    if snapshots.is_empty() {
        snapshots.push(latest.snapshot.snapshot_id);
    }
    let mut answer = SessionAborted {
        session_id: id.to_owned(),
        snapshot_id: String::new(),
        status: None,
        aborted: Vec::new(),
    };
    for snapshot in snapshots {
        answer.status = agent.abort(&snapshot).await?.status;
        answer.snapshot_id.clone_from(&snapshot);
        if answer.status == Some(SnapshotStatus::Pending) {
            answer.aborted.push(snapshot);
        }
    }
    Ok(answer)
}

/// An existing session of this agent and this caller.
pub(super) struct Session {
    pub(super) store: Arc<dyn SessionStore>,
    pub(super) latest: StoredSnapshot,
    /// In the order of their first writing.
    pub(super) nodes: Vec<SnapshotNode>,
}

impl Session {
    /// Finds the session; one of another caller or another agent is `NOT_FOUND`, so that its id
    /// cannot be told from an unknown one.
    pub(super) async fn find(agent: &Agent, id: &str) -> Result<Self, Status> {
        let store = agent.store()?;
        let latest = store.latest(&agent.owner, id).await?;
        // Several agents may share a store.
        let is_own = |stored: &StoredSnapshot| {
            stored.agent.as_deref().is_none_or(|name| name == agent.name())
        };
        let latest = latest.filter(is_own).ok_or_else(|| unknown_session(id))?;
        let nodes = store.tree(&agent.owner, id).await?;
        Ok(Self { store, latest, nodes })
    }
}

fn unknown_session(id: &str) -> Status {
    Status::not_found(format!("there is no session `{id}`"))
}

pub(super) fn unknown_snapshot(id: &str) -> Status {
    Status::not_found(format!("there is no snapshot `{id}` in this session"))
}

/// The newest completed snapshot before this one.
pub(super) fn last_completed<'a>(nodes: &'a [SnapshotNode], from: &str) -> Option<&'a str> {
    let find = |id: &str| nodes.iter().find(|node| node.snapshot == id);
    let mut node = find(from)?;
    // At most one step per snapshot: a damaged chain may be a cycle.
    for _ in nodes {
        if node.status == Some(SnapshotStatus::Completed) {
            return Some(&node.snapshot);
        }
        node = find(node.parent.as_deref()?)?;
    }
    None
}

/// The requested page of sessions.
#[derive(Debug)]
pub(crate) struct Page {
    limit: usize,
    token: Option<String>,
    status: Option<SessionActivity>,
}

impl Page {
    #[cfg(feature = "dev-tools")]
    pub(crate) fn new(params: ListSessionsParams) -> Result<Self, Status> {
        let ListSessionsParams { limit, continuation_token, status, .. } = params;
        let limit = limit.map_or(Ok(DEFAULT_PAGE), |limit| page_size(limit.try_into().ok()))?;
        Ok(Self { limit, token: continuation_token, status })
    }

    /// Parses the query of a URL.
    pub(super) fn parse(query: &str) -> Result<Self, Status> {
        let refuse = |why: &str| Status::invalid_argument(why);
        let mut page = Self { limit: DEFAULT_PAGE, token: None, status: None };
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = value.replace('+', " ");
            let value = percent_decode_str(&value).decode_utf8();
            let value = value.map_err(|_| refuse("the query is not text in UTF-8"))?;
            match name {
                "limit" => page.limit = page_size(value.parse().ok())?,
                "continuationToken" => page.token = Some(value.into_owned()),
                "status" => {
                    page.status = Some(match &*value {
                        "active" => SessionActivity::Active,
                        "completed" => SessionActivity::Completed,
                        _ => return Err(refuse("`status` is `active` or `completed`")),
                    });
                }
                _ => {}
            }
        }
        Ok(page)
    }
}

fn page_size(limit: Option<usize>) -> Result<usize, Status> {
    let limit = limit.filter(|limit| (1..=MAX_PAGE).contains(limit));
    limit.ok_or_else(|| Status::invalid_argument("`limit` is a number from 1 to 200"))
}

/// A body that may name a snapshot.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SnapshotBody {
    #[serde(default)]
    pub(super) snapshot_id: Option<String>,
}

impl SnapshotBody {
    pub(super) fn parse(body: &[u8]) -> Result<Self, Status> {
        let refuse = |why: String| Status::invalid_argument(format!("the body is not {why}"));
        match body.trim_ascii_start().first() {
            None => Ok(Self::default()),
            Some(b'{') => {
                let text = str::from_utf8(body).map_err(|_| refuse("text in UTF-8".into()))?;
                serde_json::from_str(text).map_err(|error| refuse(format!("valid JSON: {error}")))
            }
            Some(_) => Err(refuse("an object: {\"snapshotId\": …}".into())),
        }
    }
}

fn info(summary: SessionSummary) -> SessionInfo {
    let is_lost = is_lost(summary.status, summary.heartbeat_at.as_deref());
    let status = if is_lost { Some(SnapshotStatus::Expired) } else { summary.status };
    SessionInfo {
        metadata: counted(summary.metadata, &summary.latest, summary.snapshots),
        session_id: summary.session,
        agent_name: summary.agent,
        created_at: epoch_millis(&summary.created_at),
        updated_at: epoch_millis(&summary.updated_at),
        status: activity(status, summary.finish_reason),
        message_count: summary.messages,
        has_artifacts: summary.has_artifacts,
        snapshot_status: status,
        finish_reason: summary.finish_reason,
    }
}

/// The activity of a session: active while its newest snapshot is pending or waits for the
/// answer to an interrupt, completed otherwise, however its last turn ended.
///
/// ```
/// use oxikit_serve::agents_api::activity;
/// use oxikit_wire::{AgentFinishReason, SessionActivity, SnapshotStatus};
///
/// let status = Some(SnapshotStatus::Completed);
/// assert_eq!(activity(status, None), SessionActivity::Completed);
/// let waiting = Some(AgentFinishReason::Interrupted);
/// assert_eq!(activity(status, waiting), SessionActivity::Active);
/// ```
pub fn activity(
    status: Option<SnapshotStatus>,
    finish_reason: Option<AgentFinishReason>,
) -> SessionActivity {
    let is_active = status == Some(SnapshotStatus::Pending)
        || finish_reason == Some(AgentFinishReason::Interrupted);
    if is_active { SessionActivity::Active } else { SessionActivity::Completed }
}

/// The application's metadata of a session with the id of its newest snapshot and the number of
/// its snapshots, which clients of the REST API expect there.
fn counted(metadata: Option<JsonObject>, latest: &str, snapshots: usize) -> JsonObject {
    let mut metadata = metadata.unwrap_or_default();
    metadata.insert("snapshotId".into(), latest.into());
    metadata.insert("snapshotCount".into(), snapshots.into());
    metadata
}

/// The custom state's members with the artifacts among them. A custom state that is not an
/// object, or has a member `artifacts` itself, is shown whole as the member `custom`.
///
/// # Errors
///
/// If an artifact cannot be written as JSON.
pub fn shown_state(state: SessionState) -> Result<JsonObject, Status> {
    let artifacts = serde_json::to_value(state.artifacts.unwrap_or_default())?;
    let mut shown = match state.custom.map(Arc::unwrap_or_clone) {
        None => JsonObject::new(),
        Some(Value::Object(custom)) if !custom.contains_key("artifacts") => custom,
        Some(custom) => JsonObject::from_iter([("custom".to_owned(), custom)]),
    };
    shown.insert("artifacts".to_owned(), artifacts);
    Ok(shown)
}

fn infos(nodes: &[SnapshotNode]) -> Vec<SnapshotInfo> {
    let mut children: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for node in nodes {
        if let Some(parent) = &node.parent {
            children.entry(parent).or_default().push(node.snapshot.clone());
        }
    }
    let info = |node: &SnapshotNode| SnapshotInfo {
        snapshot_id: node.snapshot.clone(),
        parent_id: node.parent.clone(),
        status: node.status,
        finish_reason: node.finish_reason,
        created_at: epoch_millis(&node.created_at),
        message_count: node.messages,
        children: children.get(node.snapshot.as_str()).cloned().unwrap_or_default(),
    };
    nodes.iter().map(info).collect()
}
