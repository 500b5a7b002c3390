//! Agents of other programs, called over A2A for the page: card, send, task, cancel, subscribe; bad
//! input, and addresses that a card must not lead to.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::Router;
use axum::http::HeaderMap;
use axum::routing::{get, post};
use oxikit::prelude::*;
use oxikit_core::Registry;
use oxikit_serve::Server;
use oxikit_serve::a2a::{A2aAgent, AgentExecutor, Artifact, Chunk, Part, TaskTurn, TaskUpdates};
use tokio::sync::Notify;

use oxikit_testing::manager::soon;
use oxikit_testing::tools::{Kit, kit};

/// Does what the text of a message says.
struct Script(Arc<Notify>);

#[async_trait]
impl AgentExecutor for Script {
    async fn execute(&self, turn: TaskTurn, updates: &mut TaskUpdates) -> Result<()> {
        let chunk = |text: &str| Artifact::new("a", vec![Part::text(text)]);
        match turn.message.text().as_str() {
            "ask" => updates.ask("what next?").await,
            "wait" => {
                updates.chunk(chunk("one "), Chunk::FIRST).await?;
                self.0.notified().await;
                updates.chunk(chunk("two"), Chunk::LAST).await?;
                updates.complete().await
            }
            text => updates.artifact(chunk(text)).await.map(drop),
        }
    }
}

/// An agent of another program. Returns its URL, and what lets a waiting turn go on.
async fn agent() -> (String, Arc<Notify>) {
    let gate = Arc::new(Notify::new());
    let agent = A2aAgent::with_executor("script", Script(gate.clone())).title("The Script!");
    let server = Server::new(&Registry::default()).a2a(agent).port(0).bind().await.unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(server.run(std::future::pending()));
    (format!("http://{address}/a2a/script"), gate)
}

async fn call(kit: &Kit, what: &str, body: Value) -> (u16, Value) {
    kit.post(&format!("/api/v1/a2a/{what}"), body).await
}

/// A streamed call: the names and the data of its events.
struct Stream(reqwest::Response, String);

impl Stream {
    async fn open(kit: &Kit, what: &str, body: Value) -> Self {
        let response = kit.post_response(&format!("/api/v1/a2a/{what}"), body).await;
        assert_eq!(response.status(), 200);
        Self(response, String::new())
    }

    /// The next event; `None` at the end.
    async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.1.split_once("\n\n") {
                let (name, data) = event.strip_prefix("event: ")?.split_once("\ndata: ")?;
                let event = (name.to_owned(), serde_json::from_str(data).unwrap());
                self.1 = rest.to_owned();
                return Some(event);
            }
            self.1 += std::str::from_utf8(&soon(self.0.chunk()).await.unwrap()?).unwrap();
        }
    }

    /// Reads until an update says this.
    async fn until(&mut self, member: &str) -> Value {
        while let Some((name, data)) = self.next().await {
            if name == "update" && data.get(member).is_some() {
                return data;
            }
        }
        panic!("the stream ended without `{member}`");
    }

    /// All further events.
    async fn rest(mut self) -> Vec<(String, Value)> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

#[tokio::test]
async fn the_card_of_an_agent_is_read_and_checked() {
    let (kit, (url, _gate)) = (kit().await, agent().await);
    let (status, found) = call(&kit, "card", json!({ "url": url })).await;
    assert_eq!((status, &found["name"]), (200, &json!("The Script!")), "{found}");
    assert_eq!((&found["problems"], &found["unusable"]), (&json!([]), &Value::Null));
    assert_eq!(found["chosen"]["version"], "1.0");
    assert_eq!(found["chosen"]["url"], url);
    let old = json!({ "url": url, "version": "0.3" });
    assert_eq!(call(&kit, "card", old).await.1["chosen"]["version"], "0.3");
}

#[tokio::test]
async fn a_message_is_answered_with_updates_and_the_raw_exchange() {
    let (kit, (url, _gate)) = (kit().await, agent().await);
    let headers = json!({ "authorization": "Bearer very-secret-value" });
    let body = json!({ "url": url, "text": "hello", "headers": headers });
    let events = Stream::open(&kit, "send", body).await.rest().await;
    let (last, done) = events.last().unwrap();
    assert_eq!((&**last, &done["state"]), ("done", &json!("TASK_STATE_COMPLETED")), "{events:?}");
    assert_eq!(done["text"], "hello");
    let exchanged: Vec<_> = events.iter().filter(|(name, _)| name == "exchange").collect();
    assert!(
        exchanged.iter().any(|(_, step)| step["step"] == "request" && step["method"] == "POST")
    );
    assert!(exchanged.iter().any(|(_, step)| step["step"] == "response" && step["http"] == 200));
    let text = format!("{exchanged:?}");
    assert!(text.contains("hello") && !text.contains("very-secret-value"), "{text}");
    assert!(events.iter().any(|(name, data)| name == "update" && data.get("task").is_some()));

    let (status, shown) = call(&kit, "task", json!({ "url": url, "taskId": done["taskId"] })).await;
    assert_eq!((status, &shown["task"]["contextId"]), (200, &done["contextId"]), "{shown}");
    let (status, late) =
        call(&kit, "cancel", json!({ "url": url, "taskId": done["taskId"] })).await;
    assert_eq!((status, &late["status"]), (400, &json!("FAILED_PRECONDITION")), "{late}");
}

#[tokio::test]
async fn a_question_is_answered_in_the_same_task() {
    let (kit, (url, _gate)) = (kit().await, agent().await);
    let events =
        Stream::open(&kit, "send", json!({ "url": url, "text": "ask" })).await.rest().await;
    let done = &events.last().unwrap().1;
    assert_eq!(done["state"], "TASK_STATE_INPUT_REQUIRED", "{events:?}");
    let (task, context) = (&done["taskId"], &done["contextId"]);
    let answer = json!({ "url": url, "text": "tea", "taskId": task, "contextId": context });
    let events = Stream::open(&kit, "send", answer).await.rest().await;
    let done = &events.last().unwrap().1;
    assert_eq!((&done["taskId"], &done["state"]), (task, &json!("TASK_STATE_COMPLETED")));
}

#[tokio::test]
async fn a_task_that_runs_is_followed_by_another_reader_and_cancelled() {
    let (kit, (url, gate)) = (kit().await, agent().await);
    let wait = json!({ "url": url, "text": "wait" });
    let mut first = Stream::open(&kit, "send", wait.clone()).await;
    let task = first.until("task").await["task"]["id"].clone();
    first.until("artifactUpdate").await;
    let mut second = Stream::open(&kit, "subscribe", json!({ "url": url, "taskId": task })).await;
    second.until("task").await;
    gate.notify_one();
    for stream in [first, second] {
        let (name, done) = stream.rest().await.pop().unwrap();
        assert_eq!((&*name, &done["state"]), ("done", &json!("TASK_STATE_COMPLETED")), "{done}");
    }

    let mut running = Stream::open(&kit, "send", wait).await;
    let task = running.until("task").await["task"]["id"].clone();
    running.until("artifactUpdate").await;
    let (status, ended) = call(&kit, "cancel", json!({ "url": url, "taskId": task })).await;
    assert_eq!((status, &ended["task"]["status"]["state"]), (200, &json!("TASK_STATE_CANCELED")));
    let (_, done) = running.rest().await.pop().unwrap();
    assert_eq!(done["state"], "TASK_STATE_CANCELED", "{done}");
}

#[tokio::test]
async fn bad_input_is_refused_with_what_is_wrong() {
    let (kit, (url, _gate)) = (kit().await, agent().await);
    let cases = [
        ("card", json!({}), "url"),
        ("card", json!({ "url": url, "version": "7" }), "`1.0` or `0.3`"),
        ("card", json!([]), ""),
        ("send", json!({ "url": url }), "`text` or `parts`"),
        ("send", json!({ "url": url, "parts": [{ "text": 7 }] }), "part"),
        ("task", json!({ "url": url }), "`taskId`"),
        ("cancel", json!({ "url": url }), "`taskId`"),
        ("subscribe", json!({ "url": url }), "`taskId`"),
        ("card", json!({ "url": "file:///etc/passwd" }), ""),
        ("card", json!({ "url": "not a url" }), ""),
    ];
    for (what, body, expected) in cases {
        let (status, answer) = call(&kit, what, body.clone()).await;
        assert_eq!((status, &answer["status"]), (400, &json!("INVALID_ARGUMENT")), "{what} {body}");
        assert!(answer["message"].as_str().unwrap().contains(expected), "{what}: {answer}");
    }
    let (status, answer) = call(&kit, "task", json!({ "url": url, "taskId": "none" })).await;
    assert_eq!((status, &answer["status"]), (404, &json!("NOT_FOUND")), "{answer}");
    // Nothing listens there, and a stream says it as its last event.
    let closed = json!({ "url": "http://127.0.0.1:9/a2a", "text": "hi" });
    let events = Stream::open(&kit, "send", closed).await.rest().await;
    assert_eq!(events.last().unwrap().0, "error", "{events:?}");
    let response = kit.call_without_token(reqwest::Method::POST, "/api/v1/a2a/card");
    assert_eq!(soon(response.json(&json!({ "url": url })).send()).await.unwrap().status(), 401);
}

/// A server with this card, which notes the headers of all messages that it gets.
async fn card_server(card: Value) -> (SocketAddr, Arc<Mutex<Vec<HeaderMap>>>) {
    let seen: Arc<Mutex<Vec<HeaderMap>>> = Arc::default();
    let noted = seen.clone();
    let note = move |headers: HeaderMap| {
        noted.lock().unwrap().push(headers);
        async {
            json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -1, "message": "no" } })
                .to_string()
        }
    };
    let show = move || async move { card.to_string() };
    let router =
        Router::new().route("/.well-known/agent-card.json", get(show)).route("/agent", post(note));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (address, seen)
}

fn card_for(url: &str) -> Value {
    let interface = json!({ "url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0" });
    json!({ "name": "Elsewhere", "description": "", "supportedInterfaces": [interface] })
}

#[tokio::test]
async fn a_card_cannot_lead_to_private_addresses() {
    let kit = kit().await;
    for private in ["http://169.254.169.254/latest", "http://10.1.2.3/agent", "http://[fd00::1]/"] {
        let (address, _) = card_server(card_for(private)).await;
        let url = format!("http://{address}");
        let (status, found) = call(&kit, "card", json!({ "url": url })).await;
        assert_eq!((status, &found["chosen"]), (200, &Value::Null), "{private}: {found}");
        assert!(found["unusable"].is_string(), "{found}");
        let sent = Stream::open(&kit, "send", json!({ "url": url, "text": "hi" })).await;
        let events = sent.rest().await;
        assert_eq!(events.last().unwrap().0, "error", "{private}: {events:?}");
        let requests = events.iter().filter(|(_, step)| step["step"] == "request");
        assert!(requests.clone().all(|(_, step)| step["url"] != private), "{events:?}");
    }
}

#[tokio::test]
async fn headers_go_to_another_server_only_if_it_is_trusted() {
    let kit = kit().await;
    let (other, seen) = card_server(json!({})).await;
    let (address, _) = card_server(card_for(&format!("http://{other}/agent"))).await;
    for (trusted, expected) in [(vec![], None), (vec![format!("http://{other}")], Some("secret-1"))]
    {
        let body = json!({ "url": format!("http://{address}"), "text": "hi",
            "headers": { "x-api-key": "secret-1" }, "trustOrigins": trusted });
        let events = Stream::open(&kit, "send", body).await.rest().await;
        assert_eq!(events.last().unwrap().0, "error", "{events:?}");
        let headers = seen.lock().unwrap().pop();
        let key =
            headers.as_ref().and_then(|it| it.get("x-api-key")).map(|it| it.to_str().unwrap());
        assert_eq!(key, expected, "{events:?}");
    }
}
