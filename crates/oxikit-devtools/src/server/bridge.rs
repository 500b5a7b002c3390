//! Runtimes that have dialled in, for the one-shot commands of the official tools.
//!
//! Those look for the files of runtimes that listen (V1). So each runtime that does
//! not gets such a file; it leads to the routes here, which pass on what is asked.

mod files;

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode as HttpStatus, Uri};
use axum::response::IntoResponse;
use oxikit_core::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::reply::{Answer, json as answer};
use super::request::{JsonText, Path, object, query};
use super::runs::{Form, lines, spec, whole};
use super::shared::Shared;
pub(crate) use files::keep_files;

/// `GET /reflection/{runtime}/api/__health?id=`.
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

/// `GET /reflection/{runtime}/api/actions`.
pub(crate) async fn actions(
    State(shared): State<Arc<Shared>>,
    Path(runtime): Path<String>,
) -> Answer {
    answer(&shared.runtimes.list_actions(Some(&runtime)).await?.actions)
}

/// `GET /reflection/{runtime}/api/values?type=`.
pub(crate) async fn values(
    State(shared): State<Arc<Shared>>,
    Path(runtime): Path<String>,
    uri: Uri,
) -> Answer {
    let kind = query(&uri, "type").unwrap_or_default();
    answer(&shared.runtimes.list_values(Some(&runtime), &kind).await?)
}

/// `POST /reflection/{runtime}/api/runAction[?stream=true]`. Whatever the body names,
/// it is run where the path says.
pub(crate) async fn run(
    State(shared): State<Arc<Shared>>,
    Path(runtime): Path<String>,
    uri: Uri,
    JsonText(body): JsonText,
) -> Answer {
    let spec = spec(body, None)?.on(runtime);
    Ok(match query(&uri, "stream").as_deref() {
        Some("true") => lines(&shared.runtimes, spec.streaming()).await,
        _ => whole(&shared.runtimes, spec, Form::Runtime).await,
    })
}

/// `POST /reflection/{runtime}/api/cancelAction`.
pub(crate) async fn cancel(
    State(shared): State<Arc<Shared>>,
    Path(runtime): Path<String>,
    JsonText(body): JsonText,
) -> Answer {
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
