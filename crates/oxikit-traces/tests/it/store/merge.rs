//! Spans of one trace, in any order.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{child, file, folder, get, list, open, put, query, span};
use oxikit_traces::{ModelPrice, TraceOptions, TraceStatus, TraceStore};

#[tokio::test]
async fn a_span_that_runs_never_replaces_one_that_ended() {
    let folder = folder();
    let store = open(&folder);
    let ended = span("t", "root", 1500.5, json!({"genkit:state": "success"}));
    put(&store, &ended).await;
    put(&store, &span("t", "root", 0.0, json!({}))).await;
    let trace = get(&store, "t").await;
    assert_eq!(trace["spans"]["root"], ended);
    assert_eq!((&trace["startTime"], &trace["endTime"]), (&json!(1000), &json!(1500.5)));
    let summary = store.summary("t").await.unwrap().unwrap();
    assert_eq!(
        (summary.status, summary.end, summary.spans),
        (TraceStatus::Success, Some(1500.5), 1)
    );
}

#[tokio::test]
async fn a_trace_runs_until_its_root_has_ended() {
    let folder = folder();
    let store = open(&folder);
    put(&store, &child("t", "a", 1100.0, json!({}))).await;
    put(&store, &span("t", "root", 0.0, json!({"genkitx:env": "dev"}))).await;
    let summary = store.summary("t").await.unwrap().unwrap();
    assert_eq!(
        (summary.status, summary.end, &*summary.root_id),
        (TraceStatus::Running, None, "root")
    );
    let mut failed = span("t", "root", 1200.0, json!({"genkit:state": "error"}));
    failed["status"] = json!({"code": 2, "message": "kaboom"});
    put(&store, &failed).await;
    let summary = store.summary("t").await.unwrap().unwrap();
    assert_eq!((summary.status, summary.end), (TraceStatus::Error, Some(1200.0)));
}

#[tokio::test]
async fn a_span_that_ends_twice_counts_its_tokens_once() {
    let folder = folder();
    let store = open(&folder);
    let model = |tokens: u32, cost: f64| {
        let usage = json!({"inputTokens": tokens, "outputTokens": 1, "custom": {"cost": cost}});
        let output = json!({"usage": usage}).to_string();
        span("t", "m", 2000.0, json!({"genkit:metadata:subtype": "model", "genkit:output": output}))
    };
    put(&store, &model(10, 0.5)).await;
    put(&store, &model(20, 0.25)).await;
    let usage = store.summary("t").await.unwrap().unwrap().usage;
    assert_eq!((usage.input_tokens, usage.total_tokens, usage.cost), (20, 21, Some(0.25)));
}

#[tokio::test]
async fn what_a_model_costs_is_summed_up_by_its_price() {
    let folder = folder();
    let mut options = TraceOptions::default();
    options.prices.insert("m/one".to_owned(), ModelPrice { input: 2.0, output: 10.0 });
    let store = TraceStore::open_with(file(&folder), options).unwrap();
    let model = |id: &str, name: &str, usage: Value| {
        let output = json!({"usage": usage}).to_string();
        let kind = ("genkit:metadata:subtype", "model");
        child(
            "t",
            id,
            2000.0,
            json!({(kind.0): kind.1, "genkit:name": name, "genkit:output": output}),
        )
    };
    let tokens =
        json!({"inputTokens": 1_000_000, "outputTokens": 100_000, "totalTokens": 1_300_000});
    // Thoughts cost what answers cost.
    put(&store, &model("a", "m/one", tokens.clone())).await;
    // A cost that the runtime reports takes precedence; a model without a price has no cost.
    put(&store, &model("b", "m/one", json!({"inputTokens": 1, "custom": {"cost": 0.5}}))).await;
    put(&store, &model("c", "m/two", tokens)).await;
    let other = json!({"gen_ai.request.model": "m/one", "gen_ai.usage.output_tokens": 100_000});
    put(&store, &child("t", "d", 2000.0, other)).await;
    let usage = store.summary("t").await.unwrap().unwrap().usage;
    assert_eq!(usage.cost, Some(2.0 + 3.0 + 0.5 + 1.0));
    let spans = store.spans("t").await.unwrap();
    let costs: Vec<_> = spans.iter().map(|span| span.usage.and_then(|usage| usage.cost)).collect();
    assert_eq!(costs, [Some(5.0), Some(0.5), None, Some(1.0)]);
}

#[tokio::test]
async fn two_stores_on_one_file_write_one_trace() {
    let folder = folder();
    let stores = [open(&folder), open(&folder)];
    let write = |store: TraceStore, from: usize| async move {
        for number in (from..100).step_by(2) {
            put(&store, &child("t", &format!("s{number}"), 1100.0, json!({"n": number}))).await;
        }
    };
    tokio::join!(write(stores[0].clone(), 0), write(stores[1].clone(), 1));
    assert_eq!(get(&stores[0], "t").await["spans"].as_object().unwrap().len(), 100);
    assert_eq!(stores[1].summary("t").await.unwrap().unwrap().spans, 100);
    let found = list(&stores[1], &query(|query| query.text = Some("work".to_owned()))).await;
    assert_eq!(found, ["t"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Starts and ends of some spans, cut into posts and shuffled: the outcome is that
    /// of the natural order.
    #[test]
    fn the_order_of_posts_does_not_matter(
        order in Just((0..8_usize).flat_map(|id| [(id, false), (id, true)]).collect::<Vec<_>>())
            .prop_shuffle(),
        sizes in prop::collection::vec(1..4_usize, 16),
    ) {
        let folder = folder();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let trace = runtime.block_on(async {
            let store = open(&folder);
            let mut rest = &order[..];
            for size in sizes {
                let (now, later) = rest.split_at(size.min(rest.len()));
                rest = later;
                let mut spans = serde_json::Map::new();
                for (id, has_ended) in now {
                    let name = if *id == 0 { "root".to_owned() } else { format!("s{id}") };
                    let end = if *has_ended { 2000.0 + *id as f64 } else { 0.0 };
                    let make = if *id == 0 { span } else { child };
                    let new = make("t", &name, end, json!({"ended": has_ended}));
                    if *has_ended || !spans.contains_key(&name) {
                        spans.insert(name, new);
                    }
                }
                if !spans.is_empty() {
                    let post = json!({"traceId": "t", "spans": spans});
                    store.ingest(post.to_string().as_bytes()).await.unwrap();
                }
            }
            let summary = store.summary("t").await.unwrap().unwrap();
            assert_eq!((&*summary.root_id, summary.end, summary.spans), ("root", Some(2000.0), 8));
            get(&store, "t").await
        });
        let spans: &serde_json::Map<String, Value> = trace["spans"].as_object().unwrap();
        prop_assert_eq!(spans.len(), 8);
        prop_assert!(spans.values().all(|span| span["attributes"]["ended"] == true));
    }
}

#[tokio::test]
async fn a_file_of_a_newer_version_or_of_another_store_is_refused() {
    let folder = folder();
    drop(open(&folder));
    let connection = rusqlite::Connection::open(file(&folder)).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    let refused = TraceStore::open(file(&folder)).unwrap_err().to_string();
    assert!(refused.contains("newer version (tables 99"), "{refused}");
    drop(connection);

    let other = folder.path().join("sessions.db");
    drop(oxikit_sql::SqliteStore::open(&other).unwrap());
    let refused = TraceStore::open(&other).unwrap_err();
    assert!(matches!(refused, oxikit_sql::OpenError::Foreign), "{refused}");
    let refused = oxikit_sql::SqliteStore::open(file(&folder)).unwrap_err();
    assert!(matches!(refused, oxikit_sql::OpenError::Foreign), "{refused}");
}

#[cfg(unix)]
#[test]
fn only_the_user_can_read_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let path = folder.path().join(".oxikit/traces.db");
    let store = TraceStore::open(&path).unwrap();
    for path in [path.clone(), path.with_extension("db-wal"), path.parent().unwrap().to_owned()] {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{path:?}");
    }
    drop(store);
}
