//! Many spans, and those of our own runtime.

use std::sync::Arc;
use std::time::{Duration, Instant};

use oxikit_core::{Action, ActionKind, Call, Registry};
use oxikit_telemetry::GenkitExporter;
use serde_json::{Value, json};

use super::kit::{server, span};

/// The goal, for a release build on a machine of its own, is a second. This only finds
/// a cost that grows with the trace: the official server takes 28 seconds.
const MAX_TIME: Duration = Duration::from_secs(8);

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_spans_of_a_trace_come_one_by_one_in_time() {
    let server = server().await;
    let post = |number: usize| {
        let id = format!("s{number}");
        let mut span = span("t1");
        span["spanId"] = id.clone().into();
        if number > 0 {
            span["parentSpanId"] = "s0".into();
        }
        json!({"traceId": "t1", "spans": {id: span}})
    };
    server.add(&post(0)).await;
    let started = Instant::now();
    for number in 1..=1000 {
        server.add(&post(number)).await;
    }
    let time = started.elapsed();
    eprintln!("1,000 posts: {time:?}");
    assert_eq!(server.trace("t1").await["spans"].as_object().unwrap().len(), 1001);
    assert!(time < MAX_TIME, "{time:?}");
}

#[tokio::test]
async fn spans_of_our_own_runtime_arrive() {
    let server = server().await;
    let exporter = GenkitExporter::new();
    let registry = Registry::default();
    registry.add_exporter(Arc::new(exporter.clone()));
    exporter.set_server(server.url("")).unwrap();
    let double = Action::builder(ActionKind::Flow, "double").handler(async |n: u32| Ok(2 * n));
    double.run(Call::new(21_u32).in_registry(&registry)).await.unwrap();
    exporter.close().await;
    assert_eq!(exporter.dropped(), 0);
    let list = server.get("/api/traces").await.json();
    let trace = &list["traces"][0];
    assert_eq!(trace["displayName"], "double");
    let spans = trace["spans"].as_object().unwrap();
    let (_, root) = spans.iter().next().unwrap();
    assert_eq!(root["attributes"]["genkit:output"], "42");
    assert_eq!(root["attributes"]["oxikit:unverified"], Value::Null);
    assert!(root["endTime"].as_f64().unwrap() > 0.0);
}
