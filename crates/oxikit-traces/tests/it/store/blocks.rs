//! Lists by time and duration over many traces, compared with a look at each of them.

use std::collections::BTreeMap;

use oxikit_traces::{TraceFilter, TraceQuery, TraceStore};
use rusqlite::Connection;
use serde_json::json;

use super::{file, folder, open_with, query, span};

/// When a trace began, and when it ended.
type Times = (f64, Option<f64>);

/// Traces in the order of their arrival.
#[derive(Default)]
struct Model(BTreeMap<usize, Times>);

impl Model {
    async fn put(&mut self, store: &TraceStore, number: usize, (start, end): Times) {
        let id = format!("t{number}");
        let mut root = span(&id, "s", end.unwrap_or(0.0), json!({}));
        root["startTime"] = start.into();
        let post = json!({"traceId": id, "spans": {"s": root}});
        store.ingest(post.to_string().as_bytes()).await.unwrap();
        self.0.insert(number, (start, end));
    }

    fn find(&self, query: &TraceQuery) -> Vec<String> {
        let fits = |(start, end): Times| {
            let duration = end.map(|end| end - start);
            let filter = query.filter.clone().unwrap_or_default();
            query.started_from.is_none_or(|from| start >= from)
                && query.started_before.is_none_or(|before| start < before)
                && query.min_duration.is_none_or(|min| duration.is_some_and(|it| it >= min))
                && query.max_duration.is_none_or(|max| duration.is_some_and(|it| it <= max))
                && filter.gte.get("start").is_none_or(|from| start >= *from)
                && filter.lte.get("start").is_none_or(|to| start <= *to)
        };
        let found = self.0.iter().rev().filter(|(_, times)| fits(**times));
        found.map(|(number, _)| format!("t{number}")).collect()
    }
}

/// All pages, one after the other.
async fn all(store: &TraceStore, mut query: TraceQuery) -> Vec<String> {
    let mut found = Vec::new();
    loop {
        let page = store.list(&query).await.unwrap();
        assert!(page.traces.len() <= query.limit);
        found.extend(page.traces.into_iter().map(|trace| trace.trace_id));
        query.after = page.next;
        if query.after.is_none() {
            return found;
        }
    }
}

async fn check(store: &TraceStore, model: &Model, random: &mut fastrand::Rng) {
    let time = |random: &mut fastrand::Rng| 1e6 + (random.f64() * 7e6).round();
    for _ in 0..24 {
        let query = query(|query| {
            query.limit = random.usize(1..400);
            query.started_from = random.bool().then(|| time(random));
            query.started_before = random.bool().then(|| time(random));
            query.min_duration = random.bool().then(|| random.f64() * 1200.0);
            query.max_duration = random.bool().then(|| random.f64() * 1200.0);
            if random.bool() {
                let (from, to) = (time(random), time(random));
                let json = json!({"gte": {"start": from}, "lte": {"start": to}}).to_string();
                query.filter = Some(TraceFilter::from_json(&json).unwrap());
            }
        });
        assert_eq!(all(store, query.clone()).await, model.find(&query), "{query:?}");
    }
}

fn blocks(folder: &tempfile::TempDir) -> Vec<i64> {
    let file = Connection::open(file(folder)).unwrap();
    let mut select = file.prepare("SELECT number FROM blocks").unwrap();
    select.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_by_time_and_duration_find_what_is_there() {
    let folder = folder();
    let store = open_with(&folder, |options| options.max_traces = 5_500);
    let mut random = fastrand::Rng::with_seed(12);
    let mut model = Model::default();
    for number in 0..5_000 {
        // Clocks differ; few take long, some run.
        let start = 1e6 + (number * 1000) as f64 + (random.f64() * 300_000.0).round();
        let took = if random.u32(0..500) == 0 { 1000.0 } else { (random.f64() * 50.0).round() };
        let end = (random.u32(0..40) > 0).then_some(start + took);
        model.put(&store, number, (start, end)).await;
    }
    store.prune().await.unwrap();
    assert_eq!(blocks(&folder), [0, 1, 2, 3], "complete blocks are summed up");
    check(&store, &model, &mut random).await;

    // Traces of old blocks end late, or turn out to have begun at another time.
    let running: Vec<_> = model.0.iter().filter(|(_, times)| times.1.is_none()).collect();
    let late: Vec<_> = running.into_iter().map(|(number, times)| (*number, times.0)).collect();
    for (number, start) in late {
        let start = (start - (random.f64() * 2e6).round()).max(1.0);
        model.put(&store, number, (start, Some(start + (random.f64() * 5000.0).round()))).await;
    }
    check(&store, &model, &mut random).await;

    // The newest are deleted, and their numbers are given again; the oldest go by themselves.
    for number in 4_000..5_000 {
        store.delete(&format!("t{number}")).await.unwrap();
        model.0.remove(&number);
    }
    for number in 5_000..7_500 {
        let start = 1.0 + (random.f64() * 9e6).round();
        model.put(&store, number, (start, Some(start + 700.0))).await;
    }
    while store.prune().await.unwrap().traces > 0 {}
    while model.0.len() > 5_500 {
        model.0.pop_first();
    }
    assert_eq!(*model.0.first_key_value().unwrap().0, 1000, "numbers are those of the store");
    check(&store, &model, &mut random).await;

    // As an earlier version leaves a file: nothing is summed up.
    drop(store);
    Connection::open(file(&folder)).unwrap().execute_batch("DELETE FROM blocks").unwrap();
    let store = open_with(&folder, |_| ());
    check(&store, &model, &mut random).await;
    store.prune().await.unwrap();
    assert!(!blocks(&folder).is_empty());
    check(&store, &model, &mut random).await;
}
