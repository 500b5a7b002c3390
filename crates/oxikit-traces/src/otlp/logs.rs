//! Converts log records of OTLP into Genkit's form. The resource and the scope become attributes,
//! and each record gets a random id.

use opentelemetry_proto::tonic::logs::v1::{LogRecord as OtlpLog, ResourceLogs};
use oxikit_wire::attribute;
use oxikit_wire::trace::LogRecord;
use uuid::Uuid;

use super::ParentSpan;
use super::values::{
    DROPPED_ATTRIBUTES, Origin, add_count, add_text, id, json, members, milliseconds,
};

/// Converts all log records of a post.
pub(super) fn of(exported: Vec<ResourceLogs>, parent_span: Option<&ParentSpan>) -> Vec<LogRecord> {
    let mut logs = Vec::new();
    for ResourceLogs { resource, scope_logs, schema_url } in exported {
        let mut origin = Origin::of_resource(resource, schema_url);
        for of_scope in scope_logs {
            origin.set_scope(of_scope.scope, of_scope.schema_url);
            logs.extend(
                of_scope.log_records.into_iter().map(|log| record(log, &origin, parent_span)),
            );
        }
    }
    logs
}

/// Converts one record. Below a named parent it belongs to that trace, and its original trace id
/// becomes an attribute.
fn record(log: OtlpLog, origin: &Origin, parent_span: Option<&ParentSpan>) -> LogRecord {
    let own_trace = id(&log.trace_id);
    let mut attributes = members(log.attributes);
    origin.add_to(&mut attributes);
    add_count(&mut attributes, DROPPED_ATTRIBUTES, log.dropped_attributes_count);
    add_count(&mut attributes, "otel.flags", log.flags);
    add_text(&mut attributes, "event.name", log.event_name);
    let time = match log.time_unix_nano {
        0 => log.observed_time_unix_nano,
        time => time,
    };
    let (trace_id, span_id) = match parent_span {
        None => (own_trace, id(&log.span_id)),
        Some(parent_span) => {
            add_text(&mut attributes, attribute::OTLP_TRACE_ID, own_trace.unwrap_or_default());
            let span_id = id(&log.span_id).unwrap_or_else(|| parent_span.span_id.clone());
            (Some(parent_span.trace_id.clone()), Some(span_id))
        }
    };
    LogRecord {
        log_id: Uuid::new_v4().to_string(),
        trace_id,
        span_id,
        timestamp: milliseconds(time),
        severity_number: log.severity_number.into(),
        severity_text: severity_text(log.severity_text, log.severity_number),
        body: json(log.body),
        attributes,
        instrumentation_library: origin.library.clone(),
    }
}

/// The severity as text: that of the record, or the name of its number.
fn severity_text(text: String, number: i32) -> String {
    if !text.is_empty() {
        return text;
    }
    match number {
        1..=4 => "TRACE",
        5..=8 => "DEBUG",
        9..=12 => "INFO",
        13..=16 => "WARN",
        17..=20 => "ERROR",
        21..=24 => "FATAL",
        _ => "",
    }
    .to_owned()
}
