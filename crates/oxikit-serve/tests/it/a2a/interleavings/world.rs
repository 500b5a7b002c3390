//! A server with its clients, step by step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::{
    Owner, StoreError, TaskEvent, TaskQuery, TaskRetention, TaskScope, TaskStore,
};
use oxikit_core::{ActionContext, timestamp};
use oxikit_wire::a2a::{TaskState, TaskStatus, Version, method};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::log::{Observed, check_log};
use super::server::{AGENT, Data, Kind, Process};
use super::{How, Step, Work};
use crate::kit::{Client, PATIENCE};

pub(super) struct World {
    data: Arc<Data>,
    /// For the checks of the test.
    store: Arc<dyn TaskStore>,
    scope: TaskScope,
    gate: Arc<Semaphore>,
    server: Process,
    /// Tasks whose id a client knows.
    tasks: Vec<String>,
    /// Tasks that a client was told to be canceled.
    canceled: BTreeSet<String>,
    /// Names of servers that were killed.
    dead: BTreeSet<String>,
    /// Logs of tasks before they may have been removed.
    kept: BTreeMap<String, Vec<TaskEvent>>,
    clients: JoinSet<Option<Observed>>,
}

impl World {
    pub(super) async fn new(kind: Kind) -> Self {
        let data = Arc::new(Data::new(kind));
        let gate = Arc::new(Semaphore::new(0));
        let store = data.open().await;
        let server = Process::start(&data, &gate).await;
        let owner = Owner::of(&ActionContext::default());
        Self {
            data,
            store,
            scope: TaskScope::new(owner, AGENT),
            gate,
            server,
            tasks: Vec::new(),
            canceled: BTreeSet::new(),
            dead: BTreeSet::new(),
            kept: BTreeMap::new(),
            clients: JoinSet::new(),
        }
    }

    pub(super) async fn step(&mut self, step: Step) {
        match step {
            Step::Send(work, how, version) => self.send(None, work, how, version).await,
            Step::Continue(task, work, how, version) => {
                if let Some(task) = self.task(task) {
                    self.send(Some(task), work, how, version).await;
                }
            }
            Step::Cancel(task, version) => {
                if let Some(task) = self.task(task) {
                    self.cancel(task, version).await;
                }
            }
            Step::Subscribe(task, is_whole, version) => {
                if let Some(task) = self.task(task) {
                    self.subscribe(&task, is_whole, version).await;
                }
            }
            Step::Release => self.gate.add_permits(1),
            Step::Kill => self.kill().await,
            Step::Expire => self.expire().await,
            Step::Prune => self.prune().await,
        }
    }

    /// Ends all tasks and readers, and checks every log.
    pub(super) async fn finish(mut self) {
        self.gate.close();
        self.expire().await;
        for id in self.ids().await {
            self.cancel(id, Version::V1_0).await;
        }
        let mut observed = Vec::new();
        let all = async {
            while let Some(client) = self.clients.join_next().await {
                observed.extend(client.unwrap());
            }
        };
        tokio::time::timeout(PATIENCE, all).await.expect("every reader ends");
        let mut removed = std::mem::take(&mut self.kept);
        let mut logs = removed.clone();
        for id in self.ids().await {
            removed.remove(&id);
            logs.insert(id.clone(), self.log(&id).await.unwrap());
        }
        for (id, log) in &logs {
            check_log(id, log);
            if self.canceled.contains(id) {
                let last = log.last().and_then(|event| event.entry.state());
                assert_eq!(last, Some(TaskState::Canceled), "{id}");
            }
        }
        for observed in observed {
            if let Some(log) = logs.get(&observed.task) {
                observed.check(log, removed.contains_key(&observed.task));
            }
        }
    }

    fn task(&self, index: usize) -> Option<String> {
        self.tasks.get(index).cloned()
    }

    async fn send(&mut self, task: Option<String>, work: Work, how: How, version: Version) {
        let params = params(task.as_deref(), work, how, version);
        let method = match (how, version) {
            (How::Stream, Version::V0_3) => method::v0_3::SEND_STREAMING_MESSAGE,
            (How::Stream, Version::V1_0) => method::SEND_STREAMING_MESSAGE,
            (_, Version::V0_3) => method::v0_3::SEND_MESSAGE,
            (_, Version::V1_0) => method::SEND_MESSAGE,
        };
        let mut client = self.open(method, &params, "").await;
        match how {
            How::Wait => drop(self.clients.spawn(async move {
                client.answer().await;
                None
            })),
            How::Return => {
                let answer = client.answer().await.expect("the server lives").json();
                let result = answer["result"].get("task").unwrap_or(&answer["result"]).clone();
                self.learn(result["id"].as_str());
            }
            How::Stream => self.follow(client, version).await,
        }
    }

    async fn cancel(&mut self, task: String, version: Version) {
        let method = match version {
            Version::V0_3 => method::v0_3::CANCEL_TASK,
            Version::V1_0 => method::CANCEL_TASK,
        };
        let mut client = self.open(method, &json!({ "id": task }), "").await;
        let answer = client.answer().await.expect("the server lives").json();
        if let Some(result) = answer.get("result") {
            let state = result["status"]["state"].as_str().unwrap();
            assert!(matches!(state, "canceled" | "TASK_STATE_CANCELED"), "{answer}");
            self.canceled.insert(task);
        }
    }

    async fn subscribe(&mut self, task: &str, is_whole: bool, version: Version) {
        let method = match version {
            Version::V0_3 => method::v0_3::SUBSCRIBE_TO_TASK,
            Version::V1_0 => method::SUBSCRIBE_TO_TASK,
        };
        let headers = format!("Last-Event-ID: {task}:0\r\n");
        let headers = if is_whole { &*headers } else { "" };
        let client = self.open(method, &json!({ "id": task }), headers).await;
        self.follow(client, version).await;
    }

    /// Reads the first piece of a stream now, and the others meanwhile.
    async fn follow(&mut self, mut client: Client, version: Version) {
        let head = client.head().await.expect("the server lives");
        if head.header("content-type") != Some("text/event-stream") {
            return;
        }
        let mut text = String::new();
        if let Some(piece) = client.piece().await {
            text.push_str(str::from_utf8(&piece).unwrap());
        }
        if let Some(observed) = Observed::of(&text, version) {
            self.learn(Some(&observed.task));
        }
        self.clients.spawn(async move {
            while let Some(piece) = client.piece().await.filter(|piece| !piece.is_empty()) {
                text.push_str(str::from_utf8(&piece).unwrap());
            }
            Observed::of(&text, version)
        });
    }

    fn learn(&mut self, task: Option<&str>) {
        if let Some(task) = task.filter(|task| !self.tasks.iter().any(|known| known == task)) {
            self.tasks.push(task.to_owned());
        }
    }

    async fn kill(&mut self) {
        let names = self.store.runners().await.unwrap();
        self.dead.extend(names.into_iter().map(|(name, _)| name));
        self.server.kill();
        self.server = Process::start(&self.data, &self.gate).await;
    }

    async fn expire(&mut self) {
        for dead in std::mem::take(&mut self.dead) {
            for id in self.store.tasks_of(&dead, 100).await.unwrap() {
                let status = TaskStatus {
                    timestamp: Some(timestamp::now()),
                    ..TaskStatus::new(TaskState::Failed)
                };
                match self.store.expire(&id, &dead, status).await {
                    Ok(_) | Err(StoreError::Fenced(_) | StoreError::Ended(_)) => {}
                    Err(StoreError::NotFound(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            self.store.forget(&dead).await.unwrap();
        }
    }

    async fn prune(&mut self) {
        for id in self.ids().await {
            if let Ok(log) = self.log(&id).await {
                self.kept.insert(id, log);
            }
        }
        let retention = TaskRetention { ended: Some(Duration::ZERO), ..TaskRetention::default() };
        self.store.prune(&retention).await.unwrap();
    }

    /// The tasks in the store.
    async fn ids(&self) -> Vec<String> {
        let query = TaskQuery { limit: 100, ..TaskQuery::default() };
        let list = self.store.list(&self.scope, &query).await.unwrap();
        list.tasks.into_iter().map(|head| head.id).collect()
    }

    async fn log(&self, id: &str) -> Result<Vec<TaskEvent>, StoreError> {
        Ok(self.store.read(&self.scope, id, 0, 10_000).await?.events)
    }

    async fn open(&self, method: &str, params: &Value, headers: &str) -> Client {
        let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let body = body.to_string();
        let mut client = Client::connect(self.server.address).await;
        let request = format!(
            "POST /a2a/{AGENT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             {headers}Content-Length: {}\r\n\r\n{body}",
            body.len(),
        );
        client.send(request).await;
        client
    }
}

fn params(task: Option<&str>, work: Work, how: How, version: Version) -> Value {
    let text = format!("{work:?}");
    let returns = matches!(how, How::Return);
    let (mut message, configuration) = match version {
        Version::V0_3 => (crate::a2a::kit::message_v0_3(&text), json!({ "blocking": !returns })),
        Version::V1_0 => (crate::a2a::kit::message(&text), json!({ "returnImmediately": returns })),
    };
    if let Some(task) = task {
        message["taskId"] = task.into();
    }
    json!({ "message": message, "configuration": configuration })
}
