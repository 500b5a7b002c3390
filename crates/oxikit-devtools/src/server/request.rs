//! What routes take out of a request.

use std::sync::LazyLock;

use axum::extract::{FromRequest, Request};
use axum::http::Uri;
use bytes::Bytes;
use oxikit_core::Status;
use oxikit_serve::Limits;
use oxikit_serve::inside::read_body;
use serde::Deserialize;

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

/// Reads the members of an object that are asked for.
pub(crate) fn object<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Status> {
    // serde takes a list for a struct.
    if text.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(Status::invalid_argument("send a JSON object"));
    }
    serde_json::from_slice(text)
        .map_err(|error| Status::invalid_argument(format!("the JSON cannot be read: {error}")))
}

/// A parameter of the query.
pub(crate) fn query(uri: &Uri, name: &str) -> Option<String> {
    let pairs = form_urlencoded::parse(uri.query()?.as_bytes());
    pairs.into_iter().find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
}
