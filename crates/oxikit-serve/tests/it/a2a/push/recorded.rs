//! Notifications of the official servers, recorded, beside ours in the same situation.

use std::collections::HashMap;

use async_trait::async_trait;
use oxikit::prelude::*;
use oxikit_serve::a2a::{
    A2aAgent, AgentExecutor, Artifact, Part, TaskState, TaskTurn, TaskUpdates,
};
use serde_json::{Map, Value, json};

use super::receiver::Receiver;
use super::{push, send_with, send_with_v0_3};
use crate::a2a::kit::{App, app_with};

/// Works as the agent behind the recordings does.
struct Recorded;

#[async_trait]
impl AgentExecutor for Recorded {
    async fn execute(&self, turn: TaskTurn, updates: &mut TaskUpdates) -> Result<()> {
        updates.working("working").await?;
        let id = format!("artifact {}", turn.number);
        let mut artifact = Artifact::new(id, vec![Part::text("chunk 0 ")]);
        artifact.name = Some("out".to_owned());
        updates.artifact(artifact).await?;
        if !turn.message.text().contains("complete") {
            return updates.ask("what next?").await;
        }
        let done = updates.message(vec![Part::text("done")]);
        updates.status(TaskState::Completed, Some(done)).await
    }
}

/// The notifications of each task of a recorded file, in their order, without what differs from
/// run to run.
fn recorded(file: &str) -> Vec<Vec<Value>> {
    let text = oxikit_recordings::text(file);
    let mut tasks: Vec<(String, Vec<Value>)> = Vec::new();
    for notification in text.split("--- webhook ").skip(1) {
        let body = notification.split_once("\n\n").unwrap().1;
        let body: Value = serde_json::from_str(body).unwrap();
        let inner = body.as_object().unwrap().values().find(|it| it.is_object());
        let of = if body["kind"] == "task" { &body } else { inner.unwrap() };
        let id = of["id"].as_str().or(of["taskId"].as_str()).unwrap().to_owned();
        match tasks.iter_mut().find(|(known, _)| *known == id) {
            Some((_, bodies)) => bodies.push(body),
            None => tasks.push((id, vec![body])),
        }
    }
    tasks.into_iter().map(|(_, bodies)| comparable(&bodies)).collect()
}

/// The bodies with numbers in place of ids, and without times. Servers of JavaScript have the
/// message of the current status in the history too; ours, as those of Python, add it when the
/// next status replaces it.
fn comparable(bodies: &[Value]) -> Vec<Value> {
    let mut ids = HashMap::new();
    bodies.iter().map(|body| without_current(masked(body, &mut ids))).collect()
}

fn masked(value: &Value, ids: &mut HashMap<String, usize>) -> Value {
    match value {
        Value::Object(members) => {
            let mut names: Vec<_> = members.keys().collect();
            names.sort();
            let mut all = Map::new();
            for name in names {
                let member = match (name.as_str(), &members[name]) {
                    (name, Value::String(id)) if name.ends_with("id") || name.ends_with("Id") => {
                        let number = ids.len();
                        Value::from(format!("id {}", ids.entry(id.clone()).or_insert(number)))
                    }
                    ("timestamp", _) => Value::from("a time"),
                    (_, value) => masked(value, ids),
                };
                all.insert(name.clone(), member);
            }
            Value::Object(all)
        }
        Value::Array(items) => items.iter().map(|item| masked(item, ids)).collect(),
        value => value.clone(),
    }
}

fn without_current(mut body: Value) -> Value {
    let current = body["status"]["message"].clone();
    if let Some(history) = body.get_mut("history").and_then(Value::as_array_mut)
        && history.last() == Some(&current)
    {
        history.pop();
    }
    body
}

async fn app() -> App {
    let agent = A2aAgent::with_executor("recorded", Recorded);
    app_with(|server| server.a2a(agent).push_notifications(push())).await
}

fn message(version: &str, id: &str, text: &str) -> Value {
    match version {
        "0.3" => json!({
            "kind": "message", "messageId": id, "role": "user",
            "parts": [{ "kind": "text", "text": text }],
        }),
        _ => json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "text": text }] }),
    }
}

/// Our notifications of a task that is registered with its message.
async fn of_new_task(version: &str, number: usize) -> Vec<Value> {
    let (app, mut receiver) = (app().await, Receiver::new().await);
    let message = message(version, "one", "long 1 complete");
    let config = json!({ "url": receiver.url(), "token": "tok-3" });
    let (method, params) = match version {
        "0.3" => ("message/send", send_with_v0_3(message, config)),
        _ => ("SendMessage", send_with(message, config)),
    };
    app.call_agent("recorded", method, params).await;
    let bodies: Vec<_> = receiver.take(number).await.iter().map(|it| it.json()).collect();
    comparable(&bodies)
}

/// Our notifications of a task whose webhook is registered while it waits for an answer.
async fn of_answered_task(version: &str, number: usize) -> Vec<Value> {
    let (app, mut receiver) = (app().await, Receiver::new().await);
    let (send, register) = match version {
        "0.3" => ("message/send", "tasks/pushNotificationConfig/set"),
        _ => ("SendMessage", "CreateTaskPushNotificationConfig"),
    };
    let params = json!({ "message": message(version, "one", "hello") });
    let asked = app.call_agent("recorded", send, params).await["result"].clone();
    let task = asked.get("task").unwrap_or(&asked)["id"].clone();
    let config = json!({ "url": receiver.url(), "token": "tok-1" });
    let params = match version {
        "0.3" => json!({ "taskId": task, "pushNotificationConfig": config }),
        _ => json!({ "taskId": task, "url": receiver.url(), "token": "tok-1" }),
    };
    app.call_agent("recorded", register, params).await;
    let mut answer = message(version, "two", "complete");
    answer["taskId"] = task;
    app.call_agent("recorded", send, json!({ "message": answer })).await;
    let all = receiver.take(number).await;
    let bodies: Vec<_> = all.iter().map(|it| it.json()).collect();
    // The message of the client is an event of its own here, which the official servers do not tell.
    comparable(&bodies[1..])
}

#[tokio::test]
async fn webhooks_of_1_0_are_those_of_the_official_servers() {
    let (new, answered) = (of_new_task("1.0", 4).await, of_answered_task("1.0", 4).await);
    let mut compared = 0;
    for server in ["js1.3.0", "py1.3.0"] {
        for recorded in recorded(&format!("a2a-1.0/webhooks-from-{server}-server.txt")) {
            // That of a client of 0.3 has the form of 0.3 from one of the servers.
            if recorded[0]["kind"] == "task" {
                continue;
            }
            let is_new = recorded[0].get("task").is_some();
            assert_eq!(&recorded, if is_new { &new } else { &answered }, "{server}");
            compared += 1;
        }
    }
    assert_eq!(compared, 9, "webhooks in the recordings");
}

#[tokio::test]
async fn webhooks_of_0_3_are_those_of_the_official_servers() {
    let (new, answered) = (of_new_task("0.3", 4).await, of_answered_task("0.3", 4).await);
    let mut compared = 0;
    let files = ["a2a-0.3/webhooks-from-js0.3.14", "a2a-1.0/webhooks-from-js1.3.0"];
    for file in files {
        for recorded in recorded(&format!("{file}-server.txt")) {
            if recorded[0]["kind"] != "task" {
                continue;
            }
            let is_new = recorded[0]["status"]["state"] == "submitted";
            assert_eq!(&recorded, if is_new { &new } else { &answered }, "{file}");
            compared += 1;
        }
    }
    assert_eq!(compared, 4, "webhooks in the recordings");
}

/// The server of Python tells the end of a task only.
#[tokio::test]
async fn the_last_webhook_of_0_3_is_that_of_the_server_of_python() {
    let new = of_new_task("0.3", 4).await;
    let mut compared = 0;
    for recorded in recorded("a2a-0.3/webhooks-from-py0.3.26-server.txt") {
        // Ids are numbered from the first notification, which is another one here.
        let [recorded] = &recorded[..] else { panic!("{recorded:?}") };
        if recorded["artifacts"].as_array().unwrap().len() == 1 {
            assert_eq!(comparable(std::slice::from_ref(recorded)), comparable(&new[3..]));
            compared += 1;
        }
    }
    assert_eq!(compared, 2, "new tasks in the recordings");
}
