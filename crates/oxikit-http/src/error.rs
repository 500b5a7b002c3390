//! The error type of handlers.

use axum::body::Body;
use axum::http::{Response, StatusCode as HttpStatus};
use axum::response::IntoResponse;
use oxikit_core::ports::StoreError;
use oxikit_core::{Registry, SpanId, Status, TraceId};
use oxikit_wire::rpc::ErrorData;

use crate::reply::{error, error_response, error_with, http_of, name_run, with_hints};

/// The error of a handler: a [`Status`], and the HTTP status if it differs from that of the
/// code, such as 405 or 413.
///
/// `?` converts a [`Status`], a [`StoreError`] or the [`ErrorData`] of a runtime into it. It
/// implements [`IntoResponse`].
///
/// ```
/// use axum::http::StatusCode;
/// use oxikit_core::Status;
/// use oxikit_http::HttpError;
///
/// let missing = HttpError::from(Status::not_found("there is no flow `greet`"));
/// assert_eq!(missing.http(), StatusCode::NOT_FOUND);
/// ```
#[derive(Debug)]
pub struct HttpError {
    http: Option<HttpStatus>,
    status: Status,
    /// The run that failed, if one had begun.
    run: Option<(TraceId, SpanId)>,
}

/// The result of a handler.
pub type HttpResult<T = Response<Body>> = Result<T, HttpError>;

impl HttpError {
    /// An error with an HTTP status that no code maps to.
    pub fn new(http: HttpStatus, status: Status) -> Self {
        Self { http: Some(http), status, run: None }
    }

    /// Adds the run that failed: the response names it in its headers.
    #[must_use]
    pub fn of_run(self, run: (TraceId, SpanId)) -> Self {
        Self { run: Some(run), ..self }
    }

    /// The status, without the HTTP status.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// The HTTP status of the response.
    pub fn http(&self) -> HttpStatus {
        self.http.unwrap_or_else(|| http_of(&self.status))
    }

    /// Logs this as a failure of an action, and makes the response to it.
    pub fn report(self, registry: &Registry, action: &str) -> Response<Body> {
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

impl IntoResponse for HttpError {
    fn into_response(self) -> Response<Body> {
        match self.http {
            Some(http) => error_with(http, &self.status),
            None => error(&self.status),
        }
    }
}

impl From<Status> for HttpError {
    fn from(status: Status) -> Self {
        Self { http: None, status, run: None }
    }
}

impl From<StoreError> for HttpError {
    fn from(error: StoreError) -> Self {
        Status::from(error).into()
    }
}

impl From<ErrorData> for HttpError {
    fn from(error: ErrorData) -> Self {
        Status::from(error).into()
    }
}
