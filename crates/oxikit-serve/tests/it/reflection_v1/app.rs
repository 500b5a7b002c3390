//! The application that the recordings were made with, as far as it matters here.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use oxikit::prelude::*;
use oxikit::wire::{
    AgentFinishReason, Artifact, GenerateRequest, GenerateResponse, GenerateResponseChunk, Role,
};
use oxikit::{Agent, MemorySessions, Model, Part, Turn, TurnReply};
use oxikit_core::{Action, ActionKind, Inputs, Payload, Schema};
use oxikit_serve::{DevConfig, DevTools};
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::kit::{Answer, Client, post};

/// An application that the developer tools may call.
pub(super) struct Runtime {
    pub(super) ai: Oxikit,
    pub(super) tools: DevTools,
    pub(super) project: TempDir,
    /// When a `slow` run was dropped before its end.
    pub(super) cancelled: mpsc::UnboundedReceiver<Instant>,
}

/// The application, listening on a free port.
pub(super) async fn runtime() -> Runtime {
    runtime_with(|_| {}).await
}

/// The same, with a configuration changed by `set`.
pub(super) async fn runtime_with(set: impl FnOnce(&mut DevConfig)) -> Runtime {
    let project = tempfile::tempdir().unwrap();
    let (cancelled_tx, cancelled) = mpsc::unbounded_channel();
    let ai = define(cancelled_tx);
    let mut config = DevConfig::default();
    config.port = Some(0);
    config.project_root = Some(project.path().to_owned());
    set(&mut config);
    let config = config.with_agents_api(oxikit_serve::dev_agents());
    let tools = config.start(&ai).await.unwrap();
    Runtime { ai, tools, project, cancelled }
}

impl Runtime {
    /// `http://127.0.0.1:<port>/s/<token>`, in two parts.
    pub(super) fn place(&self) -> (std::net::SocketAddr, String) {
        let url = self.tools.url().unwrap().strip_prefix("http://").unwrap();
        let (address, path) = url.split_once('/').unwrap();
        (address.parse().unwrap(), format!("/{path}"))
    }

    pub(super) async fn connect(&self) -> Client {
        Client::connect(self.place().0).await
    }

    /// Sends a request to a path below the token.
    pub(super) async fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let mut client = self.connect().await;
        client.send(self.request(method, path, headers, body)).await;
        client.answer_to(method).await.expect("the server answers")
    }

    /// `headers` are whole lines.
    pub(super) fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
        let path = format!("{}{path}", self.place().1);
        match method {
            "POST" => post(&path, headers, body),
            method => {
                format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n").into()
            }
        }
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "", "").await
    }

    pub(super) async fn run(&self, body: &str) -> Answer {
        self.ask("POST", "/api/runAction", "", body).await
    }

    pub(super) async fn stream(&self, body: &str) -> Answer {
        self.ask("POST", "/api/runAction?stream=true", "", body).await
    }

    /// The runtime files that there are.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let folder = std::fs::read_dir(self.project.path().join(".genkit/runtimes")).unwrap();
        folder.map(|entry| entry.unwrap().path()).collect()
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Person {
    name: String,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
struct Prefix {
    #[serde(default)]
    prefix: String,
}

/// Tells when it is dropped.
struct Leaves(mpsc::UnboundedSender<Instant>);

impl Drop for Leaves {
    fn drop(&mut self) {
        _ = self.0.send(Instant::now());
    }
}

pub(crate) fn define(cancelled: mpsc::UnboundedSender<Instant>) -> Oxikit {
    let ai = Oxikit::builder().default_model("echo/model").build().unwrap();
    ai.define_flow("greet", |person: Person, ctx: Context| async move {
        let auth = if ctx.auth().is_some() { " (auth)" } else { "" };
        Ok(json!({ "text": format!("Hi {}{auth}", person.name) }))
    });
    ai.define_flow("countdown", |from: f64, _: Context, out: Emitter<u32>| async move {
        for number in (1..=from as u32).rev() {
            out.send(number).await?;
        }
        Ok("liftoff")
    });
    ai.define_flow("noSchema", |input: Option<Value>| async move {
        Ok(json!({ "got": input.unwrap_or("undefined".into()) }))
    });
    ai.define_flow("echo", |input: Payload, _: Context, out: Emitter<Payload>| async move {
        out.send(input.clone()).await?;
        Ok(input)
    });
    ai.define_flow("returnsNothing", |_: ()| async { Ok(()) });
    ai.define_flow("boom", |_: Value| async { Err::<(), _>(Status::internal("kaboom")) });
    ai.define_flow("denied", |_: Value| async {
        Err::<(), _>(Status::permission_denied("not for you"))
    });
    ai.define_flow("boomStream", |_: Value, _: Context, out: Emitter<&'static str>| async move {
        out.send("one").await?;
        Err::<(), _>(Status::internal("kaboom after one chunk"))
    });
    ai.define_flow("slow", move |_: u64, _: Context, out: Emitter<&'static str>| {
        let leaves = Leaves(cancelled.clone());
        async move {
            out.send("started").await?;
            tokio::time::sleep(Duration::from_secs(60)).await;
            drop(leaves);
            Ok("done")
        }
    });
    let number = json!({ "type": "object", "properties": { "n": { "type": "number" } } });
    let bad_output = Action::builder(ActionKind::Flow, "badOutput")
        .output_schema(Schema::from_json(number).unwrap())
        .handler(|_: Option<Value>| async { Ok(json!({ "n": "nope" })) });
    ai.registry().register(bad_output);
    let bidi = Action::builder(ActionKind::Flow, "bidiEcho").bidi(
        |init: Prefix, mut inputs: Inputs<String>, _: Context, out: Emitter<String>| async move {
            let mut count = 0;
            while let Some(input) = inputs.next().await? {
                count += 1;
                out.send(format!("{}{}", init.prefix, input.to_uppercase())).await?;
            }
            Ok(json!({ "count": count }))
        },
    );
    ai.registry().register(bidi);
    let agent = Agent::builder("customAgent").store(MemorySessions::default()).turn(note);
    ai.define_agent(agent).unwrap();
    ai.define_model(Model::builder("echo/model").handler(|request, _, out| echo(request, out)));
    ai
}

async fn echo(
    request: GenerateRequest,
    out: Emitter<GenerateResponseChunk>,
) -> Result<GenerateResponse> {
    let reply = format!("Echo: {}", request.messages.last().unwrap().text());
    for word in reply.split(' ') {
        out.send(GenerateResponseChunk::text(format!("{word} "))).await?;
    }
    let response = json!({
        "finishReason": "stop",
        "message": { "role": "model", "content": [{ "text": reply }] },
        "usage": { "inputTokens": 3, "outputTokens": 4, "totalTokens": 7 },
    });
    Ok(serde_json::from_value(response).unwrap())
}

async fn note(turn: Turn<oxikit::wire::JsonObject>) -> Result<TurnReply> {
    let text = turn.text();
    turn.update(|state| drop(state.insert("turns".to_owned(), json!(1)))).await?;
    let answer = format!("ack {text}");
    let role = Some(Role::Model);
    turn.emit(GenerateResponseChunk { role, ..GenerateResponseChunk::text(&answer) }).await?;
    let parts = vec![Part::text(text)];
    turn.add_artifact(Artifact { name: Some("note".into()), parts, metadata: None }).await?;
    let artifacts = turn.session().artifacts();
    Ok(turn.answer(answer).with_artifacts(artifacts).because(AgentFinishReason::Stop))
}
