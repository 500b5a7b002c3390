//! Trailers: the status of a response, which comes after its messages.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use oxikit_a2a_grpc as grpc;
use oxikit_core::{Status, StatusCode};
use oxikit_wire::a2a::A2aError;

const STATUS: HeaderName = HeaderName::from_static(grpc::header::STATUS);
const MESSAGE: HeaderName = HeaderName::from_static(grpc::header::MESSAGE);
const DETAILS: HeaderName = HeaderName::from_static(grpc::header::DETAILS);

/// The trailers of a response: its status, and the message of an error.
pub(super) fn trailers(code: StatusCode, error: Option<&str>) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert(STATUS, HeaderValue::from(u16::from(code.grpc())));
    let message = error.map(grpc::write_message);
    if let Some(message) = message.and_then(|message| HeaderValue::try_from(message).ok()) {
        trailers.insert(MESSAGE, message);
    }
    trailers
}

pub(super) fn ok_trailers() -> HeaderMap {
    trailers(StatusCode::Ok, None)
}

/// The trailers of an error of the protocol.
pub(super) fn error_trailers(error: &A2aError) -> HeaderMap {
    let mut trailers = trailers(error.kind.grpc_status(), Some(&error.to_string()));
    if let Ok(details) = HeaderValue::try_from(grpc::write_details(error)) {
        trailers.insert(DETAILS, details);
    }
    trailers
}

/// The trailers of a stream that the server ends before the task.
pub(super) fn status_trailers(status: &Status) -> HeaderMap {
    trailers(status.code(), Some(&status.outgoing().message))
}
