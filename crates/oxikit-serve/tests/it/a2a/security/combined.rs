//! Several schemes: one of them, or all of them.

use oxikit::prelude::*;
use oxikit_serve::{Algorithm, AllOf, AnyOf, ApiKey, JwtAuth, Server};
use serde_json::json;

use super::{KEY, accepted, check, declared, denied, unknown};
use crate::jwt::{AUDIENCE, ISSUER, Issuer, header, now, with};
use crate::kit::{Client, post};

fn tokens(issuer: &Issuer) -> JwtAuth {
    JwtAuth::new(ISSUER, AUDIENCE).algorithm(Algorithm::Es256).key(&issuer.jwk("one")).unwrap()
}

fn keys() -> ApiKey {
    ApiKey::new(KEY).in_header("x-key")
}

#[tokio::test]
async fn one_of_several() {
    let issuer = Issuer::new();
    let sign = |name: &str, value: Value| {
        format!("authorization: Bearer {}\r\n", issuer.sign(&header(), &with(name, value)))
    };
    let (key, token) = (format!("x-key: {KEY}\r\n"), sign("scope", json!("read")));
    let expired = sign("exp", json!(now() - 60));
    let app = check(
        AnyOf::new(keys()).or(tokens(&issuer).require_scope("read")),
        &[
            accepted("the key", &key),
            accepted("the token", &token),
            accepted("both", format!("{key}{token}")),
            accepted("the key beside a bad token", format!("{key}{expired}")),
            accepted("the token beside a wrong key", format!("x-key: wrong\r\n{token}")),
            unknown("none", "", r#"ApiKey in="header", name="x-key", Bearer"#),
            unknown(
                "a bad token",
                &expired,
                r#"ApiKey in="header", name="x-key", Bearer error="invalid_token""#,
            ),
            denied("a wrong key", "x-key: wrong\r\n", None),
            denied(
                "no scope",
                sign("role", json!("user")),
                Some(r#"Bearer error="insufficient_scope", scope="read""#),
            ),
        ],
    )
    .await;
    let [(old, security), (_, requirements)] = declared(&app).await;
    assert_eq!(
        (&old["apiKey"]["type"], &old["bearer"]["type"]),
        (&json!("apiKey"), &json!("http"))
    );
    assert_eq!(security, json!([{ "apiKey": [] }, { "bearer": ["read"] }]));
    assert_eq!(
        requirements,
        json!([{ "schemes": { "apiKey": { "list": [] } } }, { "schemes": { "bearer": { "list": ["read"] } } }])
    );
}

#[tokio::test]
async fn all_of_several() {
    let issuer = Issuer::new();
    let sign = |name: &str, value: Value| {
        format!("authorization: Bearer {}\r\n", issuer.sign(&header(), &with(name, value)))
    };
    let (key, token) = (format!("x-key: {KEY}\r\n"), sign("role", json!("user")));
    let challenge = r#"ApiKey in="header", name="x-key""#;
    let app = check(
        AllOf::new(keys()).and(tokens(&issuer)),
        &[
            accepted("both", format!("{key}{token}")),
            unknown("none", "", challenge),
            unknown("only the token", &token, challenge),
            unknown("only the key", &key, "Bearer"),
            denied("a wrong key", format!("x-key: wrong\r\n{token}"), None),
            unknown(
                "an expired token",
                format!("{key}{}", sign("exp", json!(now() - 60))),
                r#"Bearer error="invalid_token""#,
            ),
        ],
    )
    .await;
    let [(_, security), (_, requirements)] = declared(&app).await;
    assert_eq!(security, json!([{ "apiKey": [], "bearer": [] }]));
    assert_eq!(
        requirements,
        json!([{ "schemes": { "apiKey": { "list": [] }, "bearer": { "list": [] } } }])
    );
}

#[tokio::test]
async fn actions_see_what_all_providers_found() {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_flow("who", |_: Value, ctx: Context| async move { Ok(ctx.auth().cloned()) });
    let issuer = Issuer::new();
    let auth =
        AllOf::new(tokens(&issuer)).and(ApiKey::new("x").caller("gateway", KEY).in_header("x-key"));
    let server = Server::new(&ai).auth(auth).port(0).bind().await.unwrap();
    let mut client = Client::connect(server.local_addr().unwrap()).await;
    tokio::spawn(server.run(std::future::pending()));
    let token = issuer.sign(&header(), &with("role", json!("user")));
    let headers = format!("x-key: {KEY}\r\nauthorization: Bearer {token}\r\n");
    client.send(post("/who", &headers, "{}")).await;
    let auth = client.answer().await.unwrap().json()["result"].clone();
    assert_eq!((&auth["uid"], &auth["apiKey"]), (&json!("ada"), &json!(KEY)), "{auth}");
    assert_eq!(auth["token"]["role"], "user");
}

#[tokio::test]
async fn the_openapi_document_lists_all_schemes() {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_flow("greet", |name: String| async move { Ok(name) });
    let issuer = Issuer::new();
    let auth = AnyOf::new(keys()).or(tokens(&issuer).require_scope("read"));
    let server = Server::new(&ai).auth(auth).port(0).bind().await.unwrap();
    let mut client = Client::connect(server.local_addr().unwrap()).await;
    tokio::spawn(server.run(std::future::pending()));
    client
        .send(format!("GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nx-key: {KEY}\r\n\r\n"))
        .await;
    let document = client.answer().await.unwrap().json();
    let schemes = &document["components"]["securitySchemes"];
    assert_eq!(
        (&schemes["caller.apiKey"]["in"], &schemes["caller.bearer"]["scheme"]),
        (&json!("header"), &json!("bearer"))
    );
    assert_eq!(
        document["security"],
        json!([{ "caller.apiKey": [] }, { "caller.bearer": ["read"] }])
    );
}

#[tokio::test]
async fn a_token_that_has_expired_beside_a_right_key_is_not_counted_as_a_wrong_key() {
    let issuer = Issuer::new();
    let mut limits = oxikit_serve::Limits::default();
    limits.wrong_keys = 1;
    let auth = AllOf::new(keys()).and(tokens(&issuer));
    let app = super::app_with(|server| server.auth(auth).limits(limits)).await;
    let token = issuer.sign(&header(), &with("exp", json!(now() - 60)));
    let ask = async |key: &str| {
        let headers = format!("x-key: {key}\r\nauthorization: Bearer {token}\r\n");
        app.request("GET", "/a2a/script/tasks", &headers, "").await.status
    };
    for _ in 0..3 {
        assert_eq!(ask(KEY).await, 401);
    }
    assert_eq!((ask("wrong").await, ask("wrong").await), (403, 429));
}
