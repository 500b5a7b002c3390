//! Sessions: asked of the runtime, which knows them if it is one of oxikit. Of others
//! there is what their traces and snapshots tell.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode as HttpStatus;
use bytes::Bytes;
use oxikit_core::{Status, StatusCode};
use oxikit_serve::inside::json_response;
use oxikit_wire::rpc::{ForkSessionParams, ListSessionsParams, SessionParams};
use oxikit_wire::{
    AgentAbortResponse, SessionAborted, SessionActivity, SessionList, SnapshotStatus,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Agent, AgentQuery, observed};
use crate::manager::SessionRequest;
use crate::server::query::{Limit, Query, given};
use crate::server::reply::{Answer, Failure, json as answer};
use crate::server::request::{JsonText, Nothing, Path, object};
use crate::server::shared::Shared;

/// Which sessions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionsQuery {
    /// At most so many; 50 if nothing is said.
    limit: Option<Limit<200>>,
    /// Where the page before has ended.
    continuation_token: Option<String>,
    /// Only those that wait for something, or only the others.
    status: Option<SessionActivity>,
    /// The id of a runtime; without it the current one is asked.
    runtime: Option<String>,
    /// The context of the run, such as who the user is: a JSON object as text.
    context: Option<String>,
}

/// Sessions as the runtime knows them, or else as traces tell of them.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code, reason = "only described")]
pub(crate) enum SessionPage {
    Stored(SessionList),
    Observed(observed::ObservedList),
}

/// `GET /api/agents/{agent}/sessions[?limit=&continuationToken=&status=&runtime=]`.
pub(crate) async fn list_sessions(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    Query(asked): Query<SessionsQuery>,
) -> Answer {
    let SessionsQuery { limit, continuation_token, status, runtime, context } = asked;
    let agent = Agent::find(shared, &name, AgentQuery { runtime, context }).await?;
    let asked = ListSessionsParams {
        agent: agent.name().to_owned(),
        limit: limit.map(|Limit(limit)| limit.into()),
        continuation_token: given(continuation_token),
        status,
        context: agent.context.clone(),
    };
    match agent.ask(SessionRequest::List(asked.clone())).await? {
        Some(list) => Ok(json_response(HttpStatus::OK, list)),
        None => answer(&observed::list(&agent, asked).await?),
    }
}

/// `GET /api/agents/{agent}/sessions/{session}[?runtime=]`.
pub(crate) async fn session(
    State(shared): State<Arc<Shared>>,
    Path((name, session)): Path<(String, String)>,
    Query(asked): Query<AgentQuery>,
) -> Answer {
    let agent = Agent::find(shared, &name, asked).await?;
    let wanted = agent.named(session.clone());
    match agent.ask(SessionRequest::Get(wanted)).await? {
        Some(details) => Ok(json_response(HttpStatus::OK, details)),
        None => answer(&observed::details(&agent, session).await?),
    }
}

/// `DELETE /api/agents/{agent}/sessions/{session}[?runtime=]`.
pub(crate) async fn delete_session(
    State(shared): State<Arc<Shared>>,
    Path((name, session_id)): Path<(String, String)>,
    Query(asked): Query<AgentQuery>,
) -> Answer {
    let agent = Agent::find(shared, &name, asked).await?;
    let asked = agent.named(session_id);
    match agent.ask(SessionRequest::Delete(asked)).await? {
        Some(deleted) => Ok(json_response(HttpStatus::OK, deleted)),
        None => Err(agent.cannot("delete a session", "delete it where its store keeps it").into()),
    }
}

/// `POST /api/agents/{agent}/sessions/{session}/fork[?runtime=]`.
pub(crate) async fn fork(
    State(shared): State<Arc<Shared>>,
    Path((name, session_id)): Path<(String, String)>,
    Query(asked): Query<AgentQuery>,
    JsonText(body): JsonText,
) -> Answer {
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

/// `POST /api/agents/{agent}/sessions/{session}/abort[?runtime=]`.
pub(crate) async fn abort(
    State(shared): State<Arc<Shared>>,
    Path((name, session)): Path<(String, String)>,
    Query(asked): Query<AgentQuery>,
    _: Nothing,
) -> Answer {
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
    /// What its runtime answers, JSON text; `None` if it cannot be asked that.
    async fn ask(&self, request: SessionRequest) -> Result<Option<Bytes>, Failure> {
        self.check_store()?;
        match self.shared.runtimes.ask_sessions(self.runtime.as_deref(), &request).await {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if error.code == Some(StatusCode::Unimplemented.grpc()) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn named(&self, session_id: String) -> SessionParams {
        let (agent, context) = (self.name().to_owned(), self.context.clone());
        SessionParams { agent, session_id, context }
    }

    pub(super) fn check_store(&self) -> Result<(), Status> {
        if self.has_store() {
            return Ok(());
        }
        let name = self.name();
        let message = format!("agent `{name}` has no session store: its clients keep the state");
        Err(Status::failed_precondition(message))
    }

    /// Only runtimes of oxikit have a way.
    fn cannot(&self, what: &str, instead: &str) -> Status {
        Status::failed_precondition(format!(
            "the runtime of agent `{}` offers the tools no way to {what}; {instead}",
            self.name()
        ))
    }
}

/// The body of a fork; an empty one begins at the end.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ForkBody {
    /// Where the new session begins; without it at the end.
    #[serde(default)]
    snapshot_id: Option<String>,
}

impl ForkBody {
    fn parse(body: &[u8]) -> Result<Self, Status> {
        if body.trim_ascii().is_empty() { Ok(Self::default()) } else { object(body) }
    }
}
