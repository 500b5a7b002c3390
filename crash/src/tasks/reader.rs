//! A client that follows one task, through as many connections as it takes.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use futures_util::StreamExt;
use oxikit_wire::a2a::{Version, method};
use oxikit_wire::headers::LAST_EVENT_ID;
use reqwest::{Client, Response};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// The pause before a new connection to a server that may be dead.
const PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of events that a connection gives before it is cut.
const MAX_BEFORE_CUT: usize = 5;

/// An event as the reader has received it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    pub(super) task: String,
    pub(super) number: u64,
    pub(super) event: Value,
}

impl Seen {
    fn has_ended(&self) -> bool {
        let status = &self.event["statusUpdate"]["status"]["state"];
        let state = status.as_str().or_else(|| self.event["status"]["state"].as_str());
        state.is_some_and(|state| {
            matches!(state, "TASK_STATE_COMPLETED" | "TASK_STATE_FAILED" | "completed" | "failed")
        })
    }
}

/// The events that a reader has received.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) events: Vec<Seen>,
    pub(super) reconnects: usize,
    pub(super) has_ended: bool,
}

impl Reading {
    /// How often an event was left out.
    pub(super) fn gaps(&self) -> usize {
        self.steps(|before, after| after > before + 1)
    }

    /// How often an event came that the reader had.
    pub(super) fn duplicates(&self) -> usize {
        self.steps(|before, after| after <= before)
    }

    /// Number of events that the log does not have.
    pub(super) fn missing_in(&self, log: &[Seen]) -> usize {
        // The first one was told as the whole task.
        self.events.iter().skip(1).filter(|event| !log.contains(event)).count()
    }

    fn steps(&self, is_wrong: impl Fn(u64, u64) -> bool) -> usize {
        let pairs = self.events.windows(2);
        pairs.filter(|pair| is_wrong(pair[0].number, pair[1].number)).count()
    }
}

/// A client of one task. Clones share their connections.
#[derive(Clone)]
pub(super) struct Reader {
    client: Client,
    agent: String,
    pub(super) version: Version,
    /// Gets a permit for each event.
    seen: Arc<Semaphore>,
}

impl Reader {
    /// Adds a permit to `seen` for each event.
    pub(super) fn new(agent: &str, version: Version, seen: &Arc<Semaphore>) -> Result<Self> {
        let client = Client::builder().no_proxy().build()?;
        Ok(Self { client, agent: agent.to_owned(), version, seen: seen.clone() })
    }

    /// Begins a task and follows it to its end.
    pub(super) async fn read(self) -> Result<Reading> {
        let mut reading = Reading::default();
        if let Ok(response) = self.begin().await {
            self.follow(response, &mut reading, usize::MAX).await;
        }
        // Without the first event the client knows no task: it would send its message again.
        let Some(task) = reading.events.first().map(|event| event.task.clone()) else {
            return Ok(reading);
        };
        while !reading.has_ended {
            reading.reconnects += 1;
            tokio::time::sleep(PAUSE).await;
            let last = reading.events.last().context("the reader has an event")?.number;
            if let Ok(response) = self.resume(&task, last).await {
                self.follow(response, &mut reading, usize::MAX).await;
            }
        }
        Ok(reading)
    }

    /// Begins a task and follows it to its end by connections that are closed after a random
    /// number of events, also after none.
    pub(super) async fn read_with_cuts(self, mut rng: fastrand::Rng) -> Result<Reading> {
        let mut reading = Reading::default();
        let first = rng.usize(1..=MAX_BEFORE_CUT);
        self.follow(self.begin().await?, &mut reading, first).await;
        let task = reading.events.first().context("the task has no first event")?.task.clone();
        while !reading.has_ended {
            reading.reconnects += 1;
            let last = reading.events.last().context("the reader has an event")?.number;
            let events = rng.usize(0..=MAX_BEFORE_CUT);
            self.follow(self.resume(&task, last).await?, &mut reading, events).await;
        }
        Ok(reading)
    }

    /// The whole log of a task that has ended.
    pub(super) async fn log(&self, task: &str) -> Result<Vec<Seen>> {
        let mut reading = Reading::default();
        self.follow(self.resume(task, 0).await?, &mut reading, usize::MAX).await;
        Ok(reading.events)
    }

    /// Begins a task whose webhook is at `url`; its id.
    pub(super) async fn begin_with_webhook(&self, chunks: usize, url: &str) -> Result<String> {
        let config = json!({ "url": url });
        let (method, configuration) = match self.version {
            Version::V0_3 => (
                method::v0_3::SEND_MESSAGE,
                json!({ "blocking": false, "pushNotificationConfig": config }),
            ),
            Version::V1_0 => (
                method::SEND_MESSAGE,
                json!({ "returnImmediately": true, "taskPushNotificationConfig": config }),
            ),
        };
        let message = self.message(&chunks.to_string());
        let params = json!({ "message": message, "configuration": configuration });
        let response: Value = self.call(method, params, None).await?.json().await?;
        let result = &response["result"];
        let id = result["id"].as_str().or_else(|| result["task"]["id"].as_str());
        Ok(id.with_context(|| format!("the server answered {response}"))?.to_owned())
    }

    async fn begin(&self) -> Result<Response> {
        let method = match self.version {
            Version::V0_3 => method::v0_3::SEND_STREAMING_MESSAGE,
            Version::V1_0 => method::SEND_STREAMING_MESSAGE,
        };
        self.call(method, json!({ "message": self.message("go") }), None).await
    }

    fn message(&self, text: &str) -> Value {
        match self.version {
            Version::V0_3 => json!({
                "kind": "message", "messageId": "m", "role": "user",
                "parts": [{ "kind": "text", "text": text }],
            }),
            Version::V1_0 => json!({
                "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": text }],
            }),
        }
    }

    async fn resume(&self, task: &str, last: u64) -> Result<Response> {
        let method = match self.version {
            Version::V0_3 => method::v0_3::SUBSCRIBE_TO_TASK,
            Version::V1_0 => method::SUBSCRIBE_TO_TASK,
        };
        let last = format!("{task}:{last}");
        self.call(method, json!({ "id": task }), Some(last)).await
    }

    async fn call(&self, method: &str, params: Value, last: Option<String>) -> Result<Response> {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut request = self.client.post(&self.agent).json(&body);
        if let Some(last) = last {
            request = request.header(LAST_EVENT_ID, last);
        }
        Ok(request.send().await?.error_for_status()?)
    }

    /// Reads up to `limit` events, until the stream ends or breaks. Then the connection is closed.
    async fn follow(&self, response: Response, reading: &mut Reading, mut limit: usize) {
        let mut pieces = response.bytes_stream();
        let mut bytes = Vec::new();
        while limit > 0 {
            let Some(Ok(piece)) = pieces.next().await else { return };
            bytes.extend_from_slice(&piece);
            while limit > 0
                && let Some(end) = bytes.windows(2).position(|pair| pair == b"\n\n")
            {
                let block: Vec<u8> = bytes.drain(..end + 2).collect();
                if let Some(event) = parse(&String::from_utf8_lossy(&block)) {
                    limit -= 1;
                    self.seen.add_permits(1);
                    reading.has_ended |= event.has_ended();
                    reading.events.push(event);
                }
            }
        }
    }
}

fn parse(block: &str) -> Option<Seen> {
    let line = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
    let (task, number) = line("id: ")?.rsplit_once(':')?;
    let data: Value = serde_json::from_str(line("data: ")?).ok()?;
    let event = data.get("result")?.clone();
    Some(Seen { task: task.to_owned(), number: number.parse().ok()?, event })
}
