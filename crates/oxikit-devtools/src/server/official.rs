//! What the official tools' server answers outside of its procedures.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode as HttpStatus, Uri};
use axum::response::IntoResponse;
use oxikit_wire::rpc::ErrorData;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::reply::Answer;
use super::request::{JsonText, object, query};
use super::runs::{Form, lines, spec, whole};
use super::shared::Shared;
use crate::telemetry::tools;

/// `POST /api/runAction`.
pub(crate) async fn run(State(shared): State<Arc<Shared>>, JsonText(body): JsonText) -> Answer {
    Ok(whole(&shared.runtimes, spec(body, None)?, Form::Official).await)
}

/// `POST /api/streamAction[?bidi=true]`.
pub(crate) async fn stream(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    JsonText(body): JsonText,
) -> Answer {
    let spec = spec(body, None)?;
    let is_bidi = query(&uri, "bidi").as_deref() == Some("true");
    let spec = if is_bidi { spec.bidi() } else { spec.streaming() };
    Ok(lines(&shared.runtimes, spec).await)
}

/// `POST /api/sendBidiInput`.
pub(crate) async fn send_input(
    State(shared): State<Arc<Shared>>,
    JsonText(body): JsonText,
) -> Answer {
    #[derive(Deserialize)]
    struct Input<'a> {
        #[serde(default, rename = "traceId")]
        trace_id: String,
        #[serde(borrow)]
        chunk: &'a RawValue,
    }
    let input: Input<'_> = object(&body)?;
    let chunk = input.chunk.get().as_bytes();
    Ok(taken(shared.runtimes.send_input(&input.trace_id, chunk).await))
}

/// `POST /api/endBidiInput`.
pub(crate) async fn end_input(
    State(shared): State<Arc<Shared>>,
    JsonText(body): JsonText,
) -> Answer {
    #[derive(Deserialize)]
    struct End {
        #[serde(default, rename = "traceId")]
        trace_id: String,
    }
    let end: End = object(&body)?;
    Ok(taken(shared.runtimes.end_input(&end.trace_id).await))
}

/// `POST /api/streamTrace`.
pub(crate) async fn stream_trace(
    State(shared): State<Arc<Shared>>,
    JsonText(body): JsonText,
) -> Response<Body> {
    tools::stream_trace(&shared.traces, &body)
}

/// `GET /api/__health`.
pub(crate) async fn health() -> HttpStatus {
    HttpStatus::OK
}

/// `POST /api/__quitquitquit`.
pub(crate) async fn quit(State(shared): State<Arc<Shared>>) -> &'static str {
    shared.quit.cancel();
    "Server is shutting down"
}

fn taken(sent: Result<(), ErrorData>) -> Response<Body> {
    match sent {
        Ok(()) => "OK".into_response(),
        Err(_) => (HttpStatus::NOT_FOUND, "Stream not found").into_response(),
    }
}
