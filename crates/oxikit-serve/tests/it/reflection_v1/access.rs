//! Requests without the token, from other origins and with other host names are rejected.

use super::app::{Runtime, runtime, runtime_with};
use crate::kit::{Answer, Client};

/// All routes with the methods they take.
const ROUTES: [(&str, &str); 18] = [
    ("/api/__health", "GET"),
    ("/api/__quitquitquit", "GET POST"),
    ("/api/envs", "GET"),
    ("/api/notify", "POST"),
    ("/api/actions", "GET"),
    ("/api/values?type=defaultModel", "GET"),
    ("/api/runAction", "POST"),
    ("/api/cancelAction", "POST"),
    ("/api/agents", "GET"),
    ("/api/agents/customAgent", "GET"),
    ("/api/agents/customAgent/execute", "POST"),
    ("/api/agents/customAgent/streams/s", "GET"),
    ("/api/agents/customAgent/sessions", "GET"),
    ("/api/agents/customAgent/sessions/s", "GET DELETE"),
    ("/api/agents/customAgent/sessions/s/abort", "POST"),
    ("/api/agents/customAgent/sessions/s/tree", "GET"),
    ("/api/agents/customAgent/sessions/s/snapshots/p", "GET"),
    ("/api/nothing", ""),
];

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

async fn send(runtime: &Runtime, method: &str, path: &str, headers: &str) -> Answer {
    let request = format!(
        "{method} {path} HTTP/1.1\r\n{headers}content-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}"
    );
    let mut client = Client::connect(runtime.place().0).await;
    client.send(request).await;
    client.answer_to(method).await.expect("the server answers")
}

/// Wrong tokens are counted: after ten of them within a minute the address has to wait.
#[track_caller]
fn assert_wrong_token(answer: &Answer, method: &str, what: &str) {
    assert!(matches!(answer.status, 401 | 429), "{what}: {}", answer.status);
    assert_unreadable(answer, method, what);
}

#[track_caller]
fn assert_refused(answer: &Answer, method: &str, what: &str) {
    assert_eq!(answer.status, 403, "{what}");
    assert_unreadable(answer, method, what);
}

#[track_caller]
fn assert_unreadable(answer: &Answer, method: &str, what: &str) {
    assert!(answer.header("access-control-allow-origin").is_none(), "{what}");
    if method != "HEAD" {
        answer.assert_error_form();
    }
}

#[tokio::test]
async fn without_the_token_there_is_nothing() {
    let runtime = runtime().await;
    let (_, prefix) = runtime.place();
    let token = prefix.strip_prefix("/s/").unwrap();
    assert!(token.len() == 96 && token.bytes().all(|byte| byte.is_ascii_hexdigit()), "{token}");
    let upper = token.to_ascii_uppercase();
    let wrong = [
        String::new(),
        "/s".to_owned(),
        "/s/".to_owned(),
        format!("/s/{}", &token[1..]),
        format!("/s/{token}0"),
        format!("/s/{upper}"),
        format!("/s/{}", "0".repeat(96)),
        format!("/s//{token}"),
        format!("/S/{token}"),
        format!("/s/%{:x}{}", token.as_bytes()[0], &token[1..]),
        format!("/{token}"),
        format!("/s/x/../{token}"),
    ];
    for (path, _) in ROUTES {
        for method in METHODS {
            for wrong in &wrong {
                let path = format!("{wrong}{path}");
                let answer = send(&runtime, method, &path, "host: localhost\r\n").await;
                assert_wrong_token(&answer, method, &format!("{method} {path}"));
            }
        }
    }
    assert_eq!(runtime.get("/api/__health").await.status, 200);
}

#[tokio::test]
async fn foreign_pages_and_names_are_refused_on_every_route() {
    let runtime = runtime().await;
    let (address, prefix) = runtime.place();
    let port = address.port();
    let strange = [
        "host: evil.example\r\n".to_owned(),
        format!("host: evil.example:{port}\r\n"),
        "host: localhost.\r\n".to_owned(),
        "host: localhost\r\norigin: http://evil.example\r\n".to_owned(),
        "host: localhost\r\norigin: null\r\n".to_owned(),
        format!("host: localhost:{port}\r\norigin: http://localhost:{}\r\n", port ^ 1),
        "host: localhost\r\nsec-fetch-site: cross-site\r\n".to_owned(),
        "host: localhost\r\nsec-fetch-site: same-site\r\n".to_owned(),
    ];
    for (path, _) in ROUTES {
        for method in METHODS {
            for headers in &strange {
                let what = format!("{method} {path} {headers}");
                let answer = send(&runtime, method, &format!("{prefix}{path}"), headers).await;
                assert_refused(&answer, method, &what);
            }
        }
    }
    // The headers that the official tools send.
    let headers = "host: localhost:3155\r\nsec-fetch-mode: cors\r\n";
    let answer = send(&runtime, "GET", &format!("{prefix}/api/__health"), headers).await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn routes_take_their_methods_only() {
    let runtime = runtime().await;
    for (path, methods) in ROUTES {
        for method in METHODS {
            let takes = |method: &str| methods.split(' ').any(|known| known == method);
            if takes(method) || (method == "HEAD" && takes("GET")) {
                continue;
            }
            // The response does not mention the wrong type of the body.
            let typed = "content-type: text/plain\r\n";
            let answer = runtime.ask(method, path, typed, "{}").await;
            let expected = if methods.is_empty() { 404 } else { 405 };
            assert_eq!(answer.status, expected, "{method} {path}");
            if expected == 405 {
                let listed = answer.header("allow").unwrap_or_default().replace(',', " ");
                let listed: Vec<_> =
                    listed.split_whitespace().filter(|method| *method != "HEAD").collect();
                assert_eq!(listed.join(" "), methods, "{method} {path}");
            }
            if method != "HEAD" {
                answer.assert_error_form();
            }
        }
    }
    for path in ["", "/", "/api", "/api/", "/api/runaction", "/api/runAction/", "/index.html"] {
        let answer = runtime.get(path).await;
        answer.assert_error(404, "NOT_FOUND");
    }
}

#[tokio::test]
async fn another_address_needs_the_token_too_and_answers_to_any_name() {
    let runtime = runtime_with(|config| config.host = "0.0.0.0".to_owned()).await;
    let (_, prefix) = runtime.place();
    assert!(runtime.tools.url().unwrap().starts_with("http://127.0.0.1:"));
    let host = "host: box.example\r\n";
    assert_eq!(send(&runtime, "GET", &format!("{prefix}/api/envs"), host).await.status, 200);
    assert_eq!(send(&runtime, "GET", "/api/envs", host).await.status, 401);
    let page = "host: box.example\r\norigin: http://evil.example\r\n";
    assert_eq!(send(&runtime, "GET", &format!("{prefix}/api/envs"), page).await.status, 403);
}

#[tokio::test]
async fn agents_have_their_own_api_behind_the_door() {
    let runtime = runtime().await;
    let body = r#"{"input":{"role":"user","content":[{"text":"hi"}]}}"#;
    let answer = runtime.ask("POST", "/api/agents/customAgent/execute", "", body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let session = answer.json()["result"]["sessionId"].as_str().unwrap().to_owned();
    let sessions = runtime.get("/api/agents/customAgent/sessions").await;
    assert_eq!(sessions.json()["sessions"][0]["sessionId"], *session, "{sessions:?}");
}
