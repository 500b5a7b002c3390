//! Files that an earlier version has written, and batches in which something fails.

use oxikit_sql::OpenError;
use oxikit_traces::{TraceOptions, TraceStore};
use rusqlite::Connection;
use serde_json::json;

use super::{child, file, folder, list, open, open_with, put, query, span};

/// The steps of released versions are tested with the connection, in `oxikit-sqlite`.
#[tokio::test]
async fn a_file_of_an_unreleased_version_is_refused_and_may_be_deleted() {
    let folder = folder();
    for found in 1..=4 {
        let store = open(&folder);
        put(&store, &span("t1", "s1", 2000.0, json!({}))).await;
        drop(store);
        let old = Connection::open(file(&folder)).unwrap();
        old.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
        old.pragma_update(None, "user_version", found).unwrap();
        drop(old);
        let error = TraceStore::open(file(&folder)).unwrap_err();
        assert!(matches!(error, OpenError::Unreleased { .. }), "{error:?}");
        assert!(error.to_string().contains("move or delete it"), "{error}");
        for ending in ["", "-wal", "-shm"] {
            let name = format!("{}{ending}", file(&folder).display());
            _ = std::fs::remove_file(name);
        }
    }
    let store = open(&folder);
    assert_eq!(list(&store, &query(|_| ())).await, [""; 0]);
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
