//! What is answered about a trace.

use oxikit_sql::{StoredSpan, TokenUsage, TraceStatus, TraceSummary};
use serde::Serialize;
use serde_json::value::RawValue;

/// A trace as lists show it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TraceInfo {
    trace_id: String,
    name: String,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
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
    usage: TokenUsage,
}

impl From<TraceSummary> for TraceInfo {
    fn from(trace: TraceSummary) -> Self {
        Self {
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
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TraceList {
    pub(super) traces: Vec<TraceInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) continuation_token: Option<String>,
    /// Names what cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) warning: Option<String>,
}

/// A trace with its spans.
#[derive(Debug, Serialize)]
pub(super) struct WholeTrace {
    pub(super) trace: TraceInfo,
    pub(super) spans: Vec<SpanInfo>,
}

/// A span, and what it has used.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SpanInfo {
    span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<TokenUsage>,
    span: Box<RawValue>,
}

impl SpanInfo {
    pub(super) fn new(stored: StoredSpan) -> serde_json::Result<Self> {
        let span = RawValue::from_string(stored.json)?;
        Ok(Self { span_id: stored.span_id, usage: stored.usage, span })
    }
}
