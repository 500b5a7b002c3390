//! Refuses requests to resume a stream.
//!
//! The tools do not record runs: a run belongs to the request that started it, and is cancelled
//! with it. So there is nothing to resume, and a request with a position must not start a second
//! run. It is refused before routing, so that this holds for every route.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, Method, Request, Response};
use oxikit_core::Status;
use oxikit_http::reply::error;
use oxikit_wire::headers;

/// The headers with a position in a stream: of server-sent events, of Genkit's durable streams,
/// and of oxikit.
static HEADERS: [HeaderName; 3] = [
    HeaderName::from_static(headers::LAST_EVENT_ID),
    HeaderName::from_static(headers::STREAM_ID),
    HeaderName::from_static(headers::STREAM_POSITION),
];

/// The path of a POST that only reads, so that it may be repeated.
const READS: &str = "/api/streamTrace";

/// Makes the response 404 to a request with an effect and a position in a stream. Boxed: it is rare
/// and large.
pub(crate) fn refuse_resume<B>(request: &Request<B>) -> Result<(), Box<Response<Body>>> {
    let acts = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if acts
        && request.uri().path() != READS
        && let Some(header) = position(request.headers())
    {
        return Err(Box::new(error(&Status::not_found(format!(
            "there is no stream to go on with, and nothing was run: the developer tools do not \
             record runs. Send the request without `{header}` to run it once more"
        )))));
    }
    Ok(())
}

/// The header that names a position in a stream.
fn position(headers: &HeaderMap) -> Option<&'static HeaderName> {
    HEADERS.iter().find(|name| headers.contains_key(*name))
}
