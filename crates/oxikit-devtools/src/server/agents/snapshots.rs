//! One snapshot, read with the action that every runtime has for it.

use std::sync::Arc;

use axum::extract::State;
use oxikit_core::{Status, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Agent, AgentQuery};
use crate::server::query::{Query, given};
use crate::server::reply::{Answer, json as answer};
use crate::server::request::Path;
use crate::server::shared::Shared;

/// Which snapshot: `snapshotId` or `sessionId`, and not both.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SnapshotQuery {
    /// The id of the snapshot.
    snapshot_id: Option<String>,
    /// The session whose latest snapshot is read.
    session_id: Option<String>,
    /// The id of a runtime; without it the current one is asked.
    runtime: Option<String>,
    /// The context of the run, such as who the user is: a JSON object as text.
    context: Option<String>,
}

/// `GET /api/agents/{agent}/snapshot?snapshotId=|sessionId=[&runtime=&context=]`.
pub(crate) async fn snapshot(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    Query(asked): Query<SnapshotQuery>,
) -> Answer {
    let SnapshotQuery { snapshot_id, session_id, runtime, context } = asked;
    let (wanted, input) = match (given(snapshot_id), given(session_id)) {
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
