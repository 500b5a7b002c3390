//! Traces in the developer tools' own API.

mod import;
mod queries;
mod reads;
mod shapes;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::routing::{delete, get, post};
use oxikit_core::{Status, StatusCode};
use oxikit_sql::{TraceError, TraceStore};
use oxikit_wire::trace::TraceData;

use crate::server::reply::{Done, Failure};
use crate::server::request::FollowQuery;
use crate::server::route::{self, Route, route};

/// What the routes work with.
#[derive(Debug)]
pub(crate) struct TraceApi {
    store: TraceStore,
    project: PathBuf,
}

/// All routes of [`trace_routes`], with their paths below `/api/v1`.
pub(crate) const TRACE_ROUTES: &[Route<Arc<TraceApi>>] = &[
    route("GET", "/traces", "listTraces", "Traces, newest first, by what is true of them", || {
        get(reads::list)
    })
    .query::<queries::TracesQuery>()
    .uses_store()
    .answers::<shapes::TraceList>(),
    route("DELETE", "/traces", "deleteTraces", "Removes all traces and log lines", || {
        delete(reads::clear)
    })
    .uses_store()
    .answers::<Done>(),
    route("GET", "/traces/events", "watchTraces", "Spans of all traces as they come", || {
        get(reads::all_events)
    })
    .query::<FollowQuery>()
    .streams::<shapes::TraceFeedEvent>(),
    route("GET", "/traces/export", "exportSession", "The traces of a session in one file", || {
        get(reads::export_session)
    })
    .query::<queries::SessionQuery>()
    .finds()
    .uses_store()
    .answers::<shapes::SessionExport>(),
    route(
        "POST",
        "/traces/import",
        "importTraces",
        "Takes over traces of the official tools",
        || post(import::import),
    )
    .takes::<import::ImportBody>()
    .finds()
    .uses_store()
    .answers::<import::ImportAnswer>(),
    route("GET", "/traces/{id}", "getTrace", "A trace with its spans", || get(reads::trace))
        .finds()
        .uses_store()
        .answers::<shapes::WholeTrace>(),
    route("DELETE", "/traces/{id}", "deleteTrace", "Removes a trace with its log lines", || {
        delete(reads::remove)
    })
    .finds()
    .uses_store()
    .answers::<Done>(),
    route(
        "GET",
        "/traces/{id}/events",
        "watchTrace",
        "A trace as it goes on, until its root has ended",
        || get(reads::trace_events),
    )
    .query::<FollowQuery>()
    .streams::<shapes::TraceFeedEvent>(),
    route(
        "GET",
        "/traces/{id}/export",
        "exportTrace",
        "A trace in a file, without its secrets",
        || get(reads::export),
    )
    .finds()
    .uses_store()
    .answers::<TraceData>(),
    route("GET", "/logs", "listLogs", "Log lines, newest first", || get(reads::logs))
        .query::<queries::LogsQuery>()
        .uses_store()
        .answers::<shapes::LogList>(),
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
    route::router(TRACE_ROUTES).with_state(api)
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
