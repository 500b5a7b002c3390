//! What routes take out of a request.

use std::sync::LazyLock;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::Uri;
use axum::http::request::Parts;
use bytes::Bytes;
use oxikit_core::{Status, check_exact};
use oxikit_serve::Limits;
use oxikit_serve::inside::read_body;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::query::Seconds;
use super::reply::Failure;

/// The largest body; more is 413.
const MAX_BODY: usize = 32 << 20;

static LIMITS: LazyLock<Limits> = LazyLock::new(|| {
    let mut limits = Limits::default();
    limits.body_bytes = MAX_BODY;
    limits
});

/// The body, whole and within its limits. The gates have seen that it is JSON by its
/// type; nobody has parsed it.
pub(crate) struct JsonText(pub(crate) Bytes);

impl<S: Sync> FromRequest<S> for JsonText {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        let (head, body) = request.into_parts();
        Ok(Self(read_body(&head.headers, body, &LIMITS).await?))
    }
}

/// Names in the path.
#[derive(Debug)]
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let path = axum::extract::Path::from_request_parts(parts, state).await;
        let path = path.map_err(|_| Status::invalid_argument("the path is not text in UTF-8"))?;
        Ok(Self(path.0))
    }
}

/// The body of what needs none: an object without members. That it says to be JSON
/// is what the gates look at.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Nothing {}

impl<S: Sync> FromRequest<S> for Nothing {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        let JsonText(body) = JsonText::from_request(request, state).await?;
        if body.trim_ascii().is_empty() { Ok(Self {}) } else { Ok(object(&body)?) }
    }
}

/// Which runtime is asked.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct RuntimeQuery {
    /// The id of a runtime; without it the current one is asked.
    pub(crate) runtime: Option<String>,
}

/// How long a stream without an end is read.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct FollowQuery {
    /// Ends the stream after so many seconds; without it only the reader or the tools end
    /// it.
    pub(crate) seconds: Option<Seconds>,
}

/// Reads the members of an object that are asked for.
pub(crate) fn object<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Status> {
    // serde takes a list for a struct.
    if text.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(Status::invalid_argument("send a JSON object"));
    }
    serde_json::from_slice(text)
        .map_err(|error| Status::invalid_argument(format!("the JSON cannot be read: {error}")))
}

/// The same for what is kept: text that readers could understand differently, such as a
/// member that is there twice, is refused.
pub(crate) fn exact_object<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Status> {
    let read = object(text)?;
    check_exact(text)?;
    Ok(read)
}

/// A parameter of the query.
pub(crate) fn query(uri: &Uri, name: &str) -> Option<String> {
    let pairs = form_urlencoded::parse(uri.query()?.as_bytes());
    pairs.into_iter().find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
}
