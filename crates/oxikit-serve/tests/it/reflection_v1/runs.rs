//! Runs: their heads, their bodies, and how they are stopped.

use std::time::{Duration, Instant};

use oxikit::prelude::*;
use tokio::time::timeout;

use super::app::{Runtime, runtime};
use crate::kit::{Answer, Client, PATIENCE, SECRETS};

/// Starts `slow` and reads the head of its answer.
pub(super) async fn start_slow(runtime: &Runtime, query: &str) -> (Client, Answer) {
    let mut client = runtime.connect().await;
    let path = format!("/api/runAction{query}");
    client.send(runtime.request("POST", &path, "", r#"{"key":"/flow/slow","input":1}"#)).await;
    let head = timeout(Duration::from_secs(5), client.head()).await;
    (client, head.expect("the head comes before the end").unwrap())
}

#[track_caller]
fn trace_of(answer: &Answer) -> String {
    for (header, digits) in [("x-genkit-trace-id", 32), ("x-genkit-span-id", 16)] {
        let id = answer.header(header).unwrap_or_else(|| panic!("no {header}: {answer:?}"));
        assert!(id.len() == digits && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    }
    answer.header("x-genkit-trace-id").unwrap().to_owned()
}

#[tokio::test]
async fn the_head_names_the_run_before_it_has_ended() {
    let runtime = runtime().await;
    for (query, media_type) in [("", "application/json"), ("?stream=true", "text/plain")] {
        let (_client, head) = start_slow(&runtime, query).await;
        assert_eq!(head.status, 200);
        assert_eq!(head.header("content-type"), Some(media_type));
        assert_eq!(head.header("transfer-encoding"), Some("chunked"));
        assert!(head.header("x-genkit-version").unwrap().starts_with("rust/"), "{head:?}");
        trace_of(&head);
    }
}

#[tokio::test]
async fn a_run_is_cancelled_by_its_trace_once() {
    let runtime = runtime().await;
    for query in ["", "?stream=true"] {
        let (mut client, head) = start_slow(&runtime, query).await;
        if !query.is_empty() {
            assert_eq!(client.piece().await.unwrap(), b"\"started\"\n");
        }
        let trace_id = trace_of(&head);
        let cancel = json!({ "traceId": trace_id }).to_string();
        let answer = runtime.ask("POST", "/api/cancelAction", "", &cancel).await;
        assert_eq!((answer.status, answer.text()), (200, r#"{"message":"Action cancelled"}"#));
        let body: Value = serde_json::from_slice(&client.piece().await.unwrap()).unwrap();
        assert_eq!(body["error"]["code"], 1, "{body}");
        assert_eq!(body["error"]["message"], "Action was cancelled");
        assert_eq!(body["error"]["details"]["traceId"], trace_id);
        assert_eq!(client.piece().await.unwrap(), b"");
        let again = runtime.ask("POST", "/api/cancelAction", "", &cancel).await;
        let message = r#"{"message":"Action not found or already completed"}"#;
        assert_eq!((again.status, again.text()), (404, message));
    }
}

#[tokio::test]
async fn a_turn_of_an_agent_is_cancelled_too() {
    let runtime = runtime().await;
    let agent = oxikit::Agent::builder("sleeper").turn(|turn: oxikit::Turn| async move {
        tokio::time::sleep(Duration::from_secs(60)).await;
        Ok(turn.answer("awake"))
    });
    runtime.ai.define_agent(agent).unwrap();
    let message = json!({ "role": "user", "content": [{ "text": "sleep" }] });
    let body = json!({ "key": "/agent/sleeper", "input": { "message": message } }).to_string();
    let mut client = runtime.connect().await;
    client.send(runtime.request("POST", "/api/runAction", "", &body)).await;
    let trace_id = trace_of(&client.head().await.unwrap());
    let cancel = json!({ "traceId": trace_id }).to_string();
    let answer = runtime.ask("POST", "/api/cancelAction", "", &cancel).await;
    assert_eq!(answer.status, 200);
    let ended = timeout(Duration::from_secs(5), client.piece()).await.expect("it ends");
    let body: Value = serde_json::from_slice(&ended.unwrap()).unwrap();
    assert_eq!(body["error"]["code"], 1, "{body}");
}

#[tokio::test]
async fn a_client_that_leaves_cancels_its_run() {
    let mut runtime = runtime().await;
    for query in ["", "?stream=true"] {
        let (client, _) = start_slow(&runtime, query).await;
        let left = Instant::now();
        drop(client);
        let cancelled = timeout(PATIENCE, runtime.cancelled.recv()).await.unwrap().unwrap();
        let after = cancelled.duration_since(left);
        assert!(after < Duration::from_millis(100), "{after:?} {query}");
    }
}

#[tokio::test]
async fn each_chunk_is_one_line_and_the_last_has_no_end() {
    let runtime = runtime().await;
    let spread = "{\"key\":\"/flow/echo\",\"input\":{\r\n \"a\": [1,\n2], \"é\": \"\\n𝄞\" }}";
    let answer = runtime.stream(spread).await;
    let lines: Vec<_> = answer.text().split('\n').collect();
    let input = json!({ "a": [1, 2], "é": "\n𝄞" });
    assert_eq!(lines.len(), 2, "{answer:?}");
    assert_eq!(serde_json::from_str::<Value>(lines[0]).unwrap(), input);
    let last: Value = serde_json::from_str(lines[1]).unwrap();
    let telemetry = json!({ "traceId": trace_of(&answer) });
    assert_eq!(last, json!({ "result": input, "telemetry": telemetry }));
    // The tools cut characters where the network does.
    assert!(answer.body.is_ascii());
    let unary = runtime.run(spread).await;
    assert_eq!(unary.json()["result"], input);
}

#[tokio::test]
async fn runs_go_on_beside_each_other() {
    let runtime = runtime().await;
    let (_slow, _) = start_slow(&runtime, "").await;
    let run = || runtime.run(r#"{"key":"/flow/countdown","input":100}"#);
    let (a, b, c) = tokio::join!(run(), run(), run());
    for answer in [&a, &b, &c] {
        assert_eq!(answer.json()["result"], "liftoff");
    }
    assert_ne!(trace_of(&a), trace_of(&b));
    assert_ne!(trace_of(&b), trace_of(&c));
}

#[tokio::test]
async fn bodies_that_are_no_run_start_none() {
    let runtime = runtime().await;
    let deep = |levels: usize| {
        format!(
            r#"{{"key":"/flow/noSchema","input":{}1{}}}"#,
            "[".repeat(levels),
            "]".repeat(levels)
        )
    };
    for body in [
        "",
        "{",
        "null",
        "1",
        r#"["/flow/noSchema"]"#,
        "{}",
        r#"{"key":null}"#,
        r#"{"key":5}"#,
        r#"{"input":1}"#,
        r#"{"key":"/flow/greet","input":{"name":5}}"#,
        r#"{"key":"/flow/greet"}"#,
        r#"{"key":"/flow/greet","context":[]}"#,
        r#"{"key":"/flow/noSchema","input":1} x"#,
        &deep(1_000),
        &deep(200_000),
    ] {
        for path in ["/api/runAction", "/api/runAction?stream=true"] {
            let answer = runtime.ask("POST", path, "", body).await;
            let shown = &body[..body.len().min(60)];
            assert_eq!(answer.status, 200, "{shown}");
            assert_eq!(answer.header("x-genkit-trace-id"), None, "{shown}");
            let error = &answer.json()["error"];
            assert_eq!(error["code"], 3, "{shown} {error}");
            assert!(error["message"].as_str().unwrap().starts_with("INVALID_ARGUMENT: "));
            assert!(error["details"]["stack"].is_string(), "{shown} {error}");
        }
    }
    let mut client = runtime.connect().await;
    let mut request = runtime.request("POST", "/api/runAction", "", "{\"key\":\"?\"}");
    let position = request.iter().position(|byte| *byte == b'?').unwrap();
    request[position] = 0xff;
    client.send(request).await;
    assert_eq!(client.answer().await.unwrap().json()["error"]["code"], 3);
}

#[tokio::test]
async fn a_body_of_another_type_or_size_is_refused() {
    let runtime = runtime().await;
    let run = r#"{"key":"/flow/noSchema"}"#;
    for (headers, status) in [
        ("content-type: text/plain\r\n", 415),
        ("content-type: application/x-www-form-urlencoded\r\n", 415),
        ("content-encoding: gzip\r\n", 415),
        ("content-type: application/json; charset=utf-8\r\n", 200),
    ] {
        for path in ["/api/runAction", "/api/cancelAction", "/api/notify"] {
            let answer = runtime.ask("POST", path, headers, run).await;
            let expected = if status == 200 && path == "/api/cancelAction" { 400 } else { status };
            assert_eq!(answer.status, expected, "{path} {headers}");
            let is_error = answer.text().starts_with("{\"error\"");
            assert_eq!(is_error, expected != 200, "{answer:?}");
        }
    }
    let path = format!("{}/api/runAction", runtime.place().1);
    let untyped = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{run}",
        run.len()
    );
    let mut client = runtime.connect().await;
    client.send(untyped).await;
    assert_eq!(client.answer().await.unwrap().status, 415);
    let announced = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        (32 << 20) + 1
    );
    let mut client = runtime.connect().await;
    client.send(announced).await;
    let answer = client.answer().await.unwrap();
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (413, &json!(8)));
}

#[tokio::test]
async fn an_error_is_shown_to_the_developer_unchanged() {
    let runtime = runtime().await;
    runtime.ai.define_flow("secret", |_: Value| async {
        let cause = std::io::Error::other(SECRETS[1]);
        Err::<(), _>(Status::internal("no database").with_hint("start it").caused_by(cause))
    });
    let answer = runtime.run(r#"{"key":"/flow/secret","input":1}"#).await;
    let error = &answer.json()["error"];
    assert_eq!((&error["code"], &error["message"]), (&json!(13), &json!("no database")));
    let stack = error["details"]["stack"].as_str().unwrap();
    assert!(stack.contains("start it") && stack.contains(SECRETS[1]), "{stack}");
}
