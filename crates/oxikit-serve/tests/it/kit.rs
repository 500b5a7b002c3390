//! An application to be tested and a client that can misbehave.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use oxikit::prelude::*;
use oxikit_core::Payload;
use oxikit_serve::{Limits, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// Timeout of every wait in these tests. Beyond it the test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Text in the internal errors of `failing`. No response may contain it.
pub(crate) const SECRETS: [&str; 6] = [
    "sk-planted-0123456789",
    "postgres://admin:hunter2@db-7.internal/main",
    "/srv/planted/secret.pem",
    "AKIAPLANTEDPLANTED00",
    "planted-cookie=abc123",
    "eyJhbGciOiJub25lIn0.planted.",
];

/// The flows of the test application.
const FLOWS: [&str; 9] =
    ["echo", "tree", "typed", "count", "slow", "panicking", "failing", "big", "secret"];

/// A server that runs until this is dropped.
pub(crate) struct App {
    pub(crate) address: SocketAddr,
    /// The served paths, as the server lists them: a new route is tested with all
    /// others.
    pub(crate) paths: Vec<String>,
    /// Those of them that run an action. All of these count that they ran.
    pub(crate) flows: Vec<String>,
    effects: Arc<AtomicUsize>,
    /// When a `slow` run began, and when one was cancelled.
    pub(crate) started: mpsc::UnboundedReceiver<()>,
    pub(crate) cancelled: mpsc::UnboundedReceiver<Instant>,
    stop: Option<oneshot::Sender<()>>,
    pub(crate) server: JoinHandle<()>,
}

/// Input of `typed`.
#[derive(Debug, Deserialize, JsonSchema)]
struct Order {
    name: String,
    #[serde(default)]
    count: u32,
}

/// Tells when it is dropped before its time.
struct Watch(Option<mpsc::UnboundedSender<Instant>>);

impl Watch {
    fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(cancelled) = self.0.take() {
            let _ = cancelled.send(Instant::now());
        }
    }
}

/// The application with the default limits.
pub(crate) async fn app() -> App {
    app_with(|server| server).await
}

/// The application with these limits.
pub(crate) async fn app_within(set: impl FnOnce(&mut Limits)) -> App {
    let mut limits = Limits::default();
    set(&mut limits);
    app_with(|server| server.limits(limits)).await
}

/// The application on a server that is set up by `set`.
pub(crate) async fn app_with(set: impl FnOnce(Server) -> Server) -> App {
    let effects = Arc::new(AtomicUsize::new(0));
    let (started_tx, started) = mpsc::unbounded_channel();
    let (cancelled_tx, cancelled) = mpsc::unbounded_channel();
    let ai = define(effects.clone(), started_tx, cancelled_tx);
    let server = set(Server::new(&ai).agents_api()).port(0);
    let paths = server.paths();
    let mut flows = paths.clone();
    flows.retain(|path| !path.starts_with("/api/agents"));
    flows.retain(|path| FLOWS.iter().any(|flow| path.ends_with(&format!("/{flow}"))));
    assert_eq!(flows.len(), FLOWS.len(), "{paths:?}");
    let server = server.bind().await.unwrap();
    let address = server.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(server.run(async move { drop(stopped.await) }));
    App { address, paths, flows, effects, started, cancelled, stop: Some(stop), server }
}

fn define(
    effects: Arc<AtomicUsize>,
    started: mpsc::UnboundedSender<()>,
    cancelled: mpsc::UnboundedSender<Instant>,
) -> Oxikit {
    let ai = Oxikit::builder().build().unwrap();
    let ran = move || effects.fetch_add(1, Ordering::SeqCst);
    let run = ran.clone();
    // Named so that the paths of the API for agents are paths of this one.
    let agent = oxikit::Agent::builder("{agent}").store(oxikit::MemorySessions::default()).turn(
        move |turn: oxikit::Turn| {
            run();
            async move { Ok(turn.answer("yes")) }
        },
    );
    ai.define_agent(agent).unwrap();
    let run = ran.clone();
    ai.define_flow("echo", move |input: Payload, _: Context, out: Emitter<Payload>| {
        run();
        async move {
            out.send(input.clone()).await?;
            Ok(input)
        }
    });
    let run = ran.clone();
    ai.define_flow("tree", move |input: Value| {
        run();
        async move { Ok(input) }
    });
    let run = ran.clone();
    ai.define_flow("typed", move |order: Order| {
        run();
        async move { Ok(format!("{} x {}", order.count, order.name)) }
    });
    let run = ran.clone();
    ai.define_flow("count", move |to: u32, _: Context, out: Emitter<u32>| {
        run();
        async move {
            for number in 1..=to {
                out.send(number).await?;
            }
            Ok("done")
        }
    });
    let (run, leaves) = (ran.clone(), cancelled.clone());
    ai.define_flow("slow", move |_: Value, _: Context, out: Emitter<&'static str>| {
        run();
        let started = started.clone();
        let watch = Watch(Some(leaves.clone()));
        async move {
            out.send("started").await?;
            let _ = started.send(());
            std::future::pending::<()>().await;
            watch.done();
            Ok(())
        }
    });
    let run = ran.clone();
    ai.define_flow("panicking", move |after: Option<u32>, _: Context, out: Emitter<u32>| {
        run();
        async move {
            for number in 0..after.unwrap_or(0) {
                out.send(number).await?;
            }
            if after.is_some() {
                panic!("{}", SECRETS[0]);
            }
            Ok("calm")
        }
    });
    let run = ran.clone();
    ai.define_flow("failing", move |code: StatusCode, _: Context, out: Emitter<u8>| {
        run();
        async move {
            out.send(1).await?;
            let status = Status::public(code, "as you wish");
            Err::<(), _>(status.with_details(json!({ "wish": code.name() })))
        }
    });
    let run = ran.clone();
    ai.define_flow("secret", move |number: usize, _: Context, out: Emitter<u8>| {
        run();
        async move {
            out.send(1).await?;
            let secrets = SECRETS.join(" ");
            let cause = std::io::Error::other(secrets.clone());
            Err::<(), _>(match number {
                0 => Status::internal(secrets),
                1 => Status::from(cause),
                2 => {
                    Status::new(StatusCode::NotFound, secrets.clone()).with_details(json!(secrets))
                }
                3 => Status::invalid_argument("refused").with_hint(secrets).caused_by(cause),
                _ => panic!("{secrets}"),
            })
        }
    });
    // Text that is only passed on: unoptimised serialisers are slow.
    let chunk = Payload::from_json(format!("\"{}\"", "x".repeat(100 << 10))).unwrap();
    ai.define_flow("big", move |kilobytes: usize, _: Context, out: Emitter<Payload>| {
        ran();
        let (watch, chunk) = (Watch(Some(cancelled.clone())), chunk.clone());
        async move {
            for _ in 0..kilobytes / 100 {
                out.send(chunk.clone()).await?;
            }
            watch.done();
            Ok("done")
        }
    });
    ai
}

impl App {
    /// Number of runs of an action.
    pub(crate) fn effects(&self) -> usize {
        self.effects.load(Ordering::SeqCst)
    }

    /// Asks the server to end.
    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
    }

    pub(crate) async fn connect(&self) -> Client {
        Client::connect(self.address).await
    }

    /// Calls a flow with JSON, on a connection of its own.
    pub(crate) async fn post(&self, path: &str, body: &str) -> Answer {
        self.ask(&post(path, "", body)).await
    }

    /// The same as a stream.
    pub(crate) async fn stream(&self, path: &str, body: &str) -> Answer {
        self.ask(&post(path, "accept: text/event-stream\r\n", body)).await
    }

    /// Sends raw bytes and reads one answer.
    pub(crate) async fn ask(&self, request: impl AsRef<[u8]>) -> Answer {
        self.try_ask(request).await.expect("the server answers")
    }

    /// Sends raw bytes and reads one answer, if there is one before the end.
    pub(crate) async fn try_ask(&self, request: impl AsRef<[u8]>) -> Option<Answer> {
        let mut client = self.connect().await;
        client.try_send(request).await;
        client.answer().await
    }

    /// Whether the server still answers a call.
    pub(crate) async fn is_alive(&self) -> bool {
        self.post("/echo", r#"{"data":"alive"}"#).await.text() == r#"{"result":"alive"}"#
    }
}

/// A request of a flow: `headers` are whole lines.
pub(crate) fn post(path: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut request = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n{headers}",
        body.len()
    );
    if !headers.to_ascii_lowercase().contains("content-type:") {
        request.push_str("content-type: application/json\r\n");
    }
    request.push_str("\r\n");
    [request.as_bytes(), body].concat()
}

/// One end of a connection, byte by byte.
pub(crate) struct Client {
    stream: TcpStream,
    /// Bytes that have arrived and are not parsed yet.
    buffer: Vec<u8>,
}

/// An answer as it was sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// The pieces of a chunked body, as they were cut.
    pub(crate) pieces: Vec<Vec<u8>>,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, buffer: Vec::new() }
    }

    pub(crate) fn of(stream: TcpStream) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    /// A connection that holds little: who does not read it is noticed soon.
    pub(crate) async fn connect_narrow(address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(16 << 10).unwrap();
        Self::of(socket.connect(address).await.unwrap())
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Sends; the server may have closed before all was sent.
    pub(crate) async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).await.is_ok()
    }

    /// Says that nothing more is sent, and goes on reading.
    pub(crate) async fn half_close(&mut self) {
        self.stream.shutdown().await.unwrap();
    }

    /// Leaves without a farewell.
    #[expect(deprecated, reason = "a time of zero does not block")]
    pub(crate) fn reset(self) {
        self.stream.set_linger(Some(Duration::ZERO)).unwrap();
    }

    /// More bytes; false at the end of the connection.
    async fn more(&mut self) -> bool {
        let read = self.stream.read_buf(&mut self.buffer);
        let read = tokio::time::timeout(PATIENCE, read).await.expect("the server goes on");
        read.is_ok_and(|count| count > 0)
    }

    /// The next line without its end.
    async fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\r\n") {
                let line = self.buffer.drain(..end + 2).take(end).collect();
                return Some(String::from_utf8(line).unwrap());
            }
            if !self.more().await {
                return None;
            }
        }
    }

    async fn take(&mut self, count: usize) -> Option<Vec<u8>> {
        while self.buffer.len() < count {
            if !self.more().await {
                return None;
            }
        }
        Some(self.buffer.drain(..count).collect())
    }

    /// Status and headers of the next answer.
    pub(crate) async fn head(&mut self) -> Option<Answer> {
        let line = self.line().await?;
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line().await?;
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        Some(Answer { status, headers, body: Vec::new(), pieces: Vec::new() })
    }

    /// One piece of a chunked body; empty at its end, `None` when it is cut off.
    pub(crate) async fn piece(&mut self) -> Option<Vec<u8>> {
        let size = usize::from_str_radix(&self.line().await?, 16).unwrap();
        let piece = self.take(size).await?;
        self.take(2).await?;
        Some(piece)
    }

    /// A whole answer; `None` when the connection ends before it does.
    pub(crate) async fn answer(&mut self) -> Option<Answer> {
        let mut answer = self.head().await?;
        if answer.header("transfer-encoding") == Some("chunked") {
            loop {
                let piece = self.piece().await?;
                if piece.is_empty() {
                    return Some(answer);
                }
                answer.body.extend_from_slice(&piece);
                answer.pieces.push(piece);
            }
        }
        match answer.header("content-length").map(|length| length.parse().unwrap()) {
            Some(length) => answer.body = self.take(length).await?,
            None if matches!(answer.status, 100 | 204 | 304) => {}
            None => answer.body = self.rest().await,
        }
        Some(answer)
    }

    /// The answer to a request by this method: the one to HEAD has no body.
    pub(crate) async fn answer_to(&mut self, method: &str) -> Option<Answer> {
        if method == "HEAD" { self.head().await } else { self.answer().await }
    }

    /// All that comes until the server closes.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        while self.more().await {}
        std::mem::take(&mut self.buffer)
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Fails unless this is an error in the form of the protocol.
    #[track_caller]
    pub(crate) fn assert_error(&self, http: u16, status: &str) {
        assert_eq!((self.status, self.json()["status"].as_str()), (http, Some(status)), "{self:?}");
        self.assert_error_form();
    }

    /// Fails unless this is an error in the form of the protocol that says nothing
    /// about the inside.
    #[track_caller]
    pub(crate) fn assert_error_form(&self) {
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        let body = self.json();
        let members = body.as_object().unwrap();
        for member in members.keys() {
            assert!(["code", "status", "message", "details"].contains(&member.as_str()), "{body}");
        }
        assert_eq!(body["code"], self.status, "{body}");
        assert!(body["status"].is_string() && body["message"].is_string(), "{body}");
        self.assert_says_nothing();
    }

    /// Fails if this shows a page, a stack or a path of the machine.
    #[track_caller]
    pub(crate) fn assert_says_nothing(&self) {
        let all = format!("{:?} {}", self.headers, String::from_utf8_lossy(&self.body));
        let signs = ["<html", "<!DOCTYPE", "<pre", "panicked", ".rs:", "/src/"];
        for sign in signs.into_iter().chain([env!("CARGO_MANIFEST_DIR")]).chain(SECRETS) {
            assert!(!all.contains(sign), "`{sign}` in {all}");
        }
    }
}
