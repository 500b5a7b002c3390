//! Cards that the server signs.

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ED25519, EcdsaKeyPair,
    Ed25519KeyPair, KeyPair, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use oxikit_serve::a2a::{A2aAgent, AgentSkill, CardSigner};
use oxikit_serve::{Algorithm, ApiKey};
use oxikit_wire::a2a::signed_forms;
use serde_json::{Value, json};

use super::kit::{App, Reply, app_with};

const PATH: &str = "/.well-known/agent-card.json";
fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}

/// A key, and its private part in PEM form.
fn key() -> (EcdsaKeyPair, String) {
    let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
    let pem = pem("PRIVATE KEY", key.to_pkcs8v1().unwrap().as_ref());
    (key, pem)
}

fn signer(pem: &str) -> CardSigner {
    CardSigner::new(Algorithm::Es256, pem, "key-1").unwrap()
}

fn verifies(key: &EcdsaKeyPair) -> impl Fn(&[u8], &[u8]) -> bool {
    let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key.public_key().as_ref().to_vec());
    move |text, signature| key.verify(text, signature).is_ok()
}

/// Checks that the card has a signature for each form, by one key.
fn check(card: &Value, verify: impl Fn(&[u8], &[u8]) -> bool) -> Value {
    let forms = signed_forms(card).unwrap();
    let signatures = card["signatures"].as_array().unwrap();
    assert_eq!(signatures.len(), forms.len(), "{card}");
    let mut header = Value::Null;
    for (signature, form) in signatures.iter().zip(&forms) {
        let protected = signature["protected"].as_str().unwrap();
        header = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(protected).unwrap()).unwrap();
        let text = format!("{protected}.{}", URL_SAFE_NO_PAD.encode(form));
        let bytes = URL_SAFE_NO_PAD.decode(signature["signature"].as_str().unwrap()).unwrap();
        assert!(verify(text.as_bytes(), &bytes), "{form}");
        assert!(!verify(text.replace('.', ".A").as_bytes(), &bytes));
    }
    header
}

async fn card(app: &App, headers: &str) -> Value {
    app.request("GET", PATH, headers, "").await.json()
}

#[tokio::test]
async fn the_card_of_each_version_is_signed() {
    let (key, private) = key();
    let url = "https://agents.example/keys.json";
    let app = app_with(|server| {
        server.auth(ApiKey::new("a-long-random-text")).sign_cards(signer(&private).key_set_url(url))
    })
    .await;
    for headers in ["", "A2A-Version: 1.0\r\n"] {
        let card = card(&app, headers).await;
        let header = check(&card, verifies(&key));
        assert_eq!(header, json!({ "alg": "ES256", "kid": "key-1", "typ": "JOSE", "jku": url }));
    }
    let (first, again) =
        (app.request("GET", PATH, "", "").await, app.request("GET", PATH, "", "").await);
    assert_eq!(first.header("etag"), again.header("etag"), "the same card has the same signatures");
}

#[tokio::test]
async fn the_card_for_known_callers_is_signed_in_the_form_that_is_sent() {
    let (key, private) = key();
    let skill = AgentSkill { id: "secret".to_owned(), ..AgentSkill::default() };
    let agent = A2aAgent::with_executor("rich", Reply).extended_skill(skill);
    let app = app_with(|server| server.a2a(agent).sign_cards(signer(&private))).await;
    for method in ["GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard"] {
        let card = app.call_agent("rich", method, json!({})).await["result"].clone();
        assert_eq!(card["skills"][1]["id"], "secret");
        check(&card, verifies(&key));
    }
    for path in ["/a2a/rich/extendedAgentCard", "/a2a/rich/v1/card"] {
        check(&app.request("GET", path, "", "").await.json(), verifies(&key));
    }
}

#[tokio::test]
async fn keys_of_other_algorithms_sign_too() {
    let rsa = rsa::KeyPair::generate(rsa::KeySize::Rsa2048).unwrap();
    let der = AsDer::<Pkcs8V1Der<'_>>::as_der(&rsa).unwrap();
    let private = pem("PRIVATE KEY", der.as_ref());
    let signer = CardSigner::new(Algorithm::Rs256, private, "rsa").unwrap();
    let app = app_with(|server| server.sign_cards(signer)).await;
    let header = check(&card(&app, "").await, |text, signature| {
        let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, rsa.public_key().as_ref());
        key.verify(text, signature).is_ok()
    });
    assert_eq!(header["alg"], "RS256");
    let ed = Ed25519KeyPair::generate().unwrap();
    let private = pem("PRIVATE KEY", ed.to_pkcs8().unwrap().as_ref());
    let signer = CardSigner::new(Algorithm::EdDsa, private, "ed").unwrap();
    let app = app_with(|server| server.sign_cards(signer)).await;
    let header = check(&card(&app, "").await, |text, signature| {
        UnparsedPublicKey::new(&ED25519, ed.public_key().as_ref()).verify(text, signature).is_ok()
    });
    assert_eq!(header["alg"], "EdDSA");
}

#[test]
fn what_cannot_sign_is_refused() {
    let (key, private) = key();
    let public = pem("PUBLIC KEY", key.public_key().as_der().unwrap().as_ref());
    assert!(CardSigner::new(Algorithm::Es256, "no key", "k").is_err());
    assert!(CardSigner::new(Algorithm::Es256, &public, "k").is_err(), "a public key");
    assert!(CardSigner::new(Algorithm::Rs256, &private, "k").is_err(), "a key of another kind");
    assert!(CardSigner::new(Algorithm::Es384, &private, "k").is_err(), "a key of another curve");
    assert!(CardSigner::new(Algorithm::Hs256, &private, "k").is_err(), "a secret");
    let shown = format!("{:?}", signer(&private));
    assert!(shown.contains("key-1") && !shown.contains("PRIVATE"), "{shown}");
}
