//! URLs that others have chosen: of cards, of redirects, and of the addresses in cards. None of
//! them leads to this machine, where a canary listens.

use oxikit_client::StatusCode;
use oxikit_client::a2a::{A2aBuilder, OutgoingClient, OutgoingPolicy};
use serde_json::{Value, json};

use super::kit::{builder, json_reply};
use crate::outgoing_peer::{Dns, PUBLIC, Peer};
use crate::peer::peer;
use crate::url_forms::forms;

/// A card whose only addresses are this one, in both bindings over HTTP.
fn card_with(url: &str) -> Value {
    let interface =
        |binding: &str| json!({ "url": url, "protocolBinding": binding, "protocolVersion": "1.0" });
    json!({ "name": "Agent", "supportedInterfaces": [interface("JSONRPC"), interface("HTTP+JSON")] })
}

fn guarded(policy: OutgoingPolicy, dns: &[&[&str]]) -> OutgoingClient {
    OutgoingClient::with_resolver(policy, Dns::new(dns)).unwrap()
}

fn foreign(url: &str, outgoing: &OutgoingClient) -> A2aBuilder {
    builder(url).foreign_url().outgoing(outgoing.clone())
}

#[tokio::test]
async fn no_form_of_a_url_of_a_card_reaches_the_canary() {
    let canary = Peer::ok().await;
    let outgoing = guarded(OutgoingPolicy::default(), &[&["127.0.0.1"]]);
    let mut refused = 0;
    for form in forms(canary.port) {
        let status = foreign(&form, &outgoing).connect().await.unwrap_err();
        match status.code() {
            // The text is not a URL of HTTP at all.
            StatusCode::InvalidArgument => {}
            StatusCode::FailedPrecondition => refused += 1,
            code => panic!("{form:?}: {code:?} {status}"),
        }
    }
    assert!(refused >= 200, "only {refused} forms are URLs of HTTP");
    assert_eq!(canary.connections().await, 0);
}

#[tokio::test]
async fn no_form_of_an_address_in_a_card_reaches_the_canary() {
    let canary = Peer::ok().await;
    let outgoing = guarded(OutgoingPolicy::default(), &[&["127.0.0.1"]]);
    let forms = forms(canary.port);
    let replies = forms.iter().map(|form| json_reply(200, &card_with(form))).collect::<Vec<_>>();
    // The application has chosen the server of the cards, but not what they name.
    let cards = peer(replies).await;
    let url = format!("http://{}/card.json", cards.address);
    let mut refused = 0;
    for form in forms {
        match builder(&url).outgoing(outgoing.clone()).connect().await {
            Err(status) => {
                assert_eq!(status.code(), StatusCode::FailedPrecondition, "{form:?}: {status}");
                refused += 1;
            }
            // A text without a host is a path of the server that the card is from.
            Ok(agent) => assert!(agent.url().starts_with(&url[..url.len() - 9]), "{form:?}"),
        }
    }
    assert!(refused >= 200, "only {refused} forms are refused");
    assert_eq!(canary.connections().await, 0);
}

#[cfg(feature = "a2a-grpc")]
#[tokio::test]
async fn no_form_of_a_grpc_address_in_a_card_reaches_the_canary() {
    let canary = Peer::ok().await;
    let outgoing = guarded(OutgoingPolicy::default(), &[&["127.0.0.1"]]);
    let forms = forms(canary.port);
    // As they are, and as `host:port`.
    let bare = forms.iter().filter_map(|form| form.split_once("://"));
    let bare = bare.map(|(_, rest)| rest.split('/').next().unwrap_or_default().to_owned());
    let forms: Vec<_> = bare.collect::<Vec<_>>().into_iter().chain(forms).collect();
    let replies = forms.iter().map(|form| {
        let mut card = card_with(form);
        card["supportedInterfaces"] =
            json!([{ "url": form, "protocolBinding": "GRPC", "protocolVersion": "1.0" }]);
        json_reply(200, &card)
    });
    let cards = peer(replies.collect::<Vec<_>>()).await;
    let url = format!("http://{}/card.json", cards.address);
    for form in &forms {
        let status = builder(&url).outgoing(outgoing.clone()).connect().await.unwrap_err();
        assert_eq!(status.code(), StatusCode::FailedPrecondition, "{form:?}: {status}");
    }
    assert!(forms.len() >= 400, "only {} forms", forms.len());
    assert_eq!(canary.connections().await, 0);
}

#[cfg(feature = "a2a-grpc")]
#[tokio::test]
async fn a_grpc_server_that_changes_its_address_is_not_connected_to() {
    let canary = Peer::ok().await;
    let mut card = card_with("");
    let address = format!("changing.example.com:{}", canary.port);
    card["supportedInterfaces"] =
        json!([{ "url": address, "protocolBinding": "GRPC", "protocolVersion": "1.0" }]);
    let cards = peer([json_reply(200, &card)]).await;
    let outgoing = guarded(OutgoingPolicy::default(), &[&[PUBLIC], &["127.0.0.1"]]);
    let url = format!("http://{}/card.json", cards.address);
    let agent = builder(&url).outgoing(outgoing).connect().await.unwrap();
    let status = agent.send("hello").await.unwrap_err();
    assert_eq!(status.code(), StatusCode::FailedPrecondition, "{status}");
    let status = agent.send_stream("hello").await.map(drop).unwrap_err();
    assert_eq!(status.code(), StatusCode::FailedPrecondition, "{status}");
    assert_eq!(canary.connections().await, 0);
}

#[tokio::test]
async fn redirects_of_cards_are_not_followed() {
    let canary = Peer::ok().await;
    for status in [301, 302, 303, 307, 308] {
        let target = format!("http://127.0.0.1:{}/card.json", canary.port);
        let answer = format!(
            "HTTP/1.1 {status} X\r\nlocation: {target}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        let server = Peer::new(answer).await;
        let own = format!("http://127.0.0.1:{}/card.json", server.port);
        builder(&own).connect().await.unwrap_err();
        // Not even if the policy allows the target.
        let outgoing = guarded(OutgoingPolicy::default().allow_loopback(), &[&["127.0.0.1"]]);
        let named = format!("http://cards.example.com:{}/card.json", server.port);
        foreign(&named, &outgoing).connect().await.unwrap_err();
        assert_eq!(server.connections().await, 2);
    }
    assert_eq!(canary.connections().await, 0);
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_not_connected_to() {
    let canary = Peer::ok().await;
    let port = canary.port;
    let named = format!("http://changing.example.com:{port}/agent");
    // The first answer is for the check of the card's address, the second for the connection.
    for private in ["127.0.0.1", "::1", "0.0.0.0", "::ffff:127.0.0.1"] {
        let cards = peer([json_reply(200, &card_with(&named))]).await;
        let outgoing = guarded(OutgoingPolicy::default(), &[&[PUBLIC], &[private]]);
        let url = format!("http://{}/card.json", cards.address);
        let agent = builder(&url).outgoing(outgoing).connect().await.unwrap();
        let status = agent.send("hello").await.unwrap_err();
        assert_eq!(status.code(), StatusCode::FailedPrecondition, "{status}");
        let status = agent.send_stream("hello").await.map(drop).unwrap_err();
        assert_eq!(status.code(), StatusCode::FailedPrecondition, "{status}");
        let outgoing = guarded(OutgoingPolicy::default(), &[&[private]]);
        let status = foreign(&named, &outgoing).connect().await.unwrap_err();
        assert_eq!(status.code(), StatusCode::FailedPrecondition, "{status}");
    }
    assert_eq!(canary.connections().await, 0);
}

/// Shows that the canary would be reached if nothing were checked.
#[tokio::test]
async fn the_policy_and_trusted_origins_are_exceptions() {
    let canary = Peer::ok().await;
    let named = format!("http://agent.example.com:{}/agent", canary.port);
    let replies = [(); 2].map(|()| json_reply(200, &card_with(&named)));
    let cards = peer(replies).await;
    let url = format!("http://{}/card.json", cards.address);
    let outgoing = guarded(OutgoingPolicy::default().allow_loopback(), &[&["127.0.0.1"]]);
    let agent = builder(&url).outgoing(outgoing.clone()).connect().await.unwrap();
    // The canary does not speak A2A.
    assert_eq!(agent.send("hello").await.unwrap_err().code(), StatusCode::Internal);
    assert_eq!(canary.connections().await, 1);
    let status = foreign(&named, &outgoing).connect().await.unwrap_err();
    assert_eq!(status.code(), StatusCode::Internal, "{status}");
    assert_eq!(canary.connections().await, 2);
    let local = format!("http://127.0.0.1:{}/agent", canary.port);
    let strict = guarded(OutgoingPolicy::default(), &[&[PUBLIC]]);
    let trusting = foreign(&local, &strict).trust_origin(&local).connect().await.unwrap_err();
    assert_eq!(trusting.code(), StatusCode::Internal, "{trusting}");
    assert_eq!(canary.connections().await, 3);
}

#[tokio::test]
async fn by_default_foreign_servers_are_called_by_https_at_public_addresses() {
    let canary = Peer::ok().await;
    for address in ["http://example.com/agent", "https://10.0.0.1/agent", "https://[fd00::1]/a"] {
        let cards = peer([json_reply(200, &card_with(address))]).await;
        let url = format!("http://{}/card.json", cards.address);
        let status = builder(&url).connect().await.unwrap_err();
        assert_eq!(status.code(), StatusCode::FailedPrecondition, "{address}: {status}");
        let status = builder(address).foreign_url().connect().await.unwrap_err();
        assert_eq!(status.code(), StatusCode::FailedPrecondition, "{address}: {status}");
    }
    let local = format!("http://127.0.0.1:{}/agent", canary.port);
    let status = builder(&local).foreign_url().connect().await.unwrap_err();
    assert_eq!(status.code(), StatusCode::FailedPrecondition, "{status}");
    assert_eq!(canary.connections().await, 0);
}

#[tokio::test]
async fn a_foreign_card_is_limited_and_its_errors_are_not_shown() {
    let outgoing = guarded(OutgoingPolicy::default().allow_loopback(), &[&["127.0.0.1"]]);
    let mut large = card_with("/agent");
    large["description"] = json!("x".repeat(70_000));
    let cards = peer([json_reply(200, &large), json_reply(500, &json!({ "message": "secret" }))]);
    let cards = cards.await;
    let url = format!("http://cards.example.com:{}/card.json", cards.address.port());
    let status = foreign(&url, &outgoing).connect().await.unwrap_err();
    assert_eq!(status.code(), StatusCode::ResourceExhausted, "{status}");
    let status = foreign(&url, &outgoing).connect().await.unwrap_err();
    assert!(status.message().ends_with("answered HTTP 500"), "{status}");
}
