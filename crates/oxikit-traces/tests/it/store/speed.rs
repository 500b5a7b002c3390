//! Measures the time of writes and queries. Run with
//! `cargo test --release -p oxikit-sql --test it speed -- --ignored --nocapture`.

use std::time::{Duration, Instant};

use oxikit_traces::TraceStore;
use serde_json::json;

use super::{child, file, folder, open_with, query};

/// A span as a flow of the JavaScript runtime posts it at its end.
fn post(trace: usize, spans: usize) -> String {
    let id = format!(
        "{:032x}",
        (trace as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    );
    let spans = (0..spans).map(|place| {
        let mut span = json!({
            "spanId": format!("{:016x}", trace * 1000 + place), "traceId": id,
            "startTime": 1_794_724_507_238_i64, "endTime": 1_794_724_507_330.570_6,
            "attributes": {
                "genkit:type": "action", "genkit:metadata:subtype": "flow", "genkit:key": "/flow/greet",
                "genkit:name": "greet", "genkit:isRoot": true, "genkit:path": "/{greet,t:flow}",
                "genkit:input": format!("{{\"name\":\"Ada{}\"}}", trace % 1000),
                "genkit:output": format!("{{\"text\":\"Hi Ada{trace}\"}}"), "genkit:state": "success",
            },
            "displayName": format!("greet{}", trace % 50), "links": [],
            "instrumentationLibrary": {"name": "genkit-tracer", "version": "v1"},
            "spanKind": "INTERNAL", "sameProcessAsParentSpan": {"value": true},
            "status": {"code": 0}, "timeEvents": {"timeEvent": []},
        });
        if place > 0 {
            span["parentSpanId"] = "0".into();
        }
        (span["spanId"].as_str().unwrap().to_owned(), span)
    });
    json!({"traceId": id, "spans": spans.collect::<serde_json::Map<_, _>>()}).to_string()
}

/// Of all threads of the process.
fn cpu() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let nanoseconds = threads.map(|thread| {
        let times = std::fs::read_to_string(thread.unwrap().path().join("schedstat")).unwrap();
        times.split(' ').next().unwrap().parse::<u64>().unwrap()
    });
    Duration::from_nanos(nanoseconds.sum())
}

async fn ingest(store: &TraceStore, posts: Vec<String>, at_once: usize) -> (Duration, Duration) {
    let count = posts.len() as u32;
    let (begin, before) = (Instant::now(), cpu());
    let posts = std::sync::Arc::new(std::sync::Mutex::new(posts.into_iter()));
    let workers = (0..at_once).map(|_| {
        let (store, posts) = (store.clone(), posts.clone());
        tokio::spawn(async move {
            loop {
                let Some(post) = posts.lock().unwrap().next() else { break };
                store.ingest(post.as_bytes()).await.unwrap();
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
    (begin.elapsed() / count, (cpu() - before) / count)
}

/// The median of some runs.
async fn median<F: Future>(mut run: impl FnMut() -> F) -> Duration {
    let mut times = Vec::new();
    for _ in 0..31 {
        let begin = Instant::now();
        run().await;
        times.push(begin.elapsed());
    }
    times.sort_unstable();
    times[times.len() / 2]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures; for a quiet machine"]
async fn speed_of_ingest() {
    let folder = folder();
    let store = open_with(&folder, |options| options.max_traces = 10_000_000);
    let mut from = 0;
    for (spans, at_once) in [(1, 1), (1, 32), (10, 1), (10, 32)] {
        let posts = (from..from + 20_000 / spans).map(|trace| post(trace, spans)).collect();
        from += 20_000;
        let (wall, cpu) = ingest(&store, posts, at_once).await;
        println!("{spans} spans a post, {at_once} at once: {wall:?} a post, {cpu:?} CPU");
    }
    for spans in [10, 10_000] {
        let id = format!("long{spans}");
        let append = async |from: usize, to: usize| {
            let begin = Instant::now();
            for place in from..to {
                let span = child(&id, &format!("s{place}"), 2000.0, json!({"x": "some text"}));
                let id = span["spanId"].as_str().unwrap().to_owned();
                let post = json!({"traceId": span["traceId"], "spans": {id: span}}).to_string();
                store.ingest(post.as_bytes()).await.unwrap();
            }
            begin.elapsed() / (to - from) as u32
        };
        let all = append(0, spans - 10).await;
        println!(
            "a trace of {spans}: {all:?} a span, the last ten {:?}",
            append(spans - 10, spans).await
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures; for a quiet machine"]
async fn speed_by_size() {
    let folder = folder();
    let mut store = open_with(&folder, |options| options.max_traces = 10_000_000);
    let mut size = 0;
    for wanted in [1_000, 10_000, 100_000, 1_000_000] {
        let mut last = Default::default();
        while size < wanted {
            let step = (wanted - size).min(10_000);
            last =
                ingest(&store, (size..size + step).map(|trace| post(trace, 1)).collect(), 32).await;
            size += step;
        }
        drop(store);
        let begin = Instant::now();
        store = open_with(&folder, |options| options.max_traces = 10_000_000);
        let opened = begin.elapsed();
        let list = async |limit: usize, change: fn(&mut oxikit_traces::TraceQuery)| {
            let asked = query(|query| {
                query.limit = limit;
                change(query);
            });
            assert_eq!(store.list(&asked).await.unwrap().traces.len(), limit);
            let (store, asked) = (&store, &asked);
            median(|| async move { store.list(asked).await.unwrap() }).await
        };
        let newest = list(10, |_| ()).await;
        let newest_50 = list(50, |_| ()).await;
        let common = list(10, |query| query.text = Some("hi".into())).await;
        let rare = list(1, |query| query.text = Some("ada7 hi greet7".into())).await;
        let one = list(1, |query| query.text = Some("ada900".into())).await;
        let named = list(10, |query| query.name = Some("greet7".into())).await;
        let bytes = std::fs::metadata(file(&folder)).unwrap().len();
        println!(
            "{size}: ingest {last:?}, open {opened:?}, newest 10 {newest:?}, 50 {newest_50:?}, \
             common word {common:?}, three words {rare:?}, rare word {one:?}, name {named:?}, {} bytes a trace",
            bytes / size as u64
        );
    }
}
