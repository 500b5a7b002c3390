//! Answers in the protocol's form: results and errors as JSON.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode as HttpStatus};
use oxikit_core::ports::StoreError;
use oxikit_core::{OutgoingStatus, Payload, Registry, SpanId, Status, TraceId};
use serde::Serialize;
use serde_json::Value;

use crate::request::Refusal;

/// Where an answer names its trace.
pub const TRACE_ID: HeaderName = HeaderName::from_static("x-genkit-trace-id");
pub(crate) const SPAN_ID: HeaderName = HeaderName::from_static("x-genkit-span-id");
pub(crate) const STREAM_ID: HeaderName = HeaderName::from_static("x-genkit-stream-id");
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// `{"result": …}`; `guess` is how long it may become.
pub(crate) fn result(output: &Payload, guess: usize) -> Result<Response<Body>, Status> {
    let mut body = Vec::with_capacity(guess.clamp(128, 64 * 1024));
    body.extend_from_slice(b"{\"result\":");
    output.write_json(&mut body)?;
    body.push(b'}');
    Ok(json_response(HttpStatus::OK, body))
}

/// The error body of the protocol, with the HTTP status of the code.
pub fn error(status: &Status) -> Response<Body> {
    with_hints(error_response(http_of(status), status.outgoing()), status)
}

/// The same with another HTTP status, such as 405 or 413, that no code maps to.
pub fn error_with(http: HttpStatus, status: &Status) -> Response<Body> {
    error_response(http, status.outgoing())
}

/// A request that failed, before it is reported and answered.
pub(crate) struct Failed {
    /// The HTTP status, if it is another than that of the code.
    http: Option<HttpStatus>,
    status: Status,
    /// The run that failed, if one had begun.
    run: Option<(TraceId, SpanId)>,
}

impl Failed {
    /// It failed while this ran.
    pub(crate) fn of_run(self, run: (TraceId, SpanId)) -> Self {
        Self { run: Some(run), ..self }
    }

    /// Logs the failure of this action, and answers it.
    pub(crate) fn report(self, registry: &Registry, action: &str) -> Response<Body> {
        let Self { http, status, run } = self;
        let outgoing = registry.report_failure(action, run.map(|(trace_id, _)| trace_id), &status);
        let mut response = match http {
            Some(http) => error_response(http, outgoing),
            None => with_hints(error_response(http_of(&status), outgoing), &status),
        };
        if let Some(run) = run {
            name_run(&mut response, run);
        }
        response
    }
}

impl From<Status> for Failed {
    fn from(status: Status) -> Self {
        Self { http: None, status, run: None }
    }
}

impl From<Refusal> for Failed {
    fn from((http, status): Refusal) -> Self {
        Self { http: Some(http), status, run: None }
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Status::from(error).into()
    }
}

fn http_of(status: &Status) -> HttpStatus {
    HttpStatus::from_u16(status.code().http()).unwrap_or(HttpStatus::INTERNAL_SERVER_ERROR)
}

/// Headers that tell a client how to do better.
fn with_hints(mut response: Response<Body>, status: &Status) -> Response<Body> {
    if response.status() == HttpStatus::UNAUTHORIZED {
        // RFC 9110 asks for it. Browsers show no dialog for this scheme.
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if let Some(delay) = status.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(delay.as_secs().max(1)));
    }
    response
}

fn error_response(http: HttpStatus, outgoing: OutgoingStatus) -> Response<Body> {
    /// The seed's members; official servers leave `code` out, clients ignore it.
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

/// Names the run, so that its trace is found.
pub(crate) fn name_run(response: &mut Response<Body>, (trace_id, span_id): (TraceId, SpanId)) {
    let headers = response.headers_mut();
    headers.insert(TRACE_ID, hex(&trace_id.to_string()));
    headers.insert(SPAN_ID, hex(&span_id.to_string()));
}

/// A body that is JSON.
pub fn json_response(http: HttpStatus, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = http;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// The head of a stream. Nobody on the way may keep or hold back what is sent.
pub fn stream_response(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

fn hex(id: &str) -> HeaderValue {
    HeaderValue::from_str(id).unwrap_or_else(|_| HeaderValue::from_static(""))
}
