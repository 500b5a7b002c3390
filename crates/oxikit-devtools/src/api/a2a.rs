//! Handlers that call agents of other programs over A2A: a page cannot, because its browser does not let
//! it call other servers. A person has typed the URL, so the rules are those of `oxikit a2a`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::time::Duration;

use axum::body::Body;
use futures_util::{Stream, stream};
use oxikit_client::a2a::{
    A2aBuilder, A2aClient, A2aReply, A2aStream, AgentInterface, OutgoingMessage, Part, RawExchange,
    StreamResponse, Version, card_problems,
};
use oxikit_core::{Status, StatusCode};
use oxikit_http::HttpResult;
use oxikit_http::api::{JsonText, exact_object, json as answer};
use oxikit_http::reply::stream_response;
use oxikit_wire::JsonObject;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::shapes::Failed;

/// Maximum time of a call that is not a stream.
const CALL_TIME: Duration = Duration::from_secs(60);
/// Maximum number of events that wait for a slow reader. Updates wait beyond it; raw texts are dropped.
const WAITING: usize = 1024;

/// A call of an agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct A2aRequest {
    /// The URL of the agent, or of its card.
    url: String,
    /// Headers for the agent, such as an API key. They go only to the server of the card.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Only this version of the protocol. The default is 1.0 if the card lists it, else 0.3.
    #[serde(default)]
    version: Option<ProtocolVersion>,
    /// Other origins that may get the headers, because the card names them as the agent's address.
    #[serde(default)]
    trust_origins: Vec<String>,
    /// The text of the message to send.
    #[serde(default)]
    text: Option<String>,
    /// The parts of the message, in the JSON of A2A 1.0, after the text.
    #[serde(default)]
    parts: Vec<JsonObject>,
    /// The conversation to continue.
    #[serde(default)]
    context_id: Option<String>,
    /// The task to continue, to show, to cancel or to follow.
    #[serde(default)]
    task_id: Option<String>,
}

/// A version of the protocol.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
pub(crate) enum ProtocolVersion {
    #[serde(rename = "1.0")]
    V1_0,
    #[serde(rename = "0.3")]
    V0_3,
}

/// An agent card, and what is wrong with it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FoundAgent {
    /// The URL of the card.
    url: String,
    /// The card as the server sent it.
    #[schemars(with = "JsonObject")]
    card: Value,
    /// The name of the agent.
    name: String,
    /// The addresses of the agent, of both versions of cards.
    interfaces: Vec<Interface>,
    /// The address that is called; missing if none of them can be.
    #[serde(skip_serializing_if = "Option::is_none")]
    chosen: Option<Interface>,
    /// Why no address can be called.
    #[serde(skip_serializing_if = "Option::is_none")]
    unusable: Option<String>,
    /// Faults that clients may fail on.
    problems: Vec<String>,
}

/// An address of an agent.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Interface {
    /// Such as `JSONRPC`.
    binding: String,
    /// Such as `1.0`.
    version: String,
    url: String,
}

/// A task.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FoundTask {
    /// The task in the JSON of A2A 1.0.
    #[schemars(with = "JsonObject")]
    task: Value,
}

/// An event of a call: `exchange`s and `update`s in any number, then `done` or `error`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "event", content = "data", rename_all = "camelCase")]
#[allow(dead_code, reason = "only described")]
pub(crate) enum A2aEvent {
    Exchange(ExchangeStep),
    /// `{"task"}`, `{"statusUpdate"}`, `{"artifactUpdate"}` or `{"message"}`, in the JSON of A2A 1.0.
    Update(JsonObject),
    Done(A2aDone),
    Error(Failed),
}

/// One step of the exchange as it is on the wire.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ExchangeStep {
    /// `request`, `response` (its head) or `body` (of a response, or one event of a stream).
    step: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// The HTTP status of a response.
    #[serde(skip_serializing_if = "Option::is_none")]
    http: Option<u16>,
    /// Values that may be secrets are replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<Vec<(String, String)>>,
    /// The text of a body.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// The end of a call.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct A2aDone {
    /// The state of the task, such as `TASK_STATE_COMPLETED`; missing if the answer is a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    state: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
    /// The text of the answer.
    text: String,
}

/// `POST /api/v1/a2a/card`: reads the card of an agent and checks it.
pub(crate) async fn card(JsonText(body): JsonText) -> HttpResult {
    let request: A2aRequest = exact_object(&body)?;
    let found = request.builder().timeout(CALL_TIME).read_card().await.map_err(of_agent)?;
    let problems = card_problems(&found).map_err(of_agent)?;
    let (chosen, unusable) = match request.builder().timeout(CALL_TIME).connect().await {
        Ok(agent) => (Some(chosen(&agent)), None),
        Err(status) => (None, Some(status.message().to_owned())),
    };
    answer(&FoundAgent {
        card: serde_json::from_slice(&found.json).map_err(Status::from)?,
        interfaces: found.card.supported_interfaces.iter().map(Interface::from).collect(),
        name: found.card.name,
        url: found.url,
        chosen,
        unusable,
        problems,
    })
}

/// `POST /api/v1/a2a/task`: a task as it is now.
pub(crate) async fn task(JsonText(body): JsonText) -> HttpResult {
    let request: A2aRequest = exact_object(&body)?;
    let (agent, id) = (request.connect().await?, request.task()?);
    let task = agent.get_task(id, None).await.map_err(of_agent)?;
    answer(&FoundTask { task: json!(task) })
}

/// `POST /api/v1/a2a/cancel`: cancels a task.
pub(crate) async fn cancel(JsonText(body): JsonText) -> HttpResult {
    let request: A2aRequest = exact_object(&body)?;
    let (agent, id) = (request.connect().await?, request.task()?);
    let task = agent.cancel(id).await.map_err(of_agent)?;
    answer(&FoundTask { task: json!(task) })
}

/// `POST /api/v1/a2a/send`: sends a message and streams the answer with the raw exchange.
pub(crate) async fn send(JsonText(body): JsonText) -> HttpResult {
    let request: A2aRequest = exact_object(&body)?;
    let message = request.message()?;
    Ok(streamed(request, |agent, events| {
        Box::pin(async move {
            if agent.card().capabilities.streaming == Some(true) {
                return events.follow(agent.send_stream(message).await?).await;
            }
            let reply = agent.send(message).await?;
            events.update(&reply_json(&reply)).await;
            Ok(reply)
        })
    }))
}

/// `POST /api/v1/a2a/subscribe`: streams the events of a task that has not ended.
pub(crate) async fn subscribe(JsonText(body): JsonText) -> HttpResult {
    let request: A2aRequest = exact_object(&body)?;
    let id = request.task()?.to_owned();
    Ok(streamed(request, |agent, events| {
        Box::pin(async move { events.follow(agent.subscribe(&id).await?).await })
    }))
}

impl A2aRequest {
    fn builder(&self) -> A2aBuilder {
        let mut builder = A2aClient::builder(&self.url);
        for (name, value) in &self.headers {
            builder = builder.header(name, value);
        }
        for origin in &self.trust_origins {
            builder = builder.trust_origin(origin);
        }
        match self.version {
            Some(ProtocolVersion::V1_0) => builder.version(Version::V1_0),
            Some(ProtocolVersion::V0_3) => builder.version(Version::V0_3),
            None => builder,
        }
    }

    async fn connect(&self) -> Result<A2aClient, Status> {
        self.builder().timeout(CALL_TIME).connect().await.map_err(of_agent)
    }

    fn task(&self) -> Result<&str, Status> {
        self.task_id.as_deref().ok_or_else(|| Status::invalid_argument("`taskId` is missing"))
    }

    fn message(&self) -> Result<OutgoingMessage, Status> {
        let mut parts: Vec<Part> = self.text.iter().map(Part::text).collect();
        for part in &self.parts {
            let part = serde_json::from_value(json!(part));
            parts.push(part.map_err(|error| {
                Status::invalid_argument(format!("a part is not one of A2A 1.0: {error}"))
            })?);
        }
        if parts.is_empty() {
            return Err(Status::invalid_argument("`text` or `parts` is missing"));
        }
        let mut message = OutgoingMessage::of_parts(parts);
        if let Some(context) = &self.context_id {
            message = message.in_context(context);
        }
        Ok(match &self.task_id {
            Some(task) => message.for_task(task),
            None => message,
        })
    }
}

impl From<&AgentInterface> for Interface {
    fn from(interface: &AgentInterface) -> Self {
        Self {
            binding: interface.protocol_binding.clone(),
            version: interface.protocol_version.clone(),
            url: interface.url.clone(),
        }
    }
}

fn chosen(agent: &A2aClient) -> Interface {
    let (binding, version) = (agent.binding().name(), agent.version().name());
    Interface {
        binding: binding.to_owned(),
        version: version.to_owned(),
        url: agent.url().to_owned(),
    }
}

/// The events of a call, for the reader of its response.
#[derive(Clone)]
struct Events(mpsc::Sender<String>);

impl Events {
    async fn update(&self, update: &impl Serialize) {
        // Without a reader the call is dropped.
        _ = self.0.send(event("update", update)).await;
    }

    /// Passes the events of an answer on.
    async fn follow(&self, mut stream: A2aStream) -> Result<A2aReply, Status> {
        while let Some(update) = stream.next().await {
            self.update(&update_json(&update?)).await;
        }
        stream.finish().await
    }

    fn observe(&self, step: RawExchange) {
        let step = match step {
            RawExchange::Request { method, url, headers, body } => ExchangeStep {
                step: "request",
                method: Some(method),
                url: Some(url),
                headers: Some(headers),
                text: Some(body),
                http: None,
            },
            RawExchange::Response { http, headers } => ExchangeStep {
                step: "response",
                http: Some(http),
                headers: Some(headers),
                ..ExchangeStep::default()
            },
            RawExchange::Body { text } => {
                ExchangeStep { step: "body", text: Some(text), ..ExchangeStep::default() }
            }
            _ => return,
        };
        _ = self.0.try_send(event("exchange", &step));
    }
}

/// A call of an agent.
type Call<'a> = Pin<Box<dyn Future<Output = Result<A2aReply, Status>> + Send + 'a>>;

/// The response of a call: its events as they come. The call makes progress only while the response is
/// read, so a client that disconnects drops it.
fn streamed<F>(request: A2aRequest, call: F) -> axum::http::Response<Body>
where
    F: for<'a> FnOnce(&'a A2aClient, &'a Events) -> Call<'a> + Send + 'static,
{
    let (tx, waiting) = mpsc::channel(WAITING);
    let events = Events(tx);
    let work = async move {
        let observer = events.clone();
        let builder = request.builder().observe(move |step| observer.observe(step));
        let end = async {
            let agent = builder.connect().await?;
            call(&agent, &events).await
        };
        match end.await {
            Ok(reply) => event("done", &done(&reply)),
            Err(status) => event("error", &of_agent(status).outgoing()),
        }
    };
    stream_response(Body::from_stream(until_end(waiting, Box::pin(work))))
}

/// The events that wait, and then the last one.
fn until_end(
    waiting: mpsc::Receiver<String>,
    work: Pin<Box<dyn Future<Output = String> + Send>>,
) -> impl Stream<Item = Result<String, Infallible>> + Send {
    stream::unfold(Some((waiting, work)), |state| async move {
        let (mut waiting, mut work) = state?;
        tokio::select! {
            biased;
            Some(event) = waiting.recv() => Some((Ok(event), Some((waiting, work)))),
            end = &mut work => {
                let mut last = String::new();
                while let Ok(event) = waiting.try_recv() {
                    last.push_str(&event);
                }
                Some((Ok(last + &end), None))
            }
        }
    })
}

fn done(reply: &A2aReply) -> A2aDone {
    A2aDone {
        state: reply.state().map(|state| json!(state)),
        context_id: reply.context_id().map(str::to_owned),
        task_id: reply.task().map(|task| task.id.clone()),
        text: reply.text(),
    }
}

fn reply_json(reply: &A2aReply) -> Value {
    match reply {
        A2aReply::Task(task) => json!({"task": task}),
        A2aReply::Message(message) => json!({"message": message}),
    }
}

fn update_json(update: &StreamResponse) -> Value {
    json!(update)
}

/// A server-sent event. JSON that serde writes has no line feeds.
fn event(name: &str, data: &impl Serialize) -> String {
    let data = serde_json::to_string(data).unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}

/// An error of the agent as an error of this API. What the agent thinks of its caller says nothing about
/// the caller of this API, so a refusal is not 401 or 403 here.
fn of_agent(status: Status) -> Status {
    let code = match status.code() {
        code @ (StatusCode::InvalidArgument
        | StatusCode::NotFound
        | StatusCode::Unavailable
        | StatusCode::DeadlineExceeded
        | StatusCode::Unimplemented) => code,
        _ => StatusCode::FailedPrecondition,
    };
    Status::public(code, status.message().to_owned())
}
