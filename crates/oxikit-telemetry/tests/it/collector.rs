//! A telemetry server that keeps what is posted to it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::serve::ListenerExt;
use serde_json::{Map, Value};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// The requests that were posted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Post {
    pub(crate) path: String,
    pub(crate) body: Value,
}

#[derive(Debug)]
pub(crate) struct Collector {
    pub(crate) url: String,
    seen: Arc<Seen>,
    server: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Seen {
    posts: Mutex<Vec<Post>>,
    changed: Notify,
    connections: AtomicUsize,
    answer: Answer,
}

/// The behaviour of the server.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) delay: Option<Duration>,
}

impl Collector {
    pub(crate) async fn start() -> Self {
        Self::answering(Answer::default()).await
    }

    pub(crate) async fn answering(answer: Answer) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap(), answer)
    }

    /// At an address that was free a moment ago.
    pub(crate) async fn at(address: SocketAddr) -> Self {
        Self::on(TcpListener::bind(address).await.unwrap(), Answer::default())
    }

    fn on(listener: TcpListener, answer: Answer) -> Self {
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Seen { answer, ..Seen::default() });
        let app = Router::new().fallback(keep).with_state(seen.clone());
        let counted = seen.clone();
        let listener = listener.tap_io(move |peer| {
            // As Node does: small answers do not wait for each other.
            peer.set_nodelay(true).unwrap();
            counted.connections.fetch_add(1, Ordering::Relaxed);
        });
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, seen, server }
    }

    pub(crate) fn posts(&self) -> Vec<Post> {
        self.seen.posts.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::Relaxed)
    }

    /// Waits until this holds of what was posted.
    pub(crate) async fn wait_for(&self, is_so: impl Fn(&[Post]) -> bool) {
        let waiting = async {
            while !is_so(&self.seen.posts.lock().unwrap()) {
                self.seen.changed.notified().await;
            }
        };
        if tokio::time::timeout(Duration::from_secs(20), waiting).await.is_err() {
            panic!("it never came to that: {:?}", self.posts());
        }
    }

    /// The number of ended spans that were posted.
    pub(crate) fn ended(&self) -> usize {
        ended_in(&self.seen.posts.lock().unwrap())
    }

    /// The traces, merged from all posts as the official server merges them.
    pub(crate) fn traces(&self) -> BTreeMap<String, Value> {
        merge(self.posts().into_iter().map(|post| post.body))
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn keep(State(seen): State<Arc<Seen>>, uri: Uri, body: Bytes) -> (StatusCode, &'static str) {
    if let Some(delay) = seen.answer.delay {
        tokio::time::sleep(delay).await;
    }
    let body = serde_json::from_slice(&body).unwrap();
    seen.posts.lock().unwrap().push(Post { path: uri.path().to_owned(), body });
    seen.changed.notify_one();
    (seen.answer.status, "OK")
}

/// The number of ended spans in these posts.
pub(crate) fn ended_in(posts: &[Post]) -> usize {
    let spans = posts.iter().filter_map(|post| post.body["spans"].as_object());
    spans.flat_map(Map::values).filter(|span| span["endTime"] != 0.0).count()
}

/// A span with an end is never overwritten by one without.
pub(crate) fn merge(posts: impl IntoIterator<Item = Value>) -> BTreeMap<String, Value> {
    let mut traces: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for post in posts {
        let Value::Object(mut post) = post else { panic!("no object: {post}") };
        let Some(id) = post.get("traceId").and_then(Value::as_str) else { continue };
        let trace = traces.entry(id.to_owned()).or_default();
        let spans = post.remove("spans").unwrap();
        let known = trace.entry("spans").or_insert_with(|| Map::new().into());
        for (id, span) in spans.as_object().unwrap() {
            let has_ended = known[id]["endTime"].as_f64().is_some_and(|end| end > 0.0);
            if !has_ended || span["endTime"] != 0.0 {
                known[id] = span.clone();
            }
        }
        trace.extend(post);
    }
    traces.into_iter().map(|(id, trace)| (id, trace.into())).collect()
}
