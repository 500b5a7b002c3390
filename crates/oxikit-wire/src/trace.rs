//! Traces as Genkit's developer tools store them.
//!
//! Not OTLP: a runtime posts a [`TraceData`] with one or more spans, when they
//! begin and again when they end; the server merges them by id.
//!
//! All that reads or writes the members of a span by name is here: a new member is
//! added to [`SpanData`], and to those of the other types that need it.

pub mod event;
mod text;
mod view;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

use crate::JsonObject;
use crate::absent::null_is_default;

pub use text::{
    RawMembers, SpanAttributes, SpanEnd, SpanIds, SpanSearchText, SpanText, StatusSearchText,
    StatusText, TraceText, TraceWriter,
};
pub use view::SpanView;

/// The code of the status of a span that failed.
pub const STATUS_ERROR: u8 = 2;

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
    /// The parent span; absent for a root. The official server rejects `null` here.
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
    /// The library that recorded the span.
    pub instrumentation_library: InstrumentationLibrary,
    /// The span kind of OpenTelemetry; spans of actions have `INTERNAL`.
    pub span_kind: String,
    /// Whether the parent ran in the same process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_process_as_parent_span: Option<SameProcess>,
    /// Success or failure; absent while the span runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<SpanStatusData>,
    /// Events while the span ran, such as an exception.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_events: Option<TimeEvents>,
}

/// A part of a span or of a log line that the application has filled and that may hold secrets.
#[derive(Debug)]
pub enum FreeForm<'a> {
    /// A string, such as a name or a message.
    Text(&'a mut String),
    /// An object with members of any names.
    Members(&'a mut JsonObject),
    /// Any JSON value.
    Value(&'a mut Value),
}

impl SpanData {
    /// Calls `visit` with every part that the application has filled, for redaction.
    pub fn visit_free_form(&mut self, mut visit: impl FnMut(FreeForm<'_>)) {
        visit(FreeForm::Text(&mut self.display_name));
        visit(FreeForm::Members(&mut self.attributes));
        self.links.iter_mut().for_each(|link| visit(FreeForm::Value(link)));
        if let Some(message) = self.status.as_mut().and_then(|status| status.message.as_mut()) {
            visit(FreeForm::Text(message));
        }
        for event in self.time_events.iter_mut().flat_map(|events| &mut events.time_event) {
            visit(FreeForm::Text(&mut event.annotation.description));
            visit(FreeForm::Members(&mut event.annotation.attributes));
        }
    }
}

impl LogRecord {
    /// Calls `visit` with every part that the application has filled, for redaction.
    pub fn visit_free_form(&mut self, mut visit: impl FnMut(FreeForm<'_>)) {
        visit(FreeForm::Value(&mut self.body));
        visit(FreeForm::Members(&mut self.attributes));
    }
}

/// The library that recorded a span or a log line.
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

/// Tells whether the parent span ran in the same process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SameProcess {
    /// `true` if both spans were recorded by one process.
    pub value: bool,
}

/// The status of a span that has ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpanStatusData {
    /// 0 (unset) and 1 (ok) mean success, [`STATUS_ERROR`] means failure.
    #[serde(deserialize_with = "crate::number::integer")]
    pub code: u8,
    /// Description of the failure; absent after success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Events of a span.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimeEvents {
    /// The events in the order in which they happened.
    #[serde(default, deserialize_with = "null_is_default")]
    pub time_event: Vec<TimeEvent>,
}

/// One event of a span.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeEvent {
    /// Time of the event, in milliseconds since 1970.
    pub time: f64,
    /// Kind and attributes of the event.
    pub annotation: Annotation,
}

/// Kind and attributes of an event.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Annotation {
    /// The kind of event, such as `exception`.
    pub description: String,
    /// Attributes of the event, such as `exception.message`.
    pub attributes: JsonObject,
}

/// A log line of a runtime, as the developer tools list it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogRecord {
    /// Id of the line. The receiving server sets it, because OTLP has none.
    pub log_id: String,
    /// The trace it was written in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The span it was written in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_id: Option<String>,
    /// Time of the line, in milliseconds since 1970.
    pub timestamp: f64,
    /// Severity in the numbers of OpenTelemetry: 5 debug, 9 info, 13 warning, 17 error.
    #[serde(deserialize_with = "crate::number::integer")]
    pub severity_number: i64,
    /// Name of the severity, such as `INFO`.
    pub severity_text: String,
    /// The message: a string, or any JSON value of a structured line.
    pub body: Value,
    /// Further members of the line, such as its fields.
    pub attributes: JsonObject,
    /// The library that wrote the line.
    pub instrumentation_library: InstrumentationLibrary,
}
