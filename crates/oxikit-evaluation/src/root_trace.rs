//! Reads the input, the output, the error and the retrieved texts of a run from its trace.
//!
//! The response of a runtime has the output only. Evaluators also want the texts that were
//! retrieved, and extracted cases need the input: both are attributes of spans. The spans may
//! arrive after the response, so [`ended`] waits for them.

use std::time::Duration;

use oxikit_core::Status;
use oxikit_traces::{TraceStatus, TraceStore};
use oxikit_wire::attribute;
use oxikit_wire::trace::{STATUS_ERROR, SpanData};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use oxikit_traces::trace_status;

/// Maximum time to wait for the root span of a run that has ended. Most runtimes send it before
/// the response, some a little later, and some send their spans to another server. After it the
/// evaluation goes on without the trace.
const TRACE_TIMEOUT: Duration = Duration::from_secs(2);

/// The facts of a run that its trace contains.
#[derive(Debug, Default)]
pub(super) struct TraceFacts {
    /// The input; `None` if it is missing or was cut.
    pub(super) input: Option<Box<RawValue>>,
    /// The output; `None` if it is missing or was cut.
    pub(super) output: Option<Box<RawValue>>,
    /// Why the run failed.
    pub(super) error: Option<String>,
    /// The texts of the documents that retrievers returned.
    pub(super) context: Vec<Box<RawValue>>,
}

/// Waits until the root span of a trace has ended, and reads the trace. `None` after
/// [`TRACE_TIMEOUT`].
pub(super) async fn ended(
    store: &TraceStore,
    trace_id: &str,
) -> Result<Option<TraceFacts>, Status> {
    // Before the first look at the store, so that no span is missed in between.
    let mut feed = store.subscribe_trace(trace_id);
    let has_ended = async {
        loop {
            let trace = store.summary(trace_id).await.map_err(trace_status)?;
            if trace.is_some_and(|trace| trace.status != TraceStatus::Running) {
                return Ok(true);
            }
            // Each event may be the end of the root, so the summary is read again.
            if feed.next().await.is_none() {
                return Ok(false);
            }
        }
    };
    match tokio::time::timeout(TRACE_TIMEOUT, has_ended).await {
        Ok(Ok(true)) => read(store, trace_id).await.map(Some),
        Ok(Err(status)) => Err(status),
        Ok(Ok(false)) | Err(_) => Ok(None),
    }
}

/// Reads the facts of a stored trace.
pub(super) async fn read(store: &TraceStore, trace_id: &str) -> Result<TraceFacts, Status> {
    let spans = store.spans(trace_id).await.map_err(trace_status)?;
    let spans = spans.iter().filter_map(|span| serde_json::from_str(&span.json).ok());
    Ok(facts(&spans.collect::<Vec<_>>()))
}

/// The facts of these spans. Without a root there is no input and no output.
fn facts(spans: &[SpanData]) -> TraceFacts {
    let root = spans.iter().find(|span| span.parent_span_id.is_none());
    let retrievers =
        spans.iter().filter(|span| text(span, attribute::SUBTYPE) == Some("retriever"));
    TraceFacts {
        input: root.and_then(|root| json(root, attribute::INPUT)),
        output: root.and_then(|root| json(root, attribute::OUTPUT)),
        error: root.and_then(error),
        context: retrievers.flat_map(texts).collect(),
    }
}

/// An attribute that is a text.
fn text<'a>(span: &'a SpanData, name: &str) -> Option<&'a str> {
    span.attributes.get(name)?.as_str()
}

/// An attribute as JSON; `None` if it was cut, which leaves invalid JSON.
fn json(span: &SpanData, name: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(text(span, name)?.to_owned()).ok()
}

/// The message of the first exception of a failed span, or of its status.
fn error(span: &SpanData) -> Option<String> {
    let has_failed = text(span, attribute::STATE) == Some(attribute::STATE_ERROR)
        || span.status.as_ref().is_some_and(|status| status.code == STATUS_ERROR);
    if !has_failed {
        return None;
    }
    let events = span.time_events.iter().flat_map(|events| &events.time_event);
    // OpenTelemetry records an exception as an event with this name.
    let exception =
        events.map(|event| &event.annotation).find(|what| what.description == "exception");
    let message =
        exception.and_then(|exception| exception.attributes.get("exception.message")?.as_str());
    let status = span.status.as_ref().and_then(|status| status.message.as_deref());
    Some(message.or(status).unwrap_or("the run failed; its trace does not say why").to_owned())
}

/// The texts of the documents that a retriever returned.
fn texts(span: &SpanData) -> Vec<Box<RawValue>> {
    #[derive(Deserialize)]
    struct Found {
        documents: Vec<Document>,
    }
    #[derive(Deserialize)]
    struct Document {
        content: Vec<Part>,
    }
    #[derive(Deserialize)]
    struct Part {
        #[serde(default)]
        text: Option<String>,
    }
    let output = text(span, attribute::OUTPUT).unwrap_or_default();
    let Ok(found) = serde_json::from_str::<Found>(output) else { return Vec::new() };
    let parts = found.documents.into_iter().flat_map(|document| document.content);
    let texts = parts.filter_map(|part| part.text).filter(|text| !text.is_empty());
    texts.filter_map(|text| to_raw_value(&text).ok()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn span(id: &str, parent: Option<&str>, attributes: Value) -> SpanData {
        let mut span = json!({"spanId": id, "traceId": "t", "startTime": 1, "endTime": 2,
            "attributes": attributes, "displayName": id, "spanKind": "INTERNAL",
            "instrumentationLibrary": {"name": "x"}});
        if let Some(parent) = parent {
            span["parentSpanId"] = parent.into();
        }
        serde_json::from_value(span).unwrap()
    }

    #[test]
    fn the_root_and_the_retrievers_are_read() {
        let found = json!({"documents": [
            {"content": [{"text": "one"}, {"media": {"url": "u"}}]},
            {"content": [{"text": ""}, {"text": "two"}]},
        ]});
        let retriever =
            json!({"genkit:metadata:subtype": "retriever", "genkit:output": found.to_string()});
        let torn = json!({"genkit:metadata:subtype": "retriever", "genkit:output": "{\"docu"});
        let root = json!({"genkit:input": "{\"a\": 1}", "genkit:output": "\"done\"", "genkit:state": "success"});
        let facts = facts(&[
            span("2", Some("1"), retriever),
            span("3", Some("1"), torn),
            span("1", None, root),
        ]);
        assert_eq!(facts.input.unwrap().get(), "{\"a\": 1}");
        assert_eq!(facts.output.unwrap().get(), "\"done\"");
        let context: Vec<_> = facts.context.iter().map(|text| text.get()).collect();
        assert_eq!(context, ["\"one\"", "\"two\""]);
        assert_eq!(facts.error, None);
    }

    #[test]
    fn a_failed_root_says_why() {
        let mut root =
            span("1", None, json!({"genkit:state": "error", "genkit:input": "cut [3 MB"}));
        let without = facts(&[root.clone()]);
        assert!(without.error.unwrap().contains("does not say why"));
        assert!(without.input.is_none());
        root.status = serde_json::from_value(json!({"code": 2, "message": "short"})).unwrap();
        assert_eq!(facts(&[root.clone()]).error.unwrap(), "short");
        let event = json!({"timeEvent": [{"time": 1, "annotation": {"description": "exception",
            "attributes": {"exception.message": "kaboom"}}}]});
        root.time_events = serde_json::from_value(event).unwrap();
        assert_eq!(facts(&[root]).error.unwrap(), "kaboom");
    }
}
