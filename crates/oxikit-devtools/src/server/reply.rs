//! Answers of the API: JSON, and errors that say what to do.

use axum::body::Body;
use axum::http::{Response, StatusCode as HttpStatus};
use axum::response::IntoResponse;
use oxikit_core::{Status, StatusCode};
use oxikit_serve::inside::{Refusal, error, error_with, json_response};
use oxikit_wire::rpc::ErrorData;
use schemars::JsonSchema;
use serde::Serialize;

/// What a route answers.
pub(crate) type Answer = Result<Response<Body>, Failure>;

/// Why a route answers with an error.
#[derive(Debug)]
pub(crate) struct Failure {
    /// If it is another than that of the code.
    http: Option<HttpStatus>,
    status: Status,
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response<Body> {
        match self.http {
            Some(http) => error_with(http, &self.status),
            None => error(&self.status),
        }
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self { http: None, status }
    }
}

impl From<Refusal> for Failure {
    fn from((http, status): Refusal) -> Self {
        Self { http: Some(http), status }
    }
}

impl From<ErrorData> for Failure {
    fn from(error: ErrorData) -> Self {
        status_of(error).into()
    }
}

/// What a runtime, or the manager for it, says of a failure.
pub(crate) fn status_of(error: ErrorData) -> Status {
    let code = error.code.and_then(StatusCode::from_grpc).unwrap_or(StatusCode::Unknown);
    let message = error.message.unwrap_or_else(|| code.standard_message().to_owned());
    Status::public(code, message)
}

/// It is done, and there is nothing to say of it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Done {}

/// A value as JSON.
pub(crate) fn json(value: &impl Serialize) -> Answer {
    let body = serde_json::to_vec(value).map_err(Status::from)?;
    Ok(json_response(HttpStatus::OK, body))
}
