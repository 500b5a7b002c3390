//! API keys at the place that the card names, and tokens that are renewed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use oxikit_client::StatusCode;
use serde_json::{Value, json};

use super::kit::{agent, card, card_of, header_of, json_reply, result};
use crate::peer::{peer, reply};

fn task() -> Value {
    json!({ "id": "t", "contextId": "c", "status": { "state": "TASK_STATE_WORKING" } })
}

#[tokio::test]
async fn an_api_key_is_where_the_card_says() {
    let v0_3 = |place: &str| json!({ "type": "apiKey", "in": place, "name": "k" });
    let v1_0 = |place: &str| json!({ "apiKeySecurityScheme": { "location": place, "name": "k" } });
    for binding in ["JSONRPC", "HTTP+JSON"] {
        for place in ["header", "query", "cookie"] {
            for scheme in [v0_3(place), v1_0(place)] {
                let mut card = card_of(&[(binding, "1.0")]);
                card["securitySchemes"] = json!({ "key": scheme });
                let answer = match binding {
                    "JSONRPC" => result(task()),
                    _ => json_reply(200, &task()),
                };
                let peer = peer([json_reply(200, &card), answer]).await;
                let client = agent(&peer).api_key("s e&cret").connect().await.unwrap();
                client.get_task("t", None).await.unwrap();
                let requests = peer.requests().await;
                assert!(!requests[0].contains("cret"), "{}", requests[0]);
                let line = requests[1].lines().next().unwrap();
                match place {
                    "header" => assert_eq!(header_of(&requests[1], "k"), Some("s e&cret")),
                    "cookie" => assert_eq!(header_of(&requests[1], "cookie"), Some("k=s e&cret")),
                    _ => assert!(line.contains("?k=s+e%26cret "), "{line}"),
                }
                assert!(!format!("{client:?}").contains("cret"));
            }
        }
    }
}

#[tokio::test]
async fn a_card_without_a_place_for_the_key_is_refused() {
    let peer = peer([json_reply(200, &card(&["1.0"]))]).await;
    let status = agent(&peer).api_key("secret").connect().await.unwrap_err();
    assert_eq!(status.code(), StatusCode::FailedPrecondition);
    assert!(status.message().contains("no scheme for an API key"), "{status}");
    assert!(!status.message().contains("secret"));
}

#[tokio::test]
async fn an_api_key_does_not_go_to_another_server() {
    let mut card = card(&["1.0"]);
    card["supportedInterfaces"][0]["url"] = json!("http://127.0.0.1:9/agent");
    card["securitySchemes"] = json!({ "key": { "type": "apiKey", "in": "query", "name": "k" } });
    let peer = peer([json_reply(200, &card)]).await;
    let status = agent(&peer).api_key("secret").connect().await.unwrap_err();
    assert!(status.message().ends_with("trust the origin http://127.0.0.1:9"), "{status}");
}

#[tokio::test]
async fn a_token_is_renewed_once_after_401_and_not_after_403() {
    let refused = |http| reply(http, [""; 0]);
    let replies = [
        json_reply(200, &card(&["1.0"])),
        refused(401),
        result(task()),
        result(task()),
        refused(401),
        refused(401),
        refused(403),
    ];
    let peer = peer(replies).await;
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let client = agent(&peer).bearer_from(move || {
        let number = counted.fetch_add(1, Ordering::Relaxed);
        async move { Ok(format!("token-{number}")) }
    });
    let client = client.connect().await.unwrap();
    client.get_task("t", None).await.unwrap();
    client.get_task("t", None).await.unwrap();
    let status = client.get_task("t", None).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::Unauthenticated);
    let status = client.get_task("t", None).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::PermissionDenied);
    let requests = peer.requests().await;
    let tokens: Vec<_> = requests.iter().map(|it| header_of(it, "authorization")).collect();
    let (first, second) = (Some("Bearer token-0"), Some("Bearer token-1"));
    assert_eq!(tokens, [None, None, first, first, first, second, second]);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}
