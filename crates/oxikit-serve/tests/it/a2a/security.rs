//! The security schemes: what a card declares is what requests are checked by.

mod certificates;
mod combined;
mod keys;
mod tokens;

use axum::Router;
use axum::http::Uri;
use oxikit_serve::{ContextProvider, Limits};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::kit::{App, app_with};

const KEY: &str = "a-long-random-text";

/// Credentials, and the answer to a request with them.
struct Case {
    name: &'static str,
    headers: String,
    query: String,
    status: u16,
    /// The header `WWW-Authenticate` of the answer.
    challenge: Option<&'static str>,
}

fn accepted(name: &'static str, headers: impl Into<String>) -> Case {
    Case { name, headers: headers.into(), query: String::new(), status: 200, challenge: None }
}

fn unknown(name: &'static str, headers: impl Into<String>, challenge: &'static str) -> Case {
    Case { status: 401, challenge: Some(challenge), ..accepted(name, headers) }
}

fn denied(name: &'static str, headers: impl Into<String>, challenge: Option<&'static str>) -> Case {
    Case { status: 403, challenge, ..accepted(name, headers) }
}

/// Sends a request with each of the credentials, over both bindings and in both versions.
async fn check(auth: impl ContextProvider + 'static, cases: &[Case]) -> App {
    // All cases are asked from one address.
    let mut limits = Limits::default();
    limits.wrong_keys = 1000;
    let app = app_with(|server| server.auth(auth).limits(limits)).await;
    for case in cases {
        for (method, version) in [("GetTask", "1.0"), ("tasks/get", "0.3")] {
            check_rpc(&app, case, method, version).await;
        }
        for path in ["tasks", "v1/tasks"] {
            check_rest(&app, case, path).await;
        }
    }
    app
}

async fn check_rpc(app: &App, case: &Case, method: &str, version: &str) {
    let what = format!("{} over JSON-RPC {version}", case.name);
    let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": { "id": "no" } });
    let headers =
        format!("Content-Type: application/json\r\nA2A-Version: {version}\r\n{}", case.headers);
    let path = format!("/a2a/script{}", case.query);
    let answer = app.request("POST", &path, &headers, &body.to_string()).await;
    assert_eq!(answer.status, case.status, "{what}: {}", answer.text());
    assert_eq!(answer.header("www-authenticate"), case.challenge, "{what}");
    let response: Value = serde_json::from_slice(&answer.body).unwrap();
    // A caller who is let in hears that there is no such task.
    let (code, id) = if case.status == 200 { (-32001, json!(7)) } else { (-32600, Value::Null) };
    assert_eq!((&response["error"]["code"], &response["id"]), (&json!(code), &id), "{what}");
}

async fn check_rest(app: &App, case: &Case, path: &str) {
    let what = format!("{} at {path}", case.name);
    let path = format!("/a2a/script/{path}{}", case.query);
    let answer = app.request("GET", &path, &case.headers, "").await;
    assert_eq!(answer.status, case.status, "{what}: {}", answer.text());
    assert_eq!(answer.header("www-authenticate"), case.challenge, "{what}");
    let response: Value = serde_json::from_slice(&answer.body).unwrap();
    match case.status {
        200 => assert_eq!(response["tasks"], json!([]), "{what}"),
        _ if path.contains("/v1/") => assert_eq!(response["code"], -32600, "{what}"),
        status => assert_eq!(response["error"]["code"], status, "{what}"),
    }
}

/// The schemes and the requirements of the card, in the shapes of 0.3 and 1.0.
async fn declared(app: &App) -> [(Value, Value); 2] {
    let card = async |headers: &str| {
        let answer = app.request("GET", "/.well-known/agent-card.json", headers, "").await;
        serde_json::from_slice::<Value>(&answer.body).unwrap()
    };
    let (mut old, mut new) = (card("").await, card("A2A-Version: 1.0\r\n").await);
    [
        (old["securitySchemes"].take(), old["security"].take()),
        (new["securitySchemes"].take(), new["securityRequirements"].take()),
    ]
}

/// Serves documents by their paths; the address.
async fn issuer_with(
    documents: impl Fn(&str, &str) -> Option<Value> + Send + Sync + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let own = url.clone();
    let documents = std::sync::Arc::new(documents);
    let router = Router::new().fallback(move |uri: Uri| {
        let document = documents(&own, uri.path());
        async move {
            match document {
                Some(document) => Ok(document.to_string()),
                None => Err(axum::http::StatusCode::NOT_FOUND),
            }
        }
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}
