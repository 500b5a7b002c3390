//! Functions with which the tests call models.

use std::sync::OnceLock;

use oxikit::wire::{EmbedResponse, GenerateResponse, GenerateResponseChunk};
use oxikit::{Action, ActionKind, Call, Event, Oxikit, Part, Plugin, Result, Run, Status};
use oxikit_providers::{Anthropic, GoogleAi, Ollama, OpenAi};
use serde_json::{Value, json};

use crate::server::Server;

pub(crate) const KEY: &str = "sk-very-secret-4711";

/// A client without the proxy settings of this machine. Made once, because it
/// reads all certificates; without a pool, whose connections would belong to the
/// runtime of another test.
pub(crate) fn client() -> reqwest::Client {
    static CLIENT: OnceLock<reqwest::Client> = OnceLock::new();
    let build = || reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build();
    CLIENT.get_or_init(|| build().unwrap()).clone()
}

pub(crate) fn google_ai(server: &Server) -> GoogleAi {
    let plugin = GoogleAi::from_env().api_key(KEY).base_url(&server.url);
    plugin.http_client(client())
}

pub(crate) fn open_ai(server: &Server) -> OpenAi {
    let plugin = OpenAi::from_env().api_key(KEY);
    plugin.base_url(format!("{}/v1", server.url)).http_client(client())
}

pub(crate) fn compatible(server: &Server) -> OpenAi {
    OpenAi::compatible("acme", format!("{}/v1", server.url)).http_client(client())
}

pub(crate) fn anthropic(server: &Server) -> Anthropic {
    let plugin = Anthropic::from_env().api_key(KEY).base_url(&server.url);
    plugin.http_client(client())
}

pub(crate) fn ollama(server: &Server) -> Ollama {
    let plugin = Ollama::default().base_url(&server.url);
    plugin.http_client(client())
}

pub(crate) async fn model(plugin: impl Plugin + 'static, name: &str) -> Action {
    let ai = Oxikit::builder().plugin(plugin).build().unwrap();
    let found = ai.registry().resolve(ActionKind::Model, name).await;
    found.unwrap().expect("any name is a model")
}

/// Asks without streaming.
pub(crate) async fn ask(
    plugin: impl Plugin + 'static,
    name: &str,
    request: Value,
) -> Result<GenerateResponse> {
    let model = model(plugin, name).await;
    model.run(Call::new(request)).await?.parse()
}

/// Asks with streaming: the pieces, and the answer.
pub(crate) async fn stream(
    plugin: impl Plugin + 'static,
    name: &str,
    request: Value,
) -> (Vec<Part>, Result<GenerateResponse>) {
    let model = model(plugin, name).await;
    read(model.start(Call::new(request)).unwrap()).await
}

pub(crate) async fn read(mut run: Run) -> (Vec<Part>, Result<GenerateResponse>) {
    let mut parts = Vec::new();
    while let Some(event) = run.next().await {
        match event {
            Event::Chunk(chunk) => {
                let chunk: GenerateResponseChunk = chunk.parse().unwrap();
                assert_eq!(GenerateResponseChunk::from(chunk.content.clone()), chunk);
                parts.extend(chunk.content);
            }
            Event::Done(output) => return (parts, output.parse()),
            Event::Failed(status) => return (parts, Err(status)),
        }
    }
    (parts, Err(Status::internal("the run ended without an end")))
}

pub(crate) async fn embed(
    plugin: impl Plugin + 'static,
    name: &str,
    request: Value,
) -> Result<EmbedResponse> {
    let ai = Oxikit::builder().plugin(plugin).build().unwrap();
    let embedder = ai.registry().resolve(ActionKind::Embedder, name).await?;
    let embedder = embedder.expect("any name is an embedder");
    embedder.run(Call::new(request)).await?.parse()
}

/// A request of one user's message.
pub(crate) fn hello() -> Value {
    json!({"messages": [{"role": "user", "content": [{"text": "Hello?"}]}]})
}

/// The answer's parts without what only the provider understands.
pub(crate) fn plain(response: &GenerateResponse) -> Vec<Value> {
    let message = response.message.as_ref().expect("a message");
    message.content.iter().map(plain_part).collect()
}

pub(crate) fn plain_part(part: &Part) -> Value {
    json!(Part::new(part.kind.clone()))
}

pub(crate) fn weather_tool() -> Value {
    json!({
        "name": "weather",
        "description": "Tells the weather.",
        "inputSchema": {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    })
}

/// The next request of a conversation in which the model asked for a tool.
pub(crate) fn with_tool_response(request: &Value, response: &GenerateResponse) -> Value {
    let message = response.message.as_ref().expect("a message");
    let answers: Vec<Part> = message
        .tool_requests()
        .map(|asked| {
            let output = json!({"degrees": 21});
            Part::tool_response(&asked.name, asked.reference.clone(), output)
        })
        .collect();
    let mut next = request.clone();
    let messages = next["messages"].as_array_mut().expect("messages");
    // By way of text, as it would come back out of a session store.
    let stored = serde_json::to_string(message).unwrap();
    messages.push(serde_json::from_str(&stored).unwrap());
    messages.push(json!({"role": "tool", "content": answers}));
    next
}
