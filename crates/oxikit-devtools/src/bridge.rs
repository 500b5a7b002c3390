//! Makes the runtimes of this server visible to the one-shot commands of the official tools.
//!
//! These commands look for the files of runtimes that listen (reflection V1). For each runtime
//! that has connected by WebSocket (V2), the server writes such a file. Its URL leads to the
//! routes here, which pass requests on to the runtime.

mod files;

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode as HttpStatus, Uri};
use axum::response::IntoResponse;
use oxikit_core::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::runs::{Form, lines, spec, whole};
use super::shared::Shared;
pub(crate) use files::keep_files;
use oxikit_http::HttpResult;
use oxikit_http::api::json as answer;
use oxikit_http::api::{JsonText, Path, object, query_value as query};

/// `GET /reflection/{runtime}/api/__health?id=`: 200 if the runtime is connected, else 503.
pub(crate) async fn health(
    State(shared): State<Arc<Shared>>,
    Path(runtime): Path<String>,
    uri: Uri,
) -> (HttpStatus, &'static str) {
    let is_meant = query(&uri, "id").is_none_or(|id| id == runtime);
    if is_meant && shared.runtimes.list().iter().any(|known| known.id == runtime) {
        (HttpStatus::OK, "OK")
    } else {
        (HttpStatus::SERVICE_UNAVAILABLE, "Invalid runtime ID")
    }
}

/// `POST /reflection/{runtime}/api/notify`. The runtime sends its spans to these tools.
pub(crate) async fn notify() -> &'static str {
    "OK"
}

/// `GET /reflection/{runtime}/api/actions`: the actions by key, as a runtime lists them in V1.
pub(crate) async fn actions(
    State(shared): State<Arc<Shared>>,
    Path(runtime): Path<String>,
) -> HttpResult {
    answer(&shared.runtimes.list_actions(Some(&runtime)).await?.actions)
}

/// `GET /reflection/{runtime}/api/values?type=`: the values of a kind by name.
pub(crate) async fn values(
    State(shared): State<Arc<Shared>>,
    Path(runtime): Path<String>,
    uri: Uri,
) -> HttpResult {
    let kind = query(&uri, "type").unwrap_or_default();
    answer(&shared.runtimes.list_values(Some(&runtime), &kind).await?)
}

/// `POST /reflection/{runtime}/api/runAction[?stream=true]`. The action runs on the runtime of
/// the path, also if the body names another.
pub(crate) async fn run(
    State(shared): State<Arc<Shared>>,
    Path(runtime): Path<String>,
    uri: Uri,
    JsonText(body): JsonText,
) -> HttpResult {
    let spec = spec(body, None)?.on(runtime);
    Ok(match query(&uri, "stream").as_deref() {
        Some("true") => lines(&shared.runtimes, spec.streaming()).await,
        _ => whole(&shared.runtimes, spec, Form::Runtime).await,
    })
}

/// `POST /reflection/{runtime}/api/cancelAction`: cancels the run with this trace id. Unknown runs are
/// 404 with a message, as in a runtime.
pub(crate) async fn cancel(
    State(shared): State<Arc<Shared>>,
    Path(runtime): Path<String>,
    JsonText(body): JsonText,
) -> HttpResult {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Cancel {
        trace_id: String,
    }
    let Cancel { trace_id } = object(&body)?;
    match shared.runtimes.cancel(&trace_id, Some(&runtime)).await {
        Ok(message) => answer(&json!({"message": message})),
        Err(error) if error.code == Some(StatusCode::NotFound.grpc()) => {
            Ok((HttpStatus::NOT_FOUND, answer(&json!({"message": error.message}))?).into_response())
        }
        Err(error) => Err(error.into()),
    }
}
