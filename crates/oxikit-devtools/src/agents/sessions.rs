//! Handlers of sessions. Runtimes of oxikit answer requests about their sessions; for other
//! runtimes the handlers use traces and snapshots, see [`observed`].

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode as HttpStatus;
use bytes::Bytes;
use oxikit_core::{Status, StatusCode};
use oxikit_http::reply::json_response;
use oxikit_wire::rpc::{ForkSessionParams, ListSessionsParams, SessionParams};
use oxikit_wire::{
    AgentAbortResponse, SessionAborted, SessionActivity, SessionList, SnapshotStatus,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Agent, AgentQuery, observed};
use crate::shared::Shared;
use oxikit_http::api::json as answer;
use oxikit_http::api::{JsonText, Nothing, Path, object};
use oxikit_http::api::{Limit, Query, non_empty};
use oxikit_http::{HttpError, HttpResult};
use oxikit_manager::SessionRequest;

/// A filter of sessions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionsQuery {
    /// Maximum number of entries. The default is 50.
    limit: Option<Limit<200>>,
    /// The `continuationToken` of the previous page.
    continuation_token: Option<String>,
    /// Only active sessions, or only completed ones.
    status: Option<SessionActivity>,
    /// The id of a runtime. The default is the current one.
    runtime: Option<String>,
    /// The context of the run, such as the identity of the user: a JSON object as text.
    context: Option<String>,
}

/// Sessions of the runtime's store, or else of the stored traces.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code, reason = "only described")]
pub(crate) enum SessionPage {
    Stored(SessionList),
    Observed(observed::ObservedList),
}

/// `GET /api/agents/{agent}/sessions[?limit=&continuationToken=&status=&runtime=]`: one page. The
/// response of a runtime of oxikit is passed on as text.
///
/// # Errors
///
/// 404 for an unknown agent, 400 if the agent has no session store.
pub(crate) async fn list_sessions(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    Query(asked): Query<SessionsQuery>,
) -> HttpResult {
    let SessionsQuery { limit, continuation_token, status, runtime, context } = asked;
    let agent = Agent::find(shared, &name, AgentQuery { runtime, context }).await?;
    let asked = ListSessionsParams {
        agent: agent.name().to_owned(),
        limit: limit.map(|Limit(limit)| limit.into()),
        continuation_token: non_empty(continuation_token),
        status,
        context: agent.context.clone(),
    };
    match agent.ask(SessionRequest::List(asked.clone())).await? {
        Some(list) => Ok(json_response(HttpStatus::OK, list)),
        None => answer(&observed::list(&agent, asked).await?),
    }
}

/// `GET /api/agents/{agent}/sessions/{session}[?runtime=]`: one session with its state and history.
///
/// # Errors
///
/// 404 for an unknown agent or session, 400 if the agent has no session store.
pub(crate) async fn session(
    State(shared): State<Arc<Shared>>,
    Path((name, session)): Path<(String, String)>,
    Query(asked): Query<AgentQuery>,
) -> HttpResult {
    let agent = Agent::find(shared, &name, asked).await?;
    let wanted = agent.named(session.clone());
    match agent.ask(SessionRequest::Get(wanted)).await? {
        Some(details) => Ok(json_response(HttpStatus::OK, details)),
        None => answer(&observed::details(&agent, session).await?),
    }
}

/// `DELETE /api/agents/{agent}/sessions/{session}[?runtime=]`.
///
/// # Errors
///
/// 400 if the agent has no session store, or if its runtime is not of oxikit: official runtimes have
/// no action that deletes a session.
pub(crate) async fn delete_session(
    State(shared): State<Arc<Shared>>,
    Path((name, session_id)): Path<(String, String)>,
    Query(asked): Query<AgentQuery>,
) -> HttpResult {
    let agent = Agent::find(shared, &name, asked).await?;
    let asked = agent.named(session_id);
    match agent.ask(SessionRequest::Delete(asked)).await? {
        Some(deleted) => Ok(json_response(HttpStatus::OK, deleted)),
        None => Err(agent.cannot("delete a session", "delete it where its store keeps it").into()),
    }
}

/// `POST /api/agents/{agent}/sessions/{session}/fork[?runtime=]`: copies a session up to a snapshot.
///
/// # Errors
///
/// 400 if the runtime is not of oxikit. The message has the command that continues from the snapshot
/// instead, which every runtime supports.
pub(crate) async fn fork(
    State(shared): State<Arc<Shared>>,
    Path((name, session_id)): Path<(String, String)>,
    Query(asked): Query<AgentQuery>,
    JsonText(body): JsonText,
) -> HttpResult {
    let snapshot_id = ForkBody::parse(&body)?.snapshot_id;
    let agent = Agent::find(shared, &name, asked).await?;
    let instead = match &snapshot_id {
        Some(id) => format!("branch it instead: `oxikit agent chat {name} --snapshot {id}`"),
        None => format!(
            "branch it instead: `oxikit session show {name} {session_id} --tree` has the ids for \
             `oxikit agent chat {name} --snapshot <id>`"
        ),
    };
    let context = agent.context.clone();
    let asked = ForkSessionParams { agent: name, session_id, snapshot_id, context };
    match agent.ask(SessionRequest::Fork(asked)).await? {
        Some(forked) => Ok(json_response(HttpStatus::OK, forked)),
        None => Err(agent.cannot("fork a session", &instead).into()),
    }
}

/// `POST /api/agents/{agent}/sessions/{session}/abort[?runtime=]`: aborts the turn whose snapshot is
/// the latest one. `aborted` is empty if that turn had already ended.
///
/// # Errors
///
/// 400 if the agent has no session store, and the errors of the runs of the agent.
pub(crate) async fn abort(
    State(shared): State<Arc<Shared>>,
    Path((name, session)): Path<(String, String)>,
    Query(asked): Query<AgentQuery>,
    _: Nothing,
) -> HttpResult {
    let agent = Agent::find(shared, &name, asked).await?;
    agent.check_store()?;
    let latest = agent.snapshot(json!({"sessionId": session})).await?;
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

impl Agent {
    /// Sends a request to the runtime. Returns its response as JSON text; `None` if the runtime
    /// does not implement the request.
    async fn ask(&self, request: SessionRequest) -> Result<Option<Bytes>, HttpError> {
        self.check_store()?;
        match self.shared.runtimes.ask_sessions(self.runtime.as_deref(), &request).await {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if error.code == Some(StatusCode::Unimplemented.grpc()) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The parameters of a request about one session.
    fn named(&self, session_id: String) -> SessionParams {
        let (agent, context) = (self.name().to_owned(), self.context.clone());
        SessionParams { agent, session_id, context }
    }

    /// Fails with `FAILED_PRECONDITION` if the agent has no session store.
    pub(super) fn check_store(&self) -> Result<(), Status> {
        if self.has_store() {
            return Ok(());
        }
        let name = self.name();
        let message = format!("agent `{name}` has no session store: its clients keep the state");
        Err(Status::failed_precondition(message))
    }

    /// The error of an operation that only runtimes of oxikit implement.
    fn cannot(&self, what: &str, instead: &str) -> Status {
        Status::failed_precondition(format!(
            "the runtime of agent `{}` offers the tools no way to {what}; {instead}",
            self.name()
        ))
    }
}

/// The body of a fork. It may be empty.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ForkBody {
    /// The snapshot that the new session begins with. The default is the latest one.
    #[serde(default)]
    snapshot_id: Option<String>,
}

impl ForkBody {
    /// Parses a body. An empty one means the latest snapshot.
    fn parse(body: &[u8]) -> Result<Self, Status> {
        if body.trim_ascii().is_empty() { Ok(Self::default()) } else { object(body) }
    }
}
