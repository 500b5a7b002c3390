//! Handlers that start runs, cancel them and send them inputs.

use std::sync::Arc;

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::runs::{Form, events, spec, whole};
use crate::shared::Shared;
use oxikit_http::HttpResult;
use oxikit_http::api::Query;
use oxikit_http::api::{Done, json as answer};
use oxikit_http::api::{JsonText, Nothing, Path, RuntimeQuery};

/// `POST /api/v1/run[?runtime=]`: runs an action to its end. A client that disconnects cancels the run.
pub(crate) async fn run(
    State(shared): State<Arc<Shared>>,
    Query(RuntimeQuery { runtime }): Query<RuntimeQuery>,
    JsonText(body): JsonText,
) -> HttpResult {
    let spec = spec(body, runtime)?;
    Ok(whole(&shared.runtimes, spec, Form::Own).await)
}

/// The query of a streamed run.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct StreamQuery {
    /// The id of a runtime. The default is the current one.
    runtime: Option<String>,
    /// Whether the client sends inputs during the run.
    #[serde(default)]
    bidi: bool,
}

/// The response to a cancellation.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Cancelled {
    message: String,
}

/// `POST /api/v1/stream[?runtime=][&bidi=true]`: streams the run as server-sent events.
pub(crate) async fn stream(
    State(shared): State<Arc<Shared>>,
    Query(StreamQuery { runtime, bidi }): Query<StreamQuery>,
    JsonText(body): JsonText,
) -> HttpResult {
    let spec = spec(body, runtime)?;
    let spec = if bidi { spec.bidi() } else { spec.streaming() };
    Ok(events(&shared.runtimes, spec).await)
}

/// `POST /api/v1/runs/{traceId}/cancel[?runtime=]`: cancels a run. A run of these tools ends even if its
/// runtime does not answer.
pub(crate) async fn cancel(
    State(shared): State<Arc<Shared>>,
    Path(trace_id): Path<String>,
    Query(RuntimeQuery { runtime }): Query<RuntimeQuery>,
    _: Nothing,
) -> HttpResult {
    let message = shared.runtimes.cancel(&trace_id, runtime.as_deref()).await?;
    answer(&Cancelled { message })
}

/// `POST /api/v1/runs/{traceId}/input`: the body is the input.
pub(crate) async fn input(
    State(shared): State<Arc<Shared>>,
    Path(trace_id): Path<String>,
    JsonText(body): JsonText,
) -> HttpResult {
    shared.runtimes.send_input(&trace_id, &body).await?;
    answer(&Done {})
}

/// `POST /api/v1/runs/{traceId}/end-input`: the action sees the end of its inputs.
pub(crate) async fn end_input(
    State(shared): State<Arc<Shared>>,
    Path(trace_id): Path<String>,
    _: Nothing,
) -> HttpResult {
    shared.runtimes.end_input(&trace_id).await?;
    answer(&Done {})
}
