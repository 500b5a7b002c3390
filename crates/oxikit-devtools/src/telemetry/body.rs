//! Bodies of posts: which are read, and how much of them.

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

/// How long a body may take, and how much longer for each MiB of it.
const BODY_TIME: Duration = Duration::from_secs(30);
const MEBIBYTE_TIME: Duration = Duration::from_secs(1);

/// A body of JSON.
#[derive(Debug)]
pub(super) struct JsonPost(pub(super) Bytes);

/// A body of either form that OTLP has.
#[derive(Debug)]
pub(super) struct OtlpPost {
    pub(super) form: Form,
    pub(super) bytes: Bytes,
}

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

fn is_limit(error: &axum::Error) -> bool {
    error.source().is_some_and(|source| source.is::<LengthLimitError>())
}
