//! Agents that fail, never end or publish too much, and readers that are slow or vanish.

mod agents;
mod readers;
mod servers;

use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use oxikit::prelude::*;
use oxikit_core::Registry;
use oxikit_core::ports::TaskStore;
use oxikit_core::ports::memory::MemoryTasks;
use oxikit_serve::a2a::{A2aAgent, AgentExecutor, Artifact, Chunk, Part, TaskTurn, TaskUpdates};
use oxikit_serve::{Limits, Server};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::kit::message;
use crate::kit::{Answer, Client, PATIENCE, SECRETS};

/// Number of chunks of an agent that publishes without a pause.
const FLOOD: usize = 10_000;
/// Number of chunks of one that publishes large ones, and their size. All together are more than
/// the buffers of a connection hold.
const LARGE: usize = 100;
const LARGE_BYTES: usize = 100_000;

/// An agent with the fault that the message names. It tells what happens to it.
struct Faulty(mpsc::UnboundedSender<String>);

/// Tells that a turn was dropped before its end.
struct Dropped<'a>(&'a Faulty, String);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.tell(format!("dropped {}", self.1));
    }
}

impl Faulty {
    fn tell(&self, what: String) {
        // The test that would be told may be over.
        _ = self.0.send(what);
    }

    async fn flood(updates: &mut TaskUpdates, chunks: usize, bytes: usize) -> Result<()> {
        for number in 0..chunks {
            let chunk = Chunk { append: number > 0, last_chunk: number + 1 == chunks };
            let artifact = Artifact::new("flood", vec![Part::text("x".repeat(bytes))]);
            updates.chunk(artifact, chunk).await?;
        }
        updates.complete().await
    }

    /// Tries everything that a turn may publish, and tells how often it succeeded.
    async fn publish_after_the_end(&self, updates: &mut TaskUpdates) {
        let artifact = Artifact::new("late", vec![Part::text("late")]);
        let message = updates.message(vec![Part::text("late")]);
        let results = [
            updates.artifact(artifact.clone()).await,
            updates.chunk(artifact, Chunk::NEXT).await,
            updates.working("late").await,
            updates.ask("late").await,
            updates.complete().await,
            updates.fail("late").await,
            updates.reject("late").await,
            updates.reply(message).await,
        ];
        let accepted = results.iter().filter(|result| result.is_ok()).count();
        self.tell(format!("accepted {accepted} of {}", results.len()));
    }
}

#[async_trait]
impl AgentExecutor for Faulty {
    async fn execute(&self, turn: TaskTurn, updates: &mut TaskUpdates) -> Result<()> {
        let text = turn.message.text();
        match text.as_str() {
            "error" => Err(Status::internal(SECRETS.join(" "))),
            "panic" => panic!("{}", SECRETS.join(" ")),
            "chunk, then panic" => {
                updates.artifact(Artifact::new("a", vec![Part::text("one")])).await?;
                panic!("{}", SECRETS.join(" "))
            }
            "complete, then error" => {
                updates.complete().await?;
                Err(Status::internal(SECRETS.join(" ")))
            }
            "complete, then panic" => {
                updates.complete().await?;
                panic!("{}", SECRETS.join(" "))
            }
            "complete, then publish" => {
                updates.complete().await?;
                self.publish_after_the_end(updates).await;
                Ok(())
            }
            "never" | "never, and panic when canceled" => {
                let _dropped = Dropped(self, turn.task_id);
                updates.working("for ever").await?;
                updates.flush().await?;
                self.tell("started".to_owned());
                std::future::pending().await
            }
            "flood" => Self::flood(updates, FLOOD, 10).await,
            "large flood" => Self::flood(updates, LARGE, LARGE_BYTES).await,
            _ => updates.complete().await,
        }
    }

    async fn canceled(&self, task_id: &str) -> Result<()> {
        self.tell(format!("canceled {task_id}"));
        panic!("{}", SECRETS.join(" "))
    }
}

/// A server with the faulty agent.
struct App {
    address: SocketAddr,
    told: mpsc::UnboundedReceiver<String>,
    stop: Option<oneshot::Sender<()>>,
    server: JoinHandle<()>,
}

async fn app() -> App {
    app_of(Arc::new(MemoryTasks::default()), |_| {}).await
}

async fn app_of(store: Arc<dyn TaskStore>, set: impl FnOnce(&mut Limits)) -> App {
    let (tell, told) = mpsc::unbounded_channel();
    let mut limits = Limits::default();
    set(&mut limits);
    let server = Server::new(&Registry::default())
        .a2a(A2aAgent::with_executor("faulty", Faulty(tell)))
        .task_store(store)
        .limits(limits)
        .port(0)
        .bind()
        .await
        .unwrap();
    let address = server.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(server.run(async { drop(stopped.await) }));
    App { address, told, stop: Some(stop), server }
}

impl App {
    /// The next event that the agent tells.
    async fn told(&mut self) -> String {
        let told = tokio::time::timeout(PATIENCE, self.told.recv()).await;
        told.expect("the agent tells what happens").unwrap()
    }

    /// Opens a connection and calls a method on it.
    async fn open(&self, method: &str, params: &Value, headers: &str) -> Client {
        self.ask(Client::connect(self.address).await, method, params, headers).await
    }

    async fn ask(&self, mut client: Client, method: &str, params: &Value, headers: &str) -> Client {
        let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let body = body.to_string();
        let head = format!(
            "POST /a2a/faulty HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             {headers}Content-Length: {}\r\n\r\n",
            body.len(),
        );
        client.send(format!("{head}{body}")).await;
        client
    }

    async fn call(&self, method: &str, params: Value) -> Answer {
        let mut client = self.open(method, &params, "").await;
        client.answer().await.expect("the server answers")
    }

    /// Sends a message and waits; the task.
    async fn send(&self, text: &str) -> Value {
        let answer = self.call("SendMessage", json!({ "message": message(text) })).await;
        answer.assert_says_nothing();
        answer.json()["result"]["task"].clone()
    }

    /// Sends a message without waiting; the id of the task.
    async fn begin(&self, text: &str) -> String {
        let configuration = json!({ "returnImmediately": true });
        let params = json!({ "message": message(text), "configuration": configuration });
        let answer = self.call("SendMessage", params).await.json();
        answer["result"]["task"]["id"].as_str().unwrap().to_owned()
    }

    async fn state(&self, task: &str) -> String {
        let answer = self.call("GetTask", json!({ "id": task })).await.json();
        answer["result"]["status"]["state"].as_str().unwrap().to_owned()
    }

    async fn cancel(&self, task: &str) -> String {
        let answer = self.call("CancelTask", json!({ "id": task })).await.json();
        answer["result"]["status"]["state"].as_str().unwrap().to_owned()
    }
}

/// The events of a stream that has ended: their number in the log and their content.
fn events(answer: &Answer) -> Vec<(u64, Value)> {
    let blocks = answer.text().split("\n\n").filter(|block| block.contains("data: "));
    let event = |block: &str| {
        let line = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        let number = line("id: ").rsplit(':').next().unwrap().parse().unwrap();
        (number, serde_json::from_str::<Value>(line("data: ")).unwrap()["result"].clone())
    };
    blocks.map(event).collect()
}
