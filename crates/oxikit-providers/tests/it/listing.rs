//! The models and embedders that the developer tools list.

use oxikit::{ActionKind, Oxikit, Plugin};
use oxikit_providers::{Anthropic, GoogleAi, OpenAi};
use serde_json::{Value, json};

use crate::server::{Reply, Server};
use crate::support::*;

async fn info(plugin: impl Plugin + 'static, name: &str) -> Value {
    let model = model(plugin, name).await;
    let metadata = model.descriptor().metadata.clone().unwrap();
    assert_eq!(metadata["type"], "model");
    metadata["model"].clone()
}

#[tokio::test]
async fn a_model_says_what_it_can_do() {
    assert_eq!(
        info(GoogleAi::from_env(), "googleai/gemini-2.5-flash").await,
        json!({"label": "Google AI - gemini-2.5-flash", "supports": {
            "multiturn": true, "media": true, "tools": true, "systemRole": true,
            "output": ["text", "json"], "constrained": "no-tools", "toolChoice": true}})
    );
    let supports = |info: Value| info["supports"]["constrained"].clone();
    assert_eq!(supports(info(OpenAi::from_env(), "openai/gpt-5.2").await), "all");
    assert_eq!(supports(info(OpenAi::from_env(), "openai/brand-new").await), "all");
    let old = info(Anthropic::from_env(), "anthropic/claude-opus-4-0").await;
    assert_eq!(supports(old), "none");
}

#[tokio::test]
async fn ollama_lists_what_is_installed() {
    let server = Server::start([Reply::json(json!({"models": [
        {"name": "llama3.2:latest", "model": "llama3.2:latest", "size": 1, "digest": "x",
            "modified_at": "2026-01-01T00:00:00Z", "details": {}},
        {"name": "nomic-embed-text:latest", "model": "nomic-embed-text:latest", "size": 1,
            "digest": "x", "modified_at": "2026-01-01T00:00:00Z", "details": {}},
    ]}))])
    .await;
    let ai = Oxikit::builder().plugin(ollama(&server)).build().unwrap();
    let list = ai.registry().list_resolvable().await;
    assert!(list.contains_key("/model/ollama/llama3.2:latest"));
    assert!(list.contains_key("/embedder/ollama/nomic-embed-text:latest"));
    assert_eq!(server.only().path, "/api/tags");
}

#[tokio::test]
async fn a_compatible_server_is_asked_for_its_models() {
    let server = Server::start([Reply::json(
        json!({"object": "list", "data": [{"id": "org/model-1", "object": "model", "created": 1, "owned_by": "org"}]}),
    )])
    .await;
    let ai = Oxikit::builder().plugin(compatible(&server)).build().unwrap();
    let list = ai.registry().list_resolvable().await;
    assert!(list.contains_key("/model/acme/org/model-1"));
    assert_eq!(server.only().path, "/v1/models");
}

#[tokio::test]
async fn a_server_that_is_down_leaves_an_empty_list() {
    let plugin = oxikit_providers::Ollama::default().base_url("http://127.0.0.1:1");
    let ai = Oxikit::builder().plugin(plugin.http_client(client())).build().unwrap();
    let list = ai.registry().list_resolvable().await;
    assert!(!list.keys().any(|key| key.contains("ollama")));
}

#[tokio::test]
async fn names_that_would_leave_their_place_in_the_url_are_not_models() {
    let ai = Oxikit::builder().plugin(GoogleAi::from_env().api_key(KEY)).build().unwrap();
    for name in ["googleai/../x", "googleai/a?b", "googleai/a#b", "googleai/", "googleai/a b"] {
        let found = ai.registry().resolve(ActionKind::Model, name).await.unwrap();
        assert!(found.is_none(), "{name}");
    }
    let found = ai.registry().resolve(ActionKind::Tool, "googleai/x").await.unwrap();
    assert!(found.is_none());
    let ai = Oxikit::builder().plugin(Anthropic::from_env()).build().unwrap();
    let found = ai.registry().resolve(ActionKind::Embedder, "anthropic/x").await.unwrap();
    assert!(found.is_none(), "Anthropic has no embedders");
}
