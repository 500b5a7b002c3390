//! The store of traces.

mod blocks;
mod damage;
mod feed;
mod files;
mod gone;
mod limits;
mod merge;
mod posts;
mod query;
mod recordings;
mod sessions;
mod torn;
mod upgrade;
mod words;

use std::path::PathBuf;

use oxikit_traces::{TraceOptions, TraceQuery, TraceStore};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder in memory, if the system has one.
fn folder() -> TempDir {
    TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap()
}

fn file(folder: &TempDir) -> PathBuf {
    folder.path().join("traces.db")
}

fn open(folder: &TempDir) -> TraceStore {
    TraceStore::open(file(folder)).unwrap()
}

fn open_with(folder: &TempDir, change: impl FnOnce(&mut TraceOptions)) -> TraceStore {
    let mut options = TraceOptions::default();
    change(&mut options);
    TraceStore::open_with(file(folder), options).unwrap()
}

fn query(change: impl FnOnce(&mut TraceQuery)) -> TraceQuery {
    let mut query = TraceQuery::default();
    change(&mut query);
    query
}

/// A span that ended well, or that runs if `end` is 0.
fn span(trace: &str, id: &str, end: f64, attributes: Value) -> Value {
    json!({
        "spanId": id, "traceId": trace, "startTime": 1000, "endTime": end,
        "attributes": attributes, "displayName": "work",
        "instrumentationLibrary": {"name": "test"}, "spanKind": "INTERNAL", "status": {"code": 0}
    })
}

fn child(trace: &str, id: &str, end: f64, attributes: Value) -> Value {
    let mut span = span(trace, id, end, attributes);
    span["parentSpanId"] = "root".into();
    span
}

async fn put(store: &TraceStore, span: &Value) {
    let id = span["spanId"].as_str().unwrap();
    let post = json!({"traceId": span["traceId"], "spans": {id: span}});
    store.ingest(post.to_string().as_bytes()).await.unwrap();
}

async fn get(store: &TraceStore, trace: &str) -> Value {
    let json = store.get(trace).await.unwrap();
    json.map_or(Value::Null, |json| serde_json::from_str(&json).unwrap())
}

/// The ids of the traces of a page.
async fn list(store: &TraceStore, query: &TraceQuery) -> Vec<String> {
    let page = store.list(query).await.unwrap();
    page.traces.into_iter().map(|trace| trace.trace_id).collect()
}
