//! The types that read a part of a span agree with what a whole span writes.

use oxikit_wire::trace::*;
use oxikit_wire::{JsonObject, attribute};
use serde_json::{Value, json};

fn members(of: Value) -> JsonObject {
    serde_json::from_value(of).unwrap()
}

/// Without a rest: whoever adds a member decides here whether it is free-form.
fn span(free: &str) -> SpanData {
    SpanData {
        span_id: "s1".to_owned(),
        trace_id: "t1".to_owned(),
        parent_span_id: Some("s0".to_owned()),
        start_time: 1000.0,
        end_time: 1002.5,
        attributes: members(json!({"genkit:state": "error", "genkit:type": "util", "note": free})),
        display_name: free.to_owned(),
        links: vec![json!({"attributes": {"note": free}})],
        instrumentation_library: InstrumentationLibrary {
            name: "my-tracer".to_owned(),
            version: None,
            schema_url: None,
        },
        span_kind: "INTERNAL".to_owned(),
        same_process_as_parent_span: Some(SameProcess { value: true }),
        status: Some(SpanStatusData { code: STATUS_ERROR, message: Some(free.to_owned()) }),
        time_events: Some(TimeEvents {
            time_event: vec![TimeEvent {
                time: 1001.0,
                annotation: Annotation {
                    description: free.to_owned(),
                    attributes: members(json!({"note": free})),
                },
            }],
        }),
    }
}

#[test]
fn every_reader_finds_what_a_span_writes() {
    let json = serde_json::to_string(&span("no \"luck\"")).unwrap();
    let note = Some("\"no \\\"luck\\\"\"");

    let text: SpanText<'_> = serde_json::from_str(&json).unwrap();
    assert_eq!(text.parent_span_id, Some(Some("s0".into())));
    assert_eq!((text.start_time, text.end_time), (1000.0, 1002.5));
    assert_eq!(text.display_name, "no \"luck\"");
    assert_eq!(text.attributes.get("note").map(|note| note.get()), note);
    let status = text.status.unwrap();
    assert_eq!(status.code, i64::from(STATUS_ERROR));
    assert_eq!(status.message.map(|message| message.get()), note);

    let words: SpanSearchText<'_> = serde_json::from_str(&json).unwrap();
    assert_eq!(words.display_name, "no \"luck\"");
    assert_eq!(words.status.message.as_deref(), Some("no \"luck\""));
    assert_eq!(words.attributes.0.len(), 3);

    let ids: SpanIds = serde_json::from_str(&json).unwrap();
    assert_eq!((&*ids.trace_id, &*ids.span_id), ("t1", "s1"));
    let attributes: SpanAttributes<'_> = serde_json::from_str(&json).unwrap();
    assert_eq!(attributes.attributes.0.len(), 3);
    let end: SpanEnd<'_> = serde_json::from_str(&json).unwrap();
    assert!(!end.is_ended_root() && end.end_time == 1002.5);

    let value = serde_json::from_str(&json).unwrap();
    let view = SpanView(&value);
    assert_eq!((view.id(), view.parent_id()), (Some("s1"), Some("s0")));
    assert_eq!((view.name(), view.kind()), (Some("no \"luck\""), Some("util")));
    assert_eq!((view.start(), view.end()), (Some(1000.0), Some(1002.5)));
    assert_eq!(view.attribute(attribute::STATE), attribute::STATE_ERROR);
    assert_eq!(view.error(), Some("no \"luck\""));
}

#[test]
fn a_trace_that_is_written_can_be_read() {
    let one = serde_json::to_string(&span("x")).unwrap();
    let mut writer = TraceWriter::new("t1", "the \"name\"", 1000.0, Some(1002.5));
    writer.add_span("s1", &one);
    writer.add_span("s2", &one);
    let json = writer.finish();
    let trace: TraceData = serde_json::from_str(&json).unwrap();
    assert_eq!(trace.display_name.as_deref(), Some("the \"name\""));
    assert_eq!((trace.start_time, trace.end_time), (Some(1000.0), Some(1002.5)));
    assert_eq!(trace.spans.values().collect::<Vec<_>>(), [&span("x"), &span("x")]);
    let text: TraceText<'_> = serde_json::from_str(&json).unwrap();
    assert_eq!(text.trace_id, "t1");
    assert_eq!(text.spans.get("s2").map(|span| span.get()), Some(&*one));
}

#[test]
fn every_free_form_part_is_visited() {
    fn covered(value: &mut Value) {
        match value {
            Value::String(text) if text == "secret" => *text = "covered".to_owned(),
            Value::Array(items) => items.iter_mut().for_each(covered),
            Value::Object(members) => members.values_mut().for_each(covered),
            _ => {}
        }
    }
    fn cover(part: FreeForm<'_>) {
        match part {
            FreeForm::Text(text) => *text = "covered".to_owned(),
            FreeForm::Members(members) => members.values_mut().for_each(covered),
            FreeForm::Value(value) => covered(value),
        }
    }
    let mut visited = span("secret");
    visited.visit_free_form(cover);
    assert_eq!(visited, span("covered"));

    let log = |free: &str| LogRecord {
        body: free.into(),
        attributes: members(json!({"note": free})),
        ..LogRecord::default()
    };
    let mut visited = log("secret");
    visited.visit_free_form(cover);
    assert_eq!(visited, log("covered"));
}

#[test]
fn events_are_the_ones_that_the_tools_know() {
    #[track_caller]
    fn check(event: &str, expected: Value) {
        assert_eq!(serde_json::from_str::<Value>(event).unwrap(), expected);
    }
    let trace = json!({"type": "trace", "trace": {"traceId": "t"}});
    check(&event::trace(r#"{"traceId":"t"}"#), trace);
    let started = json!({"type": "span_start", "traceId": "t\"", "span": {"spanId": "s"}});
    check(&event::span(event::SPAN_START, "t\"", r#"{"spanId":"s"}"#), started);
    let ended = json!({"type": "span_end", "traceId": "t", "span": {}});
    check(&event::span(event::SPAN_END, "t", "{}"), ended);
    check(&event::lagged(7), json!({"type": "lagged", "missed": 7}));
    check(&event::end(), json!({"type": "end"}));
}
