//! Sessions of agents: of runtimes that know them, and of those that do not.

use axum::Router;
use axum::routing::{get, post};
use oxikit::prelude::*;
use oxikit::{Agent, MemorySessions, Turn};
use oxikit_serve::{DevConfig, DevTools};

use super::agents::agents;
use oxikit_testing::manager::{TRACE, soon, until};
use oxikit_testing::tools::{Kit, kit};

/// An application of oxikit with agents, known to the tools.
async fn application(kit: &Kit, is_v1: bool) -> DevTools {
    let ai = Oxikit::builder().build().unwrap();
    let agent = |name: &str| {
        Agent::builder(name).turn(|it: Turn<Value>| async move { Ok(it.answer("done")) })
    };
    ai.define_agent(agent("a/b").store(MemorySessions::default())).unwrap();
    ai.define_agent(agent("free")).unwrap();
    let mut config = DevConfig::default();
    match is_v1 {
        true => (config.project_root, config.port) = (Some(kit.root().to_owned()), Some(0)),
        false => config.manager = Some(kit.server.urls().reflection.clone()),
    }
    let config = config.with_agents_api(oxikit_serve::dev_agents());
    let tools = config.start(&ai).await.unwrap();
    until(|| !kit.server.runtimes().list().is_empty()).await;
    tools
}

async fn an_application_of_oxikit_has_all_of_it(is_v1: bool) {
    let kit = kit().await;
    let tools = application(&kit, is_v1).await;
    let root = "/api/agents/a%2Fb";
    let mut snapshots = Vec::new();
    for session in ["s/1", "t", "s/1"] {
        let body = json!({"input": "hi", "init": {"sessionId": session}});
        let (status, said) = kit.post(&format!("{root}/execute"), body).await;
        assert_eq!(status, 200, "{said}");
        snapshots.push(said["result"]["snapshotId"].clone());
    }
    let (_, list) = kit.get(&format!("{root}/sessions?limit=1")).await;
    assert_eq!(list["sessions"][0]["sessionId"], "s/1", "{list}");
    assert_eq!(list["sessions"][0]["messageCount"], 4);
    let token = list["continuationToken"].as_str().unwrap();
    let next = format!("{root}/sessions?limit=1&continuationToken={token}&status=completed");
    let (_, list) = kit.get(&next).await;
    assert_eq!(list["sessions"][0]["sessionId"], "t", "{list}");
    let (_, none) = kit.get(&format!("{root}/sessions?status=active")).await;
    assert_eq!(none, json!({"sessions": []}));

    let session = format!("{root}/sessions/s%2F1");
    let (_, shown) = kit.get(&session).await;
    let ids = shown["snapshots"].as_array().unwrap().iter().map(|it| it["snapshotId"].clone());
    assert_eq!(ids.collect::<Vec<_>>(), [snapshots[0].clone(), snapshots[2].clone()]);
    let at = json!({"snapshotId": snapshots[0]});
    let (status, forked) = kit.post(&format!("{session}/fork"), at).await;
    assert_eq!((status, &forked["parentSnapshotId"]), (200, &snapshots[0]), "{forked}");
    assert_eq!(forked["parentSessionId"], "s/1");
    let (_, forked) = kit.post(&format!("{session}/fork"), json!({})).await;
    assert_eq!(forked["parentSnapshotId"], snapshots[2]);
    assert_eq!(kit.delete(&session).await, (200, json!({"success": true, "sessionId": "s/1"})));
    let (status, gone) = kit.get(&session).await;
    assert_eq!((status, &gone["status"]), (404, &json!("NOT_FOUND")));
    assert_eq!(gone["message"], "there is no session `s/1`");
    let copy = format!("{root}/sessions/{}", forked["sessionId"].as_str().unwrap());
    assert_eq!(kit.get(&copy).await.1["threads"]["main"].as_array().unwrap().len(), 4);

    // A caller who has logged in has sessions of their own.
    let ada = "context=%7B%22auth%22%3A%7B%22uid%22%3A%22Ad%C3%A1%22%7D%7D";
    let body = json!({"input": "hi", "init": {"sessionId": "mine"}});
    let (_, said) = kit.post(&format!("{root}/execute?{ada}"), body).await;
    assert_eq!(said["result"]["messages"].as_array().unwrap().len(), 2, "{said}");
    let (_, list) = kit.get(&format!("{root}/sessions?{ada}")).await;
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1, "{list}");
    let mine = format!("{root}/sessions/mine");
    assert_eq!(kit.get(&format!("{mine}?{ada}")).await.0, 200);
    assert_eq!(kit.post(&format!("{mine}/fork?{ada}"), json!({})).await.0, 200);
    assert_eq!(kit.get(&mine).await.0, 404);
    assert_eq!(kit.delete(&mine).await.0, 404);
    assert_eq!(kit.delete(&format!("{mine}?{ada}")).await.0, 200);

    for (path, status, code) in [
        (&*format!("{root}/sessions?context=7"), 400, "INVALID_ARGUMENT"),
        (&format!("{root}/sessions?limit=0"), 400, "INVALID_ARGUMENT"),
        (&format!("{root}/sessions?status=x"), 400, "INVALID_ARGUMENT"),
        (&format!("{root}/sessions?continuationToken=x"), 400, "INVALID_ARGUMENT"),
        ("/api/agents/free/sessions", 400, "FAILED_PRECONDITION"),
        ("/api/agents/nobody/sessions", 404, "NOT_FOUND"),
        (&format!("{root}/sessions?runtime=nobody"), 404, "NOT_FOUND"),
    ] {
        let refused = kit.get(path).await;
        assert_eq!((refused.0, &refused.1["status"]), (status, &json!(code)), "{path}");
    }
    tools.close().await;
}

#[tokio::test]
async fn a_connected_application_of_oxikit_answers_all_requests() {
    an_application_of_oxikit_has_all_of_it(false).await;
}

#[tokio::test]
async fn an_application_of_oxikit_that_waits_has_all_of_it() {
    an_application_of_oxikit_has_all_of_it(true).await;
}

#[tokio::test]
async fn a_failure_of_the_runtime_is_not_taken_for_a_missing_method() {
    let (kit, mut runtime) = agents().await;
    let (failed, ()) = tokio::join!(kit.get("/api/agents/kept/sessions"), async {
        runtime.answer_agent_list().await;
        let asked = runtime.expect_request("listSessions").await;
        assert_eq!(asked.params, json!({"agent": "kept"}));
        let data = json!({"code": 14, "message": "the store is away"});
        runtime.fail(&asked, json!({"code": -32000, "message": "x", "data": data})).await;
    });
    assert_eq!((failed.0, &failed.1["message"]), (503, &json!("the store is away")));
    // An agent without a store is not asked.
    let free = kit.get("/api/agents/free/sessions");
    let (refused, ()) = tokio::join!(free, runtime.answer_agent_list());
    assert_eq!((refused.0, &refused.1["status"]), (400, &json!("FAILED_PRECONDITION")));
}

/// The spans that an official runtime has sent for a turn of this agent.
async fn traced(kit: &Kit, trace: &str, session: &str, start: u64) {
    let span = json!({
        "spanId": "root", "traceId": trace, "displayName": "kept", "startTime": start,
        "endTime": start + 20, "spanKind": "INTERNAL", "status": {"code": 0},
        "instrumentationLibrary": {"name": "genkit-tracer", "version": "v1"},
        "attributes": {
            "genkit:type": "action", "genkit:metadata:subtype": "agent", "genkit:name": "kept",
            "genkit:isRoot": true, "genkit:metadata:agent:sessionId": session,
        },
    });
    let post = json!({"traceId": trace, "spans": {"root": span}});
    kit.server.traces().ingest(post.to_string().as_bytes()).await.unwrap();
}

#[tokio::test]
async fn sessions_of_other_runtimes_are_listed_by_their_traces() {
    let (kit, mut runtime) = agents().await;
    traced(&kit, "1", "s1", 1_794_724_510_000).await;
    traced(&kit, "2", "s2", 1_794_724_511_000).await;
    traced(&kit, "3", "s1", 1_794_724_512_000).await;
    let list = kit.get("/api/agents/kept/sessions");
    let (list, ()) = tokio::join!(list, runtime.reject_method("listSessions"));
    let session = |id: &str, turns: u32, created: u64, updated: u64| {
        json!({"sessionId": id, "agentName": "kept", "createdAt": created, "updatedAt": updated,
            "status": "completed", "turns": turns, "metadata": {}})
    };
    let expected = json!({"source": "traces", "sessions": [
        session("s1", 2, 1_794_724_510_000, 1_794_724_512_020),
        session("s2", 1, 1_794_724_511_000, 1_794_724_511_020),
    ]});
    assert_eq!(list, (200, expected));

    let page = kit.get("/api/agents/kept/sessions?limit=1");
    let (page, ()) = tokio::join!(page, runtime.reject_method("listSessions"));
    assert_eq!(page.1["sessions"].as_array().unwrap().len(), 1);
    let token = page.1["continuationToken"].as_str().unwrap();
    let next = format!("/api/agents/kept/sessions?limit=1&continuationToken={token}");
    let (next, ()) = tokio::join!(kit.get(&next), runtime.reject_method("listSessions"));
    assert_eq!(next.1["sessions"][0]["sessionId"], "s2");
    assert_eq!(next.1.get("continuationToken"), None);
    let active = kit.get("/api/agents/kept/sessions?status=active");
    let (none, ()) = tokio::join!(active, runtime.reject_method("listSessions"));
    assert_eq!(none.1, json!({"source": "traces", "sessions": []}));
}

/// A snapshot as official runtimes write it.
fn snapshot(id: &str, parent: Option<&str>, status: &str, messages: usize) -> Value {
    let message = json!({"role": "user", "content": [{"text": "hi"}]});
    let mut snapshot = json!({
        "snapshotId": id, "sessionId": "s1", "status": status,
        "createdAt": format!("2026-11-15T06:15:5{messages}.549Z"),
        "state": {"sessionId": "s1", "custom": {"turns": messages}, "artifacts": [],
            "messages": vec![message; messages]},
    });
    if let Some(parent) = parent {
        snapshot["parentId"] = parent.into();
    }
    snapshot
}

#[tokio::test]
async fn a_session_of_another_runtime_is_shown_by_its_snapshots() {
    let (kit, mut runtime) = agents().await;
    let (shown, ()) = tokio::join!(kit.get("/api/agents/kept/sessions/s1"), async {
        runtime.reject_method("getSession").await;
        let latest = snapshot("c", Some("b"), "failed", 3);
        assert_eq!(runtime.answer_snapshot(latest).await, json!({"sessionId": "s1"}));
        let before = snapshot("b", Some("a"), "completed", 2);
        assert_eq!(runtime.answer_snapshot(before).await, json!({"snapshotId": "b"}));
        // Official runtimes write a snapshot that names itself as its parent for detached work.
        let first = snapshot("a", Some("a"), "completed", 1);
        assert_eq!(runtime.answer_snapshot(first).await, json!({"snapshotId": "a"}));
    });
    assert_eq!(shown.0, 200, "{}", shown.1);
    let shown = shown.1;
    assert_eq!((&shown["snapshotId"], &shown["snapshotStatus"]), (&json!("c"), &json!("failed")));
    // The content is that of the last turn that ended well.
    assert_eq!(shown["threads"]["main"].as_array().unwrap().len(), 2);
    assert_eq!(shown["state"], json!({"turns": 2, "artifacts": []}));
    let brief = |it: &Value| (it["snapshotId"].clone(), it["children"].clone());
    let expected =
        [(json!("a"), json!(["b"])), (json!("b"), json!(["c"])), (json!("c"), json!([]))];
    let tree: Vec<_> = shown["snapshots"].as_array().unwrap().iter().map(brief).collect();
    assert_eq!(tree, expected);
    assert_eq!(
        shown["metadata"],
        json!({"snapshotId": "c", "source": "snapshots", "snapshotCount": 3})
    );
    assert_eq!(shown["createdAt"], 1_794_723_351_549_u64);
}

/// Sends a span as a runtime does, in one of the two forms.
async fn posts_span(kit: &Kit, trace: &str, is_otlp: bool) {
    let telemetry = &kit.server.urls().telemetry;
    let (path, body) = match is_otlp {
        false => {
            let span = json!({
                "spanId": "root", "traceId": trace, "displayName": "kept", "startTime": 1,
                "endTime": 2, "spanKind": "INTERNAL", "attributes": {"genkit:type": "action"},
                "instrumentationLibrary": {"name": "genkit-tracer", "version": "v1"},
                "status": {"code": 0},
            });
            ("api/traces", json!({"traceId": trace, "spans": {"root": span}}))
        }
        true => {
            let span = json!({"traceId": trace, "spanId": "0123456789abcdef", "name": "kept",
                "startTimeUnixNano": "1", "endTimeUnixNano": "2"});
            ("api/otlp", json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}))
        }
    };
    let post = reqwest::Client::new().post(format!("{telemetry}/{path}")).json(&body);
    assert!(soon(post.send()).await.unwrap().status().is_success());
}

/// Reading a snapshot leaves no trace: not when its spans come before the response, nor when
/// they come behind it, and however it ends.
#[tokio::test]
async fn reading_a_session_leaves_no_trace() {
    let (kit, mut runtime) = agents().await;
    let other = "fedcba9876543210fedcba9876543210";
    posts_span(&kit, other, false).await;
    for is_otlp in [false, true] {
        posts_span(&kit, TRACE, is_otlp).await;
        let (missing, ()) = tokio::join!(kit.get("/api/agents/kept/sessions/none"), async {
            runtime.reject_method("getSession").await;
            let asked = runtime.expect_run("/agent-snapshot/kept").await;
            let message = "NOT_FOUND: Snapshot not found for agent 'kept'.";
            let data = json!({"code": 5, "message": message, "details": {}});
            runtime.fail(&asked, json!({"code": -32000, "message": message, "data": data})).await;
        });
        assert_eq!((missing.0, &missing.1["message"]), (404, &json!("there is no session `none`")));
        let listed = || async {
            let list = kit.get("/api/v1/traces").await.1;
            let ids = list["traces"].as_array().unwrap().iter().map(|it| it["traceId"].clone());
            ids.collect::<Vec<_>>()
        };
        assert_eq!(listed().await, [other]);
        posts_span(&kit, TRACE, is_otlp).await;
        assert_eq!(listed().await, [other]);
        posts_span(&kit, other, is_otlp).await;
        assert_eq!(listed().await, [other]);
    }
}

#[tokio::test]
async fn an_endless_line_of_snapshots_is_cut() {
    let (kit, mut runtime) = agents().await;
    let (shown, ()) = tokio::join!(kit.get("/api/agents/kept/sessions/s1"), async {
        runtime.reject_method("getSession").await;
        for number in 0..201 {
            let (id, parent) = (number.to_string(), (number + 1).to_string());
            runtime.answer_snapshot(snapshot(&id, Some(&parent), "completed", 1)).await;
        }
    });
    assert_eq!(shown.1["snapshots"].as_array().unwrap().len(), 201);
    assert_eq!(shown.1["metadata"]["isCut"], true);
    assert_eq!(shown.1["metadata"].get("snapshotCount"), None);
}

#[tokio::test]
async fn what_only_a_store_could_do_is_refused_with_what_to_do_instead() {
    let (kit, mut runtime) = agents().await;
    let path = "/api/agents/kept/sessions/s1";
    let (refused, ()) = tokio::join!(kit.delete(path), runtime.reject_method("deleteSession"));
    assert_eq!((refused.0, &refused.1["status"]), (400, &json!("FAILED_PRECONDITION")));
    let fork = kit.post("/api/agents/kept/sessions/s1/fork", json!({"snapshotId": "n1"}));
    let (refused, ()) = tokio::join!(fork, runtime.reject_method("forkSession"));
    assert_eq!((refused.0, &refused.1["status"]), (400, &json!("FAILED_PRECONDITION")));
    let message = refused.1["message"].as_str().unwrap();
    assert!(message.contains("oxikit agent chat kept --snapshot n1"), "{message}");
    let bad = kit.post("/api/agents/kept/sessions/s1/fork", json!([])).await;
    assert_eq!((bad.0, &bad.1["status"]), (400, &json!("INVALID_ARGUMENT")));
}

/// A runtime of another language that is called over HTTP: it has no API for agents, and
/// answers with its own 404.
#[tokio::test]
async fn a_runtime_without_the_api_is_known_by_its_404() {
    let kit = kit().await;
    let run = async || {
        let answer = json!({"result": snapshot("a", None, "completed", 1)}).to_string();
        ([("x-genkit-trace-id", TRACE), ("content-type", "application/json")], answer)
    };
    let agent = json!({"/agent/kept": {"name": "kept",
        "metadata": {"agent": {"stateManagement": "server"}}}});
    let routes = Router::new()
        .route("/api/__health", get(async || "OK"))
        .route("/api/notify", post(async || "OK"))
        .route("/api/actions", get(async move || agent.to_string()))
        .route("/api/runAction", post(run))
        .fallback(async || (axum::http::StatusCode::NOT_FOUND, "<pre>Cannot GET</pre>"));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let runtimes = kit.root().join(".genkit/runtimes");
    std::fs::create_dir_all(&runtimes).unwrap();
    let file = json!({"id": "js", "pid": std::process::id(), "name": "app",
        "reflectionServerUrl": format!("http://127.0.0.1:{port}"),
        "timestamp": "2026-11-15T06:32:35.191Z", "genkitVersion": "nodejs/1.42.0"});
    std::fs::write(runtimes.join("js.json"), file.to_string()).unwrap();
    until(|| !kit.server.runtimes().list().is_empty()).await;

    traced(&kit, "1", "s1", 1_794_724_510_000).await;
    let (status, list) = kit.get("/api/agents/kept/sessions").await;
    assert_eq!((status, &list["source"]), (200, &json!("traces")), "{list}");
    assert_eq!(list["sessions"][0]["sessionId"], "s1");
    let (status, shown) = kit.get("/api/agents/kept/sessions/s1").await;
    assert_eq!((status, &shown["snapshotId"]), (200, &json!("a")), "{shown}");
    assert_eq!(kit.delete("/api/agents/kept/sessions/s1").await.0, 400);
}

/// Plays the recorded responses of the JavaScript runtime.
#[tokio::test]
async fn the_recorded_runtime_is_shown_without_its_store() {
    let recorded = |file: &str| -> Value {
        let frames = oxikit_recordings::lines(&format!("reflection-v2/{file}"));
        frames.last().unwrap()["frame"].clone()
    };
    let found = recorded("agent-store-snapshot.jsonl")["result"].clone();
    let missing = recorded("agent-store-snapshot-missing.jsonl")["error"].clone();
    let session = found["result"]["sessionId"].as_str().unwrap();
    let path = format!("/api/agents/kept/sessions/{session}");
    let (kit, mut runtime) = agents().await;
    let (shown, ()) = tokio::join!(kit.get(&path), async {
        runtime.reject_method("getSession").await;
        let asked = runtime.expect_run("/agent-snapshot/kept").await;
        runtime.answer(&asked, found.clone()).await;
        let asked = runtime.expect_run("/agent-snapshot/kept").await;
        assert_eq!(asked.params["input"]["snapshotId"], found["result"]["parentId"]);
        runtime.fail(&asked, missing).await;
    });
    assert_eq!(shown.0, 200, "{}", shown.1);
    assert_eq!(shown.1["threads"]["main"], found["result"]["state"]["messages"]);
    assert_eq!(shown.1["snapshots"].as_array().unwrap().len(), 1);

    // And its turns, by what it has sent of them.
    for post in oxikit_recordings::lines("telemetry/runtime-posts-realtime.jsonl") {
        if post["path"] == "/api/traces" {
            kit.server.traces().ingest(post["body"].to_string().as_bytes()).await.unwrap();
        }
    }
    let query = oxikit_traces::SeenSessionQuery::of("customAgent");
    let seen = kit.server.traces().sessions(&query).await.unwrap();
    assert!(!seen.sessions.is_empty(), "{seen:?}");
}
