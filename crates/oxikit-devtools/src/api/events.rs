//! The feed of changes as server-sent events, for pages.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use oxikit_http::HttpResult;
use oxikit_http::api::{Query, Seconds, elapsed, non_empty};
use oxikit_http::reply::stream_response;
use oxikit_http::sse::{begin_event, end_event, write_id};
use oxikit_wire::headers::LAST_EVENT_ID;
use oxikit_wire::prompts::ChangeEvent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::apps::redacted;
use super::runtimes::{RuntimeList, listed};
use crate::AppStatus;
use crate::feed::{ChangedTraces, Read, Reader};
use crate::shared::Shared;

/// Interval of the comments that keep an idle connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// From where the feed is read, and for how long.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventsQuery {
    /// Ends the stream after this number of seconds.
    seconds: Option<Seconds>,
    /// The id of the last event that was received. The header `Last-Event-ID` has the same meaning.
    last_event_id: Option<String>,
}

/// An event of the feed. First `hello`, `runtimes` and `app` with the present state, then whatever
/// changes. All have an id; a reader that sends the last one gets what it has missed, or `lagged`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "event", content = "data", rename_all = "camelCase")]
#[allow(dead_code, reason = "only described")]
pub(crate) enum FeedEvent {
    Hello(Hello),
    Runtimes(RuntimeList),
    /// The status of the application with its last lines; `null` if the tools have started none.
    App(Option<AppStatus>),
    Traces(ChangedTraces),
    Datasets(ChangedDocument),
    Evaluations(ChangedDocument),
    Prompts(ChangeEvent),
    Lagged(Lagged),
}

/// The server that sends the feed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Hello {
    /// Another one after each start of the server.
    start: String,
}

/// A data set or an evaluation that was made, changed or deleted.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(dead_code, reason = "only described")]
pub(crate) struct ChangedDocument {
    id: String,
}

/// Events are missing here: all lists have to be read again.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Lagged {}

/// `GET /api/v1/events[?lastEventId=][&seconds=]`: all changes from now on, or from the last event that
/// the reader has received.
pub(crate) async fn follow(
    State(shared): State<Arc<Shared>>,
    Query(EventsQuery { seconds, last_event_id }): Query<EventsQuery>,
    headers: HeaderMap,
) -> HttpResult {
    let header = headers.get(LAST_EVENT_ID).map(|id| id.to_str().unwrap_or_default().to_owned());
    let last = header.or(non_empty(last_event_id));
    let reader = tokio::select! {
        reader = shared.feed.read_from(last.as_deref()) => reader,
        () = shared.closing.cancelled() => return Ok(stream_response(Body::empty())),
    };
    let first = stream::once(std::future::ready(present(&shared, &reader)));
    let closing = shared.closing.clone();
    let events = first.chain(stream::unfold(reader, next_text));
    let events = events.take_until(Box::pin(async move {
        tokio::select! {
            () = elapsed(seconds) => {}
            () = closing.cancelled() => {}
        }
    }));
    Ok(stream_response(Body::from_stream(events.map(Ok::<_, Infallible>))))
}

/// The events about the present state.
fn present(shared: &Shared, reader: &Reader) -> Bytes {
    let mut out = Vec::new();
    let id = reader.position();
    let mut write = |name: &str, json: serde_json::Result<Vec<u8>>| {
        write_event(&mut out, &id, name, &json.unwrap_or_default());
    };
    let hello = Hello { start: shared.feed.start().to_owned() };
    write("hello", serde_json::to_vec(&hello));
    write("runtimes", serde_json::to_vec(&listed(shared, &shared.runtimes.list())));
    let app = shared.app().map(|app| redacted(app.status()));
    write("app", serde_json::to_vec(&app));
    out.into()
}

/// The next event as text, or a comment if none comes for a while.
async fn next_text(mut reader: Reader) -> Option<(Bytes, Reader)> {
    let Ok(read) = tokio::time::timeout(KEEP_ALIVE, reader.next()).await else {
        return Some((Bytes::from_static(b":\n\n"), reader));
    };
    let mut out = Vec::new();
    let id = reader.position();
    match read? {
        Read::Event(event) => write_event(&mut out, &id, event.name, event.json.as_bytes()),
        Read::Gap => write_event(&mut out, &id, "lagged", b"{}"),
    }
    Some((out.into(), reader))
}

fn write_event(out: &mut Vec<u8>, id: &str, name: &str, json: &[u8]) {
    write_id(out, id);
    begin_event(out, name);
    out.extend_from_slice(json);
    end_event(out);
}
