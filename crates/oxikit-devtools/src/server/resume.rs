//! Readers that want to go on with a stream.
//!
//! The tools record no runs: a run belongs to the request that started it, and stops
//! with it. So there is nothing to go on with, and a request that names a position must
//! not be taken for one that starts a run. It is refused before any route sees it, also
//! at routes that will be added.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Method, Response};
use axum::middleware::Next;
use oxikit_core::Status;
use oxikit_serve::inside::error;

/// The headers by which readers come back: of SSE, of Genkit's durable streams, and
/// of our own.
const HEADERS: [&str; 3] = ["last-event-id", "x-genkit-stream-id", "x-oxikit-stream-position"];

/// A POST that only reads, so that it may be sent again.
const READS: &str = "/api/streamTrace";

/// Refuses what would otherwise do its work a second time.
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
