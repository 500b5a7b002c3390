//! The live feed.

use std::sync::Arc;

use oxikit_traces::{TraceEvent, TraceStore};
use serde_json::{Value, json};

use super::{child, folder, open, put, span};

fn shown(event: Option<TraceEvent>) -> String {
    let of = |kind: &str, trace: Arc<str>, span: Arc<str>| {
        let span: Value = serde_json::from_str(&span).unwrap();
        format!("{kind} {trace} {}", span["spanId"].as_str().unwrap())
    };
    match event {
        Some(TraceEvent::SpanStarted { trace_id, span }) => of("start", trace_id, span),
        Some(TraceEvent::SpanEnded { trace_id, span }) => of("end", trace_id, span),
        Some(TraceEvent::Lagged { missed }) => format!("lagged {missed}"),
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn events_come_in_the_order_of_writing_and_only_for_news() {
    let folder = folder();
    let store = open(&folder);
    put(&store, &span("before", "root", 0.0, json!({}))).await;
    let mut all = store.subscribe();
    let mut one = store.subscribe_trace("b");
    put(&store, &span("a", "root", 0.0, json!({}))).await;
    put(&store, &child("b", "x", 2000.0, json!({}))).await;
    put(&store, &span("a", "root", 2000.0, json!({}))).await;
    put(&store, &span("a", "root", 0.0, json!({}))).await;
    put(&store, &span("b", "root", 0.0, json!({}))).await;
    for expected in ["start a root", "end b x", "end a root", "start b root"] {
        assert_eq!(shown(all.next().await), expected);
    }
    for expected in ["end b x", "start b root"] {
        assert_eq!(shown(one.next().await), expected);
    }
    drop(store);
    assert_eq!(shown(all.next().await), "None");
    assert_eq!(shown(one.next().await), "None");
}

#[tokio::test]
async fn what_a_feed_tells_is_stored() {
    let folder = folder();
    let store = open(&folder);
    let mut feed = store.subscribe();
    let reader = TraceStore::open(super::file(&folder)).unwrap();
    let write = async {
        for number in 0..50 {
            put(&store, &child("t", &format!("s{number}"), 2000.0, json!({}))).await;
        }
    };
    let read = async {
        for number in 0..50 {
            assert_eq!(shown(feed.next().await), format!("end t s{number}"));
            assert!(reader.span("t", &format!("s{number}")).await.unwrap().is_some());
        }
    };
    tokio::join!(write, read);
}

#[tokio::test]
async fn a_slow_reader_receives_the_number_of_missed_events_and_goes_on() {
    let folder = folder();
    let store = open(&folder);
    let mut slow = store.subscribe();
    let mut large = store.subscribe();
    for number in 0..300 {
        put(&store, &child("t", &format!("s{number}"), 0.0, json!({}))).await;
    }
    for number in 0..256 {
        assert_eq!(shown(slow.next().await), format!("start t s{number}"));
    }
    assert_eq!(shown(slow.next().await), "lagged 44");
    put(&store, &child("t", "last", 0.0, json!({}))).await;
    assert_eq!(shown(slow.next().await), "start t last");
    while !shown(large.next().await).starts_with("lagged") {}
    for number in 0..20 {
        let big = json!({"x": "y".repeat(200_000)});
        put(&store, &child("t", &format!("big{number}"), 0.0, big)).await;
    }
    let mut got = 0;
    while !shown(large.next().await).starts_with("lagged") {
        got += 1;
    }
    assert_eq!(got, 6, "a mebibyte of events waits, not more");
}
