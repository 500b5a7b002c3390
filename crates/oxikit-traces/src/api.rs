//! The routes about traces of the developer tools' own API.

mod import;
mod preview;
mod queries;
mod reads;
mod shapes;

pub use shapes::TraceInfo;

use std::path::PathBuf;
use std::sync::Arc;

use crate::{TraceError, TraceStore};
use axum::Router;
use axum::routing::{delete, get, post};
use oxikit_core::{Status, StatusCode};
use oxikit_wire::trace::TraceData;

use oxikit_http::HttpError;
use oxikit_http::api::Done;
use oxikit_http::api::FollowQuery;
use oxikit_http::api::{Route, route, router as api_router};

/// The state of these routes: the store, and the folder of the project for imports.
#[derive(Debug)]
pub struct TraceApi {
    store: TraceStore,
    project: PathBuf,
}

/// The table of [`trace_routes`], with paths below `/api/v1`: for the OpenAPI document and for
/// tests that call every route.
pub const TRACE_ROUTES: &[Route<Arc<TraceApi>>] = &[
    route("GET", "/traces", "listTraces", "Traces that match the query, newest first", || {
        get(reads::list)
    })
    .query::<queries::TracesQuery>()
    .uses_store()
    .answers::<shapes::TraceList>(),
    route("DELETE", "/traces", "deleteTraces", "Deletes all traces and log lines", || {
        delete(reads::clear)
    })
    .uses_store()
    .answers::<Done>(),
    route("GET", "/traces/events", "watchTraces", "Spans of all traces as they arrive", || {
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
    route("POST", "/traces/import", "importTraces", "Imports traces of the official tools", || {
        post(import::import)
    })
    .takes::<import::ImportBody>()
    .finds()
    .uses_store()
    .answers::<import::ImportAnswer>(),
    route("GET", "/traces/{id}", "getTrace", "A trace with its spans", || get(reads::trace))
        .finds()
        .uses_store()
        .answers::<shapes::WholeTrace>(),
    route("DELETE", "/traces/{id}", "deleteTrace", "Deletes a trace with its log lines", || {
        delete(reads::remove)
    })
    .finds()
    .uses_store()
    .answers::<Done>(),
    route(
        "GET",
        "/traces/{id}/events",
        "watchTrace",
        "A trace and its spans as they arrive, until its root span has ended",
        || get(reads::trace_events),
    )
    .query::<FollowQuery>()
    .streams::<shapes::TraceFeedEvent>(),
    route(
        "GET",
        "/traces/{id}/export",
        "exportTrace",
        "A trace as a file, without its secrets",
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

/// The router of traces and log lines, to be served below `/api/v1` and behind its checks of
/// sender and token.
///
/// ```
/// use oxikit_traces::TraceStore;
/// use oxikit_traces::trace_routes;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// # let (path, project) = (dir.path().join("traces.db"), dir.path());
/// let api = axum::Router::new().nest("/api/v1", trace_routes(TraceStore::open(path)?, project));
/// # let _: axum::Router = api;
/// # Ok(()) }
/// ```
///
/// All responses are JSON; errors are `{"code", "status", "message"}`. Times are
/// milliseconds since 1970.
///
/// `GET /traces` returns `{"traces": [summary…], "continuationToken"?, "warning"?}`; the
/// warning names traces that cannot be read, because the file is damaged. A summary has
/// `traceId`, `name`, `type`?, `status` (`running`, `success` or `error`), `startTime`,
/// `endTime`?, `duration`?, `sessionId`?, `rootSpanId`, `spans`, `droppedSpans` and
/// `usage`: `inputTokens`, `outputTokens`, `totalTokens`, `cost`?. It takes `name`,
/// `type`, `status`, `from` and `to` (of the start), `minDuration`, `maxDuration`,
/// `text` (words that occur in one span; `word*` for a prefix), `session`,
/// `attribute` (`name=value`, or `name:value` with the last colon between them; may be
/// repeated), `limit` (20) and `continuationToken`.
///
/// `GET /traces/{id}` returns `{"trace": summary, "spans": [{"spanId", "usage"?,
/// "span"}…]}` in the order of their arrival, `span` as the runtime has sent it.
///
/// `GET /traces/events` is a stream of `data:` lines with `{"type": "span_start" |
/// "span_end", "traceId", "span"}`, and `{"type": "lagged", "missed"}` for a reader that
/// was too slow. It has no history, so it cannot be resumed. `GET /traces/{id}/events` begins
/// with `{"type": "trace", "trace"}`, the stored part of the trace, sends it again after a gap,
/// and ends with `{"type": "end"}`.
///
/// `GET /traces/{id}/export` is the trace as a file in Genkit's own form, without values that
/// look like secrets; `GET /traces/export?session=` is `{"sessionId", "traces"}`.
/// `POST /traces/import` takes `{"path"?}`, a folder of the official tools below the
/// project (the default is `.genkit`), and returns `{"imported", "skipped":
/// [{"file", "reason"}]}`.
///
/// `GET /logs` returns `{"logs": […], "continuationToken"?}` and takes `traceId`,
/// `spanId`, `minSeverity` (a number), `severity` (a word), `limit` (100) and
/// `continuationToken`.
pub fn trace_routes(store: TraceStore, project: impl Into<PathBuf>) -> Router {
    let api = Arc::new(TraceApi { store, project: project.into() });
    api_router(TRACE_ROUTES).with_state(api)
}

/// Converts an error of the store into an error response.
///
/// ```
/// use oxikit_traces::{TraceError, trace_failure};
///
/// # fn example(error: TraceError) -> axum::response::Response {
/// use axum::response::IntoResponse;
///
/// trace_failure(error).into_response()
/// # }
/// ```
pub fn failure(error: TraceError) -> HttpError {
    status(error).into()
}

/// Converts an error of the store into a status. Messages about the request, damage and a deleted
/// file are public; others are replaced by the standard text of their code.
///
/// ```
/// use oxikit_core::StatusCode;
/// use oxikit_traces::{TraceError, trace_status};
///
/// let status = trace_status(TraceError::Query("the limit is not a number".to_owned()));
/// assert_eq!(status.code(), StatusCode::InvalidArgument);
/// ```
pub fn status(error: TraceError) -> Status {
    match error {
        TraceError::Post(_) | TraceError::Query(_) => Status::invalid_argument(error.to_string()),
        TraceError::Damaged(text) => Status::public(StatusCode::DataLoss, text),
        TraceError::Gone => Status::public(StatusCode::Unavailable, error.to_string()),
        TraceError::Store(error) => error.into(),
        error => Status::internal("the traces cannot be read").caused_by(error),
    }
}
