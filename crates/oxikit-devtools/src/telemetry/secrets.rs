//! Secrets of spans and log lines, covered before they are stored.
//!
//! What comes in Genkit's own form is covered as text, without reading it. OTLP has
//! names and values apart, so there it is done when they are together.

use std::borrow::Cow;

use oxikit_core::redact;
use oxikit_wire::JsonObject;
use oxikit_wire::trace::{LogRecord, SpanData};
use serde_json::Value;

pub(super) fn cover_span(span: &mut SpanData) {
    cover_text(&mut span.display_name);
    cover_members(&mut span.attributes);
    span.links.iter_mut().for_each(redact::value);
    if let Some(message) = span.status.as_mut().and_then(|status| status.message.as_mut()) {
        cover_text(message);
    }
    for event in span.time_events.iter_mut().flat_map(|events| &mut events.time_event) {
        cover_text(&mut event.annotation.description);
        cover_members(&mut event.annotation.attributes);
    }
}

pub(super) fn cover_log(log: &mut LogRecord) {
    redact::value(&mut log.body);
    cover_members(&mut log.attributes);
}

fn cover_members(members: &mut JsonObject) {
    let mut object = Value::Object(std::mem::take(members));
    redact::value(&mut object);
    if let Value::Object(covered) = object {
        *members = covered;
    }
}

fn cover_text(text: &mut String) {
    if let Cow::Owned(covered) = redact::text(text) {
        *text = covered;
    }
}
