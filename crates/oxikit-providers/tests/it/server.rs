//! A scripted provider: it sends the answers of the test and records the requests.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{Notify, oneshot};

/// One request as the server saw it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// The event after the last piece of a body.
pub(crate) enum End {
    /// The end.
    Clean,
    /// The connection breaks.
    Cut,
    /// Nothing more is sent. When the client has gone, the time is reported.
    Stalled(oneshot::Sender<Instant>),
}

/// One answer.
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    pieces: Vec<String>,
    end: End,
    /// Do not even send the head.
    is_silent: bool,
}

impl Reply {
    pub(crate) fn new(status: u16, content_type: &str, pieces: Vec<String>) -> Self {
        Self {
            status,
            headers: vec![("content-type", content_type.to_owned())],
            pieces,
            end: End::Clean,
            is_silent: false,
        }
    }

    pub(crate) fn json(body: Value) -> Self {
        Self::error(200, body)
    }

    pub(crate) fn error(status: u16, body: Value) -> Self {
        Self::new(status, "application/json", vec![body.to_string()])
    }

    /// Server-sent events of these data.
    pub(crate) fn sse(events: &[Value]) -> Self {
        let frame = |event: &Value| match event.get("type").and_then(Value::as_str) {
            Some(name) => format!("event: {name}\ndata: {event}\n\n"),
            None => format!("data: {event}\n\n"),
        };
        let frames = events.iter().map(frame).collect();
        Self::new(200, "text/event-stream", frames)
    }

    pub(crate) fn ndjson(lines: &[Value]) -> Self {
        let lines = lines.iter().map(|line| format!("{line}\n")).collect();
        Self::new(200, "application/x-ndjson", lines)
    }

    pub(crate) fn then(mut self, piece: &str) -> Self {
        self.pieces.push(piece.to_owned());
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn cut(mut self) -> Self {
        self.end = End::Cut;
        self
    }

    /// Never ends; the receiver learns when the client has gone.
    pub(crate) fn stalled(mut self) -> (Self, oneshot::Receiver<Instant>) {
        let (gone, receiver) = oneshot::channel();
        self.end = End::Stalled(gone);
        (self, receiver)
    }

    /// Never begins; the receiver learns when the client has gone.
    pub(crate) fn silent() -> (Self, oneshot::Receiver<Instant>) {
        let (mut reply, receiver) = Self::new(200, "application/json", Vec::new()).stalled();
        reply.is_silent = true;
        (reply, receiver)
    }
}

/// A running server; it ends with the test's runtime.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) url: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    replies: Mutex<VecDeque<Reply>>,
    seen: Mutex<Vec<Seen>>,
    arrived: Notify,
}

impl Server {
    /// Answers with these, one after the other.
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let shared = Arc::new(Shared {
            replies: Mutex::new(replies.into_iter().collect()),
            ..Shared::default()
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(shared.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, shared }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// Waits for a request.
    pub(crate) async fn arrived(&self) {
        self.shared.arrived.notified().await;
    }

    /// The only request that came.
    pub(crate) fn only(&self) -> Seen {
        let [seen] = <[Seen; 1]>::try_from(self.seen()).expect("one request");
        seen
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let path = request.uri().to_string();
    let headers = request.headers().clone();
    let body = to_bytes(request.into_body(), usize::MAX).await.unwrap();
    let body = serde_json::from_slice(&body).unwrap_or_default();
    shared.seen.lock().unwrap().push(Seen { path, headers, body });
    shared.arrived.notify_one();
    let reply = shared.replies.lock().unwrap().pop_front();
    let reply = reply.expect("no more replies were scripted");
    if reply.is_silent {
        let End::Stalled(gone) = reply.end else {
            unreachable!("a silent reply is a stalled one");
        };
        let _notice = Notice(Some(gone));
        std::future::pending::<Infallible>().await;
        unreachable!("pending for ever");
    }
    let mut response = Response::builder().status(StatusCode::from_u16(reply.status).unwrap());
    for (name, value) in &reply.headers {
        response = response.header(*name, value);
    }
    response.body(body_of(reply)).unwrap()
}

fn body_of(reply: Reply) -> Body {
    let pieces = stream::iter(reply.pieces).map(|piece| Ok(Bytes::from(piece)));
    match reply.end {
        End::Clean => Body::from_stream(pieces.chain(stream::empty::<Piece>())),
        End::Cut => {
            // Let what was sent go out first: a break may overtake it.
            let broken = stream::once(async {
                tokio::task::yield_now().await;
                Err(std::io::Error::other("cut"))
            });
            Body::from_stream(pieces.chain(broken))
        }
        End::Stalled(gone) => Body::from_stream(pieces.chain(Stalled(Notice(Some(gone))))),
    }
}

type Piece = Result<Bytes, std::io::Error>;

/// A body that never goes on.
struct Stalled(#[expect(dead_code, reason = "held for its drop")] Notice);

impl Stream for Stalled {
    type Item = Piece;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Pending
    }
}

/// Reports when it is dropped, which the server does when the client has gone.
struct Notice(Option<oneshot::Sender<Instant>>);

impl Drop for Notice {
    fn drop(&mut self) {
        if let Some(gone) = self.0.take() {
            let _ = gone.send(Instant::now());
        }
    }
}
