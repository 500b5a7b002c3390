//! Streams of events, and how a client comes back to them.

use serde_json::{Value, json};

use super::kit::{app, for_task, message, message_v0_3};

/// The kinds of the events, in the form of version 1.0.
fn kinds(events: &[(String, Value)]) -> Vec<&str> {
    let kind = |event: &Value| event["result"].as_object().unwrap().keys().next().unwrap().clone();
    let kinds = events.iter().map(|(_, event)| match kind(event).as_str() {
        "task" => "task",
        "statusUpdate" => "status",
        "artifactUpdate" => "artifact",
        _ => "other",
    });
    kinds.collect()
}

#[tokio::test]
async fn a_stream_is_the_task_and_then_its_events() {
    let app = app().await;
    let params = json!({ "message": message("chunks") });
    let stream = app.stream("SendStreamingMessage", params, "").await;
    assert_eq!(stream.head.header("content-type"), Some("text/event-stream"));
    let events = stream.all().await;
    assert_eq!(kinds(&events), ["task", "artifact", "artifact", "artifact", "status"]);
    let task = &events[0].1["result"]["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_SUBMITTED");
    let id = task["id"].as_str().unwrap();
    for (number, (event_id, _)) in events.iter().enumerate() {
        assert_eq!(*event_id, format!("{id}:{}", number + 1));
    }
    let stored = app.task(&task["id"]).await;
    let parts = json!([{ "text": "one " }, { "text": "two " }, { "text": "three" }]);
    assert_eq!(stored["artifacts"][0]["parts"], parts);
}

#[tokio::test]
async fn the_last_event_of_a_stream_of_0_3_is_final() {
    let app = app().await;
    for (text, state) in [("chunks", "completed"), ("ask", "input-required")] {
        let params = json!({ "message": message_v0_3(text) });
        let events = app.stream("message/stream", params, "").await.all().await;
        let results: Vec<_> = events.iter().map(|(_, event)| &event["result"]).collect();
        assert_eq!(results[0]["kind"], "task");
        let last = results.last().unwrap();
        assert_eq!((&last["kind"], &last["final"]), (&json!("status-update"), &json!(true)));
        assert_eq!(last["status"]["state"], state);
        let finals = results.iter().filter(|result| result["final"] == true).count();
        assert_eq!(finals, 1);
    }
}

#[tokio::test]
async fn a_client_comes_back_without_gap_or_duplicate() {
    let app = app().await;
    let params = json!({ "message": message("chunks") });
    let all = app.stream("SendStreamingMessage", params, "").await.all().await;
    let id = all[0].1["result"]["task"]["id"].clone();
    for known in 1..=all.len() {
        let headers = format!("Last-Event-ID: {}\r\n", all[known - 1].0);
        let params = json!({ "id": id });
        let rest = app.stream("SubscribeToTask", params, &headers).await.all().await;
        assert_eq!(rest, all[known..], "after {known}");
    }
    let headers = format!("Last-Event-ID: {}:99\r\n", id.as_str().unwrap());
    let params = json!({ "id": id });
    let refused = app.stream("tasks/resubscribe", params, &headers).await.all().await;
    assert_eq!(refused[0].1["error"]["code"], -32602);
}

#[tokio::test]
async fn a_client_that_leaves_cancels_nothing_and_many_follow_one_task() {
    let app = app().await;
    let params = json!({ "message": message("wait") });
    let mut stream = app.stream("SendStreamingMessage", params, "").await;
    let (_, first) = stream.next().await.unwrap();
    let id = first["result"]["task"]["id"].clone();
    drop(stream);
    let params = json!({ "id": id });
    let mut one = app.stream("SubscribeToTask", params.clone(), "").await;
    let mut other = app.stream("tasks/resubscribe", params.clone(), "").await;
    one.next().await.unwrap();
    other.next().await.unwrap();
    app.gate.notify_one();
    let (one, other) = (one.all().await, other.all().await);
    assert_eq!(one.last().unwrap().0, other.last().unwrap().0);
    let last = &one.last().unwrap().1["result"]["statusUpdate"];
    assert_eq!(last["status"]["state"], "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn a_subscriber_of_an_ended_task_is_told_as_its_version_says() {
    let app = app().await;
    let task = app.send(message("hello")).await;
    let params = json!({ "id": task["id"] });
    let old = app.stream("tasks/resubscribe", params.clone(), "").await.all().await;
    assert_eq!(old.len(), 1);
    assert_eq!(old[0].1["result"]["status"]["state"], "completed");
    let new = app.call("SubscribeToTask", params).await;
    assert_eq!(new["error"]["code"], -32004);
}

#[tokio::test]
async fn an_answer_streams_its_own_turn() {
    let app = app().await;
    let asked = app.send(message("ask")).await;
    let params = json!({ "message": for_task(message("chunks"), &asked) });
    let events = app.stream("SendStreamingMessage", params, "").await.all().await;
    assert_eq!(kinds(&events), ["task", "artifact", "artifact", "artifact", "status"]);
    assert_eq!(events[0].1["result"]["task"]["status"]["state"], "TASK_STATE_WORKING");
}

/// The answer was there before the question: the task does not wait for the client meanwhile.
#[tokio::test]
async fn a_turn_that_has_waited_for_one_that_asks_begins_with_working() {
    let app = app().await;
    let asked = app.send(message("ask")).await;
    app.begin(for_task(message("wait and ask"), &asked)).await;
    let params = json!({ "message": for_task(message("wait and ask"), &asked) });
    let mut stream = app.stream("SendStreamingMessage", params, "").await;
    let first = stream.next().await.unwrap().1;
    assert_eq!(first["result"]["task"]["status"]["state"], "TASK_STATE_WORKING");
    app.gate.notify_one();
    for state in ["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_WORKING"] {
        let (_, event) = stream.next().await.unwrap();
        assert_eq!(event["result"]["statusUpdate"]["status"]["state"], state, "{event}");
    }
    app.gate.notify_one();
    let rest = stream.all().await;
    let last = &rest[0].1["result"]["statusUpdate"]["status"]["state"];
    assert_eq!((rest.len(), last), (1, &json!("TASK_STATE_INPUT_REQUIRED")));
}
