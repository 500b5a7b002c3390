//! Cards of agents.

use serde_json::Value;

use super::kit::{app, app_with};
use oxikit_serve::ApiKey;

#[tokio::test]
async fn one_card_serves_clients_of_both_versions() {
    let app = app().await;
    let answer = app.request("GET", "/a2a/script/.well-known/agent-card.json", "", "").await;
    assert_eq!(answer.header("vary"), Some("a2a-version"));
    let card: Value = serde_json::from_slice(&answer.body).unwrap();
    let url = format!("http://{}/a2a/script", app.address);
    assert_eq!(card["url"], url);
    assert_eq!(card["protocolVersion"], "0.3.0");
    assert_eq!(card["preferredTransport"], "JSONRPC");
    assert_eq!(card["supportedInterfaces"][0]["protocolVersion"], "1.0");
    let bindings = if cfg!(feature = "a2a-grpc") { 3 } else { 2 };
    assert_eq!(card["supportedInterfaces"].as_array().unwrap().len(), 2 * bindings);
    assert_eq!(card["skills"][0]["id"], "script");
    assert_eq!(card["capabilities"]["streaming"], true);
    let root = app.request("GET", "/.well-known/agent-card.json", "", "").await;
    assert_eq!(root.body, answer.body, "the first agent is found at the root");
    let other = app.request("GET", "/a2a/reply/.well-known/agent-card.json", "", "").await;
    let other: Value = serde_json::from_slice(&other.body).unwrap();
    assert_eq!(other["name"], "The replier");
}

#[tokio::test]
async fn a_card_that_is_known_is_not_sent_again() {
    let app = app().await;
    let path = "/.well-known/agent-card.json";
    let first = app.request("GET", path, "", "").await;
    let tag = first.header("etag").unwrap().to_owned();
    let again = app.request("GET", path, &format!("If-None-Match: {tag}\r\n"), "").await;
    assert_eq!((again.status, again.body.len()), (304, 0));
    let other = app.request("GET", path, "If-None-Match: \"another\"\r\n", "").await;
    assert_eq!(other.status, 200);
}

#[tokio::test]
async fn the_card_declares_what_is_enforced_in_the_shape_of_the_version() {
    let app = app_with(|server| server.auth(ApiKey::new("a-long-random-text"))).await;
    let card = async |headers: &str| {
        let answer = app.request("GET", "/.well-known/agent-card.json", headers, "").await;
        serde_json::from_slice::<Value>(&answer.body).unwrap()
    };
    let old = card("").await;
    assert_eq!(old["securitySchemes"]["apiKey"]["type"], "http");
    assert!(old["security"][0]["apiKey"].is_array());
    let new = card("A2A-Version: 1.0\r\n").await;
    assert_eq!(new["securitySchemes"]["apiKey"]["httpAuthSecurityScheme"]["scheme"], "bearer");
}
