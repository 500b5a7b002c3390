//! Extractors of posted bodies: checks of the content type, the size and the time.
//!
//! They run before a body is parsed, so that a client cannot make the port hold a large or slow
//! body in memory.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use oxikit_http::Limits;
use oxikit_http::body::read_body;

use super::answer::{PROTOBUF, Refused};
use super::port::PortState;

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
    let mut limits = Limits::default();
    limits.body_bytes = max;
    let (head, body) = request.into_parts();
    let read = read_body(&head.headers, body, &limits).await;
    read.map_err(|error| {
        let status = error.status();
        Refused::new(error.http(), status.code(), status.message())
    })
}
