//! Bearer JWTs: what is let in, and the many forms that are not.

use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use aws_lc_rs::{hmac, rsa};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use oxikit::prelude::*;
use oxikit_serve::{Algorithm, JwtAuth, Server};
use serde_json::{Value, json};

use crate::kit::{self, App, post};

pub(crate) const ISSUER: &str = "https://login.example/";
pub(crate) const AUDIENCE: &str = "my-service";

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

pub(crate) fn base64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Issues tokens.
pub(crate) struct Issuer {
    key: EcdsaKeyPair,
}

impl Issuer {
    pub(crate) fn new() -> Self {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        Self { key }
    }

    fn pem(&self) -> String {
        let der = self.key.public_key().as_der().unwrap();
        let text = STANDARD.encode(der.as_ref());
        format!("-----BEGIN PUBLIC KEY-----\n{text}\n-----END PUBLIC KEY-----\n")
    }

    pub(crate) fn jwk(&self, kid: &str) -> Value {
        let point = self.key.public_key().as_ref();
        let (x, y) = (base64(&point[1..33]), base64(&point[33..65]));
        json!({ "kty": "EC", "crv": "P-256", "kid": kid, "x": x, "y": y })
    }

    fn sign_text(&self, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", base64(header), base64(claims));
        let signature = self.key.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
        format!("{message}.{}", base64(signature))
    }

    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        self.sign_text(&header.to_string(), &claims.to_string())
    }
}

pub(crate) fn header() -> Value {
    json!({ "alg": "ES256", "typ": "JWT", "kid": "one" })
}

pub(crate) fn claims() -> Value {
    json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": now() + 600, "role": "admin" })
}

/// The claims with one of them changed, or left out if it is `null`.
pub(crate) fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[name] = value;
    claims
}

fn without(name: &str) -> Value {
    let mut claims = claims();
    claims.as_object_mut().unwrap().remove(name);
    claims
}

fn auth(issuer: &Issuer) -> JwtAuth {
    JwtAuth::new(ISSUER, AUDIENCE).algorithm(Algorithm::Es256).key(&issuer.jwk("one")).unwrap()
}

async fn app(auth: JwtAuth) -> App {
    kit::app_with(|server| server.auth(auth)).await
}

async fn call(app: &App, authorization: &str) -> kit::Answer {
    let line = format!("authorization: {authorization}\r\n");
    app.ask(post("/typed", &line, r#"{"data":{"name":"tea"}}"#)).await
}

#[tokio::test]
async fn good_tokens_are_let_in() {
    let issuer = Issuer::new();
    let app = app(auth(&issuer)).await;
    let no_kid = json!({ "alg": "ES256" });
    let tokens = [
        issuer.sign(&header(), &claims()),
        issuer.sign(&no_kid, &claims()),
        issuer.sign(&header(), &with("aud", json!(["other", AUDIENCE]))),
        issuer.sign(&header(), &with("nbf", json!(now() - 5))),
        // Within the leeway of 30 s.
        issuer.sign(&header(), &with("nbf", json!(now() + 20))),
        issuer.sign(&header(), &with("exp", json!(now() - 20))),
        issuer.sign(&header(), &with("exp", json!((now() + 600) as f64 + 0.5))),
    ];
    for token in &tokens {
        for scheme in ["Bearer ", "bearer ", "BEARER ", "Bearer   "] {
            let answer = call(&app, &format!("{scheme}{token}  ")).await;
            assert_eq!(answer.status, 200, "{scheme}{token}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn actions_see_who_calls_and_not_the_token() {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_flow("who", |_: Value, ctx: Context| async move {
        Ok(json!({ "auth": ctx.auth(), "shown": format!("{:?}", ctx.data()) }))
    });
    let issuer = Issuer::new();
    let auth = auth(&issuer);
    let shown = format!("{auth:?}");
    assert!(shown.contains(ISSUER) && !shown.contains("\"x\""), "{shown}");
    let server = Server::new(&ai).auth(auth).port(0).bind().await.unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(server.run(std::future::pending()));
    let claims = claims();
    let token = issuer.sign(&header(), &claims);
    let mut client = kit::Client::connect(address).await;
    client.send(post("/who", &format!("authorization: Bearer {token}\r\n"), "{}")).await;
    let answer = client.answer().await.unwrap();
    let result = &answer.json()["result"];
    assert_eq!(result["auth"], json!({ "uid": "ada", "token": claims }));
    assert_eq!(result["shown"], r#"{"auth":"<redacted>"}"#);
    assert!(!answer.text().contains(&token));
}

/// Forms of a token that must be rejected, each with its name.
fn bad_tokens(issuer: &Issuer) -> Vec<(String, String)> {
    let good = issuer.sign(&header(), &claims());
    let parts: Vec<_> = good.split('.').collect();
    let (head, body, signature) = (parts[0], parts[1], parts[2]);
    let stranger = Issuer::new();
    let mut forms: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, token: String| forms.push((name.to_owned(), token));

    for name in ["none", "None", "NONE", "nOnE", ""] {
        let header = base64(json!({ "alg": name, "kid": "one" }).to_string());
        add(&format!("alg `{name}` unsigned"), format!("{header}.{body}."));
        add(&format!("alg `{name}` signed"), format!("{header}.{body}.{signature}"));
    }
    for name in ["HS256", "HS384", "RS256", "PS256", "ES384", "ES512", "EdDSA", "es256"] {
        let header = json!({ "alg": name, "kid": "one" });
        add(&format!("alg `{name}`"), issuer.sign(&header, &claims()));
    }
    // The public key is known to all: it must never serve as a secret.
    let pem = issuer.pem();
    let der = issuer.key.public_key().as_der().unwrap();
    let point = issuer.key.public_key().as_ref();
    let secrets: [(&str, &[u8]); 4] =
        [("PEM", pem.as_bytes()), ("DER", der.as_ref()), ("point", point), ("nothing", b"")];
    for (name, secret) in secrets {
        let message = format!("{}.{body}", base64(json!({ "alg": "HS256" }).to_string()));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
        add(&format!("HS256 by {name}"), format!("{message}.{}", base64(tag)));
    }
    add("another key", stranger.sign(&header(), &claims()));
    add("another kid", issuer.sign(&json!({ "alg": "ES256", "kid": "two" }), &claims()));
    add("kid of a path", issuer.sign(&json!({ "alg": "ES256", "kid": "../../one" }), &claims()));
    add("kid of a wrong type", issuer.sign(&json!({ "alg": "ES256", "kid": 1 }), &claims()));
    let own_key = json!({ "alg": "ES256", "jwk": stranger.jwk("one") });
    add("brings its own key", stranger.sign(&own_key, &claims()));
    let own_url = json!({ "alg": "ES256", "kid": "one", "jku": "https://evil.example/jwks" });
    add("brings its own URL", stranger.sign(&own_url, &claims()));
    let critical = json!({ "alg": "ES256", "kid": "one", "crit": ["exp"], "exp": 1 });
    add("critical extension", issuer.sign(&critical, &claims()));
    add("no alg", issuer.sign(&json!({ "kid": "one" }), &claims()));
    add("header is a list", issuer.sign(&json!(["ES256"]), &claims()));

    for name in ["exp", "iss", "aud", "sub"] {
        add(&format!("no {name}"), issuer.sign(&header(), &without(name)));
        add(&format!("{name} is null"), issuer.sign(&header(), &with(name, Value::Null)));
    }
    let wrong = [
        ("exp", json!(now() - 60)),
        ("exp", json!(0)),
        ("exp", json!(-1)),
        ("exp", json!((now() + 600).to_string())),
        ("exp", json!([now() + 600])),
        ("exp", json!({ "at": now() + 600 })),
        ("exp", json!(true)),
        ("exp", json!(1e300)),
        ("nbf", json!(now() + 60)),
        ("nbf", json!((now() - 5).to_string())),
        ("nbf", json!([])),
        ("iss", json!("https://login.example")),
        ("iss", json!("https://LOGIN.example/")),
        ("iss", json!([ISSUER])),
        ("iss", json!(["x", ISSUER])),
        ("iss", json!("")),
        ("aud", json!("my-service ")),
        ("aud", json!("other")),
        ("aud", json!([])),
        ("aud", json!(["other", "another"])),
        ("aud", json!([AUDIENCE, 1])),
        ("aud", json!({ "0": AUDIENCE })),
        ("sub", json!("")),
        ("sub", json!(7)),
        ("sub", json!(["ada"])),
    ];
    for (name, value) in wrong {
        add(&format!("{name} is {value}"), issuer.sign(&header(), &with(name, value)));
    }
    let head_text = header().to_string();
    let twice = format!(r#"{{"exp":1,{}"#, &claims().to_string()[1..]);
    add("exp twice", issuer.sign_text(&head_text, &twice));
    for text in ["", "null", "[]", "\"x\"", "{", "{}x"] {
        add(&format!("claims `{text}`"), issuer.sign_text(&head_text, text));
    }
    let tampered = base64(with("role", json!("root")).to_string());
    add("changed claims", format!("{head}.{tampered}.{signature}"));
    add("cut signature", format!("{head}.{body}.{}", &signature[..signature.len() - 4]));
    add("zero signature", format!("{head}.{body}.{}", base64([0_u8; 64])));
    add("no signature", format!("{head}.{body}."));
    add("two parts", format!("{head}.{body}"));
    add("four parts", format!("{good}.{signature}"));
    add("five parts", format!("{head}.{head}.{body}.{body}.{signature}"));
    add("padding", format!("{good}=="));
    add("not base64", format!("{head}.!!!.{signature}"));
    add("inner space", format!("{head}.{body} .{signature}"));
    add("dots", "..".into());
    add("one dot", ".".into());
    add("a word", "garbage".into());
    add("invalid UTF-8", format!("{}.{body}.{signature}", base64([0xff, 0xfe])));
    add("quoted", format!("\"{good}\""));
    add("two tokens", format!("{good}, {good}"));
    let long = with("more", json!("x".repeat(8 * 1024)));
    add("too long", issuer.sign(&header(), &long));
    forms
}

#[tokio::test]
async fn no_bad_token_is_let_in() {
    let issuer = Issuer::new();
    let by_pem = JwtAuth::new(ISSUER, AUDIENCE).algorithm(Algorithm::Es256);
    let by_pem = by_pem.public_key_pem(issuer.pem()).unwrap();
    for (keys, auth) in [("JWK", auth(&issuer)), ("PEM", by_pem)] {
        let app = app(auth).await;
        let forms = bad_tokens(&issuer);
        assert!(forms.len() >= 60, "{}", forms.len());
        for (name, token) in forms {
            // A key without a name serves any.
            if keys == "PEM" && ["another kid", "kid of a path"].contains(&name.as_str()) {
                continue;
            }
            let answer = call(&app, &format!("Bearer {token}")).await;
            assert_eq!(answer.status, 401, "{keys}, {name}: {answer:?}");
            answer.assert_error(401, "UNAUTHENTICATED");
            let message = answer.json()["message"].as_str().unwrap().to_owned();
            let known =
                ["the token is not valid", "the token has expired", "the token is not valid yet"];
            assert!(known.contains(&message.as_str()), "{name}: {message}");
        }
        assert_eq!(app.effects(), 0);
        assert_eq!(
            call(&app, &format!("Bearer {}", issuer.sign(&header(), &claims()))).await.status,
            200
        );
    }
}

#[tokio::test]
async fn other_ways_to_send_a_token_are_refused() {
    let issuer = Issuer::new();
    let app = app(auth(&issuer)).await;
    let token = issuer.sign(&header(), &claims());
    let heads = [
        String::new(),
        "authorization: \r\n".into(),
        "authorization: Bearer\r\n".into(),
        "authorization: Bearer \r\n".into(),
        format!("authorization: {token}\r\n"),
        format!("authorization: Basic {token}\r\n"),
        format!("authorization: Bearer{token}\r\n"),
        format!("authorization: Bearer: {token}\r\n"),
        format!("authorization: Bearer\t{token}\r\n"),
        format!("authorization: Bearer {token}\r\nauthorization: Bearer {token}\r\n"),
        format!("authorization: Bearer x\r\nauthorization: Bearer {token}\r\n"),
        format!("x-authorization: Bearer {token}\r\n"),
        format!("cookie: token={token}\r\n"),
    ];
    for head in heads {
        let answer = app.ask(post("/echo", &head, "{}")).await;
        assert_eq!(answer.status, 401, "{head}: {answer:?}");
    }
    let in_query = app.ask(post(&format!("/echo?access_token={token}"), "", "{}")).await;
    assert_eq!(in_query.status, 401);
    assert_eq!(app.effects(), 0);
}

#[tokio::test]
async fn rsa_and_shared_secrets_work_and_do_not_mix() {
    let key = rsa::KeyPair::generate(KeySize::Rsa2048).unwrap();
    let der = key.public_key().as_der().unwrap();
    let body = STANDARD.encode(der.as_ref());
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n");
    let by_rsa = app(JwtAuth::new(ISSUER, AUDIENCE).public_key_pem(&pem).unwrap()).await;
    let message = |alg: &str| {
        format!("{}.{}", base64(json!({ "alg": alg }).to_string()), base64(claims().to_string()))
    };
    let rsa_token = |alg: &str| {
        let (message, mut signature) =
            (message(alg), vec![0; RsaKeyPair::public_modulus_len(&key)]);
        key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message.as_bytes(), &mut signature)
            .unwrap();
        format!("{message}.{}", base64(signature))
    };
    let secret = b"a secret of at least thirty-two bytes";
    let hmac_token = |secret: &[u8]| {
        let message = message("HS256");
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
        format!("{message}.{}", base64(tag))
    };
    let by_secret =
        JwtAuth::new(ISSUER, AUDIENCE).algorithm(Algorithm::Hs256).hmac_secret(secret).unwrap();
    let by_secret = app(by_secret).await;

    let check = async |app: &App, token: String, wanted: u16| {
        assert_eq!(call(app, &format!("Bearer {token}")).await.status, wanted, "{token}");
    };
    check(&by_rsa, rsa_token("RS256"), 200).await;
    check(&by_rsa, rsa_token("RS512"), 401).await;
    check(&by_rsa, rsa_token("HS256"), 401).await;
    check(&by_rsa, hmac_token(pem.as_bytes()), 401).await;
    check(&by_rsa, hmac_token(der.as_ref()), 401).await;
    check(&by_secret, hmac_token(secret), 200).await;
    check(&by_secret, hmac_token(b"another secret of thirty-two byte"), 401).await;
    check(&by_secret, rsa_token("RS256"), 401).await;
}

#[test]
fn keys_and_addresses_that_cannot_be_right_are_refused_at_once() {
    let issuer = Issuer::new();
    let auth = || JwtAuth::new(ISSUER, AUDIENCE);
    assert!(auth().public_key_pem(issuer.pem()).is_err(), "an EC key for RS256");
    assert!(auth().key(&issuer.jwk("one")).is_err(), "an EC key for RS256");
    assert!(auth().hmac_secret([7; 64]).is_err(), "a secret for RS256");
    assert!(auth().algorithm(Algorithm::Hs256).hmac_secret("short").is_err());
    assert!(auth().algorithm(Algorithm::Hs256).public_key_pem(issuer.pem()).is_err());
    assert!(auth().algorithm(Algorithm::Hs256).jwks_url("https://login.example/").is_err());
    let secret = json!({ "kty": "oct", "k": base64([7; 64]) });
    assert!(auth().algorithm(Algorithm::Hs256).key(&secret).is_err());
    for url in [
        "http://login.example/jwks",
        "ftp://login.example/jwks",
        "file:///etc/passwd",
        "https://user:pass@login.example/jwks",
        "https://user@login.example/jwks",
        "http://localhost.evil.example/jwks",
        "http://127.0.0.1.evil.example/jwks",
        "https://10.0.0.1/jwks",
        "https://192.168.1.1/jwks",
        "https://169.254.169.254/jwks",
        "https://0.0.0.0/jwks",
        "https://0xa000001/jwks",
        "https://[fd00::1]/jwks",
        "https://[::ffff:10.0.0.1]/jwks",
        "https://[64:ff9b::10.0.0.1]/jwks",
        "//login.example/jwks",
        "login.example",
        "",
    ] {
        assert!(auth().jwks_url(url).is_err(), "{url}");
    }
    for url in [
        "https://login.example/jwks",
        "http://127.0.0.1:1/",
        "http://[::1]:1/",
        "http://localhost/",
        "https://127.0.0.1:1/",
        "https://localhost/",
        "https://8.8.8.8/jwks",
    ] {
        assert!(auth().jwks_url(url).is_ok(), "{url}");
    }
    let private = || auth().allow_private_host("10.0.0.1");
    assert!(private().jwks_url("https://10.0.0.1/jwks").is_ok());
    assert!(private().jwks_url("https://10.0.0.2/jwks").is_err());
    assert!(private().jwks_url("http://10.0.0.1/jwks").is_err());
    assert!(auth().allow_http_host("10.0.0.1").jwks_url("http://10.0.0.1/jwks").is_ok());
    assert!(auth().allow_http_host("login.local").jwks_url("http://login.local/jwks").is_ok());
}
