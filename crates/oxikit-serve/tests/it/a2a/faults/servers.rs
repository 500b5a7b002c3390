//! Two servers with one store: what arrives at the other one reaches the work.

use std::sync::Arc;

use oxikit_core::ports::TaskStore;
use oxikit_sql::SqliteStore;
use serde_json::json;
use tempfile::TempDir;

use super::{App, app_of};
use crate::a2a::kit::message;

/// Two servers, each with a connection of its own to one database.
async fn servers() -> (App, App, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let open = || -> Arc<dyn TaskStore> {
        SqliteStore::open(folder.path().join("app.db")).unwrap().tasks()
    };
    (app_of(open(), |_| {}).await, app_of(open(), |_| {}).await, folder)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_at_the_other_server_ends_the_work_at_this_one() {
    let (mut one, other, _folder) = servers().await;
    let task = one.begin("never").await;
    assert_eq!(one.told().await, "started");
    // A reader at each server is told the end.
    let params = json!({ "id": task });
    let mut here = one.open("SubscribeToTask", &params, "").await;
    let mut there = other.open("SubscribeToTask", &params, "").await;
    for reader in [&mut here, &mut there] {
        assert_eq!(reader.head().await.unwrap().status, 200);
        let first = reader.piece().await.unwrap();
        assert!(String::from_utf8(first).unwrap().contains("TASK_STATE_WORKING"));
    }
    assert_eq!(other.cancel(&task).await, "TASK_STATE_CANCELED");
    assert_eq!(one.told().await, format!("dropped {task}"));
    for reader in [&mut here, &mut there] {
        let last = reader.piece().await.unwrap();
        assert!(String::from_utf8(last).unwrap().contains("TASK_STATE_CANCELED"));
        assert_eq!(reader.piece().await, Some(Vec::new()), "the stream ends");
    }
    assert_eq!(one.state(&task).await, "TASK_STATE_CANCELED");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_at_the_other_server_waits_for_the_turn_at_this_one() {
    let (mut one, mut other, _folder) = servers().await;
    let task = one.begin("never").await;
    assert_eq!(one.told().await, "started");
    let mut more = message("hello");
    more["taskId"] = json!(task);
    let mut waiting = other.open("SendMessage", &json!({ "message": more }), "").await;
    // The message is in the log when both servers see it; its turn has not begun.
    loop {
        let answer = one.call("GetTask", json!({ "id": task })).await.json();
        let history = answer["result"]["history"].as_array().unwrap().clone();
        if history.iter().any(|message| message["parts"][0]["text"] == "hello") {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert!(other.told.try_recv().is_err() && one.told.try_recv().is_err());
    // The end of the task answers those that wait, at either server.
    assert_eq!(one.cancel(&task).await, "TASK_STATE_CANCELED");
    let answer = waiting.answer().await.unwrap().json();
    assert_eq!(answer["result"]["task"]["status"]["state"], "TASK_STATE_CANCELED", "{answer}");
    assert_eq!(one.told().await, format!("dropped {task}"));
}
