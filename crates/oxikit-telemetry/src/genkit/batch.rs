//! Turns events into the bodies of requests.
//!
//! A span that began and ended since the last batch is sent once; all spans of a
//! trace are one request, and so are all log lines.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::{SystemTime, UNIX_EPOCH};

use oxikit_core::{SpanError, SpanRecord, SpanStatus, TraceId};
use oxikit_wire::JsonObject;
use oxikit_wire::trace::{
    Annotation, InstrumentationLibrary, STATUS_ERROR, SameProcess, SpanData, SpanStatusData,
    TimeEvent, TimeEvents, TraceData,
};

use super::logs::{LogLine, LogsBody};
use super::queue::Event;

/// A request. It may be sent more than once: the server merges spans by their ids.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) route: Route,
    pub(super) body: Vec<u8>,
    /// Number of ended spans and log lines in it, which counts as lost if the request is dropped.
    pub(super) counts: u64,
}

/// The kind of a request, which decides its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    Traces,
    Logs,
}

impl Route {
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Traces => "/api/traces",
            Self::Logs => "/api/otlp",
        }
    }
}

/// The requests for these events, and the number of events that cannot be written as JSON.
pub(super) fn requests(events: Vec<Event>) -> (Vec<Request>, u64) {
    let mut traces: Vec<Vec<SpanRecord>> = Vec::new();
    let mut places: HashMap<TraceId, usize> = HashMap::new();
    let mut logs: Vec<LogLine> = Vec::new();
    for event in events {
        let span = match event {
            // If the span has ended by now, its end is in the queue and is enough.
            Event::Start(open) => open.record(),
            Event::End(span) => Some(span),
            Event::Log(line) => {
                logs.push(line.redacted());
                None
            }
        };
        let Some(span) = span else {
            continue;
        };
        match places.entry(span.trace_id) {
            Entry::Occupied(place) => traces[*place.get()].push(span),
            Entry::Vacant(place) => {
                place.insert(traces.len());
                traces.push(vec![span]);
            }
        }
    }
    let mut requests = Vec::with_capacity(traces.len() + 1);
    let mut lost = 0;
    let mut add = |route, counts, body: serde_json::Result<Vec<u8>>| match body {
        Ok(body) => requests.push(Request { route, body, counts }),
        Err(_) => lost += counts,
    };
    for spans in traces {
        let counts = spans.iter().filter(|span| span.end.is_some()).count();
        add(Route::Traces, counts as u64, serde_json::to_vec(&trace_data(spans)));
    }
    if !logs.is_empty() {
        add(Route::Logs, logs.len() as u64, serde_json::to_vec(&LogsBody(&logs)));
    }
    (requests, lost)
}

/// The spans of one trace. The trace has the name and the times of its root span, if that is
/// among them; the server merges later posts of the same trace.
fn trace_data(spans: Vec<SpanRecord>) -> TraceData {
    let mut trace = TraceData::default();
    for span in spans {
        let span = span_data(span);
        trace.trace_id.clone_from(&span.trace_id);
        if span.parent_span_id.is_none() {
            trace.display_name = Some(span.display_name.clone());
            trace.start_time = Some(span.start_time);
            trace.end_time = Some(span.end_time);
        }
        trace.spans.insert(span.span_id.clone(), span);
    }
    trace
}

/// One span in Genkit's format. The constants are those of the official runtimes, as the tools
/// expect them. A span that still runs has the end time 0.
fn span_data(span: SpanRecord) -> SpanData {
    let end_time = span.end.map_or(0.0, milliseconds);
    let (status, events) = match span.status {
        SpanStatus::Ok => (SpanStatusData::default(), Vec::new()),
        SpanStatus::Error(error) => failure(error, end_time),
    };
    SpanData {
        span_id: span.span_id.to_string(),
        trace_id: span.trace_id.to_string(),
        parent_span_id: span.parent_span_id.map(|id| id.to_string()),
        start_time: milliseconds(span.start),
        end_time,
        attributes: span.attributes,
        display_name: span.name,
        instrumentation_library: InstrumentationLibrary {
            name: "genkit-tracer".to_owned(),
            version: Some("v1".to_owned()),
            schema_url: None,
        },
        span_kind: "INTERNAL".to_owned(),
        same_process_as_parent_span: Some(SameProcess { value: true }),
        status: Some(status),
        time_events: Some(TimeEvents { time_event: events }),
        ..SpanData::default()
    }
}

/// The status of a failed span, and the event by which the tools show its causes.
fn failure(error: SpanError, time: f64) -> (SpanStatusData, Vec<TimeEvent>) {
    let SpanError { code, message, report, .. } = error;
    let mut attributes = JsonObject::new();
    attributes.insert("exception.type".into(), code.name().into());
    attributes.insert("exception.message".into(), message.clone().into());
    attributes.insert("exception.stacktrace".into(), report.into());
    let annotation = Annotation { description: "exception".to_owned(), attributes };
    (
        SpanStatusData { code: STATUS_ERROR, message: Some(message) },
        vec![TimeEvent { time, annotation }],
    )
}

/// Milliseconds since 1970, with fractions.
fn milliseconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64() * 1000.0)
}
