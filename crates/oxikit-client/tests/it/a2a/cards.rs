//! Discovery of cards and the choice of an address.

use oxikit_client::StatusCode;
use oxikit_client::a2a::Version;
use serde_json::json;

use super::kit::{agent, builder, card, error, header_of, json_reply, result};
use crate::peer::{peer, reply};

#[tokio::test]
async fn a_card_is_kept_while_its_server_says_so() {
    let replies = [
        json_reply(200, &card(&["1.0"])).header("etag", "\"a\""),
        reply(304, [""; 0]),
        json_reply(200, &json!({ "name": "Changed" })).header("etag", "\"b\""),
    ];
    let peer = peer(replies).await;
    let client = agent(&peer).connect().await.unwrap();
    assert_eq!(client.refresh_card().await.unwrap().name, "Agent");
    assert_eq!(client.refresh_card().await.unwrap().name, "Changed");
    assert_eq!(client.card().name, "Changed");
    let requests = peer.requests().await;
    assert!(requests[0].starts_with("GET /agent/.well-known/agent-card.json "));
    assert_eq!(header_of(&requests[0], "a2a-version"), Some("1.0"));
    assert_eq!(header_of(&requests[0], "if-none-match"), None);
    assert_eq!(header_of(&requests[1], "if-none-match"), Some("\"a\""));
}

#[tokio::test]
async fn a_card_at_the_root_counts_if_it_names_the_agent() {
    let found = [reply(404, [""; 0]), json_reply(200, &card(&["1.0"]))];
    let found = peer(found).await;
    assert_eq!(agent(&found).connect().await.unwrap().card().name, "Agent");
    let mut other = card(&["1.0"]);
    other["supportedInterfaces"][0]["url"] = json!("/another");
    let other = peer([reply(404, [""; 0]), json_reply(200, &other)]).await;
    let status = agent(&other).connect().await.unwrap_err();
    assert_eq!(status.code(), StatusCode::NotFound);
    let requests = other.requests().await;
    assert!(requests[1].starts_with("GET /.well-known/agent-card.json "));
}

#[tokio::test]
async fn a_card_of_0_3_and_odd_versions_are_understood() {
    let old = json!({
        "protocolVersion": "0.2.6", "name": "Old", "url": "/agent",
        "securitySchemes": { "key": { "apiKeySecurityScheme": { "location": "header", "name": "k" } } },
    });
    for (card, version) in [
        (old, Version::V0_3),
        (card(&["0.3.0"]), Version::V0_3),
        (card(&["1.0.1"]), Version::V1_0),
        (card(&["0.3", "1.1"]), Version::V1_0),
        (card(&[""]), Version::V0_3),
    ] {
        let peer = peer([json_reply(200, &card)]).await;
        let client = agent(&peer).connect().await.unwrap();
        assert_eq!(client.version(), version, "{card}");
    }
}

#[tokio::test]
async fn bad_cards_are_refused_with_a_reason() {
    let mut other = card(&["1.0"]);
    other["supportedInterfaces"][0]["protocolBinding"] = json!("MQTT");
    let cases = [
        (json_reply(200, &json!([])), "not an agent card"),
        (reply(200, ["<html>"]), "not an agent card"),
        (json_reply(200, &json!({ "name": "A" })), "it lists: none"),
        (json_reply(200, &other), "it lists: MQTT 1.0"),
        (json_reply(200, &card(&["7.0"])), "it lists: JSONRPC 7.0"),
        (json_reply(500, &json!({})), "HTTP 500"),
    ];
    for (reply, text) in cases {
        let peer = peer([reply]).await;
        let status = agent(&peer).connect().await.unwrap_err();
        assert!(status.message().contains(text), "{status:?} without {text}");
    }
}

#[tokio::test]
async fn headers_go_to_another_server_only_if_it_is_trusted() {
    let target = peer([error(-32001)]).await;
    let origin = format!("http://{}", target.address);
    let mut elsewhere = card(&["1.0"]);
    elsewhere["supportedInterfaces"][0]["url"] = json!(format!("{origin}/agent"));
    let replies = [(); 3].map(|()| json_reply(200, &elsewhere));
    let from = peer(replies).await;
    // Without secrets there is nothing to protect.
    agent(&from).connect().await.unwrap();
    let status = agent(&from).bearer("secret").connect().await.unwrap_err();
    assert_eq!(status.code(), StatusCode::FailedPrecondition);
    assert!(status.message().ends_with(&format!("trust the origin {origin}")), "{status:?}");
    let trusting = agent(&from).bearer("secret").trust_origin(&origin).connect().await.unwrap();
    trusting.get_task("t", None).await.unwrap_err();
    let requests = target.requests().await;
    assert_eq!(header_of(&requests[0], "authorization"), Some("Bearer secret"));
}

#[tokio::test]
async fn a_server_without_1_0_is_called_in_0_3() {
    let task =
        json!({ "kind": "task", "id": "t", "contextId": "c", "status": { "state": "working" } });
    for code in [-32601, -32009] {
        let replies = [
            json_reply(200, &card(&["1.0", "0.3"])),
            error(code),
            result(task.clone()),
            result(task.clone()),
        ];
        let peer = peer(replies).await;
        let client = agent(&peer).connect().await.unwrap();
        assert_eq!(client.get_task("t", None).await.unwrap().id, "t");
        assert_eq!(client.version(), Version::V0_3);
        client.get_task("t", None).await.unwrap();
        let requests = peer.requests().await;
        let methods = ["\"GetTask\"", "\"tasks/get\"", "\"tasks/get\""];
        for (request, method) in requests[1..].iter().zip(methods) {
            assert!(request.contains(method), "{request}");
        }
        assert_eq!(header_of(&requests[2], "a2a-version"), Some("0.3"));
    }
    // A card without 0.3 leaves nothing to try.
    let peer = peer([json_reply(200, &card(&["1.0"])), error(-32601)]).await;
    let client = agent(&peer).connect().await.unwrap();
    let status = client.get_task("t", None).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::Unimplemented);
}

#[tokio::test]
async fn a_url_that_is_not_http_is_refused() {
    let status = builder("ftp://127.0.0.1/agent").connect().await.unwrap_err();
    assert_eq!(status.code(), StatusCode::InvalidArgument);
}
