//! Traces as they happen.

use std::time::{Duration, Instant};

use axum::Router;
use futures_util::StreamExt;
use oxikit_traces::TraceStore;
use oxikit_traces::{tools, trace_routes};
use serde_json::{Value, json};

use super::kit::{plain, server, trace};

const SLOW: &str = "44454422feea177654c43a23f759cbd8";
const PATIENCE: Duration = Duration::from_secs(20);

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("this did not happen in time")
}

/// The messages of a stream, one after the other.
struct Messages {
    body: futures_util::stream::BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    text: String,
}

impl Messages {
    async fn open(client: &reqwest::Client, url: String) -> Self {
        let response = soon(client.get(url).send()).await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert!(response.headers().get("access-control-allow-origin").is_none());
        Self { body: response.bytes_stream().boxed(), text: String::new() }
    }

    /// `None` when the stream has ended.
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((message, rest)) = self.text.split_once("\n\n") {
                let data = message.strip_prefix("data: ").map(str::to_owned);
                self.text = rest.to_owned();
                match data {
                    Some(data) => return Some(serde_json::from_str(&data).unwrap()),
                    None => continue,
                }
            }
            let more = soon(self.body.next()).await?.unwrap();
            self.text.push_str(std::str::from_utf8(&more).unwrap());
        }
    }

    async fn rest(mut self) -> Vec<Value> {
        let mut all = Vec::new();
        while let Some(message) = self.next().await {
            all.push(message);
        }
        all
    }
}

/// The posts of the official runtime for the flow `slow`: its start and its end.
fn slow_posts() -> Vec<Value> {
    let posts = oxikit_recordings::lines("telemetry/runtime-posts-realtime.jsonl");
    let is_slow = |post: &Value| post["body"]["traceId"] == SLOW;
    posts.into_iter().filter(is_slow).map(|mut post| post["body"].take()).collect()
}

#[tokio::test]
async fn the_official_stream_is_as_recorded_and_ends_with_the_root() {
    let posts = slow_posts();
    let server = server().await;
    server.add(&posts[0]).await;
    let url = server.url(&format!("/api/traces/{SLOW}/stream"));
    let mut messages = Messages::open(&server.client, url).await;
    let mut received = vec![messages.next().await.unwrap()];
    server.add(&posts[1]).await;
    received.extend(messages.rest().await);
    let theirs = oxikit_recordings::text("telemetry/trace-stream.sse.txt");
    let theirs = theirs.lines().filter_map(|line| line.strip_prefix("data: "));
    let theirs: Vec<Value> = theirs.map(|text| serde_json::from_str(text).unwrap()).collect();
    assert_eq!(plain(received.into()), plain(theirs.into()));
}

#[tokio::test]
async fn the_stream_of_the_tools_api_is_as_recorded() {
    let posts = slow_posts();
    let server = server().await;
    server.add(&posts[0]).await;
    let body = json!({"traceId": SLOW}).to_string();
    let response = tools::stream_trace(&server.store, body.as_bytes());
    let mut body = response.into_body().into_data_stream();
    let mut text = soon(body.next()).await.unwrap().unwrap().to_vec();
    server.add(&posts[1]).await;
    while let Some(more) = soon(body.next()).await {
        text.extend_from_slice(&more.unwrap());
    }
    let text = String::from_utf8(text).unwrap();
    let lines = |text: &str| -> Vec<Value> {
        text.lines().map(|line| plain(serde_json::from_str(line).unwrap())).collect()
    };
    assert_eq!(lines(&text), lines(&oxikit_recordings::text("tools-api/streamTrace.body.jsonl")));
    assert_eq!(tools::stream_trace(&server.store, b"{}").status(), 400);
}

/// Our own API on a free port.
async fn api() -> (TraceStore, String, reqwest::Client, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store = TraceStore::open(folder.path().join("traces.db")).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().merge(trace_routes(store.clone(), folder.path()));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (store, base, reqwest::Client::new(), folder)
}

fn running(trace_id: &str) -> Value {
    let mut trace = trace(trace_id);
    trace["endTime"] = 0.into();
    trace["spans"]["s1"]["endTime"] = 0.into();
    trace
}

async fn add(store: &TraceStore, trace: &Value) {
    store.ingest(trace.to_string().as_bytes()).await.unwrap();
}

#[tokio::test]
async fn a_trace_is_followed_from_before_its_beginning_to_its_end() {
    let (store, base, client, _folder) = api().await;
    let messages = Messages::open(&client, format!("{base}/traces/t1/events")).await;
    add(&store, &running("t1")).await;
    add(&store, &trace("other")).await;
    add(&store, &trace("t1")).await;
    let mut received = messages.rest().await;
    // Spans that arrived while the stream was opened may be in the whole trace.
    received.retain(|message| message["type"] != "trace");
    let kinds: Vec<_> = received.iter().map(|message| message["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["span_start", "span_end", "end"]);
    assert!(received[..2].iter().all(|message| message["traceId"] == "t1"));

    // A trace that has ended is sent whole.
    let received = Messages::open(&client, format!("{base}/traces/t1/events")).await.rest().await;
    assert_eq!(received[0]["type"], "trace");
    assert_eq!(received[0]["trace"]["spans"]["s1"]["displayName"], "greet");
    assert_eq!(received[1..], [json!({"type": "end"})]);
}

#[tokio::test]
async fn all_spans_are_sent_in_their_order() {
    let (store, base, client, _folder) = api().await;
    let mut messages = Messages::open(&client, format!("{base}/traces/events")).await;
    for number in 0..100 {
        let id = format!("t{number}");
        add(&store, &running(&id)).await;
        add(&store, &trace(&id)).await;
        for kind in ["span_start", "span_end"] {
            let message = messages.next().await.unwrap();
            assert_eq!((&message["type"], &message["traceId"]), (&json!(kind), &json!(id)));
        }
    }
}

#[tokio::test]
async fn a_slow_reader_receives_a_gap_and_others_do_not_wait() {
    let (store, base, client, _folder) = api().await;
    let mut slow = Messages::open(&client, format!("{base}/traces/events")).await;
    let mut large = trace("t");
    large["spans"]["s1"]["attributes"]["x"] = "y".repeat(200_000).into();
    let started = Instant::now();
    let sent = 200;
    for number in 0..sent {
        large["traceId"] = format!("t{number}").into();
        add(&store, &large).await;
    }
    assert!(started.elapsed() < PATIENCE);
    let (mut received, mut missed) = (0, 0);
    while received + missed < sent {
        let message = slow.next().await.unwrap();
        match message["type"].as_str().unwrap() {
            "lagged" => missed += message["missed"].as_u64().unwrap(),
            _ => received += 1,
        }
    }
    assert!(missed > 0, "all was kept for it");
    assert_eq!(received + missed, sent);
}
