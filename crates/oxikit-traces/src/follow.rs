//! Streams of traces: the spans of one trace, or of all, as they arrive.
//!
//! The memory for each reader is limited. A reader that is too slow misses events; it then
//! receives a `lagged` event and the whole trace again.

use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;

use crate::{TraceEvent, TraceFeed, TraceStore};
use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};
use oxikit_wire::trace::{SpanEnd, event};
use serde::Deserialize;

/// Time after the end of the root span during which further spans are awaited: those of other
/// processes may arrive a moment later. Then the stream ends.
const LINGER: Duration = Duration::from_millis(200);
/// Interval of the comments that keep an idle connection open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// An event for a reader of traces.
#[derive(Debug)]
pub(super) enum FollowEvent {
    /// The whole trace, as far as it is stored.
    Trace(String),
    /// A span, or a gap.
    Event(TraceEvent),
    /// The root span has ended, and no span followed within [`LINGER`].
    End,
}

/// `GET /api/traces/{id}/stream`: a trace as server-sent events in the official form.
pub(super) fn official_events(store: &TraceStore, trace_id: &str) -> Response {
    let event = follow(store, trace_id).map(|event| official(&event, "data: ", "\n\n"));
    streamed("text/event-stream", event)
}

/// A trace as lines of JSON in the official form.
pub(super) fn official_lines(store: &TraceStore, trace_id: &str) -> Response {
    let event = follow(store, trace_id).map(|event| official(&event, "", "\n"));
    streamed("text/plain; charset=utf-8", event)
}

/// `GET /api/v1/traces/{id}/events`: a trace as events of the developer tools' own API, until
/// `over` is ready.
pub(super) fn trace_events(
    store: &TraceStore,
    trace_id: &str,
    over: impl Future<Output = ()> + Send + 'static,
) -> Response {
    let events = kept_alive(follow(store, trace_id));
    streamed("text/event-stream", events.take_until(Box::pin(over)))
}

/// `GET /api/v1/traces/events`: the spans of all traces, until `over` is ready.
pub(super) fn all_events(
    store: &TraceStore,
    over: impl Future<Output = ()> + Send + 'static,
) -> Response {
    let event = stream::unfold(store.subscribe(), async |mut feed| {
        feed.next().await.map(|event| (FollowEvent::Event(event), feed))
    });
    streamed("text/event-stream", kept_alive(event).take_until(Box::pin(over)))
}

/// A response whose body is this stream of texts. Empty texts are left out.
fn streamed(
    content_type: &'static str,
    texts: impl Stream<Item = String> + Send + 'static,
) -> Response {
    let texts = texts.filter(|text| std::future::ready(!text.is_empty()));
    let body = Body::from_stream(texts.map(|text| Ok::<_, Infallible>(Bytes::from(text))));
    ([(CONTENT_TYPE, content_type), (CACHE_CONTROL, "no-cache")], body).into_response()
}

/// An event as the official server sends it. A span that has ended is sent as started and as
/// ended. Gaps are not reported: the whole trace follows them.
fn official(follow_event: &FollowEvent, before: &str, after: &str) -> String {
    match follow_event {
        FollowEvent::Trace(trace) => format!("{before}{trace}{after}"),
        FollowEvent::Event(TraceEvent::SpanStarted { trace_id, span }) => {
            format!("{before}{}{after}", event::span(event::SPAN_START, trace_id, span))
        }
        FollowEvent::Event(TraceEvent::SpanEnded { trace_id, span }) => {
            let start = event::span(event::SPAN_START, trace_id, span);
            let end = event::span(event::SPAN_END, trace_id, span);
            format!("{before}{start}{after}{before}{end}{after}")
        }
        FollowEvent::Event(_) | FollowEvent::End => String::new(),
    }
}

/// An event of the developer tools' own API.
fn own(follow_event: &FollowEvent) -> String {
    match follow_event {
        FollowEvent::Trace(trace) => event::trace(trace),
        FollowEvent::Event(TraceEvent::SpanStarted { trace_id, span }) => {
            event::span(event::SPAN_START, trace_id, span)
        }
        FollowEvent::Event(TraceEvent::SpanEnded { trace_id, span }) => {
            event::span(event::SPAN_END, trace_id, span)
        }
        FollowEvent::Event(TraceEvent::Lagged { missed }) => event::lagged(*missed),
        FollowEvent::End => event::end(),
    }
}

/// Formats events, with a comment after each [`KEEP_ALIVE`] without one.
fn kept_alive(
    event: impl Stream<Item = FollowEvent> + Send + 'static,
) -> impl Stream<Item = String> {
    stream::unfold(Box::pin(event), async |mut event| {
        let text = match tokio::time::timeout(KEEP_ALIVE, event.next()).await {
            Ok(event) => format!("data: {}\n\n", own(&event?)),
            Err(_) => ":\n\n".to_owned(),
        };
        Some((text, event))
    })
}

/// Follows one trace, which need not exist yet, until its root span has ended.
fn follow(store: &TraceStore, trace_id: &str) -> impl Stream<Item = FollowEvent> + use<> {
    let follower = Follower {
        // Before the trace is read, so that no span is missed in between.
        feed: store.subscribe_trace(trace_id),
        store: store.clone(),
        trace_id: trace_id.to_owned(),
        wants_trace: true,
        has_ended: false,
        is_over: false,
    };
    stream::unfold(follower, async |mut follower| {
        follower.next().await.map(|event| (event, follower))
    })
}

/// One reader of one trace.
struct Follower {
    feed: TraceFeed,
    store: TraceStore,
    trace_id: String,
    /// The whole trace is sent next.
    wants_trace: bool,
    /// Whether the root span has ended.
    has_ended: bool,
    /// Whether [`FollowEvent::End`] was sent.
    is_over: bool,
}

impl Follower {
    /// The next event; `None` after the end, or if the store is closed or cannot be read.
    async fn next(&mut self) -> Option<FollowEvent> {
        if self.is_over {
            return None;
        }
        // The subscription began before the trace is read, so spans in between are sent twice:
        // in the trace and as events. Readers identify them by their ids.
        if std::mem::take(&mut self.wants_trace)
            && let Some(trace) = self.store.get(&self.trace_id).await.ok()?
        {
            self.has_ended = serde_json::from_str(&trace).is_ok_and(|trace: Ends<'_>| trace.root());
            return Some(FollowEvent::Trace(trace));
        }
        // Before the root has ended a trace may be silent for any time.
        let event = if self.has_ended {
            match tokio::time::timeout(LINGER, self.feed.next()).await {
                Ok(event) => event?,
                Err(_) => {
                    self.is_over = true;
                    return Some(FollowEvent::End);
                }
            }
        } else {
            self.feed.next().await?
        };
        match &event {
            TraceEvent::SpanEnded { span, .. } if !self.has_ended => {
                self.has_ended =
                    serde_json::from_str(span).is_ok_and(|end: SpanEnd<'_>| end.is_ended_root());
            }
            // After a gap the end of the root may have been missed: the whole trace tells.
            TraceEvent::Lagged { .. } => self.wants_trace = true,
            _ => {}
        }
        Some(FollowEvent::Event(event))
    }
}

/// The part of a trace that says whether its root span has ended.
#[derive(Deserialize)]
struct Ends<'a> {
    #[serde(borrow)]
    spans: HashMap<Cow<'a, str>, SpanEnd<'a>>,
}

impl Ends<'_> {
    /// Whether the root span has ended.
    fn root(&self) -> bool {
        self.spans.values().any(SpanEnd::is_ended_root)
    }
}
