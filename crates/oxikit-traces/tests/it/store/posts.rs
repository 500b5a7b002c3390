//! Posts that are refused, and what is forgiven.

use oxikit_traces::TraceError;
use oxikit_wire::trace::{LogRecord, SpanData};
use serde_json::{Value, json};

use super::{folder, get, open, query, span};

fn with(change: impl FnOnce(&mut serde_json::Map<String, Value>)) -> String {
    let mut span = span("t", "s", 0.0, json!({}));
    change(span.as_object_mut().unwrap());
    json!({"traceId": "t", "spans": {"s": span}}).to_string()
}

#[tokio::test]
async fn bad_posts_are_refused_and_say_why() {
    let folder = folder();
    let store = open(&folder);
    let without = |name: &'static str| with(move |span| _ = span.remove(name));
    let set =
        |name: &'static str, value: Value| with(move |span| _ = span.insert(name.into(), value));
    let table = [
        ("{".to_owned(), "EOF"),
        ("x".to_owned(), "expected value"),
        ("[]".to_owned(), "not a trace"),
        ("{}".to_owned(), "traceId"),
        (r#"{"traceId":"t"}"#.to_owned(), "spans"),
        (r#"{"traceId":1,"spans":{}}"#.to_owned(), "expected a string"),
        (r#"{"traceId":"t","spans":[]}"#.to_owned(), "an object"),
        (r#"{"traceId":"../x","spans":{}}"#.to_owned(), "`../x`"),
        (r#"{"traceId":"a/b","spans":{}}"#.to_owned(), "`a/b`"),
        (r#"{"traceId":"a\\b","spans":{}}"#.to_owned(), "cannot be used"),
        (r#"{"traceId":"","spans":{}}"#.to_owned(), "empty"),
        (json!({"traceId": "t".repeat(300), "spans": {}}).to_string(), "256 bytes"),
        (without("spanId"), "span `s`: missing field `spanId`"),
        (without("traceId"), "missing field `traceId`"),
        (without("startTime"), "missing field `startTime`"),
        (without("endTime"), "missing field `endTime`"),
        (without("attributes"), "missing field `attributes`"),
        (without("displayName"), "missing field `displayName`"),
        (without("instrumentationLibrary"), "missing field `instrumentationLibrary`"),
        (without("spanKind"), "missing field `spanKind`"),
        (set("instrumentationLibrary", json!({})), "missing field `name`"),
        (set("parentSpanId", 1.into()), "integer"),
        (set("status", json!({"code": 0.5})), "expected an integer"),
        (set("startTime", "1".into()), "string"),
        (set("endTime", Value::Null), "null"),
        (set("attributes", json!([])), "an object"),
        (set("status", json!({"code": "x"})), "string"),
        (json!({"traceId": "t", "spans": {"s": 1}}).to_string(), "span `s`: it is not an object"),
        (json!({"traceId": "t", "spans": {"s": ["s", "t"]}}).to_string(), "it is not an object"),
    ];
    for (post, reason) in table {
        match store.ingest(post.as_bytes()).await {
            Err(TraceError::Post(text)) => assert!(text.contains(reason), "{post}: {text}"),
            other => panic!("{post}: {other:?}"),
        }
    }
    let not_text = [b"{\"traceId\":\"".as_slice(), &[0xff], b"\",\"spans\":{}}"].concat();
    assert!(matches!(store.ingest(&not_text).await, Err(TraceError::Post(_))));
    assert!(store.list(&query(|_| ())).await.unwrap().traces.is_empty());
}

#[tokio::test]
async fn what_is_not_known_is_stored_as_it_came() {
    let folder = folder();
    let store = open(&folder);
    let text = r#"{"spanId":"s" , "traceId":"t","startTime":1e3,"endTime":2000.50,"foo":2,
        "attributes":{"a":null,"n":1.50,"arr":[1],"ü":"\u00fc"},"displayName":"x",
        "instrumentationLibrary":{"name":"o"},"spanKind":"INTERNAL","timeEvents":{}}"#;
    let post = format!(r#"{{"traceId":"t","foo":1,"spans":{{"s":{text}}}}}"#);
    store.ingest(post.as_bytes()).await.unwrap();
    let span = store.span("t", "s").await.unwrap().unwrap();
    assert_eq!(span.json, text);
    assert!(store.get("t").await.unwrap().unwrap().contains(text));
    let empty = br#"{"traceId":"nothing","spans":{}}"#;
    store.ingest(empty).await.unwrap();
    assert_eq!(get(&store, "nothing").await, Value::Null);
}

#[tokio::test]
async fn spans_of_several_traces_come_at_once() {
    let folder = folder();
    let store = open(&folder);
    let span = |trace: &str, id: &str| SpanData {
        span_id: id.to_owned(),
        trace_id: trace.to_owned(),
        start_time: 1.0,
        end_time: 2.5,
        display_name: id.to_owned(),
        span_kind: "SERVER".to_owned(),
        ..SpanData::default()
    };
    store.ingest_spans(vec![span("a", "1"), span("b", "2"), span("a", "3")]).await.unwrap();
    assert_eq!(get(&store, "a").await["spans"].as_object().unwrap().len(), 2);
    assert_eq!(get(&store, "b").await["spans"]["2"]["displayName"], "2");
    store.ingest_spans(Vec::new()).await.unwrap();
}

#[tokio::test]
async fn logs_are_listed_newest_first_by_trace_span_and_severity() {
    let folder = folder();
    let store = open(&folder);
    let lines = include_str!("recordings/logs.sample.jsonl").lines();
    let logs: Vec<LogRecord> = lines
        .filter(|line| !line.is_empty())
        .map(|line| {
            let log: LogRecord = serde_json::from_str(line).unwrap();
            let again: Value = serde_json::to_value(&log).unwrap();
            let number: f64 = again["timestamp"].as_f64().unwrap();
            let mut expected: Value = serde_json::from_str(line).unwrap();
            expected["timestamp"] = number.into();
            assert_eq!(again, expected);
            log
        })
        .collect();
    store.add_logs(logs.clone()).await.unwrap();
    let check = async |change: fn(&mut oxikit_traces::LogQuery), expected: &[&str]| {
        let mut query = oxikit_traces::LogQuery::default();
        change(&mut query);
        let page = store.logs(&query).await.unwrap();
        let bodies = page.logs.iter().map(|json| serde_json::from_str::<Value>(json).unwrap());
        let bodies: Vec<_> = bodies.map(|log| log["body"].as_str().unwrap().to_owned()).collect();
        assert_eq!(bodies, expected);
        page.next
    };
    check(|_| (), &["oops", "greeting Ada"]).await;
    check(|query| query.min_severity = Some(17), &["oops"]).await;
    check(|query| query.severity_text = Some("info".into()), &["greeting Ada"]).await;
    check(|query| query.trace_id = Some("b".repeat(32)), &["oops"]).await;
    check(|query| query.span_id = Some("8bbcf8335ef31089".into()), &["greeting Ada"]).await;
    check(|query| query.trace_id = Some("none".into()), &[]).await;
    let next = check(|query| query.limit = 1, &["oops"]).await;
    store.add_logs(logs).await.unwrap();
    let mut query = oxikit_traces::LogQuery::default();
    query.after = next;
    let page = store.logs(&query).await.unwrap();
    assert_eq!((page.logs.len(), page.next), (1, None), "newer lines do not move the page");
    query.after = Some("7".to_owned());
    assert!(matches!(store.logs(&query).await, Err(TraceError::Query(_))));
}
