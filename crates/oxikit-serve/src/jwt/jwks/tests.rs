#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use axum::Router;
use axum::extract::State as Shared;
use axum::http::StatusCode as Http;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use oxikit_outgoing::Resolver;
use serde_json::json;
use tokio::net::TcpListener;

use super::*;

/// An issuer whose key set can be changed.
#[derive(Clone)]
struct Issuer(Arc<IssuerState>);

struct IssuerState {
    url: std::sync::OnceLock<String>,
    answer: Mutex<(Http, String)>,
    delay: Mutex<Duration>,
    requests: AtomicUsize,
}

impl Issuer {
    async fn new(kids: &[&str]) -> Self {
        let issuer = Self(Arc::new(IssuerState {
            url: Default::default(),
            answer: Mutex::new((Http::OK, String::new())),
            delay: Mutex::default(),
            requests: AtomicUsize::new(0),
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
        self.set_answer(Http::OK, json!({ "keys": keys }).to_string());
    }

    fn set_answer(&self, status: Http, body: impl Into<String>) {
        *self.0.answer.lock().unwrap() = (status, body.into());
    }

    fn requests(&self) -> usize {
        self.0.requests.load(Ordering::SeqCst)
    }

    fn keys(&self, timing: Timing) -> Jwks {
        let url = Url::parse(self.0.url.get().unwrap()).unwrap();
        let client = OutgoingClient::new(policy_for(&url, OutgoingPolicy::default())).unwrap();
        Jwks::with_client(Source::Keys(url), Algorithm::Es256, client, timing)
    }
}

async fn answer(Shared(issuer): Shared<Issuer>) -> axum::response::Response {
    issuer.0.requests.fetch_add(1, Ordering::SeqCst);
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
    assert_eq!(issuer.requests(), 1);
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
    assert_eq!(issuer.requests(), 1);
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
    assert_eq!(issuer.requests(), 2);
}

#[tokio::test]
async fn a_caller_who_leaves_does_not_end_the_fetch_of_the_others() {
    let issuer = Issuer::new(&["a"]).await;
    let keys = issuer.keys(TIMING);
    *issuer.0.delay.lock().unwrap() = Duration::from_millis(50);
    let gave_up = tokio::time::timeout(Duration::from_millis(5), keys.find(Some("a"))).await;
    assert!(gave_up.is_err());
    assert!(knows(&keys, "a").await);
    assert_eq!(issuer.requests(), 1);
}

#[tokio::test]
async fn old_keys_stay_good_for_a_while_when_the_issuer_is_away() {
    let issuer = Issuer::new(&["a"]).await;
    let fresh = Duration::from_millis(50);
    let stale = Duration::from_millis(400);
    let keys = issuer.keys(Timing { interval: Duration::ZERO, fresh, stale });
    assert!(knows(&keys, "a").await);
    issuer.set_answer(Http::INTERNAL_SERVER_ERROR, "away");
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
        issuer.set_answer(status, body);
        let keys = issuer.keys(TIMING);
        for _ in 0..3 {
            let error = keys.find(Some("a")).await.err().unwrap();
            assert_eq!(error.code(), StatusCode::Unavailable);
        }
        assert_eq!(issuer.requests(), 1, "{status} is neither followed nor tried again");
    }
}

#[tokio::test]
async fn an_issuer_that_is_down_is_unavailable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let keys = Jwks::new(&url, Algorithm::Es256, OutgoingPolicy::default()).unwrap();
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
    issuer.set_answer(Http::OK, set.to_string());
    let keys = issuer.keys(TIMING);
    for kid in ["encrypts", "other-alg", "other-curve", "unknown-kind", "secret"] {
        assert!(!knows(&keys, kid).await, "{kid}");
    }
    assert!(knows(&keys, "good").await);
}

/// A name server that knows this machine by every name.
struct LoopbackDns;

#[async_trait::async_trait]
impl Resolver for LoopbackDns {
    async fn resolve(&self, _: &str) -> std::io::Result<Vec<IpAddr>> {
        Ok(vec![IpAddr::from([127, 0, 0, 1])])
    }
}

/// The key set of an issuer whose name leads to this machine.
fn keys_by_name(port: u16, policy: OutgoingPolicy) -> Jwks {
    let url = Url::parse(&format!("https://login.example:{port}/jwks")).unwrap();
    let policy = policy_for(&url, policy);
    let client = OutgoingClient::with_resolver(policy, Arc::new(LoopbackDns)).unwrap();
    Jwks::with_client(Source::Keys(url), Algorithm::Es256, client, TIMING)
}

#[tokio::test]
async fn the_name_of_an_issuer_does_not_lead_to_this_machine() {
    let canary = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    canary.set_nonblocking(true).unwrap();
    let keys = keys_by_name(canary.local_addr().unwrap().port(), OutgoingPolicy::default());
    let status = keys.find(Some("a")).await.err().unwrap();
    assert_eq!(status.code(), StatusCode::Unavailable);
    let connection = canary.accept().map(|_| ()).unwrap_err();
    assert_eq!(connection.kind(), std::io::ErrorKind::WouldBlock, "nobody has connected");
}

#[tokio::test]
async fn an_allowed_issuer_may_have_a_private_address() {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let policy = OutgoingPolicy::default().allow_host("login.example");
    let keys = keys_by_name(server.local_addr().unwrap().port(), policy);
    tokio::select! {
        connection = server.accept() => drop(connection.unwrap()),
        _ = keys.find(Some("a")) => panic!("the fetch ended without a connection"),
    }
}
