//! The port that runtimes send to.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::routing::{get, post};
use oxikit_core::StatusCode as Code;
use oxikit_sql::TraceStore;

use super::answer::Refused;
use super::port::{PortState, TelemetryPort};
use super::{TelemetryOptions, official, otlp};
use crate::manager::Token;

/// All that is served where runtimes send their spans and log lines.
///
/// `http://127.0.0.1:<port>/t/<token>` is what a runtime finds in
/// `GENKIT_TELEMETRY_SERVER`. Below it:
///
/// | request | answer |
/// | --- | --- |
/// | `POST /api/traces` | stores a trace in Genkit's own form, or a list of them: `OK` |
/// | `POST /api/otlp`, `/api/otlp/v1/{traces,logs}` | stores OTLP, JSON or protobuf |
/// | `POST /api/otlp/v1/metrics` | taken and ignored |
/// | `POST /api/otlp/{traceId}/{spanId}[/v1/…]` | the same below a span that is known |
/// | `GET /api/__health` | `OK` |
/// | `GET /api/traces?limit=&continuationToken=&filter=` | newest first, only the roots |
/// | `GET /api/traces/{id}` | the whole trace; nothing if there is none |
/// | `GET /api/traces/{id}/stream` | the trace and its spans as they come, as SSE |
/// | `GET /api/logs`, `/api/traces/{id}/logs`, `/api/traces/{id}/spans/{id}/logs` | log lines |
///
/// The posts are also taken without `/t/<token>`, from programs of this machine, unless
/// [`strict`](TelemetryOptions::strict): such spans and lines have the attribute
/// `oxikit:unverified` and never replace others. Those of the application that the tools
/// have started, and of runtimes that have registered, count as if they came with the
/// token, where the system tells whose a connection is (Linux). Pages are always refused.
pub fn telemetry_routes(store: TraceStore, token: Token, options: TelemetryOptions) -> Router {
    let port = telemetry_port(store, token, options);
    Router::new().fallback(move |request: Request| {
        let port = port.clone();
        async move { port.answer(request).await }
    })
}

/// The same, to be called without a router around it.
pub(crate) fn telemetry_port(
    store: TraceStore,
    token: Token,
    options: TelemetryOptions,
) -> TelemetryPort {
    let state = Arc::new(PortState::new(store, token, options));
    let refusing =
        |routes: Router<_>| routes.fallback(nothing_here).method_not_allowed_fallback(wrong_method);
    TelemetryPort::new(state, refusing(posts().merge(reads())), refusing(posts()))
}

fn posts() -> Router<Arc<PortState>> {
    Router::new()
        .route("/api/traces/", post(official::add_trace))
        .route("/api/traces", post(official::add_trace))
        .route("/api/otlp", post(otlp::add_spans))
        .route("/api/otlp/v1/traces", post(otlp::add_spans))
        .route("/api/otlp/v1/logs", post(otlp::add_logs))
        .route("/api/otlp/v1/metrics", post(otlp::ignore))
        .route("/api/otlp/{parent_trace}/{parent_span}", post(otlp::add_spans))
        .route("/api/otlp/{parent_trace}/{parent_span}/v1/traces", post(otlp::add_spans))
        .route("/api/otlp/{parent_trace}/{parent_span}/v1/logs", post(otlp::add_logs))
        .route("/api/otlp/{parent_trace}/{parent_span}/v1/metrics", post(otlp::ignore))
}

fn reads() -> Router<Arc<PortState>> {
    Router::new()
        .route("/api/__health", get(official::health))
        .route("/api/traces", get(official::list))
        .route("/api/traces/{id}", get(official::trace))
        .route("/api/traces/{id}/stream", get(official::stream))
        .route("/api/traces/{id}/logs", get(official::logs))
        .route("/api/traces/{id}/spans/{span}/logs", get(official::logs))
        .route("/api/logs", get(official::logs))
}

async fn nothing_here() -> Refused {
    Refused::not_found("there is nothing at this path")
}

async fn wrong_method() -> Refused {
    let message = "this path has another method";
    Refused::new(StatusCode::METHOD_NOT_ALLOWED, Code::Unimplemented, message)
}
