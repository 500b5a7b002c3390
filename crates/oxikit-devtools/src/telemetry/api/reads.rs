//! Traces and log lines shown, exported and removed.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_DISPOSITION;
use axum::response::{IntoResponse, Response};
use oxikit_core::Status;
use oxikit_serve::inside::json_response;
use oxikit_sql::{LogQuery, TraceQuery, TraceStatus};
use serde_json::{Value, json};

use super::shapes::{SpanInfo, TraceList, WholeTrace};
use super::{TraceApi, failure};
use crate::server::reply::{Answer, Failure, json as answer};
use crate::telemetry::query::UrlQuery;
use crate::telemetry::{follow, tools};

/// A page of a list, if nothing else is said.
const PAGE: usize = 20;
/// So many traces of a session are put into one file.
const MAX_EXPORTED: usize = 1000;

pub(super) async fn list(State(api): State<Arc<TraceApi>>, url: UrlQuery) -> Answer {
    let page = api.store.list(&trace_query(&url)?).await.map_err(failure)?;
    answer(&TraceList {
        traces: page.traces.into_iter().map(Into::into).collect(),
        continuation_token: page.next,
        warning: page.damage.map(|damage| damage.warning()),
    })
}

fn trace_query(url: &UrlQuery) -> Result<TraceQuery, Failure> {
    url.check_names(&[
        "name",
        "type",
        "status",
        "from",
        "to",
        "minDuration",
        "maxDuration",
        "text",
        "attribute",
        "session",
        "limit",
        "continuationToken",
    ])?;
    let mut query = TraceQuery::default();
    query.limit = url.read("limit")?.unwrap_or(PAGE);
    query.after = url.owned("continuationToken");
    query.name = url.owned("name");
    query.kind = url.owned("type");
    query.status = url.text("status").map(status).transpose()?;
    query.started_from = url.read("from")?;
    query.started_before = url.read("to")?;
    query.min_duration = url.read("minDuration")?;
    query.max_duration = url.read("maxDuration")?;
    query.text = url.owned("text");
    query.labels = url.all("attribute").map(attribute).collect::<Result<_, _>>()?;
    query.session_id = url.owned("session");
    Ok(query)
}

fn status(name: &str) -> Result<TraceStatus, Status> {
    match name {
        "running" => Ok(TraceStatus::Running),
        "success" => Ok(TraceStatus::Success),
        "error" => Ok(TraceStatus::Error),
        _ => Err(Status::invalid_argument("`status` is running, success or error")),
    }
}

/// Names such as `genkitx:env` have colons, too.
fn attribute(pair: &str) -> Result<(String, String), Status> {
    let split = pair.split_once('=').or_else(|| pair.rsplit_once(':'));
    let (name, value) =
        split.ok_or_else(|| Status::invalid_argument("`attribute` is a name, `=` and a value"))?;
    Ok((name.to_owned(), value.to_owned()))
}

pub(super) async fn trace(State(api): State<Arc<TraceApi>>, Path(id): Path<String>) -> Answer {
    let trace = api.store.summary(&id).await.map_err(failure)?.ok_or_else(|| unknown(&id))?;
    let spans = api.store.spans(&id).await.map_err(failure)?;
    let spans = spans.into_iter().map(SpanInfo::new).collect::<Result<_, _>>();
    answer(&WholeTrace { trace: trace.into(), spans: spans.map_err(Status::from)? })
}

pub(super) async fn all_events(State(api): State<Arc<TraceApi>>) -> Response {
    follow::all_events(&api.store)
}

pub(super) async fn trace_events(
    State(api): State<Arc<TraceApi>>,
    Path(id): Path<String>,
) -> Response {
    follow::trace_events(&api.store, &id)
}

pub(super) async fn export(State(api): State<Arc<TraceApi>>, Path(id): Path<String>) -> Answer {
    let trace = api.store.export(&id).await.map_err(failure)?.ok_or_else(|| unknown(&id))?;
    Ok(file(&format!("trace-{id}"), trace))
}

pub(super) async fn export_session(State(api): State<Arc<TraceApi>>, url: UrlQuery) -> Answer {
    url.check_names(&["session"])?;
    let session = url.text("session").ok_or_else(|| {
        Status::invalid_argument("name the session: `?session=<id>`; a trace has its own path")
    })?;
    let mut query = TraceQuery::default();
    query.session_id = Some(session.to_owned());
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
    let body = format!(r#"{{"sessionId":{},"traces":[{traces}]}}"#, Value::from(session));
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
        true => answer(&json!({})),
        false => Err(unknown(&id).into()),
    }
}

pub(super) async fn clear(State(api): State<Arc<TraceApi>>) -> Answer {
    api.store.clear().await.map_err(failure)?;
    answer(&json!({}))
}

pub(super) async fn logs(State(api): State<Arc<TraceApi>>, url: UrlQuery) -> Answer {
    url.check_names(&[
        "traceId",
        "spanId",
        "minSeverity",
        "severity",
        "limit",
        "continuationToken",
    ])?;
    let mut query = LogQuery::default();
    query.limit = url.read("limit")?.unwrap_or(query.limit);
    query.after = url.owned("continuationToken");
    query.trace_id = url.owned("traceId");
    query.span_id = url.owned("spanId");
    query.min_severity = url.read("minSeverity")?;
    query.severity_text = url.owned("severity");
    let logs = tools::logs(&api.store, &query).await.map_err(failure)?;
    Ok(json_response(StatusCode::OK, logs))
}

fn unknown(id: &str) -> Status {
    Status::not_found(format!("there is no trace `{id}`"))
}
