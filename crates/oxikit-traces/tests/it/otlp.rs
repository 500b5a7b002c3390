//! OTLP: nothing of it is lost.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use prost::Message;
use serde_json::{Value, json};

use super::kit::{Server, plain, server};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";

/// A span with everything that the protocol has.
fn export() -> Value {
    let attributes = json!([
        {"key": "text", "value": {"stringValue": "é"}},
        {"key": "whole", "value": {"intValue": "9007199254740993"}},
        {"key": "part", "value": {"doubleValue": 1.5}},
        {"key": "is", "value": {"boolValue": false}},
        {"key": "list", "value": {"arrayValue": {"values": [
            {"stringValue": "x"}, {"intValue": "1"}]}}},
        {"key": "tree", "value": {"kvlistValue": {"values": [
            {"key": "leaf", "value": {"kvlistValue": {"values": [
                {"key": "deep", "value": {"doubleValue": 0.25}}]}}}]}}},
        {"key": "bytes", "value": {"bytesValue": "AAH/"}},
        {"key": "host", "value": {"stringValue": "of the span"}},
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "12"}},
        {"key": "gen_ai.usage.output_tokens", "value": {"intValue": "30"}},
    ]);
    json!({"resourceSpans": [{
        "resource": {"attributes": [
            {"key": "service.name", "value": {"stringValue": "shop"}},
            {"key": "host", "value": {"stringValue": "of the resource"}},
        ], "droppedAttributesCount": 2},
        "schemaUrl": "https://schemas.example/resource",
        "scopeSpans": [{
            "scope": {"name": "lib", "version": "1.2",
                "attributes": [{"key": "short", "value": {"boolValue": true}}]},
            "schemaUrl": "https://schemas.example/scope",
            "spans": [{
                "traceId": TRACE, "spanId": SPAN, "parentSpanId": "00f067aa0ba902b7",
                "traceState": "vendor=1", "flags": 0x301, "name": "chat", "kind": 3,
                "startTimeUnixNano": "1794724507238500000",
                "endTimeUnixNano": "1794724507338250000",
                "attributes": attributes,
                "droppedAttributesCount": 3,
                "events": [{"timeUnixNano": "1794724507300000000", "name": "exception",
                    "attributes": [{"key": "exception.message", "value": {"stringValue": "no"}}],
                    "droppedAttributesCount": 1}],
                "droppedEventsCount": 4,
                "links": [{"traceId": "4bf92f3577b34da6a3ce929d0e0e4736",
                    "spanId": "00f067aa0ba902b8", "traceState": "a=b", "flags": 0x101,
                    "attributes": [{"key": "why", "value": {"stringValue": "retry"}}],
                    "droppedAttributesCount": 5}],
                "droppedLinksCount": 6,
                "status": {"code": 2, "message": "it failed"},
            }],
        }],
    }]})
}

/// That span as Genkit has it.
fn stored() -> Value {
    json!({
        "spanId": SPAN, "traceId": TRACE, "parentSpanId": "00f067aa0ba902b7",
        "startTime": 1_794_724_507_238.5, "endTime": 1_794_724_507_338.25,
        "attributes": {
            "text": "é", "whole": 9_007_199_254_740_993_i64, "part": 1.5, "is": false,
            "list": ["x", 1], "tree": {"leaf": {"deep": 0.25}}, "bytes": "AAH/",
            "host": "of the span", "otel.resource.host": "of the resource",
            "gen_ai.usage.input_tokens": 12, "gen_ai.usage.output_tokens": 30,
            "otel.scope.short": true, "service.name": "shop",
            "otel.resource.dropped_attributes_count": 2,
            "otel.resource.schema_url": "https://schemas.example/resource",
            "otel.dropped_attributes_count": 3, "otel.dropped_events_count": 4,
            "otel.dropped_links_count": 6, "otel.trace_state": "vendor=1", "otel.flags": 0x301,
        },
        "displayName": "chat",
        "links": [{
            "context": {"traceId": "4bf92f3577b34da6a3ce929d0e0e4736",
                "spanId": "00f067aa0ba902b8", "traceFlags": 1, "isRemote": false,
                "traceState": "a=b"},
            "attributes": {"why": "retry"}, "droppedAttributesCount": 5,
        }],
        "instrumentationLibrary": {"name": "lib", "version": "1.2",
            "schemaUrl": "https://schemas.example/scope"},
        "spanKind": "CLIENT", "sameProcessAsParentSpan": {"value": false},
        "status": {"code": 2, "message": "it failed"},
        "timeEvents": {"timeEvent": [{"time": 1_794_724_507_300_i64, "annotation": {
            "description": "exception",
            "attributes": {"exception.message": "no", "otel.dropped_attributes_count": 1}}}]},
    })
}

async fn check_stored(server: &Server) {
    let trace = server.trace(TRACE).await;
    let span = &trace["spans"][SPAN];
    assert_eq!(plain(span.clone()), plain(stored()));
    let summary = server.store.summary(TRACE).await.unwrap().unwrap();
    assert_eq!((summary.usage.input_tokens, summary.usage.output_tokens), (12, 30));
}

#[tokio::test]
async fn every_member_of_a_span_arrives_as_json() {
    let server = server().await;
    let answer = server.post("/api/otlp/v1/traces", &export()).await;
    assert_eq!((answer.status, &*answer.text), (200, "{}"));
    check_stored(&server).await;
}

#[tokio::test]
async fn every_member_of_a_span_arrives_as_protobuf() {
    let server = server().await;
    let request: ExportTraceServiceRequest = serde_json::from_value(export()).unwrap();
    let body = request.encode_to_vec();
    let answer = server.post_text("/api/otlp/v1/traces", "application/x-protobuf", body).await;
    assert_eq!((answer.status, &*answer.text), (200, ""));
    assert_eq!(answer.content_type, "application/x-protobuf");
    check_stored(&server).await;
}

fn small(trace: &str, span: &str) -> Value {
    json!({"traceId": trace, "spanId": span, "name": "n", "startTimeUnixNano": "1000000000",
        "endTimeUnixNano": "2000000000"})
}

fn of_spans(spans: &[Value]) -> Value {
    json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
}

#[tokio::test]
async fn spans_without_ids_are_rejected_and_the_others_stored() {
    let server = server().await;
    let spans = of_spans(&[small(TRACE, SPAN), small(TRACE, ""), small("00", SPAN)]);
    let answer = server.post("/api/otlp/v1/traces", &spans).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["partialSuccess"]["rejectedSpans"], "2", "{answer:?}");
    assert_eq!(server.trace(TRACE).await["spans"].as_object().unwrap().len(), 1);

    let request: ExportTraceServiceRequest = serde_json::from_value(spans).unwrap();
    let body = request.encode_to_vec();
    let url = server.url("/api/otlp/v1/traces");
    let request = server.client.post(url).header("content-type", "application/x-protobuf");
    let response = request.body(body).send().await.unwrap().bytes().await.unwrap();
    let partial = ExportTraceServiceResponse::decode(response).unwrap().partial_success.unwrap();
    assert_eq!(partial.rejected_spans, 2);
}

#[tokio::test]
async fn spans_of_another_process_go_below_a_span_that_is_named() {
    let server = server().await;
    let (home, below) = ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaa");
    let mut child = small(TRACE, "cccccccccccccccc");
    child["parentSpanId"] = SPAN.into();
    let spans = of_spans(&[small(TRACE, SPAN), child]);
    for suffix in ["", "/v1/traces"] {
        let answer = server.post(&format!("/api/otlp/{home}/{below}{suffix}"), &spans).await;
        assert_eq!((answer.status, &*answer.text), (200, "{}"));
    }
    let trace = server.trace(home).await;
    assert_eq!(trace["spans"][SPAN]["parentSpanId"], below);
    assert_eq!(trace["spans"]["cccccccccccccccc"]["parentSpanId"], SPAN);
    assert_eq!(trace["spans"][SPAN]["attributes"]["genkit:otlp-traceId"], TRACE);
    assert_eq!(server.get(&format!("/api/traces/{TRACE}")).await.text, "");
}

fn logs() -> Value {
    json!({"resourceLogs": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]},
        "scopeLogs": [{"scope": {"name": "l"}, "logRecords": [{
            "timeUnixNano": "1794724507238000000", "severityNumber": 17,
            "body": {"kvlistValue": {"values": [
                {"key": "why", "value": {"stringValue": "no"}}]}},
            "attributes": [{"key": "n", "value": {"intValue": 1}}],
            "traceId": TRACE, "spanId": SPAN, "eventName": "oops", "flags": 1}]}],
    }]})
}

#[tokio::test]
async fn log_lines_arrive_in_both_forms() {
    let server = server().await;
    let request: ExportLogsServiceRequest = serde_json::from_value(logs()).unwrap();
    let body = request.encode_to_vec();
    let answer = server.post_text("/api/otlp/v1/logs", "application/x-protobuf", body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(server.post("/api/otlp", &logs()).await.status, 200);
    let found = server.get(&format!("/api/traces/{TRACE}/spans/{SPAN}/logs")).await.json();
    let found = found["logs"].as_array().unwrap();
    assert_eq!(found.len(), 2);
    for log in found {
        let mut log = plain(log.clone());
        assert!(log["logId"].take().is_string());
        assert_eq!(
            log,
            json!({"logId": null, "traceId": TRACE, "spanId": SPAN,
                "timestamp": 1_794_724_507_238_i64, "severityNumber": 17, "severityText": "ERROR",
                "body": {"why": "no"},
                "attributes": {"n": 1, "service.name": "shop", "otel.flags": 1,
                    "event.name": "oops"},
                "instrumentationLibrary": {"name": "l"}})
        );
    }
}

#[tokio::test]
async fn what_is_not_otlp_is_refused() {
    let server = server().await;
    let mut named_kind = small(TRACE, SPAN);
    named_kind["kind"] = "SPAN_KIND_CLIENT".into();
    let deep = format!("{{\"resourceSpans\":{}", "[".repeat(100_000));
    let bodies = [
        of_spans(&[named_kind]).to_string(),
        of_spans(&[json!({"traceId": "xyz"})]).to_string(),
        of_spans(&[json!({"traceId": 1})]).to_string(),
        "[]".to_owned(),
        "{".to_owned(),
        deep,
    ];
    for body in bodies {
        let answer =
            server.post_text("/api/otlp/v1/traces", "application/json", body.clone()).await;
        let start: String = body.chars().take(60).collect();
        assert_eq!(answer.status, 400, "{start}: {answer:?}");
        assert_eq!(answer.json()["code"], 3);
    }
    let garbage = vec![0xff; 64];
    let answer = server.post_text("/api/otlp/v1/traces", "application/x-protobuf", garbage).await;
    assert_eq!((answer.status, &*answer.content_type), (400, "application/x-protobuf"));
    let metrics = server.post("/api/otlp/v1/metrics", &json!({"resourceMetrics": [{}]})).await;
    assert_eq!((metrics.status, &*metrics.text), (200, "{}"));
}

#[tokio::test]
async fn damaged_exports_are_stored_or_refused() {
    let server = server().await;
    let seed =
        std::env::var("OXIKIT_SEED").map_or_else(|_| fastrand::u64(..), |s| s.parse().unwrap());
    eprintln!("OXIKIT_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let request: ExportTraceServiceRequest = serde_json::from_value(export()).unwrap();
    let forms = [
        ("application/json", export().to_string().into_bytes()),
        ("application/x-protobuf", request.encode_to_vec()),
    ];
    for _ in 0..150 {
        for (content_type, whole) in &forms {
            let mut body = whole.clone();
            for _ in 0..random.usize(1..4) {
                let place = random.usize(..body.len());
                body[place] = random.u8(..);
            }
            body.truncate(random.usize(1..=body.len() * 2).min(body.len()));
            let answer = server.post_text("/api/otlp/v1/traces", content_type, body).await;
            assert!(matches!(answer.status, 200 | 400), "{answer:?}");
        }
    }
    assert_eq!(server.get("/api/__health").await.text, "OK");
}
