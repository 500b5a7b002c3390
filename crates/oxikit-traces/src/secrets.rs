//! Redacts the secrets of spans and log records of OTLP before they are stored.
//!
//! Posts in Genkit's own form are redacted as text, before they are parsed. OTLP has names and
//! values in separate members, so its spans are redacted after the conversion.

use std::borrow::Cow;

use oxikit_core::redact;
use oxikit_wire::JsonObject;
use oxikit_wire::trace::{FreeForm, LogRecord, SpanData};
use serde_json::Value;

/// Redacts all texts of a span that its sender could choose.
pub(super) fn redact_span(span: &mut SpanData) {
    span.visit_free_form(redact_part);
}

/// Redacts all texts of a log record that its sender could choose.
pub(super) fn redact_log(log: &mut LogRecord) {
    log.visit_free_form(redact_part);
}

fn redact_part(part: FreeForm<'_>) {
    match part {
        FreeForm::Text(text) => redact_text(text),
        FreeForm::Members(members) => redact_members(members),
        FreeForm::Value(value) => redact::value(value),
    }
}

/// Redacts an object as a whole: the name of a member decides, too, whether its value is a
/// secret.
fn redact_members(members: &mut JsonObject) {
    let mut object = Value::Object(std::mem::take(members));
    redact::value(&mut object);
    if let Value::Object(redacted) = object {
        *members = redacted;
    }
}

fn redact_text(text: &mut String) {
    if let Cow::Owned(redacted) = redact::text(text) {
        *text = redacted;
    }
}
