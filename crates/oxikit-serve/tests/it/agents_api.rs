//! The REST API for agents and sessions, on real agents.

mod execute;
mod fork;
mod refusals;
mod sessions;
mod streams;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use oxikit::prelude::*;
use oxikit::{Agent, MemorySessions, Turn, TurnReply};
use oxikit_core::{ActionContext, OpenSpan, SpanExporter, SpanRecord};
use oxikit_serve::{Server, context_from};
use oxikit_wire::{AgentFinishReason, Artifact, Part};
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::kit::{Answer, Client};

/// The custom state of the agents.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct Topics {
    current_topic: String,
    turns: u32,
}

/// A server that runs until this is dropped. `support` and `sales` keep their
/// sessions in one store; clients of `helper` keep the state.
struct App {
    address: SocketAddr,
    /// Lets one waiting turn go on.
    go_on: Arc<Notify>,
    /// When a waiting turn began, and when one was cancelled.
    started: mpsc::UnboundedReceiver<()>,
    cancelled: mpsc::UnboundedReceiver<Instant>,
    /// Spans that have ended.
    spans: Arc<Spans>,
    stop: Option<oneshot::Sender<()>>,
}

#[derive(Debug, Default)]
struct Spans(Mutex<Vec<SpanRecord>>);

impl SpanExporter for Spans {
    fn start(&self, _: &OpenSpan) {}

    fn end(&self, span: SpanRecord) {
        self.0.lock().unwrap().push(span);
    }
}

/// Tells when it is dropped before its time.
struct Watch(Option<mpsc::UnboundedSender<Instant>>);

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(cancelled) = self.0.take() {
            let _ = cancelled.send(Instant::now());
        }
    }
}

#[derive(Clone)]
struct Signals {
    go_on: Arc<Notify>,
    started: mpsc::UnboundedSender<()>,
    cancelled: mpsc::UnboundedSender<Instant>,
}

/// The turn of all agents of the test; the text of the message selects what it does.
async fn turn(turn: Turn<Topics>, signals: Signals) -> Result<TurnReply> {
    let text = turn.text();
    turn.update(|topics| {
        topics.current_topic.clone_from(&text);
        topics.turns += 1;
    })
    .await?;
    match text.split_once(' ').unwrap_or((&text, "")) {
        ("wait", _) => {
            turn.emit(vec![Part::text("waiting")]).await?;
            let mut watch = Watch(Some(signals.cancelled));
            let _ = signals.started.send(());
            signals.go_on.notified().await;
            watch.0 = None;
        }
        ("count", to) => {
            for number in 0..to.parse::<u32>().unwrap() {
                turn.emit(vec![Part::text(number.to_string())]).await?;
                if number % 3 == 2 {
                    turn.update(|topics| topics.turns += 1).await?;
                }
            }
        }
        ("draw", _) => {
            turn.emit(vec![Part::text("The")]).await?;
            turn.emit(vec![Part::text(" map")]).await?;
            turn.add_artifact(Artifact {
                name: Some("map".into()),
                parts: vec![Part::text("here be dragons")],
                metadata: None,
            })
            .await?;
        }
        ("fail", _) => return Err(Status::not_found("no such weather")),
        ("ask", _) => return Ok(turn.answer("which?").because(AgentFinishReason::Interrupted)),
        _ => turn.emit(vec![Part::text("Hi!")]).await?,
    }
    Ok(turn.answer(format!("{text}: done")).because(AgentFinishReason::Stop))
}

async fn app() -> App {
    app_with(|server| server).await
}

async fn app_with(set: impl FnOnce(Server) -> Server) -> App {
    let ai = Oxikit::builder().build().unwrap();
    let spans = Arc::new(Spans::default());
    ai.registry().add_exporter(spans.clone());
    let (started_tx, started) = mpsc::unbounded_channel();
    let (cancelled_tx, cancelled) = mpsc::unbounded_channel();
    let go_on = Arc::new(Notify::new());
    let signals = Signals { go_on: go_on.clone(), started: started_tx, cancelled: cancelled_tx };
    define(&ai, &signals);
    let who = context_from(|request| {
        let Some(uid) = request.header("x-user") else { return Ok(ActionContext::default()) };
        Ok(ActionContext::default().with("auth", json!({ "uid": uid })))
    });
    let server = set(Server::new(&ai).auth(who).agents_api()).port(0).bind().await.unwrap();
    let address = server.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    tokio::spawn(server.run(async move { drop(stopped.await) }));
    App { address, go_on, started, cancelled, spans, stop: Some(stop) }
}

fn define(ai: &Oxikit, signals: &Signals) {
    let store: Arc<dyn oxikit_core::ports::SessionStore> = Arc::new(MemorySessions::default());
    let builder = |name: &str| {
        let signals = signals.clone();
        Agent::builder(name).turn(move |it: Turn<Topics>| turn(it, signals.clone()))
    };
    let support = builder("support")
        .description("Helps customers.")
        .metadata("version", "1.0.0")
        .session_metadata(|caller| {
            let uid = caller.auth().map(|auth| auth["uid"].clone());
            Map::from_iter(uid.map(|uid| ("userId".to_owned(), uid)))
        })
        .shared_store(store.clone());
    ai.define_agent(support).unwrap();
    ai.define_agent(builder("sales").shared_store(store)).unwrap();
    ai.define_agent(builder("helper").description("Keeps nothing.")).unwrap();
}

impl App {
    async fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let mut client = self.send(method, path, headers, body).await;
        client.answer_to(method).await.unwrap()
    }

    async fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Client {
        let mut client = Client::connect(self.address).await;
        let media_type = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
        client
            .send(format!(
                "{method} /api/agents{path} HTTP/1.1\r\nhost: localhost\r\n{media_type}{headers}\
                 content-length: {}\r\n\r\n{body}",
                body.len()
            ))
            .await;
        client
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "", "").await
    }

    /// A turn as one answer; its result.
    async fn say(&self, agent: &str, text: &str, init: Value) -> Value {
        let body = json!({ "input": text, "init": init }).to_string();
        let answer = self.ask("POST", &format!("/{agent}/execute"), "", &body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["result"].clone()
    }

    /// A turn of `support` that goes on alone; its snapshot.
    async fn detach(&mut self, text: &str, session: &str) -> String {
        let message = json!({ "role": "user", "content": [{ "text": text }] });
        let input = json!({ "message": message, "detach": true });
        let body = json!({ "input": input, "init": { "sessionId": session } }).to_string();
        let answer = self.ask("POST", "/support/execute", "", &body).await;
        assert_eq!(answer.json()["result"]["finishReason"], "detached", "{answer:?}");
        answer.json()["result"]["snapshotId"].as_str().unwrap().to_owned()
    }
}

/// One event as it was sent.
#[derive(Debug, Clone, PartialEq)]
struct Event {
    name: String,
    data: Value,
    id: String,
}

/// The events of a stream. Every block must have all lines, in this order.
#[track_caller]
fn events(answer: &Answer) -> Vec<Event> {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let text = answer.text();
    assert!(text.is_empty() || text.ends_with("\n\n"), "{text}");
    let event = |block: &str| {
        let lines: Vec<_> = block.split('\n').collect();
        let [name, data, id] = lines[..] else { panic!("{block}") };
        Event {
            name: name.strip_prefix("event: ").unwrap().to_owned(),
            data: serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap(),
            id: id.strip_prefix("id: ").unwrap().to_owned(),
        }
    };
    text.split_terminator("\n\n").map(event).collect()
}

#[tokio::test]
async fn agents_are_listed_with_their_metadata() {
    let app = app().await;
    let schema = app.get("/support").await.json()["metadata"]["agent"]["stateSchema"].clone();
    assert!(schema["properties"]["currentTopic"].is_object(), "{schema}");
    let expected = json!({ "agents": {
        "helper": {
            "name": "helper", "description": "Keeps nothing.", "hasStore": false,
            "metadata": {
                "agent": { "stateManagement": "client", "abortable": false, "stateSchema": schema },
                "bidi": true,
            },
        },
        "sales": {
            "name": "sales", "hasStore": true, "storeType": "memory",
            "metadata": {
                "agent": { "stateManagement": "server", "abortable": true, "stateSchema": schema },
                "bidi": true,
            },
        },
        "support": {
            "name": "support", "description": "Helps customers.", "hasStore": true,
            "storeType": "memory",
            "metadata": {
                "version": "1.0.0",
                "agent": { "stateManagement": "server", "abortable": true, "stateSchema": schema },
                "bidi": true,
            },
        },
    }});
    assert_eq!(app.get("").await.json(), expected);
    assert_eq!(app.get("/").await.json(), expected);
}

#[tokio::test]
async fn an_agent_is_shown_with_its_schemas() {
    let app = app().await;
    let details = app.get("/helper").await.json();
    let members: Vec<_> = details.as_object().unwrap().keys().collect();
    assert_eq!(
        members,
        [
            "name",
            "description",
            "hasStore",
            "initSchema",
            "inputSchema",
            "outputSchema",
            "streamSchema",
            "metadata"
        ]
    );
    for (schema, member) in [
        ("initSchema", "snapshotId"),
        ("initSchema", "state"),
        ("inputSchema", "message"),
        ("inputSchema", "detach"),
        ("outputSchema", "finishReason"),
        ("streamSchema", "customPatch"),
    ] {
        assert!(details[schema]["properties"][member].is_object(), "{schema} {member}");
    }
}

#[tokio::test]
async fn only_exposed_agents_are_shown_and_only_to_whom_they_are_for() {
    let ai = Oxikit::builder().build().unwrap();
    let reply = |it: Turn<Topics>| async move { Ok(it.answer("yes")) };
    let open = ai.define_agent(Agent::builder("open").turn(reply)).unwrap();
    let secret = ai.define_agent(Agent::builder("secret").turn(reply)).unwrap();
    ai.define_agent(Agent::builder("hidden").turn(reply)).unwrap();
    let who = context_from(|request| {
        let uid = request.header("x-user").ok_or_else(|| Status::unauthenticated("who?"))?;
        Ok(ActionContext::default().with("auth", json!({ "uid": uid })))
    });
    let only_ada = |caller: &ActionContext| match caller.auth().map(|auth| &auth["uid"]) {
        Some(uid) if *uid == "ada" => Ok(()),
        _ => Err(Status::permission_denied("not for you")),
    };
    let server = Server::new(&ai)
        .auth(who)
        .expose(open.action().clone())
        .expose(oxikit_serve::Expose::new(secret.action().clone()).policy(only_ada))
        .agents_api()
        .port(0)
        .bind()
        .await
        .unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(server.run(std::future::pending()));
    let ask = async |method: &str, path: &str, user: &str| {
        let mut client = Client::connect(address).await;
        let body = if method == "POST" { r#"{"input":"hi"}"# } else { "" };
        client
            .send(format!(
                "{method} /api/agents{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                 {user}content-length: {}\r\n\r\n{body}",
                body.len()
            ))
            .await;
        client.answer().await.unwrap()
    };
    let (ada, eve) = ("x-user: ada\r\n", "x-user: eve\r\n");
    let names = |answer: Answer| {
        answer.json()["agents"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(names(ask("GET", "", ada).await), ["open", "secret"]);
    assert_eq!(names(ask("GET", "", eve).await), ["open"]);
    ask("GET", "/secret", eve).await.assert_error(403, "PERMISSION_DENIED");
    ask("POST", "/secret/execute", eve).await.assert_error(403, "PERMISSION_DENIED");
    assert_eq!(ask("POST", "/secret/execute", ada).await.status, 200);
    for path in ["/hidden", "/hidden/execute"] {
        let method = if path == "/hidden" { "GET" } else { "POST" };
        ask(method, path, ada).await.assert_error(404, "NOT_FOUND");
    }
    for path in ["", "/open", "/nothing", "/open/sessions"] {
        ask("GET", path, "").await.assert_error(401, "UNAUTHENTICATED");
    }
}

#[tokio::test]
async fn the_routes_alone_can_be_nested_and_show_agents_that_are_defined_later() {
    let ai = Oxikit::builder().build().unwrap();
    let router = axum::Router::new().nest("/tools", Server::new(&ai).agents_router());
    let reply = |it: Turn<Topics>| async move { Ok(it.answer("yes")) };
    ai.define_agent(Agent::builder("late").turn(reply)).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let ask = async |request: &str| {
        let mut client = Client::connect(address).await;
        client.send(request).await;
        client.answer().await.unwrap()
    };
    let list = ask("GET /tools/api/agents HTTP/1.1\r\nhost: localhost\r\n\r\n").await.json();
    assert_eq!(list["agents"]["late"]["hasStore"], false, "{list}");
    let turn = crate::kit::post("/tools/api/agents/late/execute", "", r#"{"input":"hi"}"#);
    let turn = ask(str::from_utf8(&turn).unwrap()).await.json();
    assert_eq!(turn["result"]["message"]["content"][0]["text"], "yes");
    // The router serves no other paths.
    let action = crate::kit::post("/tools/late", "", r#"{"data":{}}"#);
    assert_eq!(ask(str::from_utf8(&action).unwrap()).await.status, 404);
}
