//! The feed of changes as server-sent events, for applications that use the prompts and for pages.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use oxikit_http::api::{FollowQuery, elapsed};
use oxikit_http::reply::stream_response;
use oxikit_http::sse::{begin_event, end_event, write_id};
use oxikit_wire::headers::LAST_EVENT_ID;
use oxikit_wire::prompts::ChangeEvent;
use schemars::JsonSchema;
use serde::Serialize;

use super::PromptApi;
use super::failure::Answer;
use super::target::Params;
use crate::changes::Changes;

/// Interval of the comments that keep an idle connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// The name of the events.
const EVENT: &str = "change";

/// An event of the stream.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "event", content = "data", rename_all = "camelCase")]
#[allow(dead_code, reason = "only described")]
pub(crate) enum ChangesEvent {
    Change(ChangeEvent),
}

/// `GET /changes[?seconds=]`: the changes of all documents from now on, or from `Last-Event-ID`.
pub(crate) async fn follow(
    State(api): State<Arc<PromptApi>>,
    Params(FollowQuery { seconds }): Params<FollowQuery>,
    headers: HeaderMap,
) -> Answer {
    let last = headers.get(LAST_EVENT_ID).map(|id| id.to_str().unwrap_or_default());
    let changes = api.prompts.changes_from(last);
    // The first comment makes the connection visible to the reader before anything changes.
    let first = stream::once(std::future::ready(Bytes::from_static(b": open\n\n")));
    let events = first.chain(stream::unfold(changes, next_text));
    let events = events.map(Ok::<_, Infallible>).take_until(Box::pin(elapsed(seconds)));
    let events = events.take_until(api.sockets.closing().cancelled_owned());
    Ok(stream_response(Body::from_stream(events)))
}

/// The next event as text, or a comment if none comes for a while.
async fn next_text(mut changes: Changes) -> Option<(Bytes, Changes)> {
    let text = match tokio::time::timeout(KEEP_ALIVE, changes.next()).await {
        Ok(event) => written(&changes.position(), &event?),
        Err(_) => Bytes::from_static(b":\n\n"),
    };
    Some((text, changes))
}

fn written(id: &str, event: &ChangeEvent) -> Bytes {
    let mut out = Vec::with_capacity(300);
    write_id(&mut out, id);
    begin_event(&mut out, EVENT);
    // Writing to memory does not fail.
    _ = serde_json::to_writer(&mut out, event);
    end_event(&mut out);
    out.into()
}
