//! Signatures of cards.

use async_trait::async_trait;
use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use oxikit_client::StatusCode;
use oxikit_client::a2a::{A2aClient, CardVerifier, FoundCard, SignatureInfo};
use oxikit_core::{Registry, Result};
use oxikit_serve::a2a::{A2aAgent, AgentExecutor, AgentSkill, CardSigner, TaskTurn, TaskUpdates};
use oxikit_serve::{Algorithm, ApiKey, Server};
use serde_json::{Value, json};

use super::kit::json_reply;
use crate::peer::{peer, reply};

/// A card that this library's server has signed, and one that the official Python library has.
const OURS: (&str, &str) = (
    include_str!("../../../../../recordings/a2a-signed/signed-by-oxikit.json"),
    include_str!("../../../../../recordings/a2a-signed/signed-by-oxikit.pem"),
);
const PYTHON: (&str, &str) = (
    include_str!("../../../../../recordings/a2a-signed/signed-by-python.json"),
    include_str!("../../../../../recordings/a2a-signed/signed-by-python.pem"),
);

fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}

struct Key {
    private: String,
    public: String,
    jwk: Value,
}

fn key() -> Key {
    let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
    let point = key.public_key().as_ref();
    let part = |range| URL_SAFE_NO_PAD.encode(&point[range]);
    let (x, y) = (part(1..33), part(33..65));
    Key {
        private: pem("PRIVATE KEY", key.to_pkcs8v1().unwrap().as_ref()),
        public: pem("PUBLIC KEY", key.public_key().as_der().unwrap().as_ref()),
        jwk: json!({ "kty": "EC", "crv": "P-256", "kid": "key-1", "x": x, "y": y }),
    }
}

struct Idle;

#[async_trait]
impl AgentExecutor for Idle {
    async fn execute(&self, _: TaskTurn, _: &mut TaskUpdates) -> Result<()> {
        Ok(())
    }
}

/// The card of an agent whose server signs with this key.
async fn signed_card(private: &str) -> FoundCard {
    let signer = CardSigner::new(Algorithm::Es256, private, "key-1").unwrap();
    let skill =
        AgentSkill { id: "tea".to_owned(), name: "Tea".to_owned(), ..AgentSkill::default() };
    let registry = Registry::default();
    let server = Server::new(&registry)
        .a2a(A2aAgent::with_executor("agent", Idle).description("Caf\u{e9} \u{20ac}").skill(skill))
        .auth(ApiKey::new("a-long-random-text").in_header("X-API-Key"))
        .sign_cards(signer);
    let server = server.port(0).bind().await.unwrap();
    let url = format!("http://{}/a2a/agent", server.local_addr().unwrap());
    let running = tokio::spawn(server.run(std::future::pending()));
    let found = A2aClient::builder(&url).read_card().await.unwrap();
    running.abort();
    found
}

async fn refused(verifier: &CardVerifier, card: &Value) -> StatusCode {
    verifier.verify(card.to_string().as_bytes()).await.unwrap_err().code()
}

#[tokio::test]
async fn a_card_of_our_server_is_valid_and_a_changed_one_is_not() {
    let key = key();
    let found = signed_card(&key.private).await;
    let by_pem = CardVerifier::new().pem(&key.public).unwrap();
    let by_jwk = CardVerifier::new().jwk(&key.jwk).unwrap();
    for verifier in [&by_pem, &by_jwk] {
        let verified = verifier.verify(&found.json).await.unwrap();
        assert_eq!(verified.key_id.as_deref(), Some("key-1"));
        assert_eq!(verified.card.name, found.card.name);
        assert!(verified.card.signatures.is_empty());
    }
    let card: Value = serde_json::from_slice(&found.json).unwrap();
    let change = |at: &str, value: Value| {
        let mut changed = card.clone();
        *changed.pointer_mut(at).unwrap() = value;
        changed
    };
    for (at, value) in [
        ("/name", json!("Another")),
        ("/description", json!("")),
        ("/supportedInterfaces/0/url", json!("https://evil.example")),
        ("/securitySchemes/apiKey/apiKeySecurityScheme/name", json!("X")),
        ("/skills", json!([])),
        ("/capabilities/streaming", json!(false)),
    ] {
        let code = refused(&by_pem, &change(at, value)).await;
        assert_eq!(code, StatusCode::Unauthenticated, "{at}");
    }
    for value in [json!([]), json!([{ "protected": "e30", "signature": "AA" }])] {
        assert_eq!(
            refused(&by_pem, &change("/signatures", value)).await,
            StatusCode::Unauthenticated
        );
    }
}

#[tokio::test]
async fn what_no_signature_covers_is_not_in_the_verified_card() {
    let key = key();
    let found = signed_card(&key.private).await;
    let mut card: Value = serde_json::from_slice(&found.json).unwrap();
    // Only the main address of 0.3 is changed, which the forms of 1.0 do not have.
    card["url"] = json!("https://evil.example");
    let verifier = CardVerifier::new().pem(&key.public).unwrap();
    let verified = verifier.verify(card.to_string().as_bytes()).await.unwrap();
    let shown = serde_json::to_string(&verified.card).unwrap();
    assert!(!shown.contains("evil"), "{shown}");
    assert_eq!(verified.card.supported_interfaces, found.card.supported_interfaces);
}

#[tokio::test]
async fn only_trusted_keys_count() {
    let own = key();
    let found = signed_card(&own.private).await;
    let code =
        async |verifier: CardVerifier| verifier.verify(&found.json).await.unwrap_err().code();
    assert_eq!(code(CardVerifier::new()).await, StatusCode::Unauthenticated);
    let other = CardVerifier::new().pem(key().public).unwrap();
    assert_eq!(code(other).await, StatusCode::Unauthenticated);
    let mut renamed = own.jwk.clone();
    renamed["kid"] = json!("key-2");
    let renamed = CardVerifier::new().jwk(&renamed).unwrap();
    assert_eq!(code(renamed).await, StatusCode::Unauthenticated);
    let both = CardVerifier::new().pem(key().public).unwrap().pem(&own.public).unwrap();
    assert!(both.verify(&found.json).await.is_ok());
    let encryption =
        json!({ "kty": "EC", "crv": "P-256", "use": "enc", "x": own.jwk["x"], "y": own.jwk["y"] });
    assert!(CardVerifier::new().jwk(&encryption).is_err());
    assert!(CardVerifier::new().jwk(&json!({ "kty": "oct", "k": "AAAA" })).is_err());
    assert!(CardVerifier::new().pem("no key").is_err());
    assert!(CardVerifier::new().pem(&own.private).is_err());
}

/// The algorithm of a signature must be one of the key, and extensions are not understood.
#[tokio::test]
async fn headers_cannot_weaken_the_check() {
    let own = key();
    let found = signed_card(&own.private).await;
    let verifier = CardVerifier::new().pem(&own.public).unwrap();
    let mut card: Value = serde_json::from_slice(&found.json).unwrap();
    let signature = card["signatures"][0]["signature"].clone();
    for header in [
        json!({ "alg": "none" }),
        json!({ "alg": "HS256", "kid": "key-1" }),
        json!({ "alg": "ES256", "kid": "key-1", "crit": ["b64"], "b64": false }),
        json!({ "kid": "key-1" }),
        json!("ES256"),
    ] {
        let protected = URL_SAFE_NO_PAD.encode(header.to_string());
        card["signatures"] = json!([{ "protected": protected, "signature": signature }]);
        assert_eq!(refused(&verifier, &card).await, StatusCode::Unauthenticated, "{header}");
    }
}

#[tokio::test]
async fn keys_come_from_a_key_set() {
    let own = key();
    let found = signed_card(&own.private).await;
    let set = json!({ "keys": [{ "kty": "new" }, key().jwk, own.jwk] });
    let key_set = peer([json_reply(200, &set)]).await;
    let verifier = CardVerifier::new().jwks_url(&key_set.url()).unwrap();
    let verified = verifier.verify(&found.json).await.unwrap();
    assert_eq!(verified.key_id.as_deref(), Some("key-1"));
    for answer in [reply(404, [""; 0]), json_reply(200, &json!({ "keys": 1 }))] {
        let key_set = peer([answer]).await;
        let verifier = CardVerifier::new().jwks_url(&key_set.url()).unwrap();
        let status = verifier.verify(&found.json).await.unwrap_err();
        assert_eq!(status.code(), StatusCode::Unavailable);
    }
    for url in ["no url", "http://keys.example", "https://10.0.0.1/keys", "file:///keys"] {
        assert!(CardVerifier::new().jwks_url(url).is_err(), "{url}");
    }
}

#[tokio::test]
async fn recorded_cards_of_ours_and_of_python_are_valid() {
    for ((card, public), key_id) in [(OURS, "key-1"), (PYTHON, "py-1")] {
        let verifier = CardVerifier::new().pem(public).unwrap();
        let verified = verifier.verify(card.as_bytes()).await.unwrap();
        assert_eq!(verified.key_id.as_deref(), Some(key_id));
        let mut card: Value = serde_json::from_str(card).unwrap();
        let first = serde_json::from_value(card["signatures"][0].clone()).unwrap();
        let info = SignatureInfo::of(&first);
        assert_eq!(
            (info.algorithm.as_deref(), info.key_id.as_deref()),
            (Some("ES256"), Some(key_id))
        );
        card["name"] = json!("Another");
        assert_eq!(refused(&verifier, &card).await, StatusCode::Unauthenticated);
    }
}

#[tokio::test]
async fn what_is_not_a_card_is_refused() {
    for document in ["", "[]", "{}", "{\"name\":7}"] {
        let status = CardVerifier::new().verify(document.as_bytes()).await.unwrap_err();
        assert_eq!(status.code(), StatusCode::InvalidArgument, "{document}");
    }
}
