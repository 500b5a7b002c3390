//! What comes without a token: marked, and never in the place of what came with one.

use oxikit_core::check_exact;
use oxikit_sql::TraceStore;
use oxikit_wire::trace::{LogRecord, SpanData};
use serde::Deserialize;
use serde_json::Value;

use super::answer::Refused;

/// The attribute that says it.
const MARK: &str = "oxikit:unverified";

#[derive(Deserialize)]
struct Marked {
    attributes: Marks,
}

#[derive(Deserialize)]
struct Marks {
    #[serde(rename = "oxikit:unverified", default)]
    is_unverified: bool,
}

/// Marks the spans of a post in Genkit's own form. Those that a verified runtime has
/// sent are left out.
pub(super) async fn mark_post(store: &TraceStore, json: &str) -> Result<String, Refused> {
    let no_trace = |error| Refused::invalid(format!("it is not a trace: {error}"));
    let mut post: Value = serde_json::from_str(json).map_err(no_trace)?;
    check_exact(json.as_bytes()).map_err(|status| Refused::invalid(status.message()))?;
    let trace_id = post["traceId"].as_str().unwrap_or_default().to_owned();
    let mut verified = Vec::new();
    for (id, span) in post.get_mut("spans").and_then(Value::as_object_mut).into_iter().flatten() {
        if is_verified(store, &trace_id, id).await? {
            verified.push(id.clone());
        } else if let Some(attributes) = span.get_mut("attributes").and_then(Value::as_object_mut) {
            attributes.insert(MARK.to_owned(), true.into());
        }
    }
    if let Some(spans) = post.get_mut("spans").and_then(Value::as_object_mut) {
        spans.retain(|id, _| !verified.contains(id));
    }
    Ok(post.to_string())
}

/// Marks spans; answers those that may be stored.
pub(super) async fn mark_spans(
    store: &TraceStore,
    spans: Vec<SpanData>,
) -> Result<Vec<SpanData>, Refused> {
    let mut marked = Vec::with_capacity(spans.len());
    for mut span in spans {
        if !is_verified(store, &span.trace_id, &span.span_id).await? {
            span.attributes.insert(MARK.to_owned(), true.into());
            marked.push(span);
        }
    }
    Ok(marked)
}

pub(super) fn mark_log(log: &mut LogRecord) {
    log.attributes.insert(MARK.to_owned(), true.into());
}

/// Whether there is such a span, and it has no mark.
async fn is_verified(store: &TraceStore, trace_id: &str, span_id: &str) -> Result<bool, Refused> {
    let Some(span) = store.span(trace_id, span_id).await? else { return Ok(false) };
    let marked = serde_json::from_str::<Marked>(&span.json);
    Ok(!marked.is_ok_and(|span| span.attributes.is_unverified))
}
