//! What the hardware, the kernel, hyper, axum and serde_json cost, with nothing of
//! a framework on top: no schemas, no spans, no limits, no cancellation. Right on
//! the wire for the load client, and no more than that.
//!
//! `PORT` (3500) of 127.0.0.1; `THREADS` (2); `BARE=1` puts hyper with small
//! buffers in place of `axum::serve`.

mod a2a;
#[cfg(feature = "stored")]
mod history;
mod manager;
mod rooms;
mod traces;

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{DefaultBodyLimit, State},
    http::header,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};
use tokio::sync::mpsc;

pub fn main() {
    let threads = std::env::var("THREADS").ok().and_then(|t| t.parse().ok()).unwrap_or(2);
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .expect("runtime")
        .block_on(serve());
}

async fn serve() {
    let app = Router::new()
        .route("/health", get(|| async { "OK" }))
        .route("/echo", post(echo))
        .route("/echo-raw", post(echo_raw))
        .route("/count", post(count))
        .route("/hang", post(hang))
        .route("/chat", post(chat).with_state(Sessions::default()))
        .route("/api/traces", post(take_spans))
        .route("/api/otlp", post(|| async { "{}" }))
        .route("/api/spans", get(|| async { SPANS.load(Relaxed).to_string() }))
        .merge(a2a::router())
        .merge(manager::router())
        .merge(rooms::router())
        .merge(traces::router())
        .layer(DefaultBodyLimit::max(32 << 20));
    let port = std::env::var("PORT").unwrap_or_else(|_| "3500".into());
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await.expect("bind");
    if std::env::var_os("BARE").is_some() {
        return bare(listener, app).await;
    }
    use axum::serve::ListenerExt;
    let listener = listener.tap_io(|s| {
        let _ = s.set_nodelay(true);
    });
    axum::serve(listener, app).await.expect("serve");
}

/// Spans that have ended, which a telemetry server was told of; `GET /api/spans` says how
/// many.
static SPANS: AtomicU64 = AtomicU64::new(0);

/// Only a span that has ended says how.
async fn take_spans(body: Bytes) -> &'static str {
    const ENDED: &[u8] = b"\"genkit:state\"";
    let ended = body.windows(ENDED.len()).filter(|part| *part == ENDED).count();
    SPANS.fetch_add(ended as u64, Relaxed);
    "OK"
}

/// hyper's HTTP/1 alone, with small buffers, in place of `axum::serve`: BARE=1.
async fn bare(listener: tokio::net::TcpListener, app: Router) {
    use hyper_util::{rt::TokioIo, service::TowerToHyperService};
    loop {
        let Ok((s, _)) = listener.accept().await else { continue };
        let _ = s.set_nodelay(true);
        let service = TowerToHyperService::new(app.clone());
        tokio::spawn(
            hyper::server::conn::http1::Builder::new()
                .max_buf_size(8192)
                .serve_connection(TokioIo::new(s), service)
                .with_upgrades(),
        );
    }
}

fn hex(n: usize) -> String {
    format!("{:032x}", fastrand::u128(..))[..n].to_string()
}

#[derive(Deserialize)]
struct Wrapped {
    #[serde(default)]
    data: Value,
}
#[derive(Deserialize)]
struct WrappedRaw<'a> {
    #[serde(borrow)]
    data: &'a RawValue,
}
#[derive(Serialize)]
struct ResultOf<T> {
    result: T,
}
fn trace_headers() -> [(&'static str, String); 2] {
    [("x-genkit-trace-id", hex(32)), ("x-genkit-span-id", hex(16))]
}
fn unary(result: impl Serialize) -> Response {
    let body = serde_json::to_vec(&ResultOf { result }).expect("json");
    (trace_headers(), [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
fn bad() -> Response {
    axum::http::StatusCode::BAD_REQUEST.into_response()
}
/// To a JSON tree and back: what an action of unknown type costs.
async fn echo(body: Bytes) -> Response {
    serde_json::from_slice::<Wrapped>(&body).map_or_else(|_| bad(), |w| unary(w.data))
}
/// Checked for syntax and passed on as text: the least a server can do.
async fn echo_raw(body: Bytes) -> Response {
    serde_json::from_slice::<WrappedRaw>(&body).map_or_else(|_| bad(), |w| unary(w.data))
}

fn sse(body: Body) -> Response {
    Response::builder()
        .header(header::CONTENT_TYPE, "text/event-stream")
        .header(header::CACHE_CONTROL, "no-cache")
        .body(body)
        .expect("static response")
}
/// A body fed by a task through a channel: the shape any runtime with a user function has.
/// Whatever is ready goes out as one piece; nothing ever waits for more.
fn channel_body(rx: mpsc::Receiver<Bytes>) -> Body {
    Body::from_stream(stream::unfold((rx, Vec::new()), |(mut rx, mut ready)| async move {
        let n = rx.recv_many(&mut ready, 64).await;
        let out = match n {
            0 => return None,
            1 => ready.pop()?,
            _ => {
                let mut all = BytesMut::with_capacity(ready.iter().map(Bytes::len).sum());
                ready.drain(..).for_each(|b| all.extend_from_slice(&b));
                all.freeze()
            }
        };
        Some((Ok::<_, Infallible>(out), (rx, ready)))
    }))
}
fn block(kind: &str, v: &impl Serialize) -> Bytes {
    let mut b = Vec::with_capacity(96);
    b.extend_from_slice(b"data: {\"");
    b.extend_from_slice(kind.as_bytes());
    b.extend_from_slice(b"\":");
    serde_json::to_writer(&mut b, v).expect("json");
    b.extend_from_slice(b"}\n\n");
    b.into()
}
#[derive(Serialize)]
struct Tick<'a> {
    i: u64,
    text: &'a str,
}

#[derive(Deserialize)]
struct CountIn {
    data: Count,
}
#[derive(Deserialize)]
struct Count {
    n: u64,
    #[serde(default)]
    paced: bool,
}
async fn count(body: Bytes) -> Response {
    let Ok(CountIn { data: Count { n, paced } }) = serde_json::from_slice(&body) else {
        return bad();
    };
    let (tx, rx) = mpsc::channel(if paced { 1 } else { 64 });
    tokio::spawn(async move {
        for i in 0..n {
            if tx.send(block("message", &Tick { i, text: "a small chunk" })).await.is_err() {
                return;
            }
            if paced {
                tokio::task::yield_now().await;
            }
        }
        let _ = tx.send(block("result", &json!({ "count": n }))).await;
    });
    sse(channel_body(rx))
}
/// One chunk, then silence: for memory per idle stream.
async fn hang() -> Response {
    let (tx, rx) = mpsc::channel(1);
    tokio::spawn(async move {
        let _ = tx.send(block("message", &Tick { i: 0, text: "a small chunk" })).await;
        tokio::select! {
            _ = tokio::time::sleep(Duration::from_secs(900)) => {}
            _ = tx.closed() => {}
        }
    });
    sse(channel_body(rx))
}

type Sessions = Arc<Mutex<HashMap<String, Vec<Arc<Msg>>>>>;
#[derive(Serialize, Deserialize)]
struct Part {
    text: String,
}
#[derive(Serialize, Deserialize)]
struct Msg {
    role: String,
    content: Vec<Part>,
}
#[derive(Deserialize)]
struct ChatIn {
    data: ChatData,
    #[serde(default)]
    init: ChatInit,
}
#[derive(Deserialize)]
struct ChatData {
    message: Msg,
}
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct ChatInit {
    session_id: Option<String>,
}
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum ChatChunk<'a> {
    ModelChunk {
        role: &'a str,
        index: u32,
        content: [&'a Part; 1],
    },
    #[serde(rename_all = "camelCase")]
    TurnEnd {
        snapshot_id: &'a str,
        finish_reason: &'a str,
    },
}
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChatOut<'a> {
    session_id: &'a str,
    message: &'a Msg,
    finish_reason: &'a str,
    snapshot_id: &'a str,
}
/// A turn of an agent: load, add, twenty pieces of a model, keep, end, result. Messages
/// are shared between the session and its snapshots.
async fn chat(State(sessions): State<Sessions>, body: Bytes) -> Response {
    let Ok(ChatIn { data, init }) = serde_json::from_slice(&body) else { return bad() };
    let (tx, rx) = mpsc::channel(64);
    tokio::spawn(async move {
        let session = init.session_id.unwrap_or_else(|| hex(32));
        let mut messages =
            sessions.lock().expect("no panic").get(&session).cloned().unwrap_or_default();
        messages.push(Arc::new(data.message));
        let mut text = String::new();
        for i in 0..20 {
            let piece = Part { text: format!("word{i} ") };
            text.push_str(&piece.text);
            let chunk = ChatChunk::ModelChunk { role: "model", index: 0, content: [&piece] };
            if tx.send(block("message", &chunk)).await.is_err() {
                return;
            }
        }
        let reply = Arc::new(Msg { role: "model".into(), content: vec![Part { text }] });
        messages.push(reply.clone());
        let snapshot = hex(32);
        sessions.lock().expect("no panic").insert(session.clone(), messages);
        let end = ChatChunk::TurnEnd { snapshot_id: &snapshot, finish_reason: "stop" };
        let _ = tx.send(block("message", &end)).await;
        let (session_id, snapshot_id) = (&*session, &*snapshot);
        let out = ChatOut { session_id, message: &reply, finish_reason: "stop", snapshot_id };
        let _ = tx.send(block("result", &out)).await;
    });
    sse(channel_body(rx))
}
