//! Log lines in the format that the developer tools accept: OTLP as JSON.

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

use oxikit_core::{SpanId, TraceId, redact};
use serde::{Serialize, Serializer};
use tracing::Level;

/// A line of the log.
#[derive(Debug)]
pub(super) struct LogLine {
    pub(super) time: SystemTime,
    pub(super) level: Level,
    pub(super) message: String,
    pub(super) fields: Vec<Field>,
    /// The span of the action that wrote the line; `None` outside of actions.
    pub(super) span: Option<(TraceId, SpanId)>,
}

impl LogLine {
    /// The approximate number of bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.message.len() + self.fields.iter().map(Field::bytes).sum::<usize>()
    }

    /// The line without its secrets. The sender calls this, so that the code that logs does not
    /// pay for it.
    pub(super) fn redacted(mut self) -> Self {
        redact_text(&mut self.message);
        for Field { key, value } in &mut self.fields {
            match value {
                AnyValue::Bool(_) => {}
                value if redact::is_secret_name(key) => {
                    *value = AnyValue::Text(redact::REDACTED.to_owned());
                }
                AnyValue::Text(text) => redact_text(text),
                AnyValue::Integer(_) | AnyValue::Float(_) => {}
            }
        }
        self
    }
}

fn redact_text(text: &mut String) {
    if let Cow::Owned(covered) = redact::text(text) {
        *text = covered;
    }
}

/// A field of a line.
#[derive(Debug, Serialize)]
pub(super) struct Field {
    pub(super) key: &'static str,
    pub(super) value: AnyValue,
}

impl Field {
    fn bytes(&self) -> usize {
        let held = match &self.value {
            AnyValue::Text(text) | AnyValue::Integer(text) => text.len(),
            AnyValue::Float(_) | AnyValue::Bool(_) => 0,
        };
        size_of::<Self>() + held
    }
}

/// A value as OTLP writes it.
#[derive(Debug, PartialEq, Serialize)]
pub(super) enum AnyValue {
    #[serde(rename = "stringValue")]
    Text(String),
    /// Written as text, because many JSON readers round numbers of 64 bits.
    #[serde(rename = "intValue")]
    Integer(String),
    #[serde(rename = "doubleValue")]
    Float(f64),
    #[serde(rename = "boolValue")]
    Bool(bool),
}

/// The body of one request. The types below are the part of OTLP's JSON format for logs that the
/// developer tools read.
pub(super) struct LogsBody<'a>(pub(super) &'a [LogLine]);

impl Serialize for LogsBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let log_records = self.0.iter().map(LogRecord::of).collect();
        let scope = Scope { name: "genkit-logger", version: "" };
        let scope_logs = [ScopeLogs { scope, log_records }];
        let resource = Resource { attributes: [], dropped_attributes_count: 0 };
        LogsData { resource_logs: [ResourceLogs { resource, scope_logs }] }.serialize(serializer)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogsData<'a> {
    resource_logs: [ResourceLogs<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceLogs<'a> {
    resource: Resource,
    scope_logs: [ScopeLogs<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    attributes: [Field; 0],
    dropped_attributes_count: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ScopeLogs<'a> {
    scope: Scope,
    log_records: Vec<LogRecord<'a>>,
}

#[derive(Serialize)]
struct Scope {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogRecord<'a> {
    time_unix_nano: String,
    severity_number: u8,
    severity_text: &'static str,
    body: Body<'a>,
    attributes: &'a [Field],
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    span_id: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    string_value: &'a str,
}

impl<'a> LogRecord<'a> {
    fn of(line: &'a LogLine) -> Self {
        let since = line.time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (severity_number, severity_text) = severity(line.level);
        Self {
            time_unix_nano: since.as_nanos().to_string(),
            severity_number,
            severity_text,
            body: Body { string_value: &line.message },
            attributes: &line.fields,
            trace_id: line.span.map(|(trace_id, _)| trace_id.to_string()),
            span_id: line.span.map(|(_, span_id)| span_id.to_string()),
        }
    }
}

/// The number and the name of a level in OTLP.
fn severity(level: Level) -> (u8, &'static str) {
    match level {
        Level::TRACE => (1, "TRACE"),
        Level::DEBUG => (5, "DEBUG"),
        Level::INFO => (9, "INFO"),
        Level::WARN => (13, "WARN"),
        Level::ERROR => (17, "ERROR"),
    }
}
