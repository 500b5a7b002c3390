//! Responses: results and errors as JSON, and the head of a stream.

use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode as HttpStatus};
use oxikit_core::{OutgoingStatus, Payload, SpanId, Status, StatusCode, TraceId};
use oxikit_wire::{action_http, headers};
use serde::Serialize;
use serde_json::Value;

/// The header that names the trace of a run.
pub const TRACE_ID: HeaderName = HeaderName::from_static(headers::TRACE_ID);
/// The header that names the span of a run.
pub const SPAN_ID: HeaderName = HeaderName::from_static(headers::SPAN_ID);
/// The header that names a durable stream.
pub const STREAM_ID: HeaderName = HeaderName::from_static(headers::STREAM_ID);
/// `application/json`.
pub const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// `{"result": …}`. `guess` is the expected number of bytes, for the buffer.
///
/// # Errors
///
/// If the output cannot be written as JSON.
pub fn result(output: &Payload, guess: usize) -> Result<Response<Body>, Status> {
    let mut body = Vec::with_capacity(guess.clamp(128, 64 * 1024));
    body.extend_from_slice(action_http::RESULT_BODY.as_bytes());
    output.write_json(&mut body)?;
    body.push(b'}');
    Ok(json_response(HttpStatus::OK, body))
}

/// An error response: `{"code", "status", "message", "details"?}` with the HTTP status of
/// the code. Messages that are not public are replaced by the standard text of their code.
pub fn error(status: &Status) -> Response<Body> {
    with_hints(error_response(http_of(status), status.outgoing()), status)
}

/// Like [`error`], with an HTTP status that no code maps to, such as 405 or 413.
///
/// ```
/// use axum::http::StatusCode;
/// use oxikit_core::Status;
/// use oxikit_http::reply;
///
/// let status = Status::invalid_argument("this path takes GET, not PUT");
/// let response = reply::error_with(StatusCode::METHOD_NOT_ALLOWED, &status);
/// assert_eq!(response.status(), 405);
/// assert_eq!(response.headers()["content-type"], "application/json");
/// ```
pub fn error_with(http: HttpStatus, status: &Status) -> Response<Body> {
    error_response(http, status.outgoing())
}

pub(crate) fn http_of(status: &Status) -> HttpStatus {
    HttpStatus::from_u16(status.code().http()).unwrap_or(HttpStatus::INTERNAL_SERVER_ERROR)
}

/// Adds the headers that tell a client when to retry and how to authenticate.
pub(crate) fn with_hints(mut response: Response<Body>, status: &Status) -> Response<Body> {
    let challenge = status.challenge().and_then(|text| HeaderValue::from_str(text).ok());
    let challenge = match response.status() {
        // RFC 9110 asks for one. Browsers show no dialog for this scheme.
        HttpStatus::UNAUTHORIZED => challenge.or(Some(HeaderValue::from_static("Bearer"))),
        HttpStatus::FORBIDDEN => challenge,
        _ => None,
    };
    if let Some(challenge) = challenge {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    if let Some(delay) = status.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(delay.as_secs().max(1)));
    }
    response
}

/// The error response for a status whose message may leave the process.
pub(crate) fn error_response(http: HttpStatus, outgoing: OutgoingStatus) -> Response<Body> {
    /// Official servers leave `code` out, and clients ignore it.
    #[derive(Serialize)]
    struct ErrorBody {
        code: u16,
        status: &'static str,
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    }
    let OutgoingStatus { status: code, message, details } = outgoing;
    let body = ErrorBody { code: http.as_u16(), status: code.name(), message, details };
    let body = serde_json::to_vec(&body).unwrap_or_else(|_| b"{\"status\":\"INTERNAL\"}".to_vec());
    let mut response = json_response(http, body);
    // For the access log and the metrics: several codes share an HTTP status.
    response.extensions_mut().insert(code);
    response
}

/// Adds the headers with the trace and the span of a run, by which its trace is found.
pub fn name_run(response: &mut Response<Body>, (trace_id, span_id): (TraceId, SpanId)) {
    let headers = response.headers_mut();
    headers.insert(TRACE_ID, hex(&trace_id.to_string()));
    headers.insert(SPAN_ID, hex(&span_id.to_string()));
}

/// A response with this JSON text as its body.
pub fn json_response(http: HttpStatus, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = http;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// A stream of server-sent events. Its headers tell proxies not to cache or delay it.
pub fn stream_response(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// The header value of an id, which is hexadecimal and so always valid.
fn hex(id: &str) -> HeaderValue {
    HeaderValue::from_str(id).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// The status of requests that a server cannot finish because it shuts down.
pub fn shutting_down() -> Status {
    let status = Status::public(StatusCode::Unavailable, "the server is shutting down");
    status.with_retry_after(Duration::from_secs(1))
}

/// The status of requests beyond [`Limits::requests`](crate::Limits::requests).
pub fn busy() -> Status {
    let status = Status::public(StatusCode::Unavailable, "the server is busy, try later");
    status.with_retry_after(Duration::from_secs(1))
}
