//! Extractors: the body, the path and common queries of a request.

use std::sync::LazyLock;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::Uri;
use axum::http::request::Parts;
use bytes::Bytes;
use oxikit_core::{Status, check_exact};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::query::Seconds;
use crate::body::read_body;
use crate::error::HttpError;
use crate::limits::Limits;

/// Maximum number of bytes of a request body. More are answered with 413.
const MAX_BODY: usize = 32 << 20;

static LIMITS: LazyLock<Limits> =
    LazyLock::new(|| Limits { body_bytes: MAX_BODY, ..Limits::default() });

/// The whole body, within the limits of size and time. It is not parsed; its media type is
/// checked by [`EffectCheck`](super::EffectCheck).
#[derive(Debug)]
pub struct JsonText(pub Bytes);

impl<S: Sync> FromRequest<S> for JsonText {
    type Rejection = HttpError;

    async fn from_request(request: Request, _: &S) -> Result<Self, HttpError> {
        let (head, body) = request.into_parts();
        Ok(Self(read_body(&head.headers, body, &LIMITS).await?))
    }
}

/// The parameters of the path. Like axum's extractor, with an error response of this crate.
#[derive(Debug)]
pub struct Path<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let path = axum::extract::Path::from_request_parts(parts, state).await;
        let path = path.map_err(|_| Status::invalid_argument("the path is not text in UTF-8"))?;
        Ok(Self(path.0))
    }
}

/// The body of a route that needs none: empty, or an object without members. Its media type
/// still has to be JSON.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Nothing {}

impl<S: Sync> FromRequest<S> for Nothing {
    type Rejection = HttpError;

    async fn from_request(request: Request, state: &S) -> Result<Self, HttpError> {
        let JsonText(body) = JsonText::from_request(request, state).await?;
        if body.trim_ascii().is_empty() { Ok(Self {}) } else { Ok(object(&body)?) }
    }
}

/// Which runtime is called.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RuntimeQuery {
    /// The id of a runtime. The default is the current one.
    pub runtime: Option<String>,
}

/// For how long a stream without an end is sent.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct FollowQuery {
    /// Ends the stream after this number of seconds. Without it the stream ends when the reader
    /// disconnects or the tools shut down.
    pub seconds: Option<Seconds>,
}

/// Parses a JSON object. Unknown members are ignored, unless `T` refuses them.
///
/// # Errors
///
/// `INVALID_ARGUMENT` if the text is not a JSON object, or its members have the wrong types.
pub fn object<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Status> {
    // serde also reads a list into a struct.
    if text.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(Status::invalid_argument("send a JSON object"));
    }
    serde_json::from_slice(text)
        .map_err(|error| Status::invalid_argument(format!("the JSON cannot be read: {error}")))
}

/// Like [`object`], for data that is stored: text that two parsers could read differently, such
/// as an object with the same member twice, is refused.
///
/// # Errors
///
/// Those of [`object`], and `INVALID_ARGUMENT` for ambiguous text.
///
/// # Examples
///
/// ```
/// use oxikit_http::api::{exact_object, object};
/// use serde_json::{Map, Value};
///
/// let twice = br#"{"a": 1, "a": 2}"#;
/// assert!(object::<Map<String, Value>>(twice).is_ok());
/// assert!(exact_object::<Map<String, Value>>(twice).is_err());
/// ```
pub fn exact_object<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Status> {
    let read = object(text)?;
    check_exact(text)?;
    Ok(read)
}

/// The first value of a parameter of the query; `None` if it is missing.
pub fn query(uri: &Uri, name: &str) -> Option<String> {
    let pairs = form_urlencoded::parse(uri.query()?.as_bytes());
    pairs.into_iter().find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
}
