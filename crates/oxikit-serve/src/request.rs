//! Reading a request: its body, its envelope, and how it wants to be answered.

use axum::body::Body;
use axum::http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode as HttpStatus, Uri};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use oxikit_core::{Action, Payload, Status};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::limits::Limits;

/// So much room is made at most on the word of a peer.
const MAX_RESERVE: usize = 256 * 1024;

/// A refusal with the HTTP status it is told by.
pub type Refusal = (HttpStatus, Status);

/// What is in the wrapper: absent is not the same as `null`.
/// Read as it stands here for an action that takes a tree.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Envelope {
    #[serde(default, deserialize_with = "present_tree")]
    pub(crate) data: Option<Payload>,
    #[serde(default, deserialize_with = "present")]
    pub(crate) init: Option<Payload>,
}

/// Whether the run is to be streamed.
pub(crate) fn wants_stream(headers: &HeaderMap, uri: &Uri) -> bool {
    let accepts = |value: &str| value.to_ascii_lowercase().contains("text/event-stream");
    let is_set = |pair: &str| matches!(pair, "stream=true" | "stream=1" | "stream=True");
    headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).any(accepts)
        || uri.query().is_some_and(|query| query.split('&').any(is_set))
}

/// Refuses a body that is not plain JSON, before it is read.
pub fn check_media_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let refuse =
        |why: String| Err((HttpStatus::UNSUPPORTED_MEDIA_TYPE, Status::invalid_argument(why)));
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

/// Reads the whole body, within its size and time.
pub async fn read_body(headers: &HeaderMap, body: Body, limits: &Limits) -> Result<Bytes, Refusal> {
    let announced =
        headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let announced: usize = announced.unwrap_or(0);
    if announced > limits.body_bytes {
        return Err(too_large(limits));
    }
    match tokio::time::timeout(limits.time_for_body(announced), collect(body, announced, limits))
        .await
    {
        Ok(body) => body,
        Err(_) => Err((
            HttpStatus::REQUEST_TIMEOUT,
            Status::public(
                oxikit_core::StatusCode::DeadlineExceeded,
                "the body took too long to arrive",
            ),
        )),
    }
}

async fn collect(mut body: Body, announced: usize, limits: &Limits) -> Result<Bytes, Refusal> {
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            (
                HttpStatus::BAD_REQUEST,
                Status::invalid_argument("the body ended early").caused_by(error),
            )
        })?;
        let Ok(data) = frame.into_data() else { continue };
        if first.len().max(all.len()) + data.len() > limits.body_bytes {
            return Err(too_large(limits));
        }
        if first.is_empty() {
            // Mostly the only piece: it is not copied.
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

/// Reads a body that says that it is JSON; an empty one need not say anything.
/// Pages can send one without a type to wherever they like.
pub(crate) async fn read_json(
    headers: &HeaderMap,
    body: Body,
    limits: &Limits,
) -> Result<Bytes, Refusal> {
    check_media_type(headers)?;
    let body = read_body(headers, body, limits).await?;
    if !body.is_empty() && !headers.contains_key(CONTENT_TYPE) {
        let status = Status::invalid_argument("the body has no type; send `application/json`");
        return Err((HttpStatus::UNSUPPORTED_MEDIA_TYPE, status));
    }
    Ok(body)
}

/// Reads a JSON object.
#[cfg(feature = "dev-tools")]
pub(crate) fn parse_object<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Status> {
    // serde takes a list for a struct.
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(Status::invalid_argument("the body must be a JSON object"));
    }
    // Also what nobody reads: two readers could see two things in it.
    let text = str::from_utf8(body)
        .map_err(|_| Status::invalid_argument("the body is not text in UTF-8"))?;
    serde_json::from_str(text)
        .map_err(|error| Status::invalid_argument(format!("the body cannot be read: {error}")))
}

fn too_large(limits: &Limits) -> Refusal {
    let message = format!("the body is too large; {} bytes are allowed", limits.body_bytes);
    (HttpStatus::PAYLOAD_TOO_LARGE, Status::resource_exhausted(message))
}

impl Envelope {
    /// Reads `{"data": …, "init": …}`. Nothing inside of them is parsed here,
    /// except `data` of an action that takes a tree.
    pub(crate) fn parse(body: Bytes, action: &Action) -> Result<Self, Status> {
        #[derive(Deserialize)]
        struct Members<'a> {
            #[serde(default, borrow, deserialize_with = "present")]
            data: Option<&'a RawValue>,
            #[serde(default, borrow, deserialize_with = "present")]
            init: Option<&'a RawValue>,
        }
        let body = match body.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) => body.slice_ref(rest),
            None => body,
        };
        if body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self::default());
        }
        // serde takes a list for a struct; the wrapper is an object.
        if body.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
            return Err(not_wrapped());
        }
        // Also what nobody reads: two readers could see two things in it.
        let text = str::from_utf8(&body)
            .map_err(|_| Status::invalid_argument("the body is not text in UTF-8"))?;
        // If that fails, the members one by one tell why.
        if action.takes_tree()
            && let Ok(envelope @ Self { data: Some(_), .. }) = serde_json::from_str(text)
        {
            return Ok(envelope);
        }
        let members: Members<'_> = serde_json::from_str(text).map_err(|error| {
            Status::invalid_argument(format!("the body is not valid JSON: {error}"))
        })?;
        if members.data.is_none() && members.init.is_none() && !is_empty_object(&body) {
            return Err(not_wrapped());
        }
        let payload = |raw: &RawValue| Payload::from_raw(&body, raw);
        Ok(Self { data: members.data.map(payload), init: members.init.map(payload) })
    }
}

fn not_wrapped() -> Status {
    Status::invalid_argument(
        "the body must be a JSON object with the input under `data`: {\"data\": …}",
    )
}

fn is_empty_object(body: &[u8]) -> bool {
    body.iter().filter(|byte| !byte.is_ascii_whitespace()).eq(b"{}")
}

fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

fn present_tree<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Payload>, D::Error> {
    Payload::read_tree(deserializer).map(Some)
}
