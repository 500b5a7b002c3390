//! Every position that a reader can name, on every store and both routes: an answer
//! in bounded time, and never a second run.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oxikit::prelude::*;
use oxikit::{Agent, MemorySessions, Turn};
use oxikit_core::ports::StreamStore;
use oxikit_core::ports::memory::MemoryStreams;
use oxikit_serve::Server;
use oxikit_sql::{PostgresOptions, PostgresStore, SqliteStore};
use oxikit_wire::Part;
use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::kit::{Answer, Client, post};

/// The stores that can keep streams. PostgreSQL is one of them where there is a
/// server: `cargo xtask postgres cargo test -p oxikit-serve` has one.
pub(crate) async fn stores() -> Vec<(&'static str, Arc<dyn StreamStore>, Option<TempDir>)> {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = SqliteStore::open(folder.path().join("app.db")).unwrap().streams();
    let mut stores = vec![
        ("memory", Arc::new(MemoryStreams::default()) as Arc<dyn StreamStore>, None),
        ("sqlite", sqlite, Some(folder)),
    ];
    if let Ok(url) = std::env::var("OXIKIT_TEST_POSTGRES") {
        let schema = format!("serve_{}", uuid::Uuid::new_v4().simple());
        let options = PostgresOptions::default().with_schema(schema);
        let postgres = PostgresStore::connect_with(&url, options).await.unwrap();
        stores.push(("postgres", Arc::new(postgres), None));
    }
    stores
}

/// A flow and an agent that send three pieces each; then they end, fail, or wait
/// forever, as their input says.
struct App {
    address: SocketAddr,
    runs: Arc<AtomicUsize>,
    _stop: oneshot::Sender<()>,
}

async fn app(streams: Arc<dyn StreamStore>) -> App {
    let ai = Oxikit::builder().build().unwrap();
    let runs = Arc::new(AtomicUsize::new(0));
    let ran = runs.clone();
    ai.define_flow("steps", move |how: String, _: Context, out: Emitter<u8>| {
        ran.fetch_add(1, Ordering::SeqCst);
        async move {
            for number in 0..3 {
                out.send(number).await?;
            }
            match how.as_str() {
                "end" => Ok("end"),
                "fail" => Err(Status::not_found("no more")),
                _ => std::future::pending().await,
            }
        }
    });
    let ran = runs.clone();
    let agent = Agent::builder("support").store(MemorySessions::default()).turn(move |it: Turn| {
        ran.fetch_add(1, Ordering::SeqCst);
        async move {
            for number in 0..3 {
                it.emit(vec![Part::text(number.to_string())]).await?;
            }
            match it.text().as_str() {
                "end" => Ok(it.answer("yes")),
                "fail" => Err(Status::not_found("no more")),
                _ => std::future::pending().await,
            }
        }
    });
    ai.define_agent(agent).unwrap();
    let server = Server::new(&ai).durable_streams(streams).agents_api().port(0);
    let server = server.bind().await.unwrap();
    let address = server.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    tokio::spawn(server.run(async move { drop(stopped.await) }));
    App { address, runs, _stop: stop }
}

/// The ways in which a client reads a stream again.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Route {
    Action,
    AgentGet,
    AgentPost,
}

/// A recorded stream: its id and how many blocks or events it has.
struct Recorded {
    id: String,
    length: u64,
    has_ended: bool,
}

const EVENT_STREAM: &str = "accept: text/event-stream\r\n";

impl App {
    async fn send(&self, request: &[u8]) -> Client {
        let mut client = Client::connect(self.address).await;
        client.send(request).await;
        client
    }

    /// Begins a stream and reads it, or as much of it as comes.
    async fn record(&self, route: Route, how: &str) -> Recorded {
        let request = match route {
            Route::Action => post("/steps", EVENT_STREAM, json!({ "data": how }).to_string()),
            _ => post(
                "/api/agents/support/execute",
                EVENT_STREAM,
                json!({ "input": how }).to_string(),
            ),
        };
        let mut client = self.send(&request).await;
        let head = client.head().await.unwrap();
        let id = head.header("x-genkit-stream-id").unwrap().to_owned();
        let (mut text, has_ended) = (String::new(), how != "open");
        while let Some(piece) = client.piece().await {
            text.push_str(str::from_utf8(&piece).unwrap());
            if piece.is_empty() || (!has_ended && blocks(&text) == 3) {
                break;
            }
        }
        Recorded { id, length: blocks(&text), has_ended }
    }

    /// Asks for what follows a position: `headers` are the lines that name it.
    async fn ask(&self, route: Route, id: &str, headers: &str) -> Client {
        let request = match route {
            Route::Action => {
                let headers = format!("{EVENT_STREAM}x-genkit-stream-id: {id}\r\n{headers}");
                post("/steps", &headers, "{}")
            }
            Route::AgentGet => format!(
                "GET /api/agents/support/streams/{id} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n"
            )
            .into_bytes(),
            Route::AgentPost => post("/api/agents/support/execute", headers, r#"{"input":"end"}"#),
        };
        self.send(&request).await
    }

    /// Status and number of blocks of an answer that ends.
    async fn answer(&self, route: Route, id: &str, headers: &str) -> (u16, u64, Answer) {
        let answer = self.ask(route, id, headers).await.answer().await.expect("a whole answer");
        let text = answer.text().to_owned();
        (answer.status, if answer.status == 200 { blocks(&text) } else { 0 }, answer)
    }
}

/// Blocks and events alike end with an empty line; comments do not count.
fn blocks(text: &str) -> u64 {
    text.split_terminator("\n\n").filter(|block| !block.starts_with(':')).count() as u64
}

/// The line that names a position.
fn line(route: Route, id: &str, position: &str) -> String {
    match route {
        Route::Action => format!("x-oxikit-stream-position: {position}\r\n"),
        _ => format!("last-event-id: {id}/{position}\r\n"),
    }
}

/// Values that are not a position.
const NONSENSE: [&str; 12] = [
    "-1",
    "text",
    "",
    "+1",
    "1.0",
    "1e3",
    "0x1",
    "1 2",
    "1,2",
    "18446744073709551616",
    "99999999999999999999999999999999999999999999999999999999999999999999999999999999",
    "\u{661}",
];

async fn check_all(app: &App, route: Route, how: &str) {
    let stream = app.record(route, how).await;
    let Recorded { id, length, has_ended } = &stream;
    let (id, length) = (id.as_str(), *length);
    let runs = app.runs.load(Ordering::SeqCst);
    let about = |position: &dyn std::fmt::Display| format!("{route:?} {how} at {position}");

    for position in [0, 1, length - 1, length, length + 1, i64::MAX.unsigned_abs(), u64::MAX] {
        let headers = line(route, id, &position.to_string());
        if *has_ended {
            let rest = length.saturating_sub(position);
            let expected = if rest > 0 { (200, rest) } else { (204, 0) };
            let (status, blocks, _) = app.answer(route, id, &headers).await;
            assert_eq!((status, blocks), expected, "{}", about(&position));
        } else if position > length {
            let (.., answer) = app.answer(route, id, &headers).await;
            answer.assert_error(400, "OUT_OF_RANGE");
        } else {
            let mut client = app.ask(route, id, &headers).await;
            let head = client.head().await.unwrap();
            assert_eq!(head.status, 200, "{}", about(&position));
            let mut text = String::new();
            while blocks(&text) < length - position {
                let piece = client.piece().await.unwrap();
                text.push_str(str::from_utf8(&piece).unwrap());
            }
            assert_eq!(blocks(&text), length - position, "{}", about(&position));
        }
    }
    let whole = |text: &str| line(route, id, text);
    let mut nonsense: Vec<String> = NONSENSE.iter().map(|text| whole(text)).collect();
    nonsense.push(whole("1") + &whole("1"));
    nonsense.push(whole("1") + &whole("2"));
    for headers in nonsense {
        let (.., answer) = app.answer(route, id, &headers).await;
        assert_eq!(answer.status, 400, "{} {answer:?}", about(&headers));
        answer.assert_error(400, "INVALID_ARGUMENT");
    }
    assert_eq!(app.runs.load(Ordering::SeqCst), runs, "nothing was run again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_position_is_answered_on_every_store() {
    for (name, store, _folder) in stores().await {
        let app = app(store).await;
        for route in [Route::Action, Route::AgentGet, Route::AgentPost] {
            for how in ["end", "fail", "open"] {
                println!("{name} {route:?} {how}");
                check_all(&app, route, how).await;
            }
        }
    }
}

#[tokio::test]
async fn a_stream_id_that_no_stream_has_is_204_and_starts_no_run() {
    let app = app(Arc::new(MemoryStreams::default())).await;
    let Recorded { id, .. } = app.record(Route::Action, "end").await;
    for unknown in ["", "x", "5f0c2e9e-0000-4000-8000-000000000000", "\u{e9}", &format!("{id}x")] {
        let (status, _, answer) = app.answer(Route::Action, unknown, "").await;
        assert_eq!((status, answer.body), (204, Vec::new()), "{unknown}");
    }
    let twice = format!("x-genkit-stream-id: {id}\r\n");
    let (.., answer) = app.answer(Route::Action, &id, &twice).await;
    answer.assert_error(400, "INVALID_ARGUMENT");
    assert_eq!(app.runs.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_is_ahead_does_not_slow_the_server() {
    // As many as there are workers, and one more: each of them would hold one.
    let app = app(Arc::new(MemoryStreams::default())).await;
    let Recorded { id, length, .. } = app.record(Route::Action, "end").await;
    for _ in 0..3 {
        let headers = line(Route::Action, &id, &length.to_string());
        drop(app.ask(Route::Action, &id, &headers).await);
    }
    let (status, blocks, _) = app.answer(Route::Action, &id, "").await;
    assert_eq!((status, blocks), (200, length));
}
