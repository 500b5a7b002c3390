//! The body of a call: `data` and `init`, and whether the caller wants a stream.

use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, Uri};
use bytes::Bytes;
use oxikit_core::{Action, Payload, Status};
use oxikit_wire::action_http::ActionCallText;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The members of the body: an absent one is not the same as `null`. For an action that takes
/// a tree, this type is deserialised directly.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Envelope {
    #[serde(default, deserialize_with = "present_tree")]
    pub(crate) data: Option<Payload>,
    #[serde(default, deserialize_with = "present")]
    pub(crate) init: Option<Payload>,
}

/// Whether the client wants a stream, by `Accept: text/event-stream` or by the query
/// `stream=true` (also `1` and `True`, which official clients send).
pub(crate) fn wants_stream(headers: &HeaderMap, uri: &Uri) -> bool {
    let accepts = |value: &str| value.to_ascii_lowercase().contains("text/event-stream");
    let is_set = |pair: &str| matches!(pair, "stream=true" | "stream=1" | "stream=True");
    headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).any(accepts)
        || uri.query().is_some_and(|query| query.split('&').any(is_set))
}

impl Envelope {
    /// Reads `{"data": …, "init": …}`. Nothing inside of them is parsed here,
    /// except `data` of an action that takes a tree.
    pub(crate) fn parse(body: Bytes, action: &Action) -> Result<Self, Status> {
        let body = match body.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) => body.slice_ref(rest),
            None => body,
        };
        if body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self::default());
        }
        // Derived `Deserialize` would accept a JSON array, too.
        if body.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
            return Err(not_wrapped());
        }
        // Unused members are checked, too: two parsers could read invalid UTF-8 differently.
        let text = str::from_utf8(&body)
            .map_err(|_| Status::invalid_argument("the body is not text in UTF-8"))?;
        // If that fails, parsing the members one by one finds the reason.
        if action.takes_tree()
            && let Ok(envelope @ Self { data: Some(_), .. }) = serde_json::from_str(text)
        {
            return Ok(envelope);
        }
        let members: ActionCallText<'_> = serde_json::from_str(text).map_err(|error| {
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

/// Reads a member that is there, so that `null` is `Some(null)` and only an absent member is
/// `None`. Serde's own `Option` makes `None` of both.
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
