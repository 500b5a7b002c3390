//! The routes of the port to which runtimes send their spans and log lines.

use std::sync::Arc;

use crate::TraceStore;
use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::routing::{MethodRouter, get, post};
use oxikit_core::StatusCode as Code;

use super::answer::Refused;
use super::otlp::{Logs, Spans};
use super::port::{PortState, TelemetryPort};
use super::{TelemetryOptions, official, otlp};
use oxikit_http::Token;

/// The router of the port to which runtimes send their spans and log lines.
///
/// A runtime reads `http://127.0.0.1:<port>/t/<token>` from `GENKIT_TELEMETRY_SERVER`. Below it:
///
/// | request | answer |
/// | --- | --- |
/// | `POST /api/traces` | stores a trace in Genkit's own form, or a list of them: `OK` |
/// | `POST /api/otlp`, `/api/otlp/v1/{traces,logs}` | stores OTLP, JSON or protobuf |
/// | `POST /api/otlp/v1/metrics` | accepted and ignored |
/// | `POST /api/otlp/{traceId}/{spanId}[/v1/…]` | stores OTLP below this span |
/// | `GET /api/__health` | `OK` |
/// | `GET /api/traces?limit=&continuationToken=&filter=` | traces with their root spans only, newest first |
/// | `GET /api/traces/{id}` | the whole trace; an empty body if there is none |
/// | `GET /api/traces/{id}/stream` | the trace, then its spans as they arrive, as server-sent events |
/// | `GET /api/logs`, `/api/traces/{id}/logs`, `/api/traces/{id}/spans/{id}/logs` | log lines |
///
/// Posts without `/t/<token>` are accepted from programs of this machine, unless
/// [`strict`](TelemetryOptions::strict) is set: such spans and lines get the attribute
/// `oxikit:unverified` and never replace verified ones. The application that the tools have
/// started, and runtimes that have registered, are treated as if they had sent the token, where
/// the system reports the process of a connection (Linux). Web pages are always refused.
///
/// ```
/// use oxikit_http::Token;
/// use oxikit_traces::TraceStore;
/// use oxikit_traces::{TelemetryOptions, telemetry_routes};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("traces.db");
/// let store = TraceStore::open(path)?;
/// let router = telemetry_routes(store, Token::random(), TelemetryOptions::default());
/// # _ = router;
/// # Ok(()) }
/// ```
pub fn telemetry_routes(store: TraceStore, token: Token, options: TelemetryOptions) -> Router {
    let port = telemetry_port(store, token, options);
    Router::new().fallback(move |request: Request| {
        let port = port.clone();
        async move { port.answer(request).await }
    })
}

/// The same routes as a service that a server calls directly, without a router around it. Large
/// posts are handled on the tokio runtime in which this is called.
pub fn telemetry_port(store: TraceStore, token: Token, options: TelemetryOptions) -> TelemetryPort {
    let state = Arc::new(PortState::new(store, token, options));
    let refusing =
        |routes: Router<_>| routes.fallback(nothing_here).method_not_allowed_fallback(wrong_method);
    let all = routes(posts()).merge(routes(reads()));
    TelemetryPort::new(state, refusing(all), refusing(routes(posts())))
}

/// Method and path of every route, for tests that call all of them.
#[doc(hidden)]
pub fn telemetry_route_table() -> Vec<(&'static str, &'static str)> {
    let posts = posts().map(|(path, _)| ("POST", path));
    posts.into_iter().chain(reads().map(|(path, _)| ("GET", path))).collect()
}

/// A router of this table.
fn routes(
    table: impl IntoIterator<Item = (&'static str, MethodRouter<Arc<PortState>>)>,
) -> Router<Arc<PortState>> {
    table.into_iter().fold(Router::new(), |routes, (path, handler)| routes.route(path, handler))
}

/// The routes that need no token. Runtimes of all versions use them, with and without a trailing
/// slash.
fn posts() -> [(&'static str, MethodRouter<Arc<PortState>>); 10] {
    [
        ("/api/traces/", post(official::add_trace)),
        ("/api/traces", post(official::add_trace)),
        ("/api/otlp", post(otlp::add::<Spans>)),
        ("/api/otlp/v1/traces", post(otlp::add::<Spans>)),
        ("/api/otlp/v1/logs", post(otlp::add::<Logs>)),
        ("/api/otlp/v1/metrics", post(otlp::ignore)),
        ("/api/otlp/{parent_trace}/{parent_span}", post(otlp::add::<Spans>)),
        ("/api/otlp/{parent_trace}/{parent_span}/v1/traces", post(otlp::add::<Spans>)),
        ("/api/otlp/{parent_trace}/{parent_span}/v1/logs", post(otlp::add::<Logs>)),
        ("/api/otlp/{parent_trace}/{parent_span}/v1/metrics", post(otlp::ignore)),
    ]
}

/// The routes that need the token.
fn reads() -> [(&'static str, MethodRouter<Arc<PortState>>); 7] {
    [
        ("/api/__health", get(official::health)),
        ("/api/traces", get(official::list)),
        ("/api/traces/{id}", get(official::trace)),
        ("/api/traces/{id}/stream", get(official::stream)),
        ("/api/traces/{id}/logs", get(official::logs)),
        ("/api/traces/{id}/spans/{span}/logs", get(official::logs)),
        ("/api/logs", get(official::logs)),
    ]
}

/// The response to an unknown path.
async fn nothing_here() -> Refused {
    Refused::not_found("there is nothing at this path")
}

/// The response to a known path with another method.
async fn wrong_method() -> Refused {
    let message = "this path has another method";
    Refused::new(StatusCode::METHOD_NOT_ALLOWED, Code::Unimplemented, message)
}
