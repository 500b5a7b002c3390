//! Agents to be called: one of our own server, and answers of scripted ones.

use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use oxikit::prelude::*;
use oxikit_client::Client;
use oxikit_client::a2a::{A2aBuilder, A2aClient, AgentSkill, Binding, OutgoingPolicy, Version};
use oxikit_core::Registry;
use oxikit_serve::Server;
use oxikit_serve::a2a::{
    A2aAgent, AgentExecutor, Artifact, Chunk, Part, PushNotifications, TaskTurn, TaskUpdates,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::peer::{Peer, Reply, reply};

/// All ways to call an agent.
pub(crate) const WAYS: &[(Binding, Version)] = &[
    (Binding::JsonRpc, Version::V0_3),
    (Binding::JsonRpc, Version::V1_0),
    (Binding::HttpJson, Version::V0_3),
    (Binding::HttpJson, Version::V1_0),
    #[cfg(feature = "a2a-grpc")]
    (Binding::Grpc, Version::V0_3),
    #[cfg(feature = "a2a-grpc")]
    (Binding::Grpc, Version::V1_0),
];

/// Does what the text of a message says.
struct Script(Arc<Notify>);

#[async_trait]
impl AgentExecutor for Script {
    async fn execute(&self, turn: TaskTurn, updates: &mut TaskUpdates) -> Result<()> {
        let chunk = |text: &str| Artifact::new("a", vec![Part::text(text)]);
        match turn.message.text().as_str() {
            "ask" => updates.ask("what next?").await,
            "reject" => updates.reject("not here").await,
            "reply" => updates.reply(updates.message(vec![Part::text("no task")])).await,
            "wait" => {
                updates.working("waiting").await?;
                self.0.notified().await;
                updates.complete().await
            }
            "chunks" => {
                updates.chunk(chunk("one "), Chunk::FIRST).await?;
                updates.chunk(chunk("two "), Chunk::NEXT).await?;
                self.0.notified().await;
                updates.chunk(chunk("three"), Chunk::LAST).await?;
                updates.complete().await
            }
            text => updates.artifact(chunk(text)).await.map(drop),
        }
    }

    fn may_reply(&self) -> bool {
        true
    }
}

/// A server that runs until this is dropped.
pub(crate) struct App {
    pub(crate) address: SocketAddr,
    /// Lets a waiting turn go on.
    pub(crate) gate: Arc<Notify>,
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

/// A server with further settings.
pub(crate) async fn app_with(settings: impl FnOnce(Server) -> Server) -> App {
    let gate = Arc::new(Notify::new());
    let agent = A2aAgent::with_executor("script", Script(gate.clone()));
    let agent = agent.title("The Script!").description("Does as told.");
    let skill = AgentSkill { id: "secret".to_owned(), ..AgentSkill::default() };
    let push = OutgoingPolicy::default().allow_loopback();
    let push = PushNotifications::with_policy(push).unwrap();
    let server = Server::new(&Registry::default()).a2a(agent.extended_skill(skill));
    let server = settings(server.push_notifications(push)).port(0).bind().await.unwrap();
    let address = server.local_addr().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel();
    tokio::spawn(server.run(async { drop(stopped.await) }));
    App { address, gate, stop: Some(stop) }
}

impl App {
    pub(crate) fn url(&self) -> String {
        format!("http://{}/a2a/script", self.address)
    }

    pub(crate) async fn client(&self, (binding, version): (Binding, Version)) -> A2aClient {
        let builder = builder(&self.url()).binding(binding).version(version);
        builder.connect().await.unwrap()
    }
}

thread_local! {
    /// One for all calls of a test: it takes a while to read the certificates.
    static CLIENT: Client = Client::new().unwrap();
}

pub(crate) fn builder(url: &str) -> A2aBuilder {
    CLIENT.with(|client| A2aClient::builder(url).client(client))
}

/// A scripted agent.
pub(crate) fn agent(peer: &Peer) -> A2aBuilder {
    builder(&format!("http://{}/agent", peer.address))
}

/// A card with JSON-RPC in these versions, all at the address of the agent.
pub(crate) fn card(versions: &[&str]) -> Value {
    card_of(&versions.iter().map(|version| ("JSONRPC", *version)).collect::<Vec<_>>())
}

/// A card with these bindings and versions, all at the address of the agent.
pub(crate) fn card_of(listed: &[(&str, &str)]) -> Value {
    let interface = |(binding, version): &(&str, &str)| json!({ "url": "/agent", "protocolBinding": binding, "protocolVersion": version });
    let interfaces: Vec<_> = listed.iter().map(interface).collect();
    json!({ "name": "Agent", "description": "Scripted", "supportedInterfaces": interfaces })
}

pub(crate) fn json_reply(http: u16, body: &Value) -> Reply {
    reply(http, [body.to_string()]).header("content-type", "application/json")
}

/// A response with this result.
pub(crate) fn result(result: Value) -> Reply {
    json_reply(200, &json!({ "jsonrpc": "2.0", "id": 1, "result": result }))
}

/// A response with this error.
pub(crate) fn error(code: i64) -> Reply {
    let error = json!({ "code": code, "message": "no" });
    json_reply(200, &json!({ "jsonrpc": "2.0", "id": null, "error": error }))
}

/// A stream of these events. Each is an id, or an empty text, and a result.
pub(crate) fn events(events: &[(&str, Value)]) -> Reply {
    let text = events.iter().map(|(id, event)| {
        let id = if id.is_empty() { String::new() } else { format!("id: {id}\n") };
        format!("{id}data: {}\n\n", json!({ "jsonrpc": "2.0", "id": 1, "result": event }))
    });
    reply(200, text).header("content-type", "text/event-stream")
}

/// The body of a request.
pub(crate) fn body_of(request: &str) -> Value {
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

/// The value of a header of a request.
pub(crate) fn header_of<'a>(request: &'a str, name: &str) -> Option<&'a str> {
    let head = request.split("\r\n\r\n").next()?;
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}
