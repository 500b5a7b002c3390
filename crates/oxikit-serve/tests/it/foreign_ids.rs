//! An id is good at the route that it was made by and nowhere else: every route that
//! takes one answers an id of another action or agent as one that nobody has.

use std::net::SocketAddr;
use std::sync::Arc;

use oxikit::prelude::*;
use oxikit::{Agent, MemorySessions, Turn};
use oxikit_core::ports::{SessionStore, StreamStore};
use oxikit_serve::{Expose, Server, context_from};
use oxikit_wire::Part;
use tokio::sync::oneshot;

use crate::kit::{Answer, Client, post};
use crate::stream_positions::stores;

/// Flows `open` and `secret`, agents `support` and `secret-agent` with sessions in
/// one store: the secret ones only for those who are trusted.
struct App {
    address: SocketAddr,
    _stop: oneshot::Sender<()>,
}

async fn app(streams: Arc<dyn StreamStore>) -> App {
    let ai = Oxikit::builder().build().unwrap();
    let flow = |name: &str| {
        ai.define_flow(name, |_: Value, _: Context, out: Emitter<&'static str>| async move {
            out.send("chunk").await?;
            Ok("planted secret")
        })
    };
    let (open, secret) = (flow("open"), flow("secret"));
    let sessions: Arc<dyn SessionStore> = Arc::new(MemorySessions::default());
    let agent = |name: &str| {
        let agent = Agent::builder(name).shared_store(sessions.clone());
        ai.define_agent(agent.turn(|it: Turn| async move {
            it.emit(vec![Part::text("planted secret")]).await?;
            Ok(it.answer("planted secret"))
        }))
        .unwrap()
    };
    let (support, secret_agent) = (agent("support"), agent("secret-agent"));
    let who = context_from(|request| {
        let is_trusted = request.header("x-trusted").is_some();
        let auth = json!({ "uid": "ada", "trusted": is_trusted });
        Ok(ActionContext::default().with("auth", auth))
    });
    let only_trusted = |caller: &ActionContext| match caller.auth().map(|auth| &auth["trusted"]) {
        Some(Value::Bool(true)) => Ok(()),
        _ => Err(Status::permission_denied("not for you")),
    };
    let server = Server::new(&ai)
        .auth(who)
        .stream_store(streams)
        .expose(Expose::new(&open).durable())
        .expose(Expose::new(&secret).policy(only_trusted).durable())
        // The same action once more, for everybody.
        .expose(Expose::new(&secret).path("copy").durable())
        .expose(Expose::new(support.action().clone()).durable())
        .expose(Expose::new(secret_agent.action().clone()).policy(only_trusted).durable())
        .agents_api()
        .port(0)
        .bind()
        .await
        .unwrap();
    let address = server.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    tokio::spawn(server.run(async move { drop(stopped.await) }));
    App { address, _stop: stop }
}

const TRUSTED: &str = "x-trusted: yes\r\n";
const EVENT_STREAM: &str = "accept: text/event-stream\r\n";
const NOBODYS: &str = "5f0c2e9e-0000-4000-8000-000000000000";

impl App {
    async fn ask(&self, request: impl AsRef<[u8]>) -> Answer {
        let mut client = Client::connect(self.address).await;
        client.send(request).await;
        client.answer().await.unwrap()
    }

    /// The id of a stream that was read to its end.
    async fn stream_id(&self, path: &str, body: &str) -> String {
        let answer = self.ask(post(path, &format!("{EVENT_STREAM}{TRUSTED}"), body)).await;
        assert!(answer.text().contains("planted secret"), "{answer:?}");
        answer.header("x-genkit-stream-id").unwrap().to_owned()
    }
}

/// Makes a request that contains an id.
type Request = Box<dyn Fn(&str) -> Vec<u8>>;

fn get(path: &'static str) -> Request {
    plain("GET", path)
}

fn plain(method: &'static str, path: &'static str) -> Request {
    Box::new(move |id| {
        let path = path.replace("ID", id);
        let head = "host: localhost\r\ncontent-length: 0\r\n";
        format!("{method} {path} HTTP/1.1\r\n{head}\r\n").into_bytes()
    })
}

fn with_body(path: &'static str, headers: &'static str, body: &'static str) -> Request {
    Box::new(move |id| {
        post(&path.replace("ID", id), &headers.replace("ID", id), body.replace("ID", id))
    })
}

/// Status, headers that tell something, and body, without the id.
fn shown(answer: &Answer, id: &str) -> (u16, Vec<String>, String) {
    let named = ["x-genkit-stream-id", "x-oxikit-stream-position", "content-type"];
    let headers = named.iter().filter_map(|name| answer.header(name)).map(without_numbers);
    (answer.status, headers.collect(), without_numbers(&answer.text().replace(id, "ID")))
}

/// Ids of traces and streams are others each time.
fn without_numbers(text: &str) -> String {
    let is_digit = |character: char| character.is_ascii_hexdigit() || character == '-';
    let word = |word: &str| if word.len() < 16 { word.to_owned() } else { "#".to_owned() };
    let mut shown = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find(is_digit) {
        let end = rest[begin..].find(|character| !is_digit(character));
        let end = end.map_or(rest.len(), |length| begin + length);
        shown.push_str(&rest[..begin]);
        shown.push_str(&word(&rest[begin..end]));
        rest = &rest[end..];
    }
    shown + rest
}

async fn check(app: &App, request: &Request, foreign: &str) {
    let unknown = app.ask(request(NOBODYS)).await;
    let answer = app.ask(request(foreign)).await;
    let text = String::from_utf8_lossy(&request("ID")).into_owned();
    assert_eq!(shown(&answer, foreign), shown(&unknown, NOBODYS), "{text}");
    for secret in ["planted secret", "planted-session"] {
        let text_without_id = answer.text().replace(foreign, "ID");
        assert!(!text_without_id.contains(secret), "{text}\n{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_is_read_by_the_route_that_made_it_and_by_no_other() {
    for (name, store, _folder) in stores().await {
        println!("{name}");
        let app = app(store).await;
        let turn = r#"{"data":{"message":{"role":"user","content":[{"text":"hi"}]}},"init":{}}"#;
        let streams = [
            ("/secret", app.stream_id("/secret", r#"{"data":1}"#).await),
            ("/secret-agent", app.stream_id("/secret-agent", turn).await),
            (
                "/api/agents/secret-agent/execute",
                app.stream_id("/api/agents/secret-agent/execute", r#"{"input":"hi"}"#).await,
            ),
        ];
        let resume = "accept: text/event-stream\r\nx-genkit-stream-id: ID\r\n";
        let after_one = "accept: text/event-stream\r\nx-genkit-stream-id: ID\r\n\
                         x-oxikit-stream-position: 1\r\n";
        for (made_by, id) in &streams {
            println!("made by {made_by}");
            for path in ["/open", "/copy", "/support"] {
                check(&app, &with_body(path, resume, "{}"), id).await;
                check(&app, &with_body(path, after_one, "{}"), id).await;
            }
            check(&app, &get("/api/agents/support/streams/ID"), id).await;
            let path = "/api/agents/support/execute";
            let last = "last-event-id: ID/1\r\n";
            check(&app, &with_body(path, last, r#"{"input":"hi"}"#), id).await;
        }
        // Whom the route is for, it still serves.
        let again = format!("{EVENT_STREAM}{TRUSTED}x-genkit-stream-id: {}\r\n", streams[0].1);
        let answer = app.ask(post("/secret", &again, "{}")).await;
        assert!(answer.text().contains("planted secret"), "{answer:?}");
        // And a copy of the action has streams of its own.
        let copy = app.stream_id("/copy", r#"{"data":1}"#).await;
        let again = format!("{EVENT_STREAM}x-genkit-stream-id: {copy}\r\n");
        assert_eq!(app.ask(post("/copy", &again, "{}")).await.status, 200);
    }
}

#[tokio::test]
async fn sessions_and_snapshots_are_found_through_their_agent_alone() {
    let (_, store, _folder) = stores().await.remove(0);
    let app = app(store).await;
    let body = r#"{"input":"hi","init":{"sessionId":"planted-session"}}"#;
    let turn = app.ask(post("/api/agents/secret-agent/execute", TRUSTED, body)).await;
    let snapshot = turn.json()["result"]["snapshotId"].as_str().unwrap().to_owned();
    // A session of its own, to look for a snapshot of another one in.
    let own = r#"{"input":"hi","init":{"sessionId":"own"}}"#;
    assert_eq!(app.ask(post("/api/agents/support/execute", "", own)).await.status, 200);
    let sessions: [Request; 8] = [
        get("/api/agents/support/sessions/ID"),
        get("/api/agents/support/sessions/ID/tree"),
        plain("DELETE", "/api/agents/support/sessions/ID"),
        plain("POST", "/api/agents/support/sessions/ID/abort"),
        plain("POST", "/api/agents/support/sessions/ID/fork"),
        get("/api/agents/support/sessions/ID/snapshots/x"),
        get("/api/agents/support/sessions/ID/snapshots/x/diff"),
        with_body("/support/getSnapshot", "", r#"{"data":{"sessionId":"ID"}}"#),
    ];
    for request in &sessions {
        check(&app, request, "planted-session").await;
    }
    let snapshots: [Request; 9] = [
        get("/api/agents/support/sessions/own/snapshots/ID"),
        get("/api/agents/support/sessions/own/snapshots/ID/diff"),
        with_body("/api/agents/support/sessions/own/abort", "", r#"{"snapshotId":"ID"}"#),
        with_body("/api/agents/support/sessions/own/fork", "", r#"{"snapshotId":"ID"}"#),
        with_body("/support/getSnapshot", "", r#"{"data":{"snapshotId":"ID"}}"#),
        with_body("/support/abort", "", r#"{"data":{"snapshotId":"ID"}}"#),
        with_body("/support", "", r#"{"data":{},"init":{"snapshotId":"ID"}}"#),
        with_body(
            "/api/agents/support/execute",
            "",
            r#"{"input":"hi","init":{"snapshotId":"ID"}}"#,
        ),
        with_body(
            "/api/agents/support/execute",
            EVENT_STREAM,
            r#"{"input":"hi","init":{"snapshotId":"ID"}}"#,
        ),
    ];
    for request in &snapshots {
        check(&app, request, &snapshot).await;
    }
    let after = format!("/api/agents/secret-agent/sessions/planted-session/snapshots/{snapshot}");
    let kept = app
        .ask(format!("GET {after} HTTP/1.1\r\nhost: localhost\r\n{TRUSTED}\r\n").as_bytes())
        .await;
    assert_eq!(kept.status, 200, "nothing was changed: {kept:?}");
}
