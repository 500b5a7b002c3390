//! The types of the responses about traces and log lines.

use super::preview::Preview;
use crate::{StoredSpan, TokenUsage, TraceStatus, TraceSummary};
use oxikit_wire::trace::{LogRecord, SpanData, TraceData};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

/// The summary of a trace as the API sends it: a row of `GET /traces`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceInfo {
    trace_id: String,
    name: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[schemars(with = "Status")]
    status: TraceStatus,
    start_time: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_time: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    root_span_id: String,
    spans: u32,
    dropped_spans: u32,
    #[schemars(with = "Usage")]
    usage: TokenUsage,
    /// The beginning of the input of the root span, as JSON text.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<String>,
    /// The beginning of the message with which the root span has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl From<TraceSummary> for TraceInfo {
    fn from(trace: TraceSummary) -> Self {
        let Preview { input, error } = Preview::of(&trace.root, trace.status == TraceStatus::Error);
        Self {
            input,
            error,
            duration: trace.end.map(|end| end - trace.start),
            trace_id: trace.trace_id,
            name: trace.name,
            kind: trace.kind,
            status: trace.status,
            start_time: trace.start,
            end_time: trace.end,
            session_id: trace.session_id,
            root_span_id: trace.root_id,
            spans: trace.spans,
            dropped_spans: trace.dropped_spans,
            usage: trace.usage,
        }
    }
}

/// A page of a list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TraceList {
    pub(super) traces: Vec<TraceInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) continuation_token: Option<String>,
    /// The number of all stored traces, whatever the filter; only on the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total: Option<u64>,
    /// Names the traces that cannot be read because the file is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) warning: Option<String>,
}

/// A trace with its spans.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WholeTrace {
    pub(super) trace: TraceInfo,
    pub(super) spans: Vec<SpanInfo>,
}

/// A span, and the tokens that it has used.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SpanInfo {
    span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Usage>")]
    usage: Option<TokenUsage>,
    /// The span as the runtime has sent it.
    #[schemars(with = "SpanData")]
    span: Box<RawValue>,
}

impl SpanInfo {
    /// Fails if the stored text is not JSON, which the store prevents.
    pub(super) fn new(stored: StoredSpan) -> serde_json::Result<Self> {
        let span = RawValue::from_string(stored.json)?;
        Ok(Self { span_id: stored.span_id, usage: stored.usage, span })
    }
}

/// The state of a trace, by its root span.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "TraceStatus", rename_all = "lowercase")]
#[allow(dead_code, reason = "describes that of the store")]
pub(crate) enum Status {
    /// The root span has not ended.
    Running,
    /// The root span has ended without an error.
    Success,
    /// The root span has failed.
    Error,
}

/// Numbers of tokens, and their cost if the runtime or a configured price gives it.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "TokenUsage", rename_all = "camelCase")]
#[allow(dead_code, reason = "describes that of the store")]
pub(crate) struct Usage {
    /// Tokens of the requests.
    input_tokens: i64,
    /// Tokens of the responses.
    output_tokens: i64,
    /// All tokens.
    total_tokens: i64,
    #[schemars(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
}

/// Log lines.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code, reason = "only described: lines are sent as they are stored")]
pub(crate) struct LogList {
    /// Newest first.
    logs: Vec<LogRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    continuation_token: Option<String>,
}

/// The traces of a session, without values that look like secrets.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code, reason = "only described: traces are sent as they are stored")]
pub(crate) struct SessionExport {
    session_id: String,
    /// Oldest first.
    traces: Vec<TraceData>,
}

/// One event of a stream of spans.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(dead_code, reason = "only described: spans are sent as they are stored")]
pub(crate) struct TraceFeedEvent {
    data: TraceNews,
}

/// The content of an event.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[allow(dead_code, reason = "only described: spans are sent as they are stored")]
pub(crate) enum TraceNews {
    /// The whole trace, as far as it is stored.
    Trace { trace: TraceData },
    /// A span has begun.
    SpanStart { trace_id: String, span: SpanData },
    /// A span has ended.
    SpanEnd { trace_id: String, span: SpanData },
    /// The reader was too slow and has missed this number of events.
    Lagged { missed: u64 },
    /// The root span has ended.
    End {},
}
