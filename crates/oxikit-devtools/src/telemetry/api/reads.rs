//! Traces and log lines shown, exported and removed.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_DISPOSITION;
use axum::response::{IntoResponse, Response};
use oxikit_core::Status;
use oxikit_serve::inside::json_response;
use oxikit_sql::TraceQuery;
use serde_json::Value;

use super::queries::{LogsQuery, SessionQuery, TracesQuery};
use super::shapes::{SpanInfo, TraceList, WholeTrace};
use super::{TraceApi, failure};
use crate::server::query::{Query, over_after};
use crate::server::reply::{Answer, Done, json as answer};
use crate::server::request::{FollowQuery, Path};
use crate::telemetry::{follow, tools};

/// So many traces of a session are put into one file.
const MAX_EXPORTED: usize = 1000;

pub(super) async fn list(
    State(api): State<Arc<TraceApi>>,
    Query(asked): Query<TracesQuery>,
) -> Answer {
    let page = api.store.list(&asked.read()?).await.map_err(failure)?;
    answer(&TraceList {
        traces: page.traces.into_iter().map(Into::into).collect(),
        continuation_token: page.next,
        warning: page.damage.map(|damage| damage.warning()),
    })
}

pub(super) async fn trace(State(api): State<Arc<TraceApi>>, Path(id): Path<String>) -> Answer {
    let trace = api.store.summary(&id).await.map_err(failure)?.ok_or_else(|| unknown(&id))?;
    let spans = api.store.spans(&id).await.map_err(failure)?;
    let spans = spans.into_iter().map(SpanInfo::new).collect::<Result<_, _>>();
    answer(&WholeTrace { trace: trace.into(), spans: spans.map_err(Status::from)? })
}

pub(super) async fn all_events(
    State(api): State<Arc<TraceApi>>,
    Query(FollowQuery { seconds }): Query<FollowQuery>,
) -> Response {
    follow::all_events(&api.store, over_after(seconds))
}

pub(super) async fn trace_events(
    State(api): State<Arc<TraceApi>>,
    Path(id): Path<String>,
    Query(FollowQuery { seconds }): Query<FollowQuery>,
) -> Response {
    follow::trace_events(&api.store, &id, over_after(seconds))
}

pub(super) async fn export(State(api): State<Arc<TraceApi>>, Path(id): Path<String>) -> Answer {
    let trace = api.store.export(&id).await.map_err(failure)?.ok_or_else(|| unknown(&id))?;
    Ok(file(&format!("trace-{id}"), trace))
}

pub(super) async fn export_session(
    State(api): State<Arc<TraceApi>>,
    Query(SessionQuery { session }): Query<SessionQuery>,
) -> Answer {
    let mut query = TraceQuery::default();
    query.session_id = Some(session.clone());
    query.limit = MAX_EXPORTED;
    let mut traces = String::new();
    for trace in api.store.list(&query).await.map_err(failure)?.traces.iter().rev() {
        // One may be removed meanwhile.
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

/// A file that a browser saves. Only plain characters of a name are kept.
fn file(name: &str, json: String) -> Response {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let name: String = name.chars().filter(is_plain).take(100).collect();
    let disposition = format!("attachment; filename=\"{name}.json\"");
    ([(CONTENT_DISPOSITION, disposition)], json_response(StatusCode::OK, json)).into_response()
}

pub(super) async fn remove(State(api): State<Arc<TraceApi>>, Path(id): Path<String>) -> Answer {
    match api.store.delete(&id).await.map_err(failure)? {
        true => answer(&Done {}),
        false => Err(unknown(&id).into()),
    }
}

pub(super) async fn clear(State(api): State<Arc<TraceApi>>) -> Answer {
    api.store.clear().await.map_err(failure)?;
    answer(&Done {})
}

pub(super) async fn logs(
    State(api): State<Arc<TraceApi>>,
    Query(asked): Query<LogsQuery>,
) -> Answer {
    let logs = tools::logs(&api.store, &asked.read()).await.map_err(failure)?;
    Ok(json_response(StatusCode::OK, logs))
}

fn unknown(id: &str) -> Status {
    Status::not_found(format!("there is no trace `{id}`"))
}
