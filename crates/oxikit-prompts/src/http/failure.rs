//! Error responses in the form of Prompt Manager: `{"detail": …}`.

use axum::body::Body;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Response, StatusCode as HttpStatus};
use axum::response::IntoResponse;
use oxikit_core::ports::StoreError;
use oxikit_core::{Status, StatusCode};
use oxikit_http::HttpError;
use oxikit_http::reply::json_response;
use oxikit_wire::prompts::{Detail, ErrorCode, FieldError};
use serde_json::{Value, json};

use super::conversion::document_json;
use crate::PromptsError;

/// The error of a handler.
#[derive(Debug)]
pub(crate) struct Failure {
    http: HttpStatus,
    body: Box<Detail>,
    /// Whether a client may try again in a second.
    is_temporary: bool,
}

/// The result of a handler.
pub(crate) type Answer = Result<Response<Body>, Failure>;

impl Failure {
    /// An error with this text.
    pub(crate) fn new(http: HttpStatus, text: impl Into<String>) -> Self {
        Self::with(http, Value::String(text.into()))
    }

    /// 422 for a part of a request that is missing or cannot be read: `place` is where it is, such
    /// as `["body", "content"]`, `kind` is for programs.
    pub(crate) fn field(place: &[&str], text: impl Into<String>, kind: &str) -> Self {
        let loc = place.iter().map(|part| (*part).to_owned()).collect();
        let field = FieldError { loc, msg: text.into(), error_type: kind.to_owned() };
        Self::with(HttpStatus::UNPROCESSABLE_ENTITY, json!([field]))
    }

    /// 503: the server has no room, or shuts down.
    pub(crate) fn busy(text: &str) -> Self {
        Self { is_temporary: true, ..Self::new(HttpStatus::SERVICE_UNAVAILABLE, text) }
    }

    /// The same error with another HTTP status.
    pub(crate) fn answered_by(self, http: HttpStatus) -> Self {
        Self { http, ..self }
    }

    fn with(http: HttpStatus, detail: Value) -> Self {
        let body = Box::new(Detail { detail, candidates: None, document: None });
        Self { http, body, is_temporary: false }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response<Body> {
        let text =
            serde_json::to_vec(&*self.body).unwrap_or_else(|_| b"{\"detail\":\"\"}".to_vec());
        let mut response = json_response(self.http, text);
        // For the access log.
        response.extensions_mut().insert(code_of(self.http));
        if self.is_temporary {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.http == HttpStatus::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<PromptsError> for Failure {
    fn from(error: PromptsError) -> Self {
        let http = http_of(&error);
        let text = match &error {
            PromptsError::Store(StoreError::Invalid(_)) => error.to_string(),
            // What the database says is not for clients.
            PromptsError::Store(_) => {
                tracing::error!(%error, "a request failed");
                "the history could not be read or written; the log of the server has the reason"
                    .to_owned()
            }
            PromptsError::File(_) => {
                tracing::error!(%error, "a request failed");
                error.to_string()
            }
            _ => error.to_string(),
        };
        let mut failure = Self::new(http, text);
        failure.is_temporary = http == HttpStatus::SERVICE_UNAVAILABLE;
        match error {
            PromptsError::Ambiguous { candidates, .. } => {
                failure.body.candidates = Some(candidates)
            }
            PromptsError::Changed { document } | PromptsError::Conflict { document, .. } => {
                failure.body.document = Some(Box::new(document_json(&document)));
            }
            _ => {}
        }
        failure
    }
}

/// The code of an HTTP status, for the access log.
fn code_of(http: HttpStatus) -> StatusCode {
    match http.as_u16() {
        401 => StatusCode::Unauthenticated,
        403 => StatusCode::PermissionDenied,
        404 => StatusCode::NotFound,
        409 => StatusCode::Aborted,
        412 => StatusCode::FailedPrecondition,
        429 => StatusCode::ResourceExhausted,
        503 => StatusCode::Unavailable,
        400..500 => StatusCode::InvalidArgument,
        _ => StatusCode::Internal,
    }
}

fn http_of(error: &PromptsError) -> HttpStatus {
    match error {
        PromptsError::NotFound { .. }
        | PromptsError::NoRevision { .. }
        | PromptsError::NoDirectory(_) => HttpStatus::NOT_FOUND,
        PromptsError::Ambiguous { .. }
        | PromptsError::Exists(_)
        | PromptsError::Conflict { .. } => HttpStatus::CONFLICT,
        PromptsError::Reserved(_) | PromptsError::Invalid(_) => HttpStatus::BAD_REQUEST,
        PromptsError::TooLarge { .. } => HttpStatus::PAYLOAD_TOO_LARGE,
        PromptsError::ReadOnly => HttpStatus::FORBIDDEN,
        PromptsError::Changed { .. } => HttpStatus::PRECONDITION_FAILED,
        PromptsError::Store(StoreError::Unavailable(_)) | PromptsError::Closed => {
            HttpStatus::SERVICE_UNAVAILABLE
        }
        // Such as an id that is too long.
        PromptsError::Store(StoreError::Invalid(_)) => HttpStatus::BAD_REQUEST,
        PromptsError::Store(_) | PromptsError::File(_) => HttpStatus::INTERNAL_SERVER_ERROR,
        PromptsError::Repeated { code, .. } => repeated_http(*code),
    }
}

/// The status of the first answer to a change that was sent twice.
fn repeated_http(code: ErrorCode) -> HttpStatus {
    match code {
        ErrorCode::Conflict => HttpStatus::CONFLICT,
        ErrorCode::BadRequest => HttpStatus::BAD_REQUEST,
        ErrorCode::TooLarge => HttpStatus::PAYLOAD_TOO_LARGE,
        ErrorCode::NotFound => HttpStatus::NOT_FOUND,
        ErrorCode::ReadOnly | ErrorCode::Unauthorized => HttpStatus::FORBIDDEN,
        ErrorCode::Storage => HttpStatus::INTERNAL_SERVER_ERROR,
    }
}

impl From<HttpError> for Failure {
    fn from(error: HttpError) -> Self {
        let failure = Self::new(error.http(), error.status().outgoing().message);
        Self { is_temporary: error.status().retry_after().is_some(), ..failure }
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        if status.code() == StatusCode::Internal {
            tracing::error!(%status, "a request failed");
        }
        HttpError::from(status).into()
    }
}
