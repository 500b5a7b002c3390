//! Agents to be tested, and a client that speaks both versions.

use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use oxikit::prelude::*;
use oxikit_core::Registry;
use oxikit_core::ports::TaskStore;
use oxikit_core::ports::memory::MemoryTasks;
use oxikit_serve::Server;
use oxikit_serve::a2a::{A2aAgent, AgentExecutor, Artifact, Chunk, Part, TaskTurn, TaskUpdates};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::kit::{Answer, Client};

/// Does what the text of a message says.
pub(crate) struct Script {
    /// Released by tests that let a waiting turn go on.
    pub(crate) gate: Arc<Notify>,
}

#[async_trait]
impl AgentExecutor for Script {
    async fn execute(&self, turn: TaskTurn, updates: &mut TaskUpdates) -> Result<()> {
        let text = turn.message.text();
        match text.as_str() {
            "ask" => updates.ask("what next?").await,
            "fail" => Err(Status::internal("the secret of the house")),
            "fail publicly" => Err(Status::invalid_argument("no such city")),
            "panic" => panic!("a bug"),
            "reject" => updates.reject("not here").await,
            "wait" => {
                updates.working("waiting").await?;
                self.gate.notified().await;
                updates.complete().await
            }
            "wait and ask" => {
                self.gate.notified().await;
                updates.ask("what next?").await
            }
            "after the end" => {
                updates.complete().await?;
                assert!(updates.working("too late").await.is_err());
                Ok(())
            }
            text @ ("chunks" | "chunks at once") => {
                let chunk = |text: &str| Artifact::new("a", vec![Part::text(text)]);
                updates.chunk(chunk("one "), Chunk::FIRST).await?;
                if text == "chunks" {
                    // As an agent that waits for its model.
                    tokio::task::yield_now().await;
                }
                updates.chunk(chunk("two "), Chunk::NEXT).await?;
                updates.chunk(chunk("three"), Chunk::LAST).await?;
                updates.complete().await
            }
            text => {
                updates.artifact(Artifact::new("echo", vec![Part::text(text)])).await?;
                Ok(())
            }
        }
    }
}

/// Answers with a message and without a task.
pub(crate) struct Reply;

#[async_trait]
impl AgentExecutor for Reply {
    async fn execute(&self, turn: TaskTurn, updates: &mut TaskUpdates) -> Result<()> {
        match turn.message.text().as_str() {
            "task" => updates.complete().await,
            text => {
                let message = updates.message(vec![Part::text(format!("re: {text}"))]);
                updates.reply(message).await
            }
        }
    }

    fn may_reply(&self) -> bool {
        true
    }
}

/// A server that runs until this is dropped.
pub(crate) struct App {
    pub(crate) address: SocketAddr,
    pub(crate) gate: Arc<Notify>,
    pub(crate) store: Arc<dyn TaskStore>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
}

impl Drop for App {
    fn drop(&mut self) {
        drop(self.stop.take());
    }
}

pub(crate) async fn app() -> App {
    app_with(|server| server).await
}

pub(crate) async fn app_with(set: impl FnOnce(Server) -> Server) -> App {
    serve(Arc::new(MemoryTasks::default()), &Registry::default(), set).await
}

pub(crate) async fn serve(
    store: Arc<dyn TaskStore>,
    registry: &Registry,
    set: impl FnOnce(Server) -> Server,
) -> App {
    let gate = Arc::new(Notify::new());
    let server = Server::new(registry)
        .a2a(A2aAgent::with_executor("script", Script { gate: gate.clone() }).description("Does."))
        .a2a(A2aAgent::with_executor("reply", Reply).title("The replier"))
        .task_store(store.clone())
        .port(0);
    let server = set(server).bind().await.unwrap();
    let address = server.local_addr().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel();
    tokio::spawn(server.run(async { drop(stopped.await) }));
    App { address, gate, store, stop: Some(stop) }
}

/// A message of the user in the form of version 1.0.
pub(crate) fn message(text: &str) -> Value {
    json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": text }] })
}

/// The same in the form of version 0.3.
pub(crate) fn message_v0_3(text: &str) -> Value {
    json!({
        "kind": "message", "messageId": "m", "role": "user",
        "parts": [{ "kind": "text", "text": text }],
    })
}

/// The same message for a task.
pub(crate) fn for_task(mut message: Value, task: &Value) -> Value {
    message["taskId"] = task["id"].clone();
    message
}

impl App {
    /// Stops the server. Requests and notifications that are under way may still end.
    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        while tokio::net::TcpStream::connect(self.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    }

    /// Sends a body to the JSON-RPC endpoint of an agent.
    pub(crate) async fn raw(&self, agent: &str, headers: &str, body: &str) -> Answer {
        let headers = format!("Content-Type: application/json\r\n{headers}");
        self.request("POST", &format!("/a2a/{agent}"), &headers, body).await
    }

    pub(crate) async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> Answer {
        let mut client = Client::connect(self.address).await;
        client.send(self.text(method, path, headers, body)).await;
        client.answer().await.unwrap()
    }

    fn text(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len(),
        )
    }

    /// Calls a method of the script agent; its response.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Value {
        self.call_agent("script", method, params).await
    }

    pub(crate) async fn call_agent(&self, agent: &str, method: &str, params: Value) -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let answer = self.raw(agent, "", &body.to_string()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let response: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(response["id"], 7);
        response
    }

    /// Sends a message and answers the task, in version 1.0.
    pub(crate) async fn send(&self, message: Value) -> Value {
        let response = self.call("SendMessage", json!({ "message": message })).await;
        response["result"]["task"].clone()
    }

    /// Sends a message without waiting; the task.
    pub(crate) async fn begin(&self, message: Value) -> Value {
        let configuration = json!({ "returnImmediately": true });
        let params = json!({ "message": message, "configuration": configuration });
        self.call("SendMessage", params).await["result"]["task"].clone()
    }

    /// Waits until the task has received this number of messages.
    pub(crate) async fn received(&self, task: &Value, number: usize) {
        let params = json!({ "id": task["id"] });
        let mut stream = self.stream("SubscribeToTask", params, "").await;
        loop {
            // A message is an event of the log: each one is told to those who follow the task.
            let history = self.task(&task["id"]).await["history"].clone();
            let by_user = |message: &&Value| message["role"] == "ROLE_USER";
            if history.as_array().unwrap().iter().filter(by_user).count() >= number {
                return;
            }
            stream.next().await.unwrap();
        }
    }

    pub(crate) async fn task(&self, id: &Value) -> Value {
        self.call("GetTask", json!({ "id": id })).await["result"].clone()
    }

    /// Opens a stream of the script agent.
    pub(crate) async fn stream(&self, method: &str, params: Value, headers: &str) -> Stream {
        let mut client = self.open(method, params, headers).await;
        let head = client.head().await.unwrap();
        Stream { head, client, text: String::new() }
    }

    /// Sends a request to the script agent, and does not wait for the answer.
    pub(crate) async fn open(&self, method: &str, params: Value, headers: &str) -> Client {
        let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let headers = format!("Content-Type: application/json\r\n{headers}");
        let mut client = Client::connect(self.address).await;
        client.send(self.text("POST", "/a2a/script", &headers, &body.to_string())).await;
        client
    }
}

/// A stream of events.
pub(crate) struct Stream {
    pub(crate) head: Answer,
    client: Client,
    /// Text that is not read yet.
    text: String,
}

impl Stream {
    /// The next event: its id and its data; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                let line = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                let Some(data) = line("data: ") else { continue };
                assert_eq!(event.matches("data: ").count(), 1, "one line of data: {event}");
                let id = line("id: ").unwrap_or_default().to_owned();
                return Some((id, serde_json::from_str(data).unwrap()));
            }
            let piece = self.client.piece().await.filter(|piece| !piece.is_empty())?;
            self.text.push_str(str::from_utf8(&piece).unwrap());
        }
    }

    /// All events until the end.
    pub(crate) async fn all(mut self) -> Vec<(String, Value)> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}
