//! Spans: where they go, and that they are there before the answer is.

use oxikit::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::app::{Runtime, runtime, runtime_with};

/// A telemetry server that keeps what it was sent.
struct Collector {
    url: String,
    received: mpsc::UnboundedReceiver<Value>,
}

impl Collector {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (tx, received) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(receive(stream, tx.clone()));
            }
        });
        Self { url, received }
    }

    /// The traces that have arrived so far.
    fn traces(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        while let Ok(trace) = self.received.try_recv() {
            all.push(trace);
        }
        all
    }

    /// Whether the trace of a run was complete when its answer came.
    fn has_ended(&mut self, trace_id: &str) -> bool {
        let is_end =
            |trace: &Value| trace["traceId"] == trace_id && trace["endTime"].as_f64() > Some(0.0);
        self.traces().iter().any(is_end)
    }
}

async fn receive(mut stream: tokio::net::TcpStream, tx: mpsc::UnboundedSender<Value>) {
    let mut buffer = Vec::new();
    while stream.read_buf(&mut buffer).await.is_ok_and(|read| read > 0) {
        while let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
            let length = head.split("content-length: ").nth(1).unwrap();
            let length: usize = length.lines().next().unwrap().parse().unwrap();
            if buffer.len() < end + 4 + length {
                break;
            }
            let body: Value = serde_json::from_slice(&buffer[end + 4..end + 4 + length]).unwrap();
            buffer.drain(..end + 4 + length);
            tx.send(body).unwrap();
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nOK";
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    }
}

async fn greet(runtime: &Runtime) -> String {
    let answer = runtime.run(r#"{"key":"/flow/greet","input":{"name":"Ada"}}"#).await;
    answer.json()["telemetry"]["traceId"].as_str().unwrap().to_owned()
}

async fn notify(runtime: &Runtime, url: &str) {
    let notice = json!({ "telemetryServerUrl": url, "reflectionApiSpecVersion": 1 }).to_string();
    let answer = runtime.ask("POST", "/api/notify", "", &notice).await;
    assert_eq!((answer.status, answer.text()), (200, "OK"));
}

#[tokio::test]
async fn spans_go_where_the_tools_say_and_before_the_answer() {
    let mut collector = Collector::start().await;
    let runtime = runtime().await;
    notify(&runtime, &collector.url).await;
    for _ in 0..20 {
        let trace_id = greet(&runtime).await;
        assert!(collector.has_ended(&trace_id));
    }
}

#[tokio::test]
async fn a_server_of_the_environment_stays() {
    let (mut fixed, mut configured) = (Collector::start().await, Collector::start().await);
    let url = fixed.url.clone();
    let runtime = runtime_with(|config| config.telemetry_server = Some(url)).await;
    notify(&runtime, &configured.url).await;
    let trace_id = greet(&runtime).await;
    assert!(fixed.has_ended(&trace_id));
    assert!(configured.traces().is_empty());
}

#[tokio::test]
async fn spans_are_shown_while_they_run_only_if_asked_for() {
    for is_realtime in [false, true] {
        let mut collector = Collector::start().await;
        let url = collector.url.clone();
        let runtime = runtime_with(|config| {
            config.telemetry_server = Some(url);
            config.is_realtime = is_realtime;
        })
        .await;
        let trace_id = greet(&runtime).await;
        let traces = collector.traces();
        let is_start = |trace: &&Value| trace["traceId"] == *trace_id && trace["endTime"] == 0;
        let starts = traces.iter().filter(is_start).count();
        // A short run may be over before its start is sent: then there is one.
        assert!(if is_realtime { starts <= 1 } else { starts == 0 }, "{traces:?}");
        assert_eq!(traces.last().unwrap()["traceId"], *trace_id);
        if !is_realtime {
            continue;
        }
        let (_slow, head) = super::runs::start_slow(&runtime, "").await;
        let slow = head.header("x-genkit-trace-id").unwrap().to_owned();
        let began = tokio::time::timeout(crate::kit::PATIENCE, async {
            while collector.received.recv().await.unwrap()["traceId"] != *slow {}
        });
        began.await.expect("a running span is sent");
    }
}

#[tokio::test]
async fn a_server_that_is_away_does_not_hold_answers_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let runtime = runtime().await;
    for url in [gone.as_str(), "not a url"] {
        notify(&runtime, url).await;
        let began = std::time::Instant::now();
        greet(&runtime).await;
        assert!(began.elapsed() < std::time::Duration::from_secs(2), "{:?}", began.elapsed());
    }
}
