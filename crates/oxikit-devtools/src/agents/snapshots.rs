//! Reads one snapshot by the action that every runtime has for it.

use std::sync::Arc;

use axum::extract::State;
use oxikit_core::{Status, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Agent, AgentQuery};
use crate::shared::Shared;
use oxikit_http::HttpResult;
use oxikit_http::api::Path;
use oxikit_http::api::json as answer;
use oxikit_http::api::{Query, non_empty};

/// The snapshot to read: either `snapshotId` or `sessionId`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SnapshotQuery {
    /// The id of the snapshot.
    snapshot_id: Option<String>,
    /// The session whose latest snapshot is read.
    session_id: Option<String>,
    /// The id of a runtime. The default is the current one.
    runtime: Option<String>,
    /// The context of the run, such as the identity of the user: a JSON object as text.
    context: Option<String>,
}

/// `GET /api/agents/{agent}/snapshot?snapshotId=|sessionId=[&runtime=&context=]`: one snapshot with its
/// state. Reading it is a run of the agent, whose trace is hidden and deleted.
///
/// # Errors
///
/// 400 unless exactly one of both ids is given, or if the agent has no session store; 404 for an
/// unknown agent, snapshot or session.
pub(crate) async fn snapshot(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    Query(asked): Query<SnapshotQuery>,
) -> HttpResult {
    let SnapshotQuery { snapshot_id, session_id, runtime, context } = asked;
    let (wanted, input) = match (non_empty(snapshot_id), non_empty(session_id)) {
        (Some(id), None) => (format!("snapshot `{id}`"), json!({"snapshotId": id})),
        (None, Some(id)) => (format!("session `{id}`"), json!({"sessionId": id})),
        _ => {
            let message = "either `snapshotId` or `sessionId` is needed";
            return Err(Status::invalid_argument(message).into());
        }
    };
    let agent = Agent::find(shared, &name, AgentQuery { runtime, context }).await?;
    agent.check_store()?;
    let snapshot = agent.snapshot(input).await.map_err(|status| match status.code() {
        StatusCode::NotFound => Status::not_found(format!("there is no {wanted}")),
        _ => status,
    })?;
    answer(&snapshot)
}
