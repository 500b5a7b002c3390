//! Runs: started, cancelled, and given inputs.

use std::sync::Arc;

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::server::query::Query;
use crate::server::reply::{Answer, Done, json as answer};
use crate::server::request::{JsonText, Nothing, Path, RuntimeQuery};
use crate::server::runs::{Form, events, spec, whole};
use crate::server::shared::Shared;

/// `POST /api/v1/run[?runtime=]`.
pub(crate) async fn run(
    State(shared): State<Arc<Shared>>,
    Query(RuntimeQuery { runtime }): Query<RuntimeQuery>,
    JsonText(body): JsonText,
) -> Answer {
    let spec = spec(body, runtime)?;
    Ok(whole(&shared.runtimes, spec, Form::Own).await)
}

/// How a run is streamed.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct StreamQuery {
    /// The id of a runtime; without it the current one is asked.
    runtime: Option<String>,
    /// Whether inputs are sent while it runs.
    #[serde(default)]
    bidi: bool,
}

/// What a runtime says of a run that was cancelled.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Cancelled {
    message: String,
}

/// `POST /api/v1/stream[?runtime=][&bidi=true]`.
pub(crate) async fn stream(
    State(shared): State<Arc<Shared>>,
    Query(StreamQuery { runtime, bidi }): Query<StreamQuery>,
    JsonText(body): JsonText,
) -> Answer {
    let spec = spec(body, runtime)?;
    let spec = if bidi { spec.bidi() } else { spec.streaming() };
    Ok(events(&shared.runtimes, spec).await)
}

/// `POST /api/v1/runs/{traceId}/cancel[?runtime=]`.
pub(crate) async fn cancel(
    State(shared): State<Arc<Shared>>,
    Path(trace_id): Path<String>,
    Query(RuntimeQuery { runtime }): Query<RuntimeQuery>,
    _: Nothing,
) -> Answer {
    let message = shared.runtimes.cancel(&trace_id, runtime.as_deref()).await?;
    answer(&Cancelled { message })
}

/// `POST /api/v1/runs/{traceId}/input`: the body is the input.
pub(crate) async fn input(
    State(shared): State<Arc<Shared>>,
    Path(trace_id): Path<String>,
    JsonText(body): JsonText,
) -> Answer {
    shared.runtimes.send_input(&trace_id, &body).await?;
    answer(&Done {})
}

/// `POST /api/v1/runs/{traceId}/end-input`.
pub(crate) async fn end_input(
    State(shared): State<Arc<Shared>>,
    Path(trace_id): Path<String>,
    _: Nothing,
) -> Answer {
    shared.runtimes.end_input(&trace_id).await?;
    answer(&Done {})
}
