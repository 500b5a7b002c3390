//! Turns as one answer.

use serde_json::json;

use super::{App, app};

#[tokio::test]
async fn a_turn_is_answered_with_the_whole_conversation() {
    let app = app().await;
    let body = json!({
        "input": { "role": "user", "content": [{ "text": "What's the weather like?" }] },
        "init": { "sessionId": "sess_abc123", "messages": [], "state": {}, "artifacts": [] },
        "stream": false,
        "telemetryLabels": { "source": "dev-ui", "userId": "dev_user" },
    });
    let answer = app.ask("POST", "/support/execute", "", &body.to_string()).await;
    let mut whole = answer.json();
    let telemetry = whole["telemetry"].take();
    assert_eq!(telemetry["traceId"].as_str(), answer.header("x-genkit-trace-id"));
    assert_eq!(telemetry["spanId"].as_str(), answer.header("x-genkit-span-id"));
    assert_eq!(telemetry["traceId"].as_str().unwrap().len(), 32);
    let snapshot = whole["result"]["snapshotId"].take();
    assert!(snapshot.is_string(), "{whole}");
    let reply =
        json!({ "role": "model", "content": [{ "text": "What's the weather like?: done" }] });
    let expected = json!({
        "result": {
            "sessionId": "sess_abc123",
            "messages": [body["input"], reply],
            "state": { "currentTopic": "What's the weather like?", "turns": 1 },
            "artifacts": [],
            "snapshotId": null,
            "finishReason": "stop",
            "message": reply,
        },
        "telemetry": null,
    });
    assert_eq!(whole, expected);
}

#[tokio::test]
async fn a_session_goes_on_where_it_was() {
    let app = app().await;
    let first = app.say("support", "draw", json!({})).await;
    let second = app.say("support", "hello", json!({ "sessionId": first["sessionId"] })).await;
    assert_eq!(second["messages"].as_array().unwrap().len(), 4, "{second}");
    assert_eq!(second["state"]["turns"], 2);
    assert_eq!(second["artifacts"][0]["name"], "map");
    // From the first snapshot again: a fork.
    let fork = app.say("support", "other", json!({ "snapshotId": first["snapshotId"] })).await;
    assert_eq!(fork["messages"].as_array().unwrap().len(), 4, "{fork}");
    assert_eq!(fork["sessionId"], first["sessionId"]);
}

#[tokio::test]
async fn a_client_keeps_the_state_by_sending_the_result_back() {
    let app = app().await;
    let first = app.say("helper", "draw", json!({ "state": {} })).await;
    assert_eq!(first.get("snapshotId"), None);
    assert_eq!(first["state"], json!({ "currentTopic": "draw", "turns": 1 }));
    let second = app.say("helper", "hello", first.clone()).await;
    assert_eq!(second["sessionId"], first["sessionId"]);
    assert_eq!(second["messages"].as_array().unwrap().len(), 4);
    assert_eq!(second["state"]["turns"], 2);
    assert_eq!(second["artifacts"], first["artifacts"]);
    // A state as Genkit's own clients keep it.
    let state =
        json!({ "sessionId": "mine", "messages": second["messages"], "custom": second["state"] });
    let third = app.say("helper", "again", json!({ "state": state })).await;
    assert_eq!((&third["sessionId"], &third["state"]["turns"]), (&json!("mine"), &json!(3)));
    let fourth = app.say("helper", "hi", json!({ "sessionId": "chosen" })).await;
    assert_eq!(fourth["sessionId"], "chosen");
}

#[tokio::test]
async fn a_failed_turn_is_a_result_with_what_was_good_before() {
    let app = app().await;
    let first = app.say("support", "hello", json!({})).await;
    let mut failed = app.say("support", "fail", json!({ "sessionId": first["sessionId"] })).await;
    assert_eq!(failed["error"], json!({ "status": "NOT_FOUND", "message": "no such weather" }));
    assert_eq!(failed["finishReason"], "failed");
    for member in ["sessionId", "snapshotId", "messages", "state", "artifacts"] {
        assert_eq!(failed[member].take(), first[member], "{member}");
    }
    let failed = app.say("support", "fail", json!({})).await;
    assert_eq!((&failed["messages"], &failed["state"]), (&json!([]), &json!({})));
    let refused = app.say("support", "hi", json!({ "snapshotId": "none" })).await;
    assert_eq!(refused["error"]["status"], "NOT_FOUND", "{refused}");
}

#[tokio::test]
async fn a_detached_turn_is_answered_at_once_and_read_later() {
    let mut app = app().await;
    app.say("support", "hello", json!({ "sessionId": "s" })).await;
    let snapshot = app.detach("wait", "s").await;
    app.started.recv().await;
    let session = app.get("/support/sessions/s").await.json();
    assert_eq!(
        (&session["status"], &session["snapshotStatus"]),
        (&json!("active"), &json!("pending"))
    );
    assert_eq!(session["snapshotId"], snapshot.as_str());
    // The earlier messages can be read meanwhile.
    assert_eq!(session["threads"]["main"].as_array().unwrap().len(), 2, "{session}");
    app.go_on.notify_one();
    let session = until_completed(&app).await;
    assert_eq!(session["threads"]["main"].as_array().unwrap().len(), 4);
    assert_eq!(session["snapshotStatus"], "completed");
}

async fn until_completed(app: &App) -> serde_json::Value {
    loop {
        let session = app.get("/support/sessions/s").await.json();
        if session["status"] == "completed" {
            return session;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn labels_are_attributes_of_the_root_span() {
    let app = app().await;
    for stream in [false, true] {
        let labels = json!({ "source": "dev-ui", "stream": stream });
        let body = json!({ "input": "hi", "stream": stream, "telemetryLabels": labels });
        let answer = app.ask("POST", "/support/execute", "", &body.to_string()).await;
        let trace = answer.header("x-genkit-trace-id").unwrap();
        let spans = app.spans.0.lock().unwrap().clone();
        let is_root = |span: &&oxikit_core::SpanRecord| {
            span.trace_id.to_string() == trace && span.parent_span_id.is_none()
        };
        let root = spans.iter().find(is_root).unwrap();
        assert_eq!(root.attributes["source"], "dev-ui");
        assert_eq!(root.attributes["stream"], stream);
        assert_eq!(root.attributes["genkit:key"], "/agent/support");
    }
}
