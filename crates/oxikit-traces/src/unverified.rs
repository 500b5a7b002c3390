//! Marks spans and log records that were sent without a token, and keeps them from replacing
//! verified ones.

use crate::TraceStore;
use oxikit_core::check_exact;
use oxikit_wire::attribute;
use oxikit_wire::trace::{LogRecord, SpanAttributes, SpanData};
use serde_json::Value;

use super::answer::Refused;

/// Marks the spans of a post in Genkit's own form. Spans that would replace verified ones are
/// removed.
pub(super) async fn mark_post(store: &TraceStore, json: &str) -> Result<String, Refused> {
    let no_trace = |error| Refused::invalid(format!("it is not a trace: {error}"));
    let mut post: Value = serde_json::from_str(json).map_err(no_trace)?;
    check_exact(json.as_bytes()).map_err(|status| Refused::invalid(status.message()))?;
    let trace_id = post["traceId"].as_str().unwrap_or_default().to_owned();
    let mut verified = Vec::new();
    for (id, span) in post.get_mut("spans").and_then(Value::as_object_mut).into_iter().flatten() {
        // A span is replaced by a later one with the same id. Without this check any program of
        // the machine could change the spans of a verified runtime.
        if is_verified(store, &trace_id, id).await? {
            verified.push(id.clone());
        } else if let Some(attributes) = span.get_mut("attributes").and_then(Value::as_object_mut) {
            attributes.insert(attribute::UNVERIFIED.to_owned(), true.into());
        }
    }
    if let Some(spans) = post.get_mut("spans").and_then(Value::as_object_mut) {
        spans.retain(|id, _| !verified.contains(id));
    }
    Ok(post.to_string())
}

/// Marks spans. Returns those that may be stored: the others would replace verified ones.
pub(super) async fn mark_spans(
    store: &TraceStore,
    spans: Vec<SpanData>,
) -> Result<Vec<SpanData>, Refused> {
    let mut marked = Vec::with_capacity(spans.len());
    for mut span in spans {
        if !is_verified(store, &span.trace_id, &span.span_id).await? {
            span.attributes.insert(attribute::UNVERIFIED.to_owned(), true.into());
            marked.push(span);
        }
    }
    Ok(marked)
}

/// Marks a log record. Lines never replace others, so no check is needed.
pub(super) fn mark_log(log: &mut LogRecord) {
    log.attributes.insert(attribute::UNVERIFIED.to_owned(), true.into());
}

/// Whether a span with these ids is stored without the mark.
async fn is_verified(store: &TraceStore, trace_id: &str, span_id: &str) -> Result<bool, Refused> {
    let Some(span) = store.span(trace_id, span_id).await? else { return Ok(false) };
    let is_marked = serde_json::from_str(&span.json).is_ok_and(|span: SpanAttributes<'_>| {
        span.attributes.get(attribute::UNVERIFIED).is_some_and(|mark| mark.get() == "true")
    });
    Ok(!is_marked)
}
