//! The server's own pages.

use oxikit::prelude::*;
use oxikit_serve::{ApiKey, Expose, Server};
use serde_json::json;
use tokio::net::TcpStream;

use crate::kit::{self, Answer, App, Client, post};
use crate::log::Log;

const PAGES: [&str; 7] =
    ["/healthz", "/readyz", "/metrics", "/openapi.json", "/docs", "/docs.js", "/docs.css"];
const GUARDED: [&str; 5] = ["/metrics", "/openapi.json", "/docs", "/docs.js", "/docs.css"];

async fn get(app: &App, path: &str, headers: &str) -> Answer {
    app.ask(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n")).await
}

#[tokio::test]
async fn the_process_says_that_it_is_up_and_ready() {
    let app = kit::app().await;
    for path in ["/healthz", "/readyz"] {
        let answer = get(&app, path, "").await;
        assert_eq!((answer.status, answer.json()), (200, json!({ "status": "ok" })));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
}

#[tokio::test]
async fn every_page_answers_get_and_head_and_nothing_else() {
    let app = kit::app().await;
    for path in PAGES {
        assert_eq!(get(&app, path, "").await.status, 200, "{path}");
        let mut client = Client::connect(app.address).await;
        client.send(format!("HEAD {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")).await;
        assert_eq!(client.head().await.unwrap().status, 200, "HEAD {path}");
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"] {
            let request =
                format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n");
            let answer = app.ask(request).await;
            answer.assert_error(405, "INVALID_ARGUMENT");
            assert_eq!(answer.header("allow"), Some("GET, HEAD"), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn foreign_pages_and_hosts_do_not_reach_them() {
    let app = kit::app().await;
    for path in PAGES {
        let answer = get(&app, path, "origin: https://evil.example\r\n").await;
        answer.assert_error(403, "PERMISSION_DENIED");
        let rebound = format!("GET {path} HTTP/1.1\r\nhost: evil.example\r\n\r\n");
        app.ask(rebound).await.assert_error(403, "PERMISSION_DENIED");
    }
}

#[tokio::test]
async fn only_probes_are_open_when_callers_are_asked_who_they_are() {
    let app = kit::app_with(|server| server.auth(ApiKey::new("key"))).await;
    for path in PAGES {
        let wanted = if GUARDED.contains(&path) { 401 } else { 200 };
        let answer = get(&app, path, "").await;
        assert_eq!(answer.status, wanted, "{path}");
        let challenge = (wanted == 401).then_some("Bearer");
        assert_eq!(answer.header("www-authenticate"), challenge, "{path}");
        assert_eq!(get(&app, path, "authorization: Bearer key\r\n").await.status, 200, "{path}");
    }
    let wrong = get(&app, "/metrics", "authorization: Bearer other\r\n").await;
    wrong.assert_error(403, "PERMISSION_DENIED");
}

#[tokio::test]
async fn they_can_be_left_off() {
    let app = kit::app_with(|server| server.without_operations()).await;
    for path in PAGES {
        get(&app, path, "").await.assert_error(404, "NOT_FOUND");
    }
    assert!(app.is_alive().await);
}

#[tokio::test]
async fn an_action_of_the_same_path_wins() {
    let ai = Oxikit::builder().build().unwrap();
    let flow = ai.define_flow("greet", |name: String| async move { Ok(format!("Hello, {name}!")) });
    let server = Server::new(&ai).expose(Expose::new(&flow).path("metrics")).port(0);
    let server = server.bind().await.unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(server.run(std::future::pending()));
    let mut client = Client::connect(address).await;
    client.send(post("/metrics", "", r#"{"data":"Ada"}"#)).await;
    assert_eq!(client.answer().await.unwrap().json(), json!({ "result": "Hello, Ada!" }));
    client.send("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!(client.answer().await.unwrap().status, 200);
}

#[tokio::test]
async fn an_application_that_is_not_ready_says_so_without_a_reason() {
    let check = || async { Err(Status::internal("no route to db-7.internal")) };
    let app = kit::app_with(|server| server.ready_check(check)).await;
    let answer = get(&app, "/readyz", "").await;
    answer.assert_error(503, "UNAVAILABLE");
    assert!(!answer.text().contains("db-7"));
    assert_eq!(get(&app, "/healthz", "").await.status, 200);
}

#[tokio::test]
async fn a_server_that_drains_is_not_ready_and_still_up() {
    for (path, wanted) in [("/readyz", 503), ("/healthz", 200)] {
        let mut app = kit::app().await;
        let mut client = Client::connect(app.address).await;
        client.send(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n")).await;
        assert!(app.is_alive().await, "all who came earlier are accepted");
        app.stop();
        while TcpStream::connect(app.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        client.send("\r\n").await;
        assert_eq!(client.answer().await.unwrap().status, wanted, "{path}");
    }
}

#[tokio::test]
async fn the_page_runs_own_scripts_only_and_is_not_framed() {
    let app = kit::app().await;
    let page = get(&app, "/docs", "").await;
    let policy = page.header("content-security-policy").unwrap();
    for rule in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert!(!page.text().contains("://"), "everything comes from here");
    for part in page.text().split("<script").skip(1) {
        assert!(part.starts_with(" src=\"docs.js\" defer></script>"), "{part}");
    }
    let script = get(&app, "/docs.js", "").await;
    for sink in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
        assert!(!script.text().contains(sink), "{sink}");
    }
    for path in GUARDED {
        let answer = get(&app, path, "").await;
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{path}");
    }
}

#[tokio::test]
async fn requests_are_counted_by_action_and_code() {
    let app = kit::app().await;
    for _ in 0..3 {
        assert_eq!(app.post("/typed", r#"{"data":{"name":"tea"}}"#).await.status, 200);
    }
    assert_eq!(app.post("/typed", r#"{"data":7}"#).await.status, 400);
    assert_eq!(app.stream("/count", r#"{"data":5}"#).await.status, 200);
    assert_eq!(app.stream("/failing", r#"{"data":"NOT_FOUND"}"#).await.status, 200);
    assert_eq!(app.post("/nowhere", "{}").await.status, 404);
    let answer = get(&app, "/metrics", "").await;
    assert!(answer.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    let text = answer.text();
    for line in [
        r#"oxikit_requests_total{action="/flow/typed",code="OK"} 3"#,
        r#"oxikit_requests_total{action="/flow/typed",code="INVALID_ARGUMENT"} 1"#,
        r#"oxikit_requests_total{action="/flow/count",code="OK"} 1"#,
        r#"oxikit_requests_total{action="/flow/failing",code="NOT_FOUND"} 1"#,
        r#"oxikit_requests_total{action="",code="NOT_FOUND"} 1"#,
        r#"oxikit_stream_chunks_total{action="/flow/count"} 5"#,
        r#"oxikit_request_body_bytes_total{action="/flow/count"} 10"#,
        r#"oxikit_requests_in_flight{action="/flow/typed"} 0"#,
        r#"oxikit_request_duration_seconds_count{action="/flow/typed"} 4"#,
        r#"oxikit_request_duration_seconds_bucket{action="/flow/typed",le="+Inf"} 4"#,
    ] {
        assert!(text.lines().any(|known| known == line), "`{line}` is not in\n{text}");
    }
}

#[tokio::test]
async fn a_stream_is_in_flight_until_its_reader_leaves_and_counts_as_cancelled() {
    let mut app = kit::app().await;
    let mut client = Client::connect(app.address).await;
    client.send(post("/slow", "accept: text/event-stream\r\n", "{}")).await;
    app.started.recv().await.unwrap();
    let text = get(&app, "/metrics", "").await;
    assert!(text.text().contains(r#"oxikit_requests_in_flight{action="/flow/slow"} 1"#));
    drop(client);
    app.cancelled.recv().await.unwrap();
    // The body is dropped as a whole: the run just before what counts it.
    let gone = r#"oxikit_requests_total{action="/flow/slow",code="CANCELLED"} 1"#;
    for _ in 0..100 {
        if get(&app, "/metrics", "").await.text().contains(gone) {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("not counted as cancelled");
}

#[tokio::test]
async fn every_request_has_one_line_in_the_access_log() {
    let log = Log::listen();
    let app = kit::app_with(|server| server.auth(ApiKey::new("planted-key"))).await;
    let key = "authorization: Bearer planted-key\r\n";
    let unary = app.ask(post("/echo?secret=planted-query", key, r#"{"data":1}"#)).await;
    let stream = format!("{key}accept: text/event-stream\r\n");
    let stream = app.ask(post("/count", &stream, r#"{"data":3}"#)).await;
    app.ask(post("/echo", "", "{}")).await.assert_error(401, "UNAUTHENTICATED");
    get(&app, "/healthz", "").await;
    let mut lines = log.own();
    lines.retain(|line| line.target == "oxikit::access");
    let lines: Vec<_> = lines.into_iter().map(|line| line.text).collect();
    assert_eq!(lines.len(), 4, "{lines:#?}");
    let parts = [
        vec!["method=\"POST\" path=\"/echo\" status=200 code=\"OK\"", "bytes_in=10", "chunks=0"],
        vec!["path=\"/count\" status=200 code=\"OK\"", "bytes_in=10", "chunks=3"],
        vec!["path=\"/echo\" status=401 code=\"UNAUTHENTICATED\"", "bytes_in=0"],
        vec!["method=\"GET\" path=\"/healthz\" status=200"],
    ];
    for (line, parts) in lines.iter().zip(parts) {
        assert!(parts.iter().all(|part| line.contains(part)), "{line}");
        assert!(line.contains("duration_us=") && !line.contains("planted"), "{line}");
    }
    for (line, answer) in lines.iter().zip([unary, stream]) {
        let trace_id = answer.header("x-genkit-trace-id").unwrap();
        assert!(line.contains(&format!("trace_id={trace_id:?}")), "{line}");
    }
}
