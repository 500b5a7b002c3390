//! Bearer tokens: declared as such, by OAuth 2.0, and by OpenID Connect.

use oxikit_serve::{Algorithm, JwtAuth, OAuthFlow, OAuthFlows};
use serde_json::{Value, json};

use super::super::kit::{App, app_with};
use super::{Case, accepted, check, declared, denied, issuer_with, unknown};
use crate::jwt::{AUDIENCE, ISSUER, Issuer, claims, header, now, with};

const INVALID: &str = r#"Bearer error="invalid_token""#;

fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}\r\n")
}

/// What every kind of token check accepts and refuses.
fn cases(issuer: &Issuer, claims: impl Fn(&str, Value) -> Value) -> Vec<Case> {
    let sign = |name: &str, value: Value| bearer(&issuer.sign(&header(), &claims(name, value)));
    let good = sign("role", json!("user"));
    let other = bearer(&Issuer::new().sign(&header(), &claims("role", json!("user"))));
    vec![
        accepted("a token", &good),
        unknown("no token", "", "Bearer"),
        unknown("another scheme", good.replace("Bearer", "Basic"), "Bearer"),
        unknown("not a token", bearer("x.y.z"), INVALID),
        unknown("a token of another key", other, INVALID),
        unknown("an expired token", sign("exp", json!(now() - 60)), INVALID),
        unknown("another audience", sign("aud", json!("other")), INVALID),
        unknown("another issuer", sign("iss", json!("https://other.example/")), INVALID),
        unknown("no subject", sign("sub", json!("")), INVALID),
    ]
}

fn auth(issuer: &Issuer) -> JwtAuth {
    JwtAuth::new(ISSUER, AUDIENCE).algorithm(Algorithm::Es256).key(&issuer.jwk("one")).unwrap()
}

#[tokio::test]
async fn a_bearer_token() {
    let issuer = Issuer::new();
    let app = check(auth(&issuer), &cases(&issuer, with)).await;
    let [(old, security), (new, _)] = declared(&app).await;
    assert_eq!(
        old,
        json!({ "bearer": { "type": "http", "scheme": "bearer", "bearerFormat": "JWT" } })
    );
    assert_eq!(security, json!([{ "bearer": [] }]));
    assert_eq!(new["bearer"]["httpAuthSecurityScheme"]["bearerFormat"], "JWT");
}

fn flow(scopes: &[(&str, &str)]) -> OAuthFlow {
    OAuthFlow {
        token_url: Some("https://login.example/token".to_owned()),
        refresh_url: Some("https://login.example/refresh".to_owned()),
        scopes: scopes
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect(),
        ..OAuthFlow::default()
    }
}

#[tokio::test]
async fn oauth_2_with_scopes() {
    let issuer = Issuer::new();
    let scopes = [("tasks:read", "Read"), ("tasks:write", "Write")];
    let code = OAuthFlow {
        authorization_url: Some("https://login.example/authorize".to_owned()),
        ..flow(&scopes)
    };
    let flows = OAuthFlows {
        authorization_code: Some(code),
        client_credentials: Some(flow(&scopes)),
        ..OAuthFlows::default()
    };
    let auth = auth(&issuer).oauth2(flows).require_scope("tasks:read").require_scope("tasks:write");
    let scoped = |name: &str, value: Value| {
        let mut claims = with("scope", json!("openid tasks:write tasks:read"));
        claims[name] = value;
        claims
    };
    let mut cases = cases(&issuer, scoped);
    let sign = |claims: Value| bearer(&issuer.sign(&header(), &claims));
    cases.push(accepted(
        "scopes as a list",
        sign(with("scp", json!(["tasks:read", "tasks:write"]))),
    ));
    cases.push(accepted("scp as a text", sign(with("scp", json!("tasks:read tasks:write")))));
    let missing = Some(r#"Bearer error="insufficient_scope", scope="tasks:read tasks:write""#);
    cases.push(denied("no scope", sign(claims()), missing));
    cases.push(denied("one of two", sign(with("scope", json!("tasks:read"))), missing));
    cases.push(denied("a part", sign(with("scope", json!("tasks:read tasks:writer"))), missing));
    cases.push(denied("a number", sign(with("scope", json!(7))), missing));
    let app = check(auth, &cases).await;
    let [(old, security), (new, requirements)] = declared(&app).await;
    let urls = json!({
        "tokenUrl": "https://login.example/token", "refreshUrl": "https://login.example/refresh",
        "scopes": { "tasks:read": "Read", "tasks:write": "Write" },
    });
    let mut code = urls.clone();
    code["authorizationUrl"] = json!("https://login.example/authorize");
    let flows = json!({ "authorizationCode": code, "clientCredentials": urls });
    assert_eq!(old, json!({ "oauth2": { "type": "oauth2", "flows": flows } }));
    assert_eq!(security, json!([{ "oauth2": ["tasks:read", "tasks:write"] }]));
    // Version 1.0 has one flow in a scheme.
    let flows = json!({ "authorizationCode": flows["authorizationCode"] });
    assert_eq!(new, json!({ "oauth2": { "oauth2SecurityScheme": { "flows": flows } } }));
    assert_eq!(requirements[0]["schemes"]["oauth2"]["list"], json!(["tasks:read", "tasks:write"]));
}

#[tokio::test]
async fn the_device_code_is_only_declared_in_1_0() {
    let device = OAuthFlow {
        device_authorization_url: Some("https://login.example/device".to_owned()),
        ..flow(&[])
    };
    let flows = OAuthFlows { device_code: Some(device), ..OAuthFlows::default() };
    let auth = auth(&Issuer::new()).oauth2(flows);
    let app = app_with(|server| server.auth(auth)).await;
    let [(old, _), (new, _)] = declared(&app).await;
    assert_eq!(old["oauth2"]["flows"], json!({}));
    let device = &new["oauth2"]["oauth2SecurityScheme"]["flows"]["deviceCode"];
    assert_eq!(device["deviceAuthorizationUrl"], "https://login.example/device");
}

/// An issuer with a configuration, which names `named` in place of its own address.
async fn provider(issuer: &Issuer, named: Option<&'static str>) -> String {
    let keys = json!({ "keys": [issuer.jwk("one")] });
    issuer_with(move |own, path| match path {
        "/.well-known/openid-configuration" => {
            Some(json!({ "issuer": named.unwrap_or(own), "jwks_uri": format!("{own}/keys") }))
        }
        "/keys" => Some(keys.clone()),
        _ => None,
    })
    .await
}

#[tokio::test]
async fn openid_connect() {
    let issuer = Issuer::new();
    let url = provider(&issuer, None).await;
    let auth = JwtAuth::new(&url, AUDIENCE).algorithm(Algorithm::Es256).openid_connect().unwrap();
    let of_issuer = |name: &str, value: Value| {
        let mut claims = with("iss", json!(url));
        claims["scope"] = json!("openid email");
        claims[name] = value;
        claims
    };
    let mut cases = cases(&issuer, of_issuer);
    let no_scope = bearer(&issuer.sign(&header(), &of_issuer("scope", json!("email"))));
    let missing = r#"Bearer error="insufficient_scope", scope="openid""#;
    cases.push(denied("no scope", no_scope, Some(missing)));
    let app = check(auth.require_scope("openid"), &cases).await;
    let [(old, security), (new, _)] = declared(&app).await;
    let configuration = format!("{url}/.well-known/openid-configuration");
    assert_eq!(
        old["openIdConnect"],
        json!({ "type": "openIdConnect", "openIdConnectUrl": configuration })
    );
    assert_eq!(security, json!([{ "openIdConnect": ["openid"] }]));
    let scheme = &new["openIdConnect"]["openIdConnectSecurityScheme"];
    assert_eq!(scheme["openIdConnectUrl"], configuration);
}

async fn status(app: &App, token: &str) -> u16 {
    app.request("GET", "/a2a/script/tasks", &bearer(token), "").await.status
}

#[tokio::test]
async fn a_configuration_of_another_issuer_is_not_used() {
    let issuer = Issuer::new();
    for named in ["https://login.example", "http://127.0.0.1:1"] {
        let url = provider(&issuer, Some(named)).await;
        let auth = JwtAuth::new(&url, AUDIENCE).algorithm(Algorithm::Es256);
        let app = app_with(|server| server.auth(auth.openid_connect().unwrap())).await;
        let token = issuer.sign(&header(), &with("iss", json!(url)));
        assert_eq!(status(&app, &token).await, 503, "{named}");
    }
}

#[tokio::test]
async fn what_is_not_a_configuration_is_not_used() {
    let issuer = Issuer::new();
    for document in [None, Some(json!({})), Some(json!({ "issuer": "x", "jwks_uri": 7 }))] {
        let url = issuer_with(move |_, _| document.clone()).await;
        let auth = JwtAuth::new(&url, AUDIENCE).algorithm(Algorithm::Es256);
        let app = app_with(|server| server.auth(auth.openid_connect().unwrap())).await;
        let token = issuer.sign(&header(), &with("iss", json!(url)));
        assert_eq!(status(&app, &token).await, 503);
    }
}

#[test]
fn the_url_of_an_issuer_is_checked() {
    let auth = |issuer: &str| JwtAuth::new(issuer, AUDIENCE);
    for url in
        ["http://login.example", "not a url", "https://user:pass@login.example", "https://10.0.0.1"]
    {
        assert!(auth(url).openid_connect().is_err(), "{url}");
    }
    let symmetric = auth("https://login.example").algorithm(Algorithm::Hs256);
    assert!(symmetric.openid_connect().is_err());
    assert!(auth("https://login.example/tenant/").openid_connect().is_ok());
}
