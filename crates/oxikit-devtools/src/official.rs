//! Handlers of the official tools' server that are not tRPC procedures. Their paths, bodies and error
//! texts are those of the official server, because official clients compare them.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode as HttpStatus, Uri};
use axum::response::IntoResponse;
use oxikit_wire::rpc::ErrorData;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::runs::{Form, lines, spec, whole};
use super::shared::Shared;
use oxikit_http::HttpResult;
use oxikit_http::api::{JsonText, object, query_value as query};
use oxikit_traces::tools;

/// `POST /api/runAction`: runs an action to its end. The runtime is that of `runtimeId` in the body.
pub(crate) async fn run(State(shared): State<Arc<Shared>>, JsonText(body): JsonText) -> HttpResult {
    Ok(whole(&shared.runtimes, spec(body, None)?, Form::Official).await)
}

/// `POST /api/streamAction[?bidi=true]`: streams the chunks as lines, then the result without a line
/// feed. With `bidi` the client sends inputs by the two routes below.
pub(crate) async fn stream(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    JsonText(body): JsonText,
) -> HttpResult {
    let spec = spec(body, None)?;
    let is_bidi = query(&uri, "bidi").as_deref() == Some("true");
    let spec = if is_bidi { spec.bidi() } else { spec.streaming() };
    Ok(lines(&shared.runtimes, spec).await)
}

/// `POST /api/sendBidiInput`: sends an input to the run with this trace id.
pub(crate) async fn send_input(
    State(shared): State<Arc<Shared>>,
    JsonText(body): JsonText,
) -> HttpResult {
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

/// `POST /api/endBidiInput`: ends the inputs of the run with this trace id.
pub(crate) async fn end_input(
    State(shared): State<Arc<Shared>>,
    JsonText(body): JsonText,
) -> HttpResult {
    #[derive(Deserialize)]
    struct End {
        #[serde(default, rename = "traceId")]
        trace_id: String,
    }
    let end: End = object(&body)?;
    Ok(taken(shared.runtimes.end_input(&end.trace_id).await))
}

/// `POST /api/streamTrace`: the spans of a trace, the stored ones first and then those that arrive.
pub(crate) async fn stream_trace(
    State(shared): State<Arc<Shared>>,
    JsonText(body): JsonText,
) -> Response<Body> {
    tools::stream_trace(&shared.traces, &body)
}

/// `GET /api/__health`. It needs the token like all routes.
pub(crate) async fn health() -> HttpStatus {
    HttpStatus::OK
}

/// `POST /api/__quitquitquit`: asks the tools to quit, see
/// [`DevServer::quit_requested`](crate::DevServer::quit_requested).
pub(crate) async fn quit(State(shared): State<Arc<Shared>>) -> &'static str {
    shared.quit.cancel();
    "Server is shutting down"
}

/// The response to an input. The official server does not distinguish between errors.
fn taken(sent: Result<(), ErrorData>) -> Response<Body> {
    match sent {
        Ok(()) => "OK".into_response(),
        Err(_) => (HttpStatus::NOT_FOUND, "Stream not found").into_response(),
    }
}
