//! Files that an earlier version has written, and batches in which something fails.

use oxikit_sql::TraceOptions;
use rusqlite::Connection;
use serde_json::json;

use super::{child, file, folder, list, open, open_with, put, query, span};

/// The tables of the first version, with a trace and a log line.
const FIRST: &str = include_str!("../../../src/sqlite/traces/schema.sql");
const APPLICATION: i32 = 0x6f78_7472;

#[tokio::test]
async fn a_file_of_the_first_version_is_brought_up_to_date() {
    let folder = folder();
    let old = Connection::open(file(&folder)).unwrap();
    old.execute_batch(FIRST).unwrap();
    old.pragma_update(None, "application_id", APPLICATION).unwrap();
    old.pragma_update(None, "user_version", 1).unwrap();
    let json = span("t1", "s1", 2000.0, json!({"x": "a lighthouse"})).to_string();
    let number = 1_i64 << 20;
    old.execute(
        "INSERT INTO traces VALUES (1, 't1', ?1, 1, 'work', NULL, 1000, 2000, 1, 0, NULL, 1, 0, 0, 0, 0, NULL, ?2)",
        (number, i64::MAX),
    )
    .unwrap();
    old.execute(
        "INSERT INTO spans VALUES (?1, 1, 's1', 2000, NULL, NULL, NULL, NULL, ?2)",
        (number, &json),
    )
    .unwrap();
    old.execute("INSERT INTO fresh VALUES (?1)", [number]).unwrap();
    drop(old);
    let store = open_with(&folder, |options| options.max_traces = 2);
    // What was not in the index yet is found, and what was there is counted.
    let wanted = query(|query| query.text = Some("lighthouse".into()));
    assert_eq!(list(&store, &wanted).await, ["t1"]);
    for trace in ["t2", "t3"] {
        put(&store, &span(trace, "s1", 2000.0, json!({}))).await;
    }
    store.prune().await.unwrap();
    assert_eq!(list(&store, &query(|_| ())).await, ["t3", "t2"]);
}

#[tokio::test]
async fn all_spans_of_a_large_post_are_found() {
    let folder = folder();
    let store = open(&folder);
    let count = 3 * 256 + 7;
    let spans = (0..count).map(|place| {
        let id = format!("s{place}");
        (id.clone(), child("t1", &id, 2000.0, json!({"x": format!("word{place}")})))
    });
    let post = json!({"traceId": "t1", "spans": spans.collect::<serde_json::Map<_, _>>()});
    store.ingest(post.to_string().as_bytes()).await.unwrap();
    for place in [0, 256, count - 1] {
        let wanted = query(|query| query.text = Some(format!("word{place}")));
        assert_eq!(list(&store, &wanted).await, ["t1"], "{place}");
    }
}

#[tokio::test]
async fn what_fails_takes_nothing_with_it() {
    let folder = folder();
    let store = open_with(&folder, |options: &mut TraceOptions| options.max_pages = Some(500));
    // All at once, so that they share a transaction.
    let mut work = tokio::task::JoinSet::new();
    for number in 0..50 {
        let (put_into, full) = (store.clone(), store.clone());
        work.spawn(async move {
            put(&put_into, &span(&format!("t{number}"), "s1", 2000.0, json!({}))).await;
        });
        if number % 10 == 0 {
            work.spawn(async move {
                let values = (0..20).map(|place| (format!("a{place}"), "x".repeat(200_000).into()));
                let values: serde_json::Map<_, _> = values.collect();
                let large = span(&format!("large{number}"), "s1", 2000.0, values.into());
                let post = json!({"traceId": large["traceId"], "spans": {"s1": large}});
                let refused = full.ingest(post.to_string().as_bytes()).await;
                assert!(refused.is_err());
            });
        }
    }
    work.join_all().await;
    assert_eq!(list(&store, &query(|query| query.limit = 100)).await.len(), 50);
}

#[tokio::test]
async fn rows_are_counted_as_they_come_and_go() {
    let folder = folder();
    let store = open_with(&folder, |options: &mut TraceOptions| options.max_traces = 20);
    for number in 0..30 {
        put(&store, &span(&format!("t{number}"), "s1", 2000.0, json!({}))).await;
    }
    store.delete("t29").await.unwrap();
    store.prune().await.unwrap();
    let counts = |table: &str| {
        let sql = format!(
            "SELECT (SELECT COUNT(*) FROM {table}), amount FROM counts WHERE name = '{table}'"
        );
        let connection = Connection::open(file(&folder)).unwrap();
        connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    };
    // Some may have been removed before the one that was deleted, as too many.
    let (traces, counted): (i64, i64) = counts("traces");
    assert!(traces == counted && (19..=20).contains(&traces), "{traces} {counted}");
    store.clear().await.unwrap();
    assert_eq!(counts("traces"), (0, 0));
    // The numbers of what is gone are given again.
    for number in 0..5 {
        put(&store, &span(&format!("u{number}"), "s1", 2000.0, json!({}))).await;
        store.delete(&format!("u{number}")).await.unwrap();
        put(&store, &span(&format!("v{number}"), "s1", 2000.0, json!({}))).await;
    }
    store.prune().await.unwrap();
    assert_eq!(counts("traces"), (5, 5));
}
