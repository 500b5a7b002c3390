//! Keys go to the provider, and nowhere else.

use std::error::Error;

use oxikit::{Oxikit, Plugin, Status};
use serde_json::json;

use crate::server::{Reply, Server};
use crate::support::*;

/// Everything that can be read off a status.
fn shown(status: &Status) -> String {
    let mut shown = format!("{status} {status:?} {:?}", status.outgoing());
    let mut cause = status.source();
    while let Some(error) = cause {
        shown.push_str(&format!(" {error} {error:?}"));
        cause = error.source();
    }
    shown
}

async fn check(plugin: impl Plugin + Clone + 'static, name: &str, server: &Server) {
    let whole = ask(plugin.clone(), name, hello()).await.unwrap_err();
    let (_, streamed) = stream(plugin, name, hello()).await;
    for failed in [whole, streamed.unwrap_err()] {
        let shown = shown(&failed);
        assert!(shown.contains("[redacted]"), "{shown}");
        assert!(!shown.contains(KEY), "{shown}");
    }
    for seen in server.seen() {
        assert!(!seen.path.contains(KEY), "{}", seen.path);
        assert!(!seen.path.contains("key="), "{}", seen.path);
        let carries =
            |value: &axum::http::HeaderValue| value.to_str().is_ok_and(|value| value.contains(KEY));
        assert_eq!(seen.headers.values().filter(|value| carries(value)).count(), 1);
    }
}

/// A server that repeats the key in all that it says.
async fn tattler() -> Server {
    let body = json!({"error": {"message": format!("the key {KEY} is bad"), "code": KEY}});
    let reply = || Reply::error(401, body.clone()).header("x-request-id", KEY);
    Server::start([reply(), reply()]).await
}

#[tokio::test]
async fn a_key_shows_in_no_failure_and_in_no_url() {
    let server = tattler().await;
    check(google_ai(&server), "googleai/gemini-2.5-flash", &server).await;
    let server = tattler().await;
    check(open_ai(&server), "openai/gpt-5.2", &server).await;
    let server = tattler().await;
    check(compatible(&server).api_key(KEY), "acme/m", &server).await;
    let server = tattler().await;
    check(anthropic(&server), "anthropic/claude-sonnet-4-5", &server).await;
    let server = tattler().await;
    check(ollama(&server).api_key(KEY), "ollama/m", &server).await;
}

#[tokio::test]
async fn a_key_of_the_call_shows_no_more_than_one_of_the_plugin() {
    let server = tattler().await;
    let plugin = google_ai(&server).api_key("another");
    let mut request = hello();
    request["config"] = json!({"apiKey": KEY});
    let failed = ask(plugin, "googleai/m", request).await.unwrap_err();
    assert!(!shown(&failed).contains(KEY));
}

#[tokio::test]
async fn a_connection_that_fails_shows_no_key() {
    let server = Server::start([]).await;
    let plugin = google_ai(&server).base_url("http://127.0.0.1:1");
    let failed = ask(plugin, "googleai/m", hello()).await.unwrap_err();
    let shown = shown(&failed);
    assert!(!shown.contains(KEY) && !shown.contains("key="), "{shown}");
}

#[tokio::test]
async fn a_plugin_prints_without_its_key() {
    let server = Server::start([]).await;
    let shown = format!(
        "{:?} {:?} {:?} {:?} {:?}",
        google_ai(&server),
        open_ai(&server),
        compatible(&server).api_key(KEY).header("x-secret", KEY),
        anthropic(&server),
        ollama(&server).api_key(KEY),
    );
    assert!(shown.contains("[redacted]"));
    assert!(!shown.contains(KEY), "{shown}");
}

#[tokio::test]
async fn an_application_starts_without_keys_and_lists_its_models() {
    let ai = Oxikit::builder()
        .plugin(oxikit_providers::GoogleAi::from_env())
        .plugin(oxikit_providers::OpenAi::from_env())
        .plugin(oxikit_providers::Anthropic::from_env())
        .build()
        .unwrap();
    let list = ai.registry().list_resolvable().await;
    assert!(list.contains_key("/model/googleai/gemini-2.5-flash"));
    assert!(list.contains_key("/model/openai/gpt-5.2"));
    assert!(list.contains_key("/model/anthropic/claude-sonnet-4-5"));
}

#[tokio::test]
async fn a_missing_key_says_which_variable_to_set_and_where_to_get_one() {
    let server = Server::start([]).await;
    let url = &server.url;
    let google = oxikit_providers::GoogleAi::from_env().base_url(url).http_client(client());
    let open_ai = oxikit_providers::OpenAi::from_env().base_url(url).http_client(client());
    let anthropic = oxikit_providers::Anthropic::from_env().base_url(url).http_client(client());
    // The environment of the tests may have keys; then the error does not occur.
    let is_set = |name: &str| std::env::var_os(name).is_some();
    if !is_set("GEMINI_API_KEY") && !is_set("GOOGLE_API_KEY") {
        let missing = ask(google, "googleai/m", hello()).await.unwrap_err();
        assert_eq!(missing.code(), oxikit::StatusCode::Internal);
        assert_eq!(missing.outgoing().message, "Internal error");
        assert_eq!(
            missing.message(),
            "no API key is set for `googleai`: set `GEMINI_API_KEY` or `GOOGLE_API_KEY`; \
             get a key at https://aistudio.google.com/apikey"
        );
    }
    if !is_set("OPENAI_API_KEY") {
        let missing = ask(open_ai, "openai/m", hello()).await.unwrap_err();
        assert!(missing.message().contains("`OPENAI_API_KEY`"), "{missing}");
    }
    if !is_set("ANTHROPIC_API_KEY") {
        let missing = ask(anthropic, "anthropic/m", hello()).await.unwrap_err();
        assert!(missing.message().contains("`ANTHROPIC_API_KEY`"), "{missing}");
    }
}
