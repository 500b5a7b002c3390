//! Request bodies: their media type, their size, and the time they may take.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode as HttpStatus};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use oxikit_core::{Status, StatusCode};
use serde::Deserialize;
use tokio::time::timeout;

use crate::error::HttpError;
use crate::limits::Limits;

/// Maximum number of bytes that are reserved because of a `Content-Length` header. Larger bodies
/// grow their buffer: a client must not make the server allocate memory by a header alone.
const MAX_RESERVE: usize = 256 * 1024;

/// Refuses a body that is not plain JSON, before it is read. A request without a
/// `Content-Type` passes.
///
/// ```
/// use axum::http::{HeaderMap, HeaderValue};
/// use oxikit_http::body::check_media_type;
///
/// let mut headers = HeaderMap::new();
/// headers.insert("content-type", HeaderValue::from_static("application/json; charset=utf-8"));
/// assert!(check_media_type(&headers).is_ok());
/// headers.insert("content-type", HeaderValue::from_static("text/plain"));
/// assert_eq!(check_media_type(&headers).unwrap_err().http(), 415);
/// ```
///
/// # Errors
///
/// 415, with the media type to send instead.
pub fn check_media_type(headers: &HeaderMap) -> Result<(), HttpError> {
    let refuse = |why: String| {
        Err(HttpError::new(HttpStatus::UNSUPPORTED_MEDIA_TYPE, Status::invalid_argument(why)))
    };
    let is_plain = |encoding: &HeaderValue| encoding.as_bytes().eq_ignore_ascii_case(b"identity");
    if !headers.get_all(CONTENT_ENCODING).iter().all(is_plain) {
        return refuse("compressed bodies are not accepted; send plain JSON".into());
    }
    let mut media_types = headers.get_all(CONTENT_TYPE).iter();
    let Some(media_type) = media_types.next() else { return Ok(()) };
    if media_types.next().is_some() {
        return refuse("the body has two content types; send `application/json`".into());
    }
    let text = media_type.to_str().unwrap_or("?").to_ascii_lowercase();
    let mut parts = text.split(';').map(str::trim);
    let essence = parts.next().unwrap_or_default();
    if essence != "application/json"
        && !(essence.starts_with("application/") && essence.ends_with("+json"))
    {
        return refuse(format!("the body is `{essence}`; send `application/json`"));
    }
    match parts.find_map(|part| part.strip_prefix("charset=")) {
        Some(charset) if !matches!(charset.trim_matches('"'), "utf-8" | "utf8" | "us-ascii") => {
            refuse(format!("the charset is `{charset}`; JSON is UTF-8"))
        }
        _ => Ok(()),
    }
}

/// Reads the whole body.
///
/// # Errors
///
/// 413 if it is larger than `limits` allow, 408 if it takes too long, 400 if it is cut off.
pub async fn read_body(
    headers: &HeaderMap,
    body: Body,
    limits: &Limits,
) -> Result<Bytes, HttpError> {
    let announced =
        headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let announced: usize = announced.unwrap_or(0);
    if announced > limits.body_bytes {
        return Err(too_large(limits));
    }
    let collected = within(limits.time_for_body(announced), collect(body, announced, limits));
    collected.await.unwrap_or_else(|| {
        let message = "the body took too long to arrive";
        let status = Status::public(StatusCode::DeadlineExceeded, message);
        Err(HttpError::new(HttpStatus::REQUEST_TIMEOUT, status))
    })
}

/// The output of `work`; `None` if it takes longer than `time`.
///
/// The timer is set only if `work` is still waiting when it is polled again, without anything else
/// having happened. hyper gives a body that has come with its head to the second poll, and a timer
/// is a lock that all threads share.
async fn within<T>(time: Duration, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut was_polled = false;
    let at_once = poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if was_polled => Poll::Ready(None),
        Poll::Pending => {
            was_polled = true;
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    });
    match at_once.await {
        Some(output) => Some(output),
        None => timeout(time, work).await.ok(),
    }
}

/// Joins the frames of a body; its size is checked with each frame, because a chunked body has no
/// announced length.
async fn collect(mut body: Body, announced: usize, limits: &Limits) -> Result<Bytes, HttpError> {
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            let status = Status::invalid_argument("the body ended early").caused_by(error);
            HttpError::new(HttpStatus::BAD_REQUEST, status)
        })?;
        let Ok(data) = frame.into_data() else { continue };
        if first.len().max(all.len()) + data.len() > limits.body_bytes {
            return Err(too_large(limits));
        }
        if first.is_empty() {
            // Most bodies arrive in one piece, which is not copied.
            first = data;
            continue;
        }
        if all.is_empty() {
            all.reserve(announced.min(MAX_RESERVE).max(first.len() + data.len()));
            all.extend_from_slice(&first);
        }
        all.extend_from_slice(&data);
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}

/// Reads a body whose `Content-Type` is JSON; an empty body needs no type.
///
/// A body without a type is refused because pages of other sites can send one without a
/// preflight request.
///
/// # Errors
///
/// Those of [`check_media_type`] and [`read_body`]; 415 for a body without a type.
pub async fn read_json(
    headers: &HeaderMap,
    body: Body,
    limits: &Limits,
) -> Result<Bytes, HttpError> {
    check_media_type(headers)?;
    let body = read_body(headers, body, limits).await?;
    if !body.is_empty() && !headers.contains_key(CONTENT_TYPE) {
        let status = Status::invalid_argument("the body has no type; send `application/json`");
        return Err(HttpError::new(HttpStatus::UNSUPPORTED_MEDIA_TYPE, status));
    }
    Ok(body)
}

/// Parses a body that must be a JSON object.
///
/// # Errors
///
/// If the text is not an object in UTF-8, or its members have the wrong types.
pub fn parse_object<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Status> {
    // serde also reads a list into a struct.
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(Status::invalid_argument("the body must be a JSON object"));
    }
    // Also the members that `T` does not have: two readers could decode invalid UTF-8 in two
    // ways.
    let text = str::from_utf8(body)
        .map_err(|_| Status::invalid_argument("the body is not text in UTF-8"))?;
    serde_json::from_str(text)
        .map_err(|error| Status::invalid_argument(format!("the body cannot be read: {error}")))
}

fn too_large(limits: &Limits) -> HttpError {
    let message = format!("the body is too large; {} bytes are allowed", limits.body_bytes);
    HttpError::new(HttpStatus::PAYLOAD_TOO_LARGE, Status::resource_exhausted(message))
}
