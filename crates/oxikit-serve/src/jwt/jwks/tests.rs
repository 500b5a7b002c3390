#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicUsize, Ordering};

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use axum::Router;
use axum::extract::State as Shared;
use axum::http::StatusCode as Http;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use tokio::net::TcpListener;

use super::*;

/// An issuer whose key set can be changed.
#[derive(Clone)]
struct Issuer(Arc<Desk>);

struct Desk {
    url: std::sync::OnceLock<String>,
    answer: Mutex<(Http, String)>,
    delay: Mutex<Duration>,
    asked: AtomicUsize,
}

impl Issuer {
    async fn new(kids: &[&str]) -> Self {
        let issuer = Self(Arc::new(Desk {
            url: Default::default(),
            answer: Mutex::new((Http::OK, String::new())),
            delay: Mutex::default(),
            asked: AtomicUsize::new(0),
        }));
        issuer.publish(kids);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        issuer.0.url.set(format!("http://{}/jwks", listener.local_addr().unwrap())).unwrap();
        let router = Router::new().fallback(answer).with_state(issuer.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        issuer
    }

    fn publish(&self, kids: &[&str]) {
        let keys: Vec<_> = kids.iter().map(|kid| public_jwk(kid)).collect();
        self.say(Http::OK, json!({ "keys": keys }).to_string());
    }

    fn say(&self, status: Http, body: impl Into<String>) {
        *self.0.answer.lock().unwrap() = (status, body.into());
    }

    fn asked(&self) -> usize {
        self.0.asked.load(Ordering::SeqCst)
    }

    fn keys(&self, timing: Timing) -> Jwks {
        Jwks::with_timing(self.0.url.get().unwrap(), Algorithm::Es256, &[], timing).unwrap()
    }
}

async fn answer(Shared(issuer): Shared<Issuer>) -> axum::response::Response {
    issuer.0.asked.fetch_add(1, Ordering::SeqCst);
    let delay = *issuer.0.delay.lock().unwrap();
    tokio::time::sleep(delay).await;
    let (status, body) = issuer.0.answer.lock().unwrap().clone();
    let mut response = axum::response::Response::new(body.into());
    *response.status_mut() = status;
    if status.is_redirection() {
        let to = axum::http::HeaderValue::from_str(issuer.0.url.get().unwrap()).unwrap();
        response.headers_mut().insert("location", to);
    }
    response
}

fn public_jwk(kid: &str) -> Value {
    let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
    let point = key.public_key().as_ref();
    let part = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let (x, y) = (part(&point[1..33]), part(&point[33..65]));
    json!({ "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": kid, "x": x, "y": y })
}

const SHORT: Timing = Timing { interval: Duration::from_millis(50), ..TIMING };

async fn knows(keys: &Jwks, kid: &str) -> bool {
    keys.find(Some(kid)).await.unwrap().is_some()
}

#[tokio::test]
async fn a_known_key_is_fetched_once() {
    let issuer = Issuer::new(&["a"]).await;
    let keys = issuer.keys(TIMING);
    for _ in 0..10 {
        assert!(knows(&keys, "a").await);
    }
    assert!(keys.find(None).await.unwrap().is_some(), "the only key needs no name");
    assert_eq!(issuer.asked(), 1);
}

#[tokio::test]
async fn unknown_names_do_not_hammer_the_issuer() {
    let issuer = Issuer::new(&["a"]).await;
    let keys = Arc::new(issuer.keys(TIMING));
    *issuer.0.delay.lock().unwrap() = Duration::from_millis(100);
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..200 {
        let keys = keys.clone();
        tasks.spawn(async move { knows(&keys, &format!("made-up-{number}")).await });
    }
    assert!(tasks.join_all().await.iter().all(|known| !known));
    assert!(knows(&keys, "a").await);
    assert_eq!(issuer.asked(), 1);
}

#[tokio::test]
async fn a_new_key_is_found_after_the_interval_and_an_old_one_is_gone() {
    let issuer = Issuer::new(&["a"]).await;
    let keys = issuer.keys(SHORT);
    assert!(knows(&keys, "a").await);
    issuer.publish(&["b"]);
    tokio::time::sleep(SHORT.interval).await;
    assert!(knows(&keys, "b").await);
    assert!(!knows(&keys, "a").await);
    assert_eq!(issuer.asked(), 2);
}

#[tokio::test]
async fn a_caller_who_leaves_does_not_end_the_fetch_of_the_others() {
    let issuer = Issuer::new(&["a"]).await;
    let keys = issuer.keys(TIMING);
    *issuer.0.delay.lock().unwrap() = Duration::from_millis(50);
    let gave_up = tokio::time::timeout(Duration::from_millis(5), keys.find(Some("a"))).await;
    assert!(gave_up.is_err());
    assert!(knows(&keys, "a").await);
    assert_eq!(issuer.asked(), 1);
}

#[tokio::test]
async fn old_keys_stay_good_for_a_while_when_the_issuer_is_away() {
    let issuer = Issuer::new(&["a"]).await;
    let fresh = Duration::from_millis(50);
    let stale = Duration::from_millis(400);
    let keys = issuer.keys(Timing { interval: Duration::ZERO, fresh, stale });
    assert!(knows(&keys, "a").await);
    issuer.say(Http::INTERNAL_SERVER_ERROR, "away");
    tokio::time::sleep(fresh).await;
    assert!(knows(&keys, "a").await, "stale and still good");
    tokio::time::sleep(stale).await;
    let status = keys.find(Some("a")).await.err().unwrap();
    assert_eq!(status.code(), StatusCode::Unavailable);
    issuer.publish(&["a"]);
    assert!(knows(&keys, "a").await, "back again");
}

#[tokio::test]
async fn what_is_not_a_key_set_is_unavailable() {
    let large = format!(r#"{{"keys":[],"x":"{}"}}"#, "x".repeat(SIZE_LIMIT));
    for (status, body) in [
        (Http::OK, "<html>"),
        (Http::OK, "[]"),
        (Http::OK, r#"{"keys":{}}"#),
        (Http::OK, large.as_str()),
        (Http::NOT_FOUND, r#"{"keys":[]}"#),
        (Http::TEMPORARY_REDIRECT, r#"{"keys":[]}"#),
    ] {
        let issuer = Issuer::new(&[]).await;
        issuer.say(status, body);
        let keys = issuer.keys(TIMING);
        for _ in 0..3 {
            let error = keys.find(Some("a")).await.err().unwrap();
            assert_eq!(error.code(), StatusCode::Unavailable);
        }
        assert_eq!(issuer.asked(), 1, "{status} is neither followed nor tried again");
    }
}

#[tokio::test]
async fn an_issuer_that_is_down_is_unavailable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let keys = Jwks::new(&url, Algorithm::Es256, &[]).unwrap();
    assert_eq!(keys.find(Some("a")).await.err().unwrap().code(), StatusCode::Unavailable);
}

#[tokio::test]
async fn keys_for_other_things_are_left_out() {
    let issuer = Issuer::new(&[]).await;
    let changed = |kid: &str, name: &str, value: Value| {
        let mut key = public_jwk(kid);
        key[name] = value;
        key
    };
    let set = json!({ "keys": [
        changed("encrypts", "use", json!("enc")),
        changed("other-alg", "alg", json!("ES384")),
        changed("other-curve", "crv", json!("P-384")),
        changed("unknown-kind", "kty", json!("X")),
        { "kty": "oct", "kid": "secret", "k": "c2VjcmV0" },
        17,
        public_jwk("good"),
    ]});
    issuer.say(Http::OK, set.to_string());
    let keys = issuer.keys(TIMING);
    for kid in ["encrypts", "other-alg", "other-curve", "unknown-kind", "secret"] {
        assert!(!knows(&keys, kid).await, "{kid}");
    }
    assert!(knows(&keys, "good").await);
}
