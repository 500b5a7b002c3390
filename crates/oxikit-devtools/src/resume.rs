//! Refuses requests to resume a stream.
//!
//! The tools do not record runs: a run belongs to the request that started it, and is cancelled
//! with it. So there is nothing to resume, and a request with a position must not start a second
//! run. A middleware refuses it before routing, so that this holds for every route.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Method, Response};
use axum::middleware::Next;
use oxikit_core::Status;
use oxikit_http::reply::error;
use oxikit_wire::headers;

/// The headers with a position in a stream: of server-sent events, of Genkit's durable streams,
/// and of oxikit.
const HEADERS: [&str; 3] = [headers::LAST_EVENT_ID, headers::STREAM_ID, headers::STREAM_POSITION];

/// The path of a POST that only reads, so that it may be repeated.
const READS: &str = "/api/streamTrace";

/// Middleware that answers 404 to a request with an effect and a position in a stream.
pub(crate) async fn refuse_resume(request: Request, next: Next) -> Response<Body> {
    let acts = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if acts
        && request.uri().path() != READS
        && let Some(header) = position(request.headers())
    {
        return error(&Status::not_found(format!(
            "there is no stream to go on with, and nothing was run: the developer tools do not \
             record runs. Send the request without `{header}` to run it once more"
        )));
    }
    next.run(request).await
}

/// The header that names a position in a stream.
fn position(headers: &HeaderMap) -> Option<&'static str> {
    HEADERS.into_iter().find(|name| headers.contains_key(*name))
}
