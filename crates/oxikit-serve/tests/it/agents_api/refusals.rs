//! Requests that are rejected, with their status and text.

use std::sync::Arc;

use oxikit_core::ports::memory::MemoryStreams;
use serde_json::json;

use super::{app, app_with, events};
use crate::hostile::malformed;
use crate::kit::{Client, post};

#[tokio::test]
async fn what_is_not_there_is_404() {
    let app = app().await;
    app.say("support", "hi", json!({ "sessionId": "s" })).await;
    app.say("sales", "hi", json!({ "sessionId": "t" })).await;
    for path in [
        "/nobody",
        "/nobody/sessions",
        "/nobody/sessions/s",
        "/support/sessions/none",
        "/support/sessions/none/tree",
        "/support/sessions/none/snapshots/x",
        "/support/sessions/s/snapshots/x",
        "/support/sessions/s/snapshots/x/diff",
        // Of another agent in the same store.
        "/support/sessions/t",
        "/support/sessions/t/tree",
        "/support/streams/x",
        "/support/nothing",
        "/support/sessions/s/snapshots",
        "/support/sessions/%ff",
        "//",
    ] {
        app.get(path).await.assert_error(404, "NOT_FOUND");
    }
    for path in [
        "/nobody/execute",
        "/support/sessions/none/abort",
        "/support/sessions/t/abort",
        "/support/sessions/none/fork",
        "/support/sessions/t/fork",
    ] {
        let body = if path.ends_with("execute") { r#"{"input":"hi"}"# } else { "" };
        app.ask("POST", path, "", body).await.assert_error(404, "NOT_FOUND");
    }
    for path in ["/support/sessions/none", "/support/sessions/t", "/nobody/sessions/s"] {
        app.ask("DELETE", path, "", "").await.assert_error(404, "NOT_FOUND");
    }
    assert_eq!(app.get("/sales/sessions/t").await.status, 200);
}

#[tokio::test]
async fn an_agent_without_a_store_has_no_sessions() {
    let app = app().await;
    for path in [
        "/sessions",
        "/sessions/s",
        "/sessions/s/tree",
        "/sessions/s/snapshots/x",
        "/sessions/s/snapshots/x/diff",
    ] {
        let answer = app.get(&format!("/helper{path}")).await;
        answer.assert_error(400, "FAILED_PRECONDITION");
    }
    let answer = app.ask("DELETE", "/helper/sessions/s", "", "").await;
    answer.assert_error(400, "FAILED_PRECONDITION");
    for path in ["/helper/sessions/s/abort", "/helper/sessions/s/fork"] {
        let answer = app.ask("POST", path, "", "").await;
        answer.assert_error(400, "FAILED_PRECONDITION");
    }
    for init in
        [json!({ "state": { "n": 1 } }), json!({ "messages": [{ "role": "user", "content": [] }] })]
    {
        let body = json!({ "input": "hi", "init": init }).to_string();
        let answer = app.ask("POST", "/support/execute", "", &body).await;
        answer.assert_error(400, "FAILED_PRECONDITION");
    }
}

#[tokio::test]
async fn odd_queries_are_400() {
    let app = app().await;
    for query in [
        "limit=0",
        "limit=201",
        "limit=-1",
        "limit=x",
        "limit=",
        "limit=1.5",
        "limit=%ff",
        "limit=99999999999999999999",
        "status=",
        "status=open",
        "status=Active",
        "continuationToken=x",
        "continuationToken=%00",
        "continuationToken=-1",
    ] {
        let answer = app.get(&format!("/support/sessions?{query}")).await;
        answer.assert_error(400, "INVALID_ARGUMENT");
    }
    for query in ["", "limit=1", "limit=200", "status=active", "other=1", "&&"] {
        assert_eq!(app.get(&format!("/support/sessions?{query}")).await.status, 200, "{query}");
    }
}

#[tokio::test]
async fn wrong_methods_are_answered_with_the_allowed_ones() {
    let app = app().await;
    let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "HEAD"];
    for (path, allowed) in [
        ("", "GET, HEAD"),
        ("/support", "GET, HEAD"),
        ("/support/execute", "POST"),
        ("/support/sessions", "GET, HEAD"),
        ("/support/sessions/s", "GET, HEAD, DELETE"),
        ("/support/sessions/s/abort", "POST"),
        ("/support/sessions/s/fork", "POST"),
        ("/support/sessions/s/tree", "GET, HEAD"),
        ("/support/sessions/s/snapshots/x", "GET, HEAD"),
        ("/support/sessions/s/snapshots/x/diff", "GET, HEAD"),
        ("/support/streams/x", "GET, HEAD"),
    ] {
        for method in methods {
            let answer = app.ask(method, path, "", "").await;
            let is_allowed = allowed.split(", ").any(|allowed| allowed == method);
            assert_eq!(answer.status != 405, is_allowed, "{method} {path} {answer:?}");
            if !is_allowed {
                assert_eq!(answer.header("allow"), Some(allowed));
            }
            if method != "HEAD" && answer.status >= 400 {
                answer.assert_error_form();
            }
        }
    }
}

#[tokio::test]
async fn malformed_bodies_are_refused_and_nothing_runs() {
    let app = app().await;
    app.say("support", "hi", json!({ "sessionId": "s" })).await;
    for form in malformed() {
        for path in [
            "/support/execute",
            "/helper/execute",
            "/support/sessions/s/abort",
            "/support/sessions/s/fork",
        ] {
            // To stop or fork a session, an object is enough.
            if !path.ends_with("execute")
                && serde_json::from_slice::<oxikit_wire::JsonObject>(&form.body).is_ok()
                && form.headers.is_empty()
            {
                continue;
            }
            for accept in ["", "accept: text/event-stream\r\n"] {
                let headers = format!("{accept}{}", form.headers);
                let mut client = Client::connect(app.address).await;
                client.send(post(&format!("/api/agents{path}"), &headers, &form.body)).await;
                let answer = client.answer().await.unwrap();
                assert!(matches!(answer.status, 400 | 415), "{} {path} {answer:?}", form.name);
                answer.assert_error_form();
                assert!(answer.body.len() < 1000, "{} {path} {answer:?}", form.name);
            }
        }
    }
    for body in [
        json!({}),
        json!({ "input": null }),
        json!({ "input": 1 }),
        json!({ "input": { "role": "pilot", "content": [] } }),
        json!({ "input": { "message": 1 } }),
        json!({ "input": "hi", "init": { "sessionId": 7 } }),
        json!({ "input": "hi", "init": { "sessionId": " " } }),
        json!({ "input": "hi", "stream": 1 }),
        json!({ "input": "hi", "telemetryLabels": "x" }),
    ] {
        let answer = app.ask("POST", "/support/execute", "", &body.to_string()).await;
        answer.assert_error(400, "INVALID_ARGUMENT");
    }
    let list = app.get("/support/sessions").await.json();
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(list["sessions"][0]["metadata"]["snapshotCount"], 1);
}

#[tokio::test]
async fn bodies_have_a_type_a_size_and_a_depth() {
    let app = app_with(|server| {
        let mut limits = oxikit_serve::Limits::default();
        limits.body_bytes = 4 << 20;
        server.limits(limits)
    })
    .await;
    let mut client = Client::connect(app.address).await;
    let body = r#"{"input":"hi"}"#;
    client
        .send(format!(
            "POST /api/agents/support/execute HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ))
        .await;
    client.answer().await.unwrap().assert_error(415, "INVALID_ARGUMENT");
    let large = json!({ "input": "x".repeat(4 << 20) }).to_string();
    let mut client = app.send("POST", "/support/execute", "", "").await;
    client.answer().await.unwrap().assert_error(400, "INVALID_ARGUMENT");
    let mut client = Client::connect(app.address).await;
    client.try_send(post("/api/agents/support/execute", "", &large)).await;
    client.answer().await.unwrap().assert_error(413, "RESOURCE_EXHAUSTED");
    for depth in [1_000, 100_000, 1_000_000] {
        let deep = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        for body in [
            format!(r#"{{"input":{deep}}}"#),
            format!(r#"{{"input":{{"content":{deep}}}}}"#),
            format!(
                r#"{{"input":{{"message":{{"role":"user","content":[{{"text":"x","metadata":{{"a":{deep}}}}}]}}}}}}"#
            ),
            format!(r#"{{"input":"hi","init":{{"state":{deep}}}}}"#),
            format!(r#"{{"input":"hi","telemetryLabels":{{"a":{deep}}}}}"#),
        ] {
            let answer = app.ask("POST", "/helper/execute", "", &body).await;
            answer.assert_error(400, "INVALID_ARGUMENT");
            assert!(answer.body.len() < 1000, "{answer:?}");
        }
    }
}

#[tokio::test]
async fn what_belongs_to_another_is_as_if_it_were_not_there() {
    let streams = Arc::new(MemoryStreams::default());
    let app = app_with(|server| server.durable_streams(streams)).await;
    let (ada, eve) = ("x-user: ada\r\n", "x-user: eve\r\n");
    let body =
        json!({ "input": "hi", "init": { "sessionId": "mine" }, "stream": true }).to_string();
    let answer = app.ask("POST", "/support/execute", ada, &body).await;
    let stream = answer.header("x-genkit-stream-id").unwrap().to_owned();
    let all = events(&answer);
    let done = all.iter().find(|event| event.name == "done").unwrap();
    let snapshot = done.data["snapshotId"].as_str().unwrap().to_owned();
    let paths = [
        ("GET", "/support/sessions/{s}"),
        ("DELETE", "/support/sessions/{s}"),
        ("POST", "/support/sessions/{s}/abort"),
        ("POST", "/support/sessions/{s}/fork"),
        ("GET", "/support/sessions/{s}/tree"),
        ("GET", "/support/sessions/{s}/snapshots/{p}"),
        ("GET", "/support/sessions/{s}/snapshots/{p}/diff"),
        ("GET", "/support/streams/{e}"),
    ];
    for (method, path) in paths {
        let fill =
            |s: &str, p: &str, e: &str| path.replace("{s}", s).replace("{p}", p).replace("{e}", e);
        let foreign = app.ask(method, &fill("mine", &snapshot, &stream), eve, "").await;
        let unknown = app.ask(method, &fill("none", "none", "none"), eve, "").await;
        foreign.assert_error(404, "NOT_FOUND");
        let answer = foreign
            .text()
            .replace("mine", "none")
            .replace(&snapshot, "none")
            .replace(&stream, "none");
        assert_eq!(answer, unknown.text(), "{method} {path}");
    }
    // Eve's own session of the same name, and a snapshot that she cannot see.
    let body = json!({ "input": "hi", "init": { "sessionId": "mine" } }).to_string();
    let own = app.ask("POST", "/support/execute", eve, &body).await.json();
    assert_eq!(own["result"]["messages"].as_array().unwrap().len(), 2);
    for path in ["", "/diff"] {
        let path = format!("/support/sessions/mine/snapshots/{snapshot}{path}");
        app.ask("GET", &path, eve, "").await.assert_error(404, "NOT_FOUND");
    }
    for stream in [false, true] {
        let init = json!({ "snapshotId": snapshot });
        let body = json!({ "input": "hi", "init": init, "stream": stream }).to_string();
        let answer = app.ask("POST", "/support/execute", eve, &body).await;
        let text = answer.text();
        assert!(text.contains("NOT_FOUND") && !text.contains("mine"), "{text}");
    }
    let body = json!({ "snapshotId": snapshot }).to_string();
    for path in ["/support/sessions/mine/abort", "/support/sessions/mine/fork"] {
        app.ask("POST", path, eve, &body).await.assert_error(404, "NOT_FOUND");
    }
    let count = app.ask("GET", "/support/sessions", eve, "").await.json()["sessions"].clone();
    assert_eq!(count.as_array().unwrap().len(), 1);
    // And all of Ada's is as it was.
    assert_eq!(app.ask("GET", "/support/sessions/mine", ada, "").await.status, 200);
    assert_eq!(app.ask("GET", "/support/sessions", "", "").await.json(), json!({ "sessions": [] }));
}

#[tokio::test]
async fn foreign_pages_have_no_effect_on_any_route() {
    let app = app().await;
    app.say("support", "hi", json!({ "sessionId": "s" })).await;
    for headers in
        ["origin: https://evil.example\r\n", "origin: null\r\n", "sec-fetch-site: cross-site\r\n"]
    {
        for path in [
            "",
            "/support",
            "/support/execute",
            "/support/sessions",
            "/support/sessions/s",
            "/support/sessions/s/abort",
            "/support/sessions/s/fork",
            "/support/sessions/s/tree",
            "/support/streams/x",
            "/support/nothing",
        ] {
            for method in ["GET", "POST", "DELETE", "PUT", "OPTIONS"] {
                let answer = app.ask(method, path, headers, r#"{"input":"hi"}"#).await;
                answer.assert_error(403, "PERMISSION_DENIED");
                assert!(answer.header("access-control-allow-origin").is_none());
            }
        }
    }
    let session = app.get("/support/sessions/s").await.json();
    assert_eq!(session["metadata"]["snapshotCount"], 1);
}
