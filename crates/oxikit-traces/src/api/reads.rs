//! Handlers that list, show, export and delete traces and log lines.

use std::sync::Arc;

use crate::TraceQuery;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_DISPOSITION;
use axum::response::{IntoResponse, Response};
use oxikit_core::Status;
use oxikit_http::reply::json_response;
use serde_json::Value;

use super::queries::{LogsQuery, SessionQuery, TracesQuery};
use super::shapes::{SpanInfo, TraceList, WholeTrace};
use super::{TraceApi, failure};
use crate::{follow, tools};
use oxikit_http::HttpResult;
use oxikit_http::api::{Done, json as answer};
use oxikit_http::api::{FollowQuery, Path};
use oxikit_http::api::{Query, elapsed};

/// Maximum number of traces of a session in one file. Older traces are left out.
const MAX_EXPORTED: usize = 1000;

/// `GET /traces`: one page of summaries.
pub(super) async fn list(
    State(api): State<Arc<TraceApi>>,
    Query(query): Query<TracesQuery>,
) -> HttpResult {
    let query = query.read()?;
    // The number is that of the whole list: it is in the first page of it.
    let (page, total) = match query.after {
        Some(_) => (api.store.list(&query).await.map_err(failure)?, None),
        None => api.store.list_and_count(&query).await.map_err(failure)?,
    };
    answer(&TraceList {
        total,
        traces: page.traces.into_iter().map(Into::into).collect(),
        continuation_token: page.next,
        warning: page.damage.map(|damage| damage.warning()),
    })
}

/// `GET /traces/{id}`: the summary and all spans.
pub(super) async fn trace(State(api): State<Arc<TraceApi>>, Path(id): Path<String>) -> HttpResult {
    let trace = api.store.summary(&id).await.map_err(failure)?.ok_or_else(|| unknown(&id))?;
    let spans = api.store.spans(&id).await.map_err(failure)?;
    let spans = spans.into_iter().map(SpanInfo::new).collect::<Result<_, _>>();
    answer(&WholeTrace { trace: trace.into(), spans: spans.map_err(Status::from)? })
}

/// `GET /traces/events`: spans of all traces, for `seconds` if they are given.
pub(super) async fn all_events(
    State(api): State<Arc<TraceApi>>,
    Query(FollowQuery { seconds }): Query<FollowQuery>,
) -> Response {
    follow::all_events(&api.store, elapsed(seconds))
}

/// `GET /traces/{id}/events`: a trace until its root span has ended.
pub(super) async fn trace_events(
    State(api): State<Arc<TraceApi>>,
    Path(id): Path<String>,
    Query(FollowQuery { seconds }): Query<FollowQuery>,
) -> Response {
    follow::trace_events(&api.store, &id, elapsed(seconds))
}

/// `GET /traces/{id}/export`: a trace as a file, without its secrets.
pub(super) async fn export(State(api): State<Arc<TraceApi>>, Path(id): Path<String>) -> HttpResult {
    let trace = api.store.export(&id).await.map_err(failure)?.ok_or_else(|| unknown(&id))?;
    Ok(file(&format!("trace-{id}"), trace))
}

/// `GET /traces/export`: the traces of a session in one file, oldest first.
pub(super) async fn export_session(
    State(api): State<Arc<TraceApi>>,
    Query(SessionQuery { session }): Query<SessionQuery>,
) -> HttpResult {
    let session_id = Some(session.clone());
    let query = TraceQuery { session_id, limit: MAX_EXPORTED, ..TraceQuery::default() };
    let mut traces = String::new();
    // The list is newest first, the file oldest first.
    for trace in api.store.list(&query).await.map_err(failure)?.traces.iter().rev() {
        // A trace may have been deleted since it was listed.
        if let Some(trace) = api.store.export(&trace.trace_id).await.map_err(failure)? {
            traces.push_str(if traces.is_empty() { "" } else { "," });
            traces.push_str(&trace);
        }
    }
    if traces.is_empty() {
        let message = format!("there is no trace of the session `{session}`");
        return Err(Status::not_found(message).into());
    }
    let body = format!(r#"{{"sessionId":{},"traces":[{traces}]}}"#, Value::from(&*session));
    Ok(file(&format!("session-{session}"), body))
}

/// A response that a browser saves as a file. Only letters, digits, `-` and `_` of the name are
/// kept.
fn file(name: &str, json: String) -> Response {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let name: String = name.chars().filter(is_plain).take(100).collect();
    let disposition = format!("attachment; filename=\"{name}.json\"");
    ([(CONTENT_DISPOSITION, disposition)], json_response(StatusCode::OK, json)).into_response()
}

/// `DELETE /traces/{id}`.
pub(super) async fn remove(State(api): State<Arc<TraceApi>>, Path(id): Path<String>) -> HttpResult {
    match api.store.delete(&id).await.map_err(failure)? {
        true => answer(&Done {}),
        false => Err(unknown(&id).into()),
    }
}

/// `DELETE /traces`: removes all traces and log lines.
pub(super) async fn clear(State(api): State<Arc<TraceApi>>) -> HttpResult {
    api.store.clear().await.map_err(failure)?;
    answer(&Done {})
}

/// `GET /logs`: one page of log lines, as they are stored.
pub(super) async fn logs(
    State(api): State<Arc<TraceApi>>,
    Query(query): Query<LogsQuery>,
) -> HttpResult {
    let logs = tools::logs(&api.store, &query.read()).await.map_err(failure)?;
    Ok(json_response(StatusCode::OK, logs))
}

/// The error for a trace that is not stored.
fn unknown(id: &str) -> Status {
    Status::not_found(format!("there is no trace `{id}`"))
}
