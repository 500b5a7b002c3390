//! Servers that stop, and others that share their store.

use std::sync::Arc;

use oxikit_core::Registry;
use oxikit_core::ports::TaskStore;
use oxikit_core::ports::memory::MemoryTasks;
use serde_json::json;

use super::kit::{message, serve};

/// A process that dies leaves its tasks working: another one ends them, and its readers hear it.
#[test]
fn tasks_of_a_server_that_died_are_failed_by_another_one() {
    let store: Arc<dyn TaskStore> = Arc::new(MemoryTasks::default());
    let runtime = || tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let first = runtime();
    let task = first.block_on(async {
        let app = serve(store.clone(), &Registry::default(), |server| server).await;
        let task = app.begin(message("wait")).await;
        // The server is not stopped: its runtime is dropped, as a kill would.
        std::mem::forget(app);
        task
    });
    first.shutdown_background();
    let second = runtime();
    second.block_on(async {
        let app = serve(store, &Registry::default(), |server| server).await;
        let stream = app.stream("SubscribeToTask", json!({ "id": task["id"] }), "").await;
        let events = stream.all().await;
        let last = &events.last().unwrap().1["result"]["statusUpdate"]["status"];
        assert_eq!(last["state"], "TASK_STATE_FAILED");
        let text = last["message"]["parts"][0]["text"].as_str().unwrap();
        assert!(text.contains("has stopped"), "{text}");
        assert_eq!(app.task(&task["id"]).await["status"]["state"], "TASK_STATE_FAILED");
    });
}

/// A task is canceled, followed and answered at either of two servers.
#[tokio::test]
async fn two_servers_on_one_store_are_one() {
    let store: Arc<dyn TaskStore> = Arc::new(MemoryTasks::default());
    let one = serve(store.clone(), &Registry::default(), |server| server).await;
    let other = serve(store, &Registry::default(), |server| server).await;
    let asked = one.send(message("ask")).await;
    let mut answer = message("hello");
    answer["taskId"] = asked["id"].clone();
    let done = other.send(answer).await;
    assert_eq!(done["status"]["state"], "TASK_STATE_COMPLETED");
    let waiting = one.begin(message("wait")).await;
    let mut more = message("ask");
    more["taskId"] = waiting["id"].clone();
    let queued = other.begin(more).await;
    assert_eq!(queued["status"]["state"], "TASK_STATE_WORKING");
    one.gate.notify_one();
    let follow = json!({ "id": waiting["id"] });
    other.stream("tasks/resubscribe", follow, "").await.all().await;
    assert_eq!(other.task(&waiting["id"]).await["status"]["state"], "TASK_STATE_COMPLETED");
    let task = one.begin(message("wait")).await;
    let params = json!({ "id": task["id"] });
    let canceled = other.call("CancelTask", params).await;
    assert_eq!(canceled["result"]["status"]["state"], "TASK_STATE_CANCELED");
    assert_eq!(one.task(&task["id"]).await["status"]["state"], "TASK_STATE_CANCELED");
}
