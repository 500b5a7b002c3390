//! Traces as Genkit's developer tools store them.
//!
//! Not OTLP: a runtime posts a [`TraceData`] with one or more spans, when they
//! begin and again when they end; the server merges them by id.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

use crate::JsonObject;
use crate::absent::null_is_default;

/// A trace, or a part of one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceData {
    /// 32 hexadecimal digits.
    pub trace_id: String,
    /// The name of the root span; only where that is among the spans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// When the root began, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<f64>,
    /// When the root ended; 0 while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_time: Option<f64>,
    /// The spans by their ids.
    pub spans: BTreeMap<String, SpanData>,
}

/// A span of a [`TraceData`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpanData {
    /// 16 hexadecimal digits.
    pub span_id: String,
    /// The trace it belongs to.
    pub trace_id: String,
    /// The span above it. The official server refuses `null` here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_span_id: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub start_time: f64,
    /// When it ended; 0 while it runs.
    pub end_time: f64,
    /// Genkit's attributes and the labels of the run.
    pub attributes: JsonObject,
    /// The name shown to people.
    pub display_name: String,
    /// Links to other spans.
    #[serde(default, deserialize_with = "null_is_default")]
    pub links: Vec<Value>,
    /// Who made the span.
    pub instrumentation_library: InstrumentationLibrary,
    /// `INTERNAL`, mostly.
    pub span_kind: String,
    /// Whether the parent ran in the same process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_process_as_parent_span: Option<SameProcess>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<SpanStatusData>,
    /// What happened in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_events: Option<TimeEvents>,
}

/// Who made a span.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstrumentationLibrary {
    /// Its name.
    pub name: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The schema of its attributes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_url: Option<String>,
}

/// Whether the parent ran in the same process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SameProcess {
    /// It did.
    pub value: bool,
}

/// How a span ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpanStatusData {
    /// 0 and 1 are good, 2 is an error.
    #[serde(deserialize_with = "crate::number::integer")]
    pub code: u8,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Events of a span.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimeEvents {
    /// In the order they happened.
    #[serde(default, deserialize_with = "null_is_default")]
    pub time_event: Vec<TimeEvent>,
}

/// Something that happened at a moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeEvent {
    /// When, in milliseconds since 1970.
    pub time: f64,
    /// What.
    pub annotation: Annotation,
}

/// What happened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Annotation {
    /// The kind of event, such as `exception`.
    pub description: String,
    /// More about it.
    pub attributes: JsonObject,
}

/// A log line of a runtime, as the developer tools list it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogRecord {
    /// Given by whoever stores the line.
    pub log_id: String,
    /// The trace it was written in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The span it was written in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_id: Option<String>,
    /// When, in milliseconds since 1970.
    pub timestamp: f64,
    /// 5 is debug, 9 is info, 13 is a warning, 17 an error.
    #[serde(deserialize_with = "crate::number::integer")]
    pub severity_number: i64,
    /// The same as a word, such as `INFO`.
    pub severity_text: String,
    /// What was said; a text, mostly.
    pub body: Value,
    /// More about it.
    pub attributes: JsonObject,
    /// Who has said it.
    pub instrumentation_library: InstrumentationLibrary,
}
