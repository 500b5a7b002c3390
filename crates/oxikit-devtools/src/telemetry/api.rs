//! Traces in the developer tools' own API.

mod import;
mod reads;
mod shapes;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::routing::{MethodRouter, delete, get, post};
use oxikit_core::{Status, StatusCode};
use oxikit_sql::{TraceError, TraceStore};

use crate::server::reply::Failure;

/// What the routes work with.
#[derive(Debug)]
struct TraceApi {
    store: TraceStore,
    project: PathBuf,
}

/// A route of the API: its method, its path below `/api/v1`, and what it does.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct TraceRoute {
    /// Such as `GET`.
    pub method: &'static str,
    /// Such as `/traces/{id}`.
    pub path: &'static str,
    /// In a line.
    pub summary: &'static str,
    handler: fn() -> MethodRouter<Arc<TraceApi>>,
}

const fn route(
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    handler: fn() -> MethodRouter<Arc<TraceApi>>,
) -> TraceRoute {
    TraceRoute { method, path, summary, handler }
}

/// All routes of [`trace_routes`].
pub const TRACE_ROUTES: &[TraceRoute] = &[
    route("GET", "/traces", "Traces, newest first, by what is true of them", || get(reads::list)),
    route("DELETE", "/traces", "Removes all traces and log lines", || delete(reads::clear)),
    route("GET", "/traces/events", "Spans of all traces as they come", || get(reads::all_events)),
    route("GET", "/traces/export", "The traces of a session in one file", || {
        get(reads::export_session)
    }),
    route("POST", "/traces/import", "Takes over traces of the official tools", || {
        post(import::import)
    }),
    route("GET", "/traces/{id}", "A trace with its spans", || get(reads::trace)),
    route("DELETE", "/traces/{id}", "Removes a trace with its log lines", || delete(reads::remove)),
    route("GET", "/traces/{id}/events", "A trace as it goes on, until its root has ended", || {
        get(reads::trace_events)
    }),
    route("GET", "/traces/{id}/export", "A trace in a file, without its secrets", || {
        get(reads::export)
    }),
    route("GET", "/logs", "Log lines, newest first", || get(reads::logs)),
];

/// Traces and log lines, to be served below `/api/v1` and behind its gates.
///
/// All answers are JSON; errors are `{"code", "status", "message"}`. Times are
/// milliseconds since 1970.
///
/// `GET /traces` answers `{"traces": [summary…], "continuationToken"?, "warning"?}`; the
/// warning names traces that cannot be read, because the file is damaged. A summary has
/// `traceId`, `name`, `type`?, `status` (`running`, `success` or `error`), `startTime`,
/// `endTime`?, `duration`?, `sessionId`?, `rootSpanId`, `spans`, `droppedSpans` and
/// `usage`: `inputTokens`, `outputTokens`, `totalTokens`, `cost`?. It takes `name`,
/// `type`, `status`, `from` and `to` (of the start), `minDuration`, `maxDuration`,
/// `text` (words that stand in one span; `word*` for a beginning), `session`,
/// `attribute` (`name=value`, or `name:value` with the last colon between them; may be
/// repeated), `limit` (20) and `continuationToken`.
///
/// `GET /traces/{id}` answers `{"trace": summary, "spans": [{"spanId", "usage"?,
/// "span"}…]}` in the order of their arrival, `span` as the runtime has sent it.
///
/// `GET /traces/events` is a stream of `data:` lines with `{"type": "span_start" |
/// "span_end", "traceId", "span"}`, and `{"type": "lagged", "missed"}` for a reader that
/// was too slow. It begins with what happens now: there is nothing to go on from.
/// `GET /traces/{id}/events` begins with `{"type": "trace", "trace"}` as far as it is
/// known, tells it again after a gap, and ends with `{"type": "end"}`.
///
/// `GET /traces/{id}/export` is the trace as a file in Genkit's own form without what
/// looks like a secret; `GET /traces/export?session=` is `{"sessionId", "traces"}`.
/// `POST /traces/import` takes `{"path"?}`, a folder of the official tools below the
/// project, `.genkit` if nothing else is said, and answers `{"imported", "skipped":
/// [{"file", "reason"}]}`.
///
/// `GET /logs` answers `{"logs": […], "continuationToken"?}` and takes `traceId`,
/// `spanId`, `minSeverity` (a number), `severity` (a word), `limit` (100) and
/// `continuationToken`.
pub fn trace_routes(store: TraceStore, project: impl Into<PathBuf>) -> Router {
    let api = Arc::new(TraceApi { store, project: project.into() });
    let add = |router: Router<Arc<TraceApi>>, route: &TraceRoute| {
        router.route(route.path, (route.handler)())
    };
    TRACE_ROUTES.iter().fold(Router::new(), add).with_state(api)
}

/// What of an error may be told.
pub(crate) fn failure(error: TraceError) -> Failure {
    status(error).into()
}

/// The same as a status.
pub(crate) fn status(error: TraceError) -> Status {
    match error {
        TraceError::Post(_) | TraceError::Query(_) => Status::invalid_argument(error.to_string()),
        TraceError::Damaged(text) => Status::public(StatusCode::DataLoss, text),
        TraceError::Gone => Status::public(StatusCode::Unavailable, error.to_string()),
        TraceError::Store(error) => error.into(),
        error => Status::internal("the traces cannot be read").caused_by(error),
    }
}
