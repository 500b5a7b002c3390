//! Agents that fail or never end.

use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::TaskStore;
use oxikit_core::ports::memory::MemoryTasks;
use serde_json::json;

use super::{app, app_of, events};
use crate::a2a::kit::{message, message_v0_3};
use crate::kit::PATIENCE;

#[tokio::test]
async fn an_agent_that_fails_fails_its_task_and_tells_nothing() {
    let app = app().await;
    for text in ["error", "panic", "chunk, then panic"] {
        let task = app.send(text).await;
        assert_eq!(task["status"]["state"], "TASK_STATE_FAILED", "{text} {task}");
        // As a stream: the task, then its end.
        for (method, message, state) in [
            ("message/stream", message_v0_3(text), "/status/state"),
            ("SendStreamingMessage", message(text), "/statusUpdate/status/state"),
        ] {
            let answer = app.call(method, json!({ "message": message })).await;
            answer.assert_says_nothing();
            let events = events(&answer);
            let last = &events.last().unwrap().1;
            let state = last.pointer(state).unwrap();
            assert!(state == "failed" || state == "TASK_STATE_FAILED", "{text} {last}");
            assert_eq!(last.get("final").is_some(), method == "message/stream", "{last}");
            let numbers: Vec<u64> = events.iter().map(|(number, _)| *number).collect();
            assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
        }
    }
    let task = app.send("hello").await;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "others are not harmed");
}

#[tokio::test]
async fn a_task_that_is_completed_stays_so_whatever_its_agent_does() {
    let mut app = app().await;
    for text in ["complete, then error", "complete, then panic", "complete, then publish"] {
        let task = app.send(text).await;
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{text}");
        if text == "complete, then publish" {
            assert_eq!(app.told().await, "accepted 0 of 8");
        }
        let id = task["id"].as_str().unwrap();
        let params = json!({ "id": id });
        let headers = format!("Last-Event-ID: {id}:0\r\n");
        let mut log = app.open("SubscribeToTask", &params, &headers).await;
        let events = events(&log.answer().await.unwrap());
        assert_eq!(events.len(), 2, "{text}: submitted and completed: {events:?}");
        assert_eq!(app.state(id).await, "TASK_STATE_COMPLETED");
    }
}

#[tokio::test]
async fn an_agent_that_never_ends_goes_on_without_its_client_until_it_is_canceled() {
    let mut app = app().await;
    let params = json!({ "message": message("never") });
    let mut stream = app.open("SendStreamingMessage", &params, "").await;
    assert_eq!(stream.head().await.unwrap().status, 200);
    let first = stream.piece().await.unwrap();
    let first = String::from_utf8(first).unwrap();
    let id = first.lines().next().unwrap().strip_prefix("id: ").unwrap();
    let task = id.rsplit_once(':').unwrap().0.to_owned();
    assert_eq!(app.told().await, "started");
    stream.reset();
    assert_eq!(app.state(&task).await, "TASK_STATE_WORKING");
    assert!(app.told.try_recv().is_err(), "the client has left, and nothing has ended");
    let cancel = app.cancel(&task).await;
    assert_eq!(cancel, "TASK_STATE_CANCELED");
    assert_eq!(app.told().await, format!("dropped {task}"));
    // It panics when it is told. The task stays canceled, and the server goes on.
    assert_eq!(app.told().await, format!("canceled {task}"));
    assert_eq!(app.state(&task).await, "TASK_STATE_CANCELED");
}

#[tokio::test]
async fn an_agent_that_never_ends_does_not_hold_up_the_shutdown() {
    let store: Arc<dyn TaskStore> = Arc::new(MemoryTasks::default());
    let mut first = app_of(store.clone(), |limits| limits.drain_time = Duration::ZERO).await;
    let task = first.begin("never").await;
    assert_eq!(first.told().await, "started");
    let params = json!({ "message": message("never") });
    let mut waiting = first.open("SendMessage", &params, "").await;
    assert_eq!(first.told().await, "started");
    drop(first.stop.take());
    let ended = tokio::time::timeout(PATIENCE, &mut first.server).await;
    ended.expect("the server ends").unwrap();
    // The client that waits is told or cut off, but does not wait for ever.
    _ = waiting.answer().await;
    let second = app_of(store, |_| {}).await;
    assert_eq!(second.state(&task).await, "TASK_STATE_FAILED");
}
