//! Extractors of posted bodies: checks of the content type, the size and the time.
//!
//! They run before a body is parsed, so that a client cannot make the port hold a large or slow
//! body in memory.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Bytes, to_bytes};
use axum::extract::{FromRequest, Request};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use http_body_util::LengthLimitError;
use oxikit_core::StatusCode as Code;

use super::answer::{PROTOBUF, Refused};
use super::port::PortState;

/// Time to send a body, to which [`MEBIBYTE_TIME`] is added for each MiB of the maximum size. A
/// slower body is answered with 408.
const BODY_TIME: Duration = Duration::from_secs(30);
/// Additional time for each MiB.
const MEBIBYTE_TIME: Duration = Duration::from_secs(1);

/// A JSON body.
#[derive(Debug)]
pub(super) struct JsonPost(pub(super) Bytes);

/// A body of OTLP: JSON or protobuf.
#[derive(Debug)]
pub(super) struct OtlpPost {
    pub(super) form: Form,
    pub(super) bytes: Bytes,
}

/// The form of an OTLP body. The response has the same form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Protobuf,
}

impl FromRequest<Arc<PortState>> for JsonPost {
    type Rejection = Refused;

    async fn from_request(request: Request, state: &Arc<PortState>) -> Result<Self, Refused> {
        match form_of(request.headers())? {
            Form::Json => read(request, state.options.max_body).await.map(Self),
            Form::Protobuf => Err(Refused::unsupported("the body must be `application/json`")),
        }
    }
}

impl FromRequest<Arc<PortState>> for OtlpPost {
    type Rejection = Refused;

    async fn from_request(request: Request, state: &Arc<PortState>) -> Result<Self, Refused> {
        let form = form_of(request.headers())?;
        Ok(Self { form, bytes: read(request, state.options.max_body).await? })
    }
}

/// The form that the headers name. Compressed bodies are refused: a small one could expand to any
/// size.
fn form_of(headers: &HeaderMap) -> Result<Form, Refused> {
    let is_plain = |encoding: &axum::http::HeaderValue| encoding == "identity";
    if !headers.get_all(CONTENT_ENCODING).iter().all(is_plain) {
        return Err(Refused::unsupported("compressed bodies are not read; send it as it is"));
    }
    let name = headers.get(CONTENT_TYPE).and_then(|name| name.to_str().ok()).unwrap_or_default();
    let name = name.split(';').next().unwrap_or_default().trim();
    if name.eq_ignore_ascii_case("application/json") {
        Ok(Form::Json)
    } else if name.eq_ignore_ascii_case(PROTOBUF) {
        Ok(Form::Protobuf)
    } else {
        Err(Refused::unsupported("the content type must be `application/json`"))
    }
}

/// Reads the body, up to `max` bytes and for a limited time.
async fn read(request: Request, max: usize) -> Result<Bytes, Refused> {
    let too_large = || {
        let message = format!("the body has more than {max} bytes");
        Refused::new(StatusCode::PAYLOAD_TOO_LARGE, Code::ResourceExhausted, message)
    };
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let length = length.and_then(|length| length.parse::<u64>().ok());
    if length.is_some_and(|length| length > max as u64) {
        return Err(too_large());
    }
    let time = BODY_TIME + MEBIBYTE_TIME * u32::try_from(max >> 20).unwrap_or(u32::MAX);
    match tokio::time::timeout(time, to_bytes(request.into_body(), max)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_limit(&error) => Err(too_large()),
        Ok(Err(_)) => Err(Refused::invalid("the body is not complete")),
        Err(_) => {
            let message = "the body took too long";
            Err(Refused::new(StatusCode::REQUEST_TIMEOUT, Code::DeadlineExceeded, message))
        }
    }
}

/// Whether the body was longer than allowed. A client may send more than its `Content-Length`
/// says, or not say it.
fn is_limit(error: &axum::Error) -> bool {
    error.source().is_some_and(|source| source.is::<LengthLimitError>())
}
