//! A manager of runtimes with one runtime: what it is asked goes down its socket as it
//! came, and what it says comes back as it is. Whoever registers last is asked.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use axum::{
    Router,
    body::Body,
    extract::{
        State,
        ws::{Message, WebSocket, WebSocketUpgrade},
    },
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::{Bytes, BytesMut};
use futures_util::{SinkExt, StreamExt, stream};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

pub fn router() -> Router {
    Router::new()
        .route("/ws", get(dial_in))
        .route("/api/runAction", post(run_action))
        .route("/api/streamAction", post(stream_action))
        .with_state(Arc::default())
}

#[derive(Default)]
struct Manager {
    runtime: Mutex<Option<mpsc::UnboundedSender<Message>>>,
    pending: Mutex<HashMap<u64, mpsc::UnboundedSender<Reply>>>,
    next: AtomicU64,
}

enum Reply {
    Chunk(Bytes),
    Done(Bytes),
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(default)]
    method: Option<&'a str>,
    #[serde(default, borrow)]
    id: Option<&'a RawValue>,
    #[serde(default, borrow)]
    params: Option<&'a RawValue>,
    #[serde(default, borrow)]
    result: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(rename = "requestId")]
    request_id: &'a str,
    #[serde(borrow)]
    chunk: &'a RawValue,
}

#[derive(Deserialize)]
struct RunAction<'a> {
    key: String,
    #[serde(borrow)]
    input: &'a RawValue,
}

async fn dial_in(State(manager): State<Arc<Manager>>, up: WebSocketUpgrade) -> Response {
    up.max_message_size(64 << 20).on_upgrade(move |socket| serve(manager, socket))
}

async fn serve(manager: Arc<Manager>, socket: WebSocket) {
    let (mut sink, mut source) = socket.split();
    let (tx, mut rx) = mpsc::unbounded_channel::<Message>();
    *manager.runtime.lock().expect("no panic") = Some(tx.clone());
    tokio::spawn(async move {
        let mut ready = Vec::new();
        while rx.recv_many(&mut ready, 64).await > 0 {
            for message in ready.drain(..) {
                if sink.feed(message).await.is_err() {
                    return;
                }
            }
            if sink.flush().await.is_err() {
                return;
            }
        }
    });
    while let Some(Ok(message)) = source.next().await {
        if let Message::Text(text) = message {
            manager.hear(&text, &tx);
        }
    }
}

impl Manager {
    fn hear(&self, text: &str, answers: &mpsc::UnboundedSender<Message>) {
        let Ok(frame) = serde_json::from_str::<Frame>(text) else { return };
        match frame.method {
            Some("streamChunk") => self.chunk(frame.params),
            Some("register") => {
                let id = frame.id.map_or("null", RawValue::get);
                let answer = format!(r#"{{"jsonrpc":"2.0","result":null,"id":{id}}}"#);
                let _ = answers.send(Message::Text(answer.into()));
            }
            Some(_) => {}
            None => {
                let id = frame.id.and_then(|id| id.get().trim_matches('"').parse().ok());
                let Some(id) = id else { return };
                let body = frame.result.or(frame.error).map_or("null", RawValue::get);
                if let Some(to) = self.pending.lock().expect("no panic").remove(&id) {
                    let _ = to.send(Reply::Done(Bytes::copy_from_slice(body.as_bytes())));
                }
            }
        }
    }

    fn chunk(&self, params: Option<&RawValue>) {
        let chunk = params.and_then(|params| serde_json::from_str::<Chunk>(params.get()).ok());
        let Some(Chunk { request_id, chunk }) = chunk else { return };
        let Ok(id) = request_id.parse() else { return };
        if let Some(to) = self.pending.lock().expect("no panic").get(&id) {
            let mut line = Vec::with_capacity(chunk.get().len() + 1);
            line.extend_from_slice(chunk.get().as_bytes());
            line.push(b'\n');
            let _ = to.send(Reply::Chunk(line.into()));
        }
    }

    fn start(&self, body: &[u8], stream: bool) -> Option<mpsc::UnboundedReceiver<Reply>> {
        let run: RunAction<'_> = serde_json::from_slice(body).ok()?;
        let id = self.next.fetch_add(1, Relaxed);
        let (tx, rx) = mpsc::unbounded_channel();
        self.pending.lock().expect("no panic").insert(id, tx);
        let (key, input) = (serde_json::to_string(&run.key).ok()?, run.input);
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":"{id}","method":"runAction","params":{{"key":{key},"input":{input},"stream":{stream},"streamInput":false}}}}"#
        );
        let runtime = self.runtime.lock().expect("no panic");
        runtime.as_ref()?.send(Message::Text(call.into())).ok()?;
        Some(rx)
    }
}

async fn run_action(State(manager): State<Arc<Manager>>, body: Bytes) -> Response {
    let Some(mut rx) = manager.start(&body, false) else { return super::bad() };
    while let Some(reply) = rx.recv().await {
        if let Reply::Done(body) = reply {
            return ([(header::CONTENT_TYPE, "application/json")], body).into_response();
        }
    }
    StatusCode::BAD_GATEWAY.into_response()
}

async fn stream_action(State(manager): State<Arc<Manager>>, body: Bytes) -> Response {
    let Some(rx) = manager.start(&body, true) else { return super::bad() };
    Body::from_stream(stream::unfold((rx, Vec::new()), |(mut rx, mut ready)| async move {
        if rx.recv_many(&mut ready, 64).await == 0 {
            return None;
        }
        let mut all = BytesMut::with_capacity(4096);
        for reply in ready.drain(..) {
            let (Reply::Chunk(text) | Reply::Done(text)) = reply;
            all.extend_from_slice(&text);
        }
        Some((Ok::<Bytes, Infallible>(all.freeze()), (rx, ready)))
    }))
    .into_response()
}
