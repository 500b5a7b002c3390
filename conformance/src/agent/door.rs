//! The two ways to an agent: in this process, and over HTTP.

use oxikit::{Agent, Call, Event, Oxikit, Payload, Result, Status};
use oxikit_client::Client;
use oxikit_serve::Server;
use serde_json::{Value, json};
use tokio::sync::oneshot;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    InProcess,
    Http,
}

pub(super) const WAYS: [Way; 2] = [Way::InProcess, Way::Http];

impl Way {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::InProcess => "in-process",
            Self::Http => "http",
        }
    }
}

/// An agent that can be reached.
pub(super) enum Door {
    InProcess { ai: Oxikit, agent: Agent },
    Http { client: Client, url: String, _stop: oneshot::Sender<()> },
}

/// What a step of the test got.
pub(super) struct Answer {
    pub(super) chunks: Vec<Value>,
    pub(super) output: Result<Value>,
}

impl Door {
    pub(super) async fn open(way: Way, ai: Oxikit, agent: Agent) -> anyhow::Result<Self> {
        if way == Way::InProcess {
            return Ok(Self::InProcess { ai, agent });
        }
        let server = Server::new(&ai).expose(&agent).port(0).bind().await?;
        let url = format!("http://{}/{}", server.local_addr()?, agent.name());
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(server.run(async { drop(stopped.await) }));
        Ok(Self::Http { client: Client::new()?, url, _stop: stop })
    }

    /// One invocation with all inputs; over HTTP, as many as there are inputs.
    pub(super) async fn send(&self, init: Value, inputs: Vec<Value>) -> Answer {
        let mut chunks = Vec::new();
        let output = match self {
            Self::InProcess { ai, agent } => invoke(ai, agent, init, inputs, &mut chunks).await,
            Self::Http { client, url, .. } => {
                post_each(client, url, init, inputs, &mut chunks).await
            }
        };
        Answer { chunks, output }
    }

    pub(super) async fn snapshot(&self, request: Value) -> Result<Value> {
        self.companion("agent-snapshot", "getSnapshot", request).await
    }

    pub(super) async fn abort(&self, snapshot_id: &str) -> Result<Value> {
        self.companion("agent-abort", "abort", json!({ "snapshotId": snapshot_id })).await
    }

    async fn companion(&self, kind: &str, path: &str, request: Value) -> Result<Value> {
        match self {
            Self::InProcess { ai, agent } => {
                let key = format!("/{kind}/{}", agent.name());
                let action = ai.registry().resolve_key(&key).await?;
                action.run(Call::new(request).in_registry(ai.registry())).await?.to_value()
            }
            Self::Http { client, url, .. } => {
                client.action(&format!("{url}/{path}"))?.run(&request).await
            }
        }
    }
}

async fn invoke(
    ai: &Oxikit,
    agent: &Agent,
    init: Value,
    inputs: Vec<Value>,
    chunks: &mut Vec<Value>,
) -> Result<Value> {
    let (sender, call) = Call::streaming();
    for input in inputs {
        sender.send(Payload::of(input)).await?;
    }
    drop(sender);
    let call = call.with_init(Payload::of(init)).in_registry(ai.registry());
    let mut run = agent.action().start(call)?;
    loop {
        match run.next().await {
            Some(Event::Chunk(chunk)) => chunks.push(chunk.to_value()?),
            Some(Event::Done(output)) => return output.to_value(),
            Some(Event::Failed(status)) => return Err(status),
            None => return Err(Status::internal("the run ended without a result")),
        }
    }
}

async fn post_each(
    client: &Client,
    url: &str,
    mut init: Value,
    inputs: Vec<Value>,
    chunks: &mut Vec<Value>,
) -> Result<Value> {
    let mut output = Value::Null;
    for input in one_a_request(inputs) {
        let action = client.action(url)?.with_init(&init);
        let mut stream = action.stream::<Value, Value>(&input).await?;
        while let Some(chunk) = stream.next().await {
            chunks.push(chunk?);
        }
        output = stream.finish().await?;
        init = match output.get("snapshotId") {
            Some(snapshot) => json!({ "snapshotId": snapshot }),
            None => json!({ "state": output["state"] }),
        };
    }
    Ok(output)
}

/// A request carries one input and lasts as long as its turn, so a detach that
/// comes after a message goes along with it.
fn one_a_request(inputs: Vec<Value>) -> Vec<Value> {
    let mut requests: Vec<Value> = Vec::new();
    for input in inputs {
        match requests.last_mut() {
            Some(last) if input == json!({ "detach": true }) => last["detach"] = json!(true),
            _ => requests.push(input),
        }
    }
    requests
}
