//! Runs: started, cancelled, and given inputs.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::Uri;
use serde_json::json;

use crate::server::reply::{Answer, json as answer};
use crate::server::request::{JsonText, query};
use crate::server::runs::{Form, events, spec, whole};
use crate::server::shared::Shared;

/// `POST /api/v1/run[?runtime=]`.
pub(crate) async fn run(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    JsonText(body): JsonText,
) -> Answer {
    let spec = spec(body, query(&uri, "runtime"))?;
    Ok(whole(&shared.runtimes, spec, Form::Own).await)
}

/// `POST /api/v1/stream[?runtime=][&bidi=true]`.
pub(crate) async fn stream(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    JsonText(body): JsonText,
) -> Answer {
    let spec = spec(body, query(&uri, "runtime"))?;
    let is_bidi = query(&uri, "bidi").as_deref() == Some("true");
    let spec = if is_bidi { spec.bidi() } else { spec.streaming() };
    Ok(events(&shared.runtimes, spec).await)
}

/// `POST /api/v1/runs/{traceId}/cancel[?runtime=]`.
pub(crate) async fn cancel(
    State(shared): State<Arc<Shared>>,
    Path(trace_id): Path<String>,
    uri: Uri,
) -> Answer {
    let runtime = query(&uri, "runtime");
    let message = shared.runtimes.cancel(&trace_id, runtime.as_deref()).await?;
    answer(&json!({"message": message}))
}

/// `POST /api/v1/runs/{traceId}/input`: the body is the input.
pub(crate) async fn input(
    State(shared): State<Arc<Shared>>,
    Path(trace_id): Path<String>,
    JsonText(body): JsonText,
) -> Answer {
    shared.runtimes.send_input(&trace_id, &body).await?;
    answer(&json!({}))
}

/// `POST /api/v1/runs/{traceId}/end-input`.
pub(crate) async fn end_input(
    State(shared): State<Arc<Shared>>,
    Path(trace_id): Path<String>,
) -> Answer {
    shared.runtimes.end_input(&trace_id).await?;
    answer(&json!({}))
}
