//! Traces as they happen.
//!
//! A reader that is too slow misses events, is told so, and gets the whole trace
//! again: what waits for it in memory has a limit.

use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};
use oxikit_sql::{TraceEvent, TraceFeed, TraceStore};
use serde::Deserialize;
use serde_json::Value;

/// The last words of other spans may come a moment after the root's.
const LINGER: Duration = Duration::from_millis(200);
/// A connection with nothing to say says so.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What a reader of traces is told.
#[derive(Debug)]
pub(super) enum Told {
    /// All of the trace that is known.
    Trace(String),
    /// Something that happened.
    Event(TraceEvent),
    /// The root has ended, and nothing more came.
    End,
}

/// `GET /api/traces/{id}/stream`.
pub(super) fn official_events(store: &TraceStore, trace_id: &str) -> Response {
    let told = follow(store, trace_id).map(|told| official(&told, "data: ", "\n\n"));
    streamed("text/event-stream", told)
}

/// The same as lines of JSON.
pub(super) fn official_lines(store: &TraceStore, trace_id: &str) -> Response {
    let told = follow(store, trace_id).map(|told| official(&told, "", "\n"));
    streamed("text/plain; charset=utf-8", told)
}

/// A trace as events of our own API.
pub(super) fn trace_events(
    store: &TraceStore,
    trace_id: &str,
    over: impl Future<Output = ()> + Send + 'static,
) -> Response {
    let events = kept_alive(follow(store, trace_id));
    streamed("text/event-stream", events.take_until(Box::pin(over)))
}

/// All traces as events of our own API.
pub(super) fn all_events(
    store: &TraceStore,
    over: impl Future<Output = ()> + Send + 'static,
) -> Response {
    let told = stream::unfold(store.subscribe(), async |mut feed| {
        feed.next().await.map(|event| (Told::Event(event), feed))
    });
    streamed("text/event-stream", kept_alive(told).take_until(Box::pin(over)))
}

fn streamed(
    content_type: &'static str,
    texts: impl Stream<Item = String> + Send + 'static,
) -> Response {
    let texts = texts.filter(|text| std::future::ready(!text.is_empty()));
    let body = Body::from_stream(texts.map(|text| Ok::<_, Infallible>(Bytes::from(text))));
    ([(CONTENT_TYPE, content_type), (CACHE_CONTROL, "no-cache")], body).into_response()
}

/// A message as the official server sends it. A span that has ended comes as started
/// and ended; of a gap nothing is said, the trace that follows has it all.
fn official(told: &Told, before: &str, after: &str) -> String {
    match told {
        Told::Trace(trace) => format!("{before}{trace}{after}"),
        Told::Event(TraceEvent::SpanStarted { trace_id, span }) => {
            format!("{before}{}{after}", span_event("span_start", trace_id, span))
        }
        Told::Event(TraceEvent::SpanEnded { trace_id, span }) => {
            let start = span_event("span_start", trace_id, span);
            let end = span_event("span_end", trace_id, span);
            format!("{before}{start}{after}{before}{end}{after}")
        }
        Told::Event(_) | Told::End => String::new(),
    }
}

/// A message of our own API.
fn own(told: &Told) -> String {
    match told {
        Told::Trace(trace) => format!(r#"{{"type":"trace","trace":{trace}}}"#),
        Told::Event(TraceEvent::SpanStarted { trace_id, span }) => {
            span_event("span_start", trace_id, span)
        }
        Told::Event(TraceEvent::SpanEnded { trace_id, span }) => {
            span_event("span_end", trace_id, span)
        }
        Told::Event(TraceEvent::Lagged { missed }) => {
            format!(r#"{{"type":"lagged","missed":{missed}}}"#)
        }
        Told::Event(_) => String::new(),
        Told::End => r#"{"type":"end"}"#.to_owned(),
    }
}

fn span_event(kind: &str, trace_id: &str, span: &str) -> String {
    format!(r#"{{"type":"{kind}","traceId":{},"span":{span}}}"#, Value::from(trace_id))
}

/// As events, with a comment whenever nothing happens for long.
fn kept_alive(told: impl Stream<Item = Told> + Send + 'static) -> impl Stream<Item = String> {
    stream::unfold(Box::pin(told), async |mut told| {
        let text = match tokio::time::timeout(KEEP_ALIVE, told.next()).await {
            Ok(told) => format!("data: {}\n\n", own(&told?)),
            Err(_) => ":\n\n".to_owned(),
        };
        Some((text, told))
    })
}

/// One trace, which need not be there yet, until its root has ended.
fn follow(store: &TraceStore, trace_id: &str) -> impl Stream<Item = Told> + use<> {
    let follower = Follower {
        // First, so that nothing is missed.
        feed: store.subscribe_trace(trace_id),
        store: store.clone(),
        trace_id: trace_id.to_owned(),
        wants_trace: true,
        has_ended: false,
        is_over: false,
    };
    stream::unfold(follower, async |mut follower| {
        follower.next().await.map(|told| (told, follower))
    })
}

struct Follower {
    feed: TraceFeed,
    store: TraceStore,
    trace_id: String,
    /// The whole of it is to be told next.
    wants_trace: bool,
    /// The root has.
    has_ended: bool,
    is_over: bool,
}

impl Follower {
    async fn next(&mut self) -> Option<Told> {
        if self.is_over {
            return None;
        }
        if std::mem::take(&mut self.wants_trace)
            && let Some(trace) = self.store.get(&self.trace_id).await.ok()?
        {
            self.has_ended = serde_json::from_str(&trace).is_ok_and(|trace: Ends<'_>| trace.root());
            return Some(Told::Trace(trace));
        }
        let event = if self.has_ended {
            match tokio::time::timeout(LINGER, self.feed.next()).await {
                Ok(event) => event?,
                Err(_) => {
                    self.is_over = true;
                    return Some(Told::End);
                }
            }
        } else {
            self.feed.next().await?
        };
        match &event {
            TraceEvent::SpanEnded { span, .. } if !self.has_ended => {
                self.has_ended = serde_json::from_str(span).is_ok_and(|end: End<'_>| end.is_root());
            }
            TraceEvent::Lagged { .. } => self.wants_trace = true,
            _ => {}
        }
        Some(Told::Event(event))
    }
}

/// What of a trace says whether it is over.
#[derive(Deserialize)]
struct Ends<'a> {
    #[serde(borrow)]
    spans: HashMap<Cow<'a, str>, End<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct End<'a> {
    #[serde(borrow, default)]
    parent_span_id: Option<Cow<'a, str>>,
    end_time: f64,
}

impl Ends<'_> {
    fn root(&self) -> bool {
        self.spans.values().any(End::is_root)
    }
}

impl End<'_> {
    /// Whether this is a root that has ended.
    fn is_root(&self) -> bool {
        self.parent_span_id.is_none() && self.end_time > 0.0
    }
}
