//! Stores that fail, and clients that leave while a store is at work.

use std::sync::Arc;

use async_trait::async_trait;
use oxikit_core::{Registry, Result};
use oxikit_serve::a2a::{A2aAgent, AgentExecutor, TaskTurn, TaskUpdates};
use oxikit_serve::{Limits, Server};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::kit::{App, for_task, message, serve};
use super::slow_store::{Fault, HeldTasks};
use crate::kit::PATIENCE;

/// A server that takes one request at a time: when it takes another one, it has noticed that the
/// client of the first has left.
fn one_request(server: Server) -> Server {
    let mut limits = Limits::default();
    limits.requests = 1;
    server.limits(limits)
}

/// The only task, as soon as the server takes the request for it.
pub(super) async fn only_task(app: &App) -> Value {
    let listed = async {
        loop {
            let mut client = app.open("ListTasks", json!({}), "").await;
            let answer = client.answer().await.unwrap();
            if answer.status == 200 {
                let response: Value = serde_json::from_slice(&answer.body).unwrap();
                return response["result"]["tasks"][0].clone();
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, listed).await.expect("the server takes requests again")
}

/// Sends a message whose client leaves while the store is about to answer; the task at its end.
async fn sent_and_left(app: &App, store: &HeldTasks, message: Value) -> Value {
    let client = app.open("SendMessage", json!({ "message": message }), "").await;
    let stored = timeout(PATIENCE, store.messages.acquire()).await;
    stored.expect("the message is stored").unwrap().forget();
    client.reset();
    let task = only_task(app).await;
    let stream = app.stream("SubscribeToTask", json!({ "id": task["id"] }), "").await;
    store.answers_allowed.add_permits(1);
    timeout(PATIENCE, stream.all()).await.expect("the turn ends");
    only_task(app).await
}

#[tokio::test]
async fn a_client_that_leaves_while_its_message_is_stored_does_not_stop_the_task() {
    let store = Arc::new(HeldTasks { answers_allowed: Semaphore::new(0), ..HeldTasks::default() });
    let app = serve(store.clone(), &Registry::default(), one_request).await;
    let asked = sent_and_left(&app, &store, message("ask")).await;
    assert_eq!(asked["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    let done = sent_and_left(&app, &store, for_task(message("hello"), &asked)).await;
    assert_eq!(done["status"]["state"], "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn a_write_that_fails_is_made_again_and_counts_once() {
    let store = Arc::new(HeldTasks::default());
    let app = serve(store.clone(), &Registry::default(), |server| server).await;
    for fault in [Fault::NotStored, Fault::AnswerLost] {
        *store.write_fault.lock().unwrap() = Some(fault);
        let sent = timeout(PATIENCE, app.send(message("chunks"))).await;
        let task = sent.unwrap_or_else(|_| panic!("{fault:?}: the task has no end"));
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{fault:?}");
        let expected = json!([{ "text": "one " }, { "text": "two " }, { "text": "three" }]);
        assert_eq!(task["artifacts"][0]["parts"], expected, "{fault:?}");
    }
}

#[tokio::test]
async fn a_write_that_is_refused_fails_the_task() {
    let store = Arc::new(HeldTasks::default());
    let app = serve(store.clone(), &Registry::default(), |server| server).await;
    *store.write_fault.lock().unwrap() = Some(Fault::Refused);
    let task = timeout(PATIENCE, app.send(message("chunks"))).await.expect("the task ends");
    assert_eq!(task["status"]["state"], "TASK_STATE_FAILED");
}

/// The client is told that its message was not taken. It is stored nevertheless, and this server
/// is the runner of a task that it does not know.
#[tokio::test]
async fn a_task_that_its_server_does_not_know_is_failed() {
    let store = Arc::new(HeldTasks::default());
    let app = serve(store.clone(), &Registry::default(), |server| server).await;
    for waits_for_client in [false, true] {
        let mut sent = message("hello");
        if waits_for_client {
            sent = for_task(sent, &app.send(message("ask")).await);
        }
        *store.message_fault.lock().unwrap() = Some(Fault::AnswerLost);
        let answer = app.call("SendMessage", json!({ "message": sent })).await;
        assert!(answer["error"].is_object(), "{answer}");
        let task = only_task(&app).await;
        let stream = app.stream("SubscribeToTask", json!({ "id": task["id"] }), "").await;
        timeout(PATIENCE, stream.all()).await.expect("the task ends");
        assert_eq!(app.task(&task["id"]).await["status"]["state"], "TASK_STATE_FAILED");
    }
}

/// Waits for ever; says when it begins and when it is dropped.
struct Waiting(Arc<Semaphore>);

struct Dropped(Arc<Semaphore>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

#[async_trait]
impl AgentExecutor for Waiting {
    async fn execute(&self, turn: TaskTurn, updates: &mut TaskUpdates) -> Result<()> {
        let _told = Dropped(self.0.clone());
        if turn.message.text() == "flush" {
            updates.flush().await?;
            // Only a task that is stored comes here.
            self.0.add_permits(100);
        }
        std::future::pending().await
    }
}

/// The agent has begun when the store refuses its task. It does not go on.
#[tokio::test]
async fn an_agent_whose_task_is_refused_is_stopped() {
    let store = Arc::new(HeldTasks::default());
    let told = Arc::new(Semaphore::new(0));
    let agent = A2aAgent::with_executor("waiting", Waiting(told.clone()));
    let app = serve(store.clone(), &Registry::default(), |server| server.a2a(agent)).await;
    for text in ["wait", "flush"] {
        *store.message_fault.lock().unwrap() = Some(Fault::Refused);
        let params = json!({ "message": message(text) });
        let answer = timeout(PATIENCE, app.call_agent("waiting", "SendMessage", params)).await;
        let answer = answer.unwrap_or_else(|_| panic!("{text}: no answer"));
        assert!(answer["error"].is_object(), "{text}: {answer}");
        let dropped = timeout(PATIENCE, told.acquire()).await;
        dropped.unwrap_or_else(|_| panic!("{text}: the agent goes on")).unwrap().forget();
        assert_eq!(told.available_permits(), 0, "{text}");
    }
}
