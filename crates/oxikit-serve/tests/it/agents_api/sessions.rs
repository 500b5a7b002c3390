//! Sessions: lists, content, trees, differences, deletion, abort.

use std::collections::BTreeSet;

use std::sync::Arc;

use oxikit::prelude::*;
use oxikit::{Agent, MemorySessions, Turn};
use oxikit_core::ports::{Owner, SessionStore, SnapshotWrite};
use oxikit_serve::Server;
use oxikit_wire::{SessionSnapshot, SnapshotStatus};
use serde_json::{Value, json};

use super::{Topics, app};
use crate::kit::Client;

#[tokio::test]
async fn a_session_is_listed_and_shown_as_the_proposal_says() {
    let app = app().await;
    let who = "x-user: user_xyz\r\n";
    let body = json!({ "input": "draw", "init": { "sessionId": "sess_abc123" } }).to_string();
    let result = app.ask("POST", "/support/execute", who, &body).await.json()["result"].clone();
    let snapshot = result["snapshotId"].clone();

    let mut list = app.ask("GET", "/support/sessions", who, "").await.json();
    let times = [list["sessions"][0]["createdAt"].take(), list["sessions"][0]["updatedAt"].take()];
    assert!(times[0].as_u64() > Some(1_700_000_000_000) && times[0].as_u64() <= times[1].as_u64());
    let expected = json!({ "sessions": [{
        "sessionId": "sess_abc123",
        "agentName": "support",
        "createdAt": null,
        "updatedAt": null,
        "status": "completed",
        "messageCount": 2,
        "hasArtifacts": true,
        "metadata": { "userId": "user_xyz", "snapshotId": snapshot, "snapshotCount": 1 },
        "snapshotStatus": "completed",
        "finishReason": "stop",
    }]});
    assert_eq!(list, expected);

    let mut session = app.ask("GET", "/support/sessions/sess_abc123", who, "").await.json();
    assert_eq!(session["createdAt"].take(), times[0]);
    assert_eq!(session["updatedAt"].take(), times[1]);
    assert_eq!(session["snapshots"][0]["createdAt"].take(), times[0]);
    let expected = json!({
        "sessionId": "sess_abc123",
        "agentName": "support",
        "createdAt": null,
        "updatedAt": null,
        "status": "completed",
        "state": {
            "currentTopic": "draw",
            "turns": 1,
            "artifacts": [{ "name": "map", "parts": [{ "text": "here be dragons" }] }],
        },
        "threads": { "main": [
            { "role": "user", "content": [{ "text": "draw" }] },
            { "role": "model", "content": [{ "text": "draw: done" }] },
        ]},
        "metadata": { "userId": "user_xyz", "snapshotId": snapshot, "snapshotCount": 1 },
        "snapshotId": snapshot,
        "snapshotStatus": "completed",
        "finishReason": "stop",
        "snapshots": [{
            "snapshotId": snapshot, "status": "completed", "finishReason": "stop",
            "createdAt": null, "messageCount": 2, "children": [],
        }],
    });
    assert_eq!(session, expected);
}

#[tokio::test]
async fn a_session_that_failed_shows_why_and_what_was_before() {
    let app = app().await;
    app.say("support", "hello", json!({ "sessionId": "s" })).await;
    app.say("support", "fail", json!({ "sessionId": "s" })).await;
    let session = app.get("/support/sessions/s").await.json();
    assert_eq!(session["error"], json!({ "status": "NOT_FOUND", "message": "no such weather" }));
    assert_eq!(
        (&session["snapshotStatus"], &session["status"]),
        (&json!("failed"), &json!("completed"))
    );
    assert_eq!(session["threads"]["main"].as_array().unwrap().len(), 2);
    assert_eq!(session["state"]["currentTopic"], "hello");
    assert_eq!(session["metadata"]["snapshotCount"], 2);
}

#[tokio::test]
async fn pages_neither_repeat_nor_leave_out_a_session() {
    let app = app().await;
    for number in 0..120 {
        let text = if number % 4 == 0 { "ask" } else { "hi" };
        app.say("support", text, json!({ "sessionId": format!("s/{number}") })).await;
    }
    app.say("sales", "hi", json!({ "sessionId": "elsewhere" })).await;
    for (filter, expected, size) in [
        ("", 120, 50),
        ("limit=200", 120, 200),
        ("limit=7", 120, 7),
        ("limit=1&status=active", 30, 1),
        ("limit=7&status=active", 30, 7),
        ("limit=7&status=completed", 90, 7),
    ] {
        let mut seen = BTreeSet::new();
        let mut last_update = u64::MAX;
        let mut token = String::new();
        loop {
            let list = app.get(&format!("/support/sessions?{filter}{token}")).await.json();
            let sessions = list["sessions"].as_array().unwrap();
            assert!(sessions.len() <= size, "{filter}");
            for session in sessions {
                let id = session["sessionId"].as_str().unwrap().to_owned();
                assert!(seen.insert(id), "{filter}: twice {session}");
                let updated = session["updatedAt"].as_u64().unwrap();
                assert!(updated <= last_update, "{filter}: newest first");
                last_update = updated;
            }
            let Some(next) = list["continuationToken"].as_str() else { break };
            token = format!("&continuationToken={next}");
        }
        assert_eq!(seen.len(), expected, "{filter}");
    }
    let session = app.get("/support/sessions/s%2F7").await.json();
    assert_eq!(session["sessionId"], "s/7");
}

#[tokio::test]
async fn forks_are_a_tree_and_turns_are_differences() {
    let app = app().await;
    let ids = async |init: Value, text: &str| {
        let result = app.say("support", text, init).await;
        result["snapshotId"].as_str().unwrap().to_owned()
    };
    let root = ids(json!({ "sessionId": "s" }), "hello").await;
    let left = ids(json!({ "snapshotId": root }), "draw").await;
    let right = ids(json!({ "snapshotId": root }), "hi").await;
    let leaf = ids(json!({ "snapshotId": right }), "bye").await;
    let mut tree = app.get("/support/sessions/s/tree").await.json();
    for snapshot in tree["snapshots"].as_array_mut().unwrap() {
        assert!(snapshot["createdAt"].take().is_u64());
    }
    let node = |id: &str, parent: Option<&str>, messages: usize, children: &[&str]| {
        let mut node = json!({
            "snapshotId": id, "status": "completed", "finishReason": "stop", "createdAt": null,
            "messageCount": messages, "children": children,
        });
        if let Some(parent) = parent {
            node["parentId"] = json!(parent);
        }
        node
    };
    let expected = json!({
        "sessionId": "s", "agentName": "support", "snapshotId": leaf,
        "snapshots": [
            node(&root, None, 2, &[&left, &right]),
            node(&left, Some(&root), 4, &[]),
            node(&right, Some(&root), 4, &[&leaf]),
            node(&leaf, Some(&right), 6, &[]),
        ],
    });
    assert_eq!(tree, expected);

    let snapshot = app.get(&format!("/support/sessions/s/snapshots/{left}")).await.json();
    assert_eq!((&snapshot["snapshotId"], &snapshot["parentId"]), (&json!(left), &json!(root)));
    assert_eq!(snapshot["state"]["custom"]["currentTopic"], "draw");
    let diff = app.get(&format!("/support/sessions/s/snapshots/{left}/diff")).await.json();
    let message = |role: &str, text: &str| json!({ "role": role, "content": [{ "text": text }] });
    let map = json!({ "name": "map", "parts": [{ "text": "here be dragons" }] });
    let mut patch = diff["patch"].as_array().unwrap().clone();
    patch.sort_by_key(ToString::to_string);
    let mut expected = vec![
        json!({ "op": "add", "path": "/artifacts/-", "value": map }),
        json!({ "op": "add", "path": "/messages/-", "value": message("user", "draw") }),
        json!({ "op": "add", "path": "/messages/-", "value": message("model", "draw: done") }),
        json!({ "op": "replace", "path": "/custom/currentTopic", "value": "draw" }),
        json!({ "op": "replace", "path": "/custom/turns", "value": 2 }),
    ];
    expected.sort_by_key(ToString::to_string);
    assert_eq!(patch, expected);
    assert_eq!((&diff["snapshotId"], &diff["parentId"]), (&json!(left), &json!(root)));
    let diff = app.get(&format!("/support/sessions/s/snapshots/{root}/diff")).await.json();
    assert_eq!(diff.get("parentId"), None);
    let mut state = json!({});
    let patch: Vec<_> = serde_json::from_value(diff["patch"].clone()).unwrap();
    oxikit_core::json_patch::apply(&mut state, &patch).unwrap();
    let snapshot = app.get(&format!("/support/sessions/s/snapshots/{root}")).await.json();
    assert_eq!(state, snapshot["state"]);
}

#[tokio::test]
async fn a_deleted_session_is_gone_and_its_work_stopped_first() {
    let mut app = app().await;
    app.say("support", "hello", json!({ "sessionId": "s" })).await;
    app.detach("wait", "s").await;
    app.started.recv().await;
    let answer = app.ask("DELETE", "/support/sessions/s", "", "").await;
    assert_eq!(answer.json(), json!({ "success": true, "sessionId": "s" }));
    app.cancelled.recv().await.unwrap();
    for path in ["", "/tree"] {
        app.get(&format!("/support/sessions/s{path}")).await.assert_error(404, "NOT_FOUND");
    }
    app.ask("DELETE", "/support/sessions/s", "", "").await.assert_error(404, "NOT_FOUND");
    assert_eq!(app.get("/support/sessions").await.json(), json!({ "sessions": [] }));
}

#[tokio::test]
async fn the_work_of_a_session_is_stopped() {
    let mut app = app().await;
    app.say("support", "hello", json!({ "sessionId": "s" })).await;
    let snapshot = app.detach("wait", "s").await;
    app.started.recv().await;
    let answer = app.ask("POST", "/support/sessions/s/abort", "", "").await.json();
    let expected = json!({
        "sessionId": "s", "snapshotId": snapshot, "status": "pending", "aborted": [snapshot],
    });
    assert_eq!(answer, expected);
    app.cancelled.recv().await.unwrap();
    let session = app.get("/support/sessions/s").await.json();
    assert_eq!(
        (&session["status"], &session["snapshotStatus"]),
        (&json!("completed"), &json!("aborted"))
    );
    assert_eq!(session["threads"]["main"].as_array().unwrap().len(), 2);
    // The work has ended, and the second response says so.
    let body = json!({ "snapshotId": snapshot }).to_string();
    let again = app.ask("POST", "/support/sessions/s/abort", "", &body).await.json();
    assert_eq!((&again["status"], &again["aborted"]), (&json!("aborted"), &json!([])));
    let unknown = json!({ "snapshotId": "none" }).to_string();
    let answer = app.ask("POST", "/support/sessions/s/abort", "", &unknown).await;
    answer.assert_error(404, "NOT_FOUND");
}

/// An agent that covers a member of its state, on a store that the test knows.
async fn covering() -> (impl AsyncFn(&str) -> Value, Arc<MemorySessions>) {
    let ai = Oxikit::builder().build().unwrap();
    let store = Arc::new(MemorySessions::default());
    let agent = Agent::builder("covering")
        .turn(|turn: Turn<Topics>| async move {
            turn.update(|topics| topics.current_topic = "hunter2".into()).await?;
            Ok(turn.answer("done"))
        })
        .transform_state(|mut state| {
            state.custom = Some(Arc::new(json!({ "currentTopic": "covered" })));
            Ok(state)
        })
        .shared_store(store.clone());
    ai.define_agent(agent).unwrap();
    let server = Server::new(&ai).agents_api().port(0).bind().await.unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(server.run(std::future::pending()));
    let ask = async move |request: &str| {
        let (line, body) = request.split_once('\n').unwrap_or((request, ""));
        let mut client = Client::connect(address).await;
        let head = "host: localhost\r\nconnection: close\r\ncontent-type: application/json";
        let length = body.len();
        client
            .send(format!("{line} HTTP/1.1\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}"))
            .await;
        let answer = client.answer().await.unwrap();
        let text = answer.text();
        assert!(!text.contains("hunter2"), "{text}");
        serde_json::from_str(text).unwrap_or_else(|_| json!(text))
    };
    (ask, store)
}

#[tokio::test]
async fn what_an_agent_covers_is_covered_everywhere() {
    let (ask, store) = covering().await;
    let root = "/api/agents/covering";
    let result =
        ask(&format!("POST {root}/execute\n{{\"input\":\"hi\",\"init\":{{\"sessionId\":\"s\"}}}}"))
            .await;
    assert_eq!(result["result"]["state"]["currentTopic"], "covered");
    let stored = store.latest(&Owner::nobody(), "s").await.unwrap().unwrap().snapshot;
    assert_eq!(stored.state.unwrap().custom.unwrap()["currentTopic"], "hunter2");
    let streamed = ask(&format!(
        "POST {root}/execute?stream=true\n{{\"input\":\"hi\",\"init\":{{\"sessionId\":\"s\"}}}}"
    ))
    .await;
    assert!(streamed.as_str().unwrap().contains("covered"), "{streamed}");
    let snapshot = stored.snapshot_id;
    for path in
        ["s", "s/tree", &format!("s/snapshots/{snapshot}"), &format!("s/snapshots/{snapshot}/diff")]
    {
        let shown = ask(&format!("GET {root}/sessions/{path}")).await;
        assert!(shown["code"].is_null(), "{shown}");
    }
}

#[tokio::test]
async fn work_that_is_lost_is_not_active() {
    let (ask, store) = covering().await;
    let pending = |session: &'static str, heartbeat_at: &'static str| {
        let store = store.clone();
        async move {
            let owner = Owner::nobody();
            let write = SnapshotWrite::new(&owner, "covering", session, session);
            let row = |_: Option<&SessionSnapshot>| {
                Ok(Some(SessionSnapshot {
                    created_at: "2026-01-01T00:00:00.000Z".into(),
                    heartbeat_at: Some(heartbeat_at.into()),
                    status: Some(SnapshotStatus::Pending),
                    ..SessionSnapshot::default()
                }))
            };
            store.save(write, &row).await.unwrap();
        }
    };
    pending("lost", "2026-01-01T00:00:00.000Z").await;
    pending("alive", "2999-01-01T00:00:00.000Z").await;
    let root = "GET /api/agents/covering/sessions";
    for (status, session, snapshot_status) in
        [("active", "alive", "pending"), ("completed", "lost", "expired")]
    {
        let list = ask(&format!("{root}?status={status}")).await;
        let sessions = list["sessions"].as_array().unwrap();
        assert_eq!(sessions.len(), 1, "{list}");
        assert_eq!(sessions[0]["sessionId"], session);
        assert_eq!(sessions[0]["snapshotStatus"], snapshot_status);
        let details = ask(&format!("{root}/{session}")).await;
        assert_eq!(
            (&details["status"], &details["snapshotStatus"]),
            (&json!(status), &json!(snapshot_status))
        );
        assert_eq!(details["threads"], json!({ "main": [] }));
    }
}
