//! Limits: what is cut, what is counted, what goes first.

use std::time::Duration;

use serde_json::{Value, json};

use super::{child, folder, get, list, open, open_with, put, query, span};
use oxikit_core::ports::StoreError;
use oxikit_traces::TraceError;
use oxikit_wire::trace::LogRecord;

#[tokio::test]
async fn long_attributes_are_cut_with_a_mark() {
    let folder = folder();
    let store = open_with(&folder, |options| options.max_attribute_bytes = 100);
    let long = "é\"".repeat(200);
    let attributes =
        json!({"first": 1, "long": long, "list": vec!["x"; 100], "last": "y".repeat(100)});
    put(&store, &span("t", "root", 2000.0, attributes)).await;
    let stored = get(&store, "t").await["spans"]["root"]["attributes"].take();
    let cut = |value: &Value| {
        let text = value.as_str().unwrap();
        let (kept, mark) = text.split_once('…').unwrap();
        (kept.len(), mark.to_owned())
    };
    assert_eq!(cut(&stored["long"]), (99, " [cut, 600 bytes]".to_owned()));
    assert_eq!(cut(&stored["list"]), (100, " [cut, 401 bytes]".to_owned()));
    assert_eq!((&stored["first"], &stored["last"]), (&json!(1), &json!("y".repeat(100))));
}

#[tokio::test]
async fn spans_beyond_the_limit_are_counted() {
    let folder = folder();
    let store = open_with(&folder, |options| options.max_spans = 3);
    for number in 0..5 {
        put(&store, &child("t", &format!("s{number}"), 0.0, json!({}))).await;
    }
    put(&store, &child("t", "s1", 2000.0, json!({}))).await;
    let summary = store.summary("t").await.unwrap().unwrap();
    assert_eq!((summary.spans, summary.dropped_spans), (3, 2));
    let trace = get(&store, "t").await;
    assert_eq!(trace["spans"].as_object().unwrap().keys().collect::<Vec<_>>(), ["s0", "s1", "s2"]);
    assert_eq!(trace["spans"]["s1"]["endTime"], json!(2000.0));
}

#[tokio::test]
async fn the_oldest_traces_go_by_themselves() {
    let folder = folder();
    let store = open_with(&folder, |options| options.max_traces = 10);
    for number in 0..100 {
        put(&store, &span(&format!("t{number}"), "root", 2000.0, json!({"x": "needle"}))).await;
    }
    let expected: Vec<_> = (90..100).rev().map(|number| format!("t{number}")).collect();
    store.prune().await.unwrap();
    assert_eq!(list(&store, &query(|query| query.limit = 100)).await, expected);
    let search = query(|query| (query.limit, query.text) = (100, Some("needle".to_owned())));
    assert_eq!(list(&store, &search).await, expected);
    assert_eq!(store.prune().await.unwrap().traces, 0);
    let connection = rusqlite::Connection::open(super::file(&folder)).unwrap();
    for table in ["spans", "words_docsize"] {
        let sql = format!("SELECT COUNT(*) FROM {table}");
        assert_eq!(
            connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap(),
            10,
            "{table}"
        );
    }
}

#[tokio::test]
async fn writing_alone_keeps_the_file_small() {
    let folder = folder();
    let store = open_with(&folder, |options| (options.max_traces, options.max_logs) = (10, 20));
    for number in 0..200 {
        let id = format!("t{number}");
        put(&store, &span(&id, "root", 2000.0, json!({}))).await;
        let log = LogRecord { body: "line".into(), ..LogRecord::default() };
        store.add_logs(vec![log]).await.unwrap();
    }
    let traces = list(&store, &query(|query| query.limit = 100)).await;
    assert!((10..=40).contains(&traces.len()), "{}", traces.len());
    let mut all = oxikit_traces::LogQuery::default();
    all.limit = 1000;
    let logs = store.logs(&all).await.unwrap().logs.len();
    assert!((20..=170).contains(&logs), "{logs}");
}

#[tokio::test]
async fn a_trace_that_runs_is_kept_whole() {
    let folder = folder();
    let store = open_with(&folder, |options| options.max_traces = 2);
    put(&store, &span("runs", "root", 0.0, json!({}))).await;
    for number in 0..50 {
        put(&store, &child("runs", &format!("s{number}"), 2000.0, json!({}))).await;
        put(&store, &span(&format!("t{number}"), "root", 2000.0, json!({}))).await;
        store.prune().await.unwrap();
    }
    put(&store, &span("runs", "root", 3000.0, json!({}))).await;
    assert_eq!(get(&store, "runs").await["spans"].as_object().unwrap().len(), 51);
    assert_eq!(list(&store, &query(|_| ())).await, ["t49", "runs"]);
}

#[tokio::test]
async fn old_traces_and_their_logs_go() {
    let folder = folder();
    let store = open_with(&folder, |options| options.max_age = Duration::ZERO);
    put(&store, &span("old", "root", 0.0, json!({}))).await;
    let log = LogRecord { trace_id: Some("old".to_owned()), ..LogRecord::default() };
    store.add_logs(vec![log, LogRecord::default()]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    store.prune().await.unwrap();
    assert!(list(&store, &query(|_| ())).await.is_empty());
    assert!(store.logs(&Default::default()).await.unwrap().logs.is_empty());
}

#[tokio::test]
async fn the_file_stays_below_its_size() {
    let folder = folder();
    let store = open_with(&folder, |options| options.max_bytes = 2 * 1024 * 1024);
    for number in 0..100 {
        let data = json!({"x": "y".repeat(100_000)});
        put(&store, &span(&format!("t{number}"), "root", 2000.0, data)).await;
    }
    store.prune().await.unwrap();
    let kept = list(&store, &query(|query| query.limit = 100)).await;
    assert!((15..=20).contains(&kept.len()) && kept[0] == "t99", "{kept:?}");
    let bytes = std::fs::metadata(super::file(&folder)).unwrap().len();
    drop(store);
    assert!(bytes < 4 * 1024 * 1024, "{bytes}");
}

#[tokio::test]
async fn forgetting_leaves_nothing() {
    let folder = folder();
    let store = open(&folder);
    put(&store, &span("a", "root", 2000.0, json!({"genkitx:x": "needle"}))).await;
    put(&store, &span("b", "root", 2000.0, json!({"genkitx:x": "needle"}))).await;
    assert!(store.delete("a").await.unwrap());
    assert!(!store.delete("a").await.unwrap());
    assert_eq!(list(&store, &query(|_| ())).await, ["b"]);
    let search = query(|query| query.text = Some("needle".to_owned()));
    assert_eq!(list(&store, &search).await, ["b"]);
    store.clear().await.unwrap();
    assert!(list(&store, &query(|_| ())).await.is_empty());
    assert!(list(&store, &search).await.is_empty());
    put(&store, &span("c", "root", 2000.0, json!({"genkitx:x": "needle"}))).await;
    assert_eq!(list(&store, &search).await, ["c"]);
}

#[tokio::test]
async fn a_full_disk_is_said_and_survived() {
    let folder = folder();
    let store = open_with(&folder, |options| options.max_pages = Some(60));
    let mut refused = None;
    for number in 0..20 {
        let new = span(&format!("t{number}"), "root", 2000.0, json!({"x": "y".repeat(50_000)}));
        let post = json!({"traceId": new["traceId"], "spans": {"root": new}}).to_string();
        if let Err(error) = store.ingest(post.as_bytes()).await {
            refused = Some(error);
            break;
        }
    }
    assert!(matches!(refused, Some(TraceError::Store(StoreError::Full(..)))), "{refused:?}");
    assert!(!list(&store, &query(|_| ())).await.is_empty());
    store.clear().await.unwrap();
    put(&store, &span("again", "root", 2000.0, json!({}))).await;
}
