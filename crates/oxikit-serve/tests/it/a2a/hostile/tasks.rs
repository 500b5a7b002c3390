//! Tasks that are unknown, of another caller, or over.

use std::sync::atomic::Ordering;

use oxikit::prelude::*;
use oxikit_core::ActionContext;
use oxikit_serve::a2a::{OutgoingPolicy, PushNotifications};
use oxikit_serve::context_from;
use oxikit_wire::a2a::ErrorKind::{
    self, InvalidParams, PushNotificationNotSupported, TaskNotCancelable, TaskNotFound,
    UnsupportedOperation,
};
use oxikit_wire::a2a::Version;
use serde_json::{Value, json};

use super::{Target, WAYS, Way, answer_json, target, target_with};
use crate::kit::Answer;

/// An operation on one task.
#[derive(Debug, Clone, Copy, PartialEq)]
enum On {
    Get,
    Cancel,
    Subscribe,
    Send,
    Stream,
    CreatePush,
    GetPush,
    ListPush,
    DeletePush,
}

const OPERATIONS: [On; 9] = [
    On::Get,
    On::Cancel,
    On::Subscribe,
    On::Send,
    On::Stream,
    On::CreatePush,
    On::GetPush,
    On::ListPush,
    On::DeletePush,
];
const PUSH: [On; 4] = [On::CreatePush, On::GetPush, On::ListPush, On::DeletePush];

/// A receiver that is never called.
const URL: &str = "http://127.0.0.1:9/hook";

impl Target {
    /// Carries out an operation on a task.
    async fn ask(&self, way: Way, on: On, task: &str, headers: &str) -> Answer {
        if matches!(on, On::Send | On::Stream) {
            let mut params = way.send_params();
            params["message"]["taskId"] = task.into();
            let (path, body) = way.send(on == On::Stream, &params.to_string());
            return self.post(&path, headers, body).await;
        }
        match way {
            Way::Rpc(version) => {
                let (method, params) = rpc(on, version, task);
                let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
                self.post("/a2a/counted", headers, body.to_string()).await
            }
            Way::Rest(version) => {
                let prefix = if version == Version::V0_3 { "v1/" } else { "" };
                let (method, path, body) = rest(on, version, task);
                let path = format!("/a2a/counted/{prefix}{path}");
                let headers = format!("Content-Type: application/json\r\n{headers}");
                self.request(method, &path, &headers, body).await
            }
        }
    }
}

fn rpc(on: On, version: Version, task: &str) -> (&'static str, Value) {
    let id = json!({ "id": task });
    match (on, version) {
        (On::Get, Version::V0_3) => ("tasks/get", id),
        (On::Get, Version::V1_0) => ("GetTask", id),
        (On::Cancel, Version::V0_3) => ("tasks/cancel", id),
        (On::Cancel, Version::V1_0) => ("CancelTask", id),
        (On::Subscribe, Version::V0_3) => ("tasks/resubscribe", id),
        (On::Subscribe, Version::V1_0) => ("SubscribeToTask", id),
        (On::CreatePush, Version::V0_3) => (
            "tasks/pushNotificationConfig/set",
            json!({ "taskId": task, "pushNotificationConfig": { "url": URL } }),
        ),
        (On::CreatePush, Version::V1_0) => {
            ("CreateTaskPushNotificationConfig", json!({ "taskId": task, "url": URL }))
        }
        (On::GetPush, Version::V0_3) => ("tasks/pushNotificationConfig/get", id),
        (On::GetPush, Version::V1_0) => {
            ("GetTaskPushNotificationConfig", json!({ "taskId": task, "id": "p" }))
        }
        (On::ListPush, Version::V0_3) => ("tasks/pushNotificationConfig/list", id),
        (On::ListPush, Version::V1_0) => {
            ("ListTaskPushNotificationConfigs", json!({ "taskId": task }))
        }
        (On::DeletePush, Version::V0_3) => (
            "tasks/pushNotificationConfig/delete",
            json!({ "id": task, "pushNotificationConfigId": "p" }),
        ),
        (On::DeletePush, Version::V1_0) => {
            ("DeleteTaskPushNotificationConfig", json!({ "taskId": task, "id": "p" }))
        }
        (On::Send | On::Stream, _) => unreachable!("messages are sent in another way"),
    }
}

fn rest(on: On, version: Version, task: &str) -> (&'static str, String, String) {
    let configs = format!("tasks/{task}/pushNotificationConfigs");
    match on {
        On::Get => ("GET", format!("tasks/{task}"), String::new()),
        On::Cancel => ("POST", format!("tasks/{task}:cancel"), String::new()),
        On::Subscribe => ("POST", format!("tasks/{task}:subscribe"), String::new()),
        On::CreatePush => {
            let config = match version {
                Version::V0_3 => json!({ "config": { "pushNotificationConfig": { "url": URL } } }),
                Version::V1_0 => json!({ "url": URL }),
            };
            ("POST", configs, config.to_string())
        }
        On::GetPush => ("GET", format!("{configs}/p"), String::new()),
        On::ListPush => ("GET", configs, String::new()),
        On::DeletePush => ("DELETE", format!("{configs}/p"), String::new()),
        On::Send | On::Stream => unreachable!("messages are sent in another way"),
    }
}

/// Makes a task of the user; its id.
async fn make(target: &Target, text: &str, headers: &str) -> String {
    let way = Way::Rpc(Version::V1_0);
    let mut params = way.send_params();
    params["message"]["parts"][0]["text"] = text.into();
    let (path, body) = way.send(false, &params.to_string());
    let answer = answer_json(&target.post(&path, headers, body).await);
    answer["result"]["task"]["id"].as_str().unwrap().to_owned()
}

/// Push notifications to this machine.
fn push() -> PushNotifications {
    PushNotifications::with_policy(OutgoingPolicy::default().allow_loopback()).unwrap()
}

#[tokio::test]
async fn an_unknown_task_is_not_found_by_any_operation() {
    let without = target().await;
    for way in WAYS {
        for on in OPERATIONS {
            for task in ["no", "00000000-0000-0000-0000-000000000000", "__proto__", "..%2F.."] {
                let answer = without.ask(way, on, task, "").await;
                let expected = match PUSH.contains(&on) {
                    true => PushNotificationNotSupported,
                    false => TaskNotFound,
                };
                way.assert_refused(&answer, expected, &format!("{on:?} {task}"));
            }
        }
    }
    without.assert_untouched().await;
}

#[tokio::test]
async fn the_task_of_another_caller_is_answered_as_an_unknown_one() {
    let by_name = context_from(|request| {
        let name = request.header("x-user").ok_or_else(|| Status::unauthenticated("no name"))?;
        Ok(ActionContext::default().with("auth", json!({ "uid": name })))
    });
    let target = target_with(|server| server.auth(by_name).push_notifications(push())).await;
    let task = make(&target, "ask", "x-user: ada\r\n").await;
    let runs = target.runs.load(Ordering::SeqCst);
    let bob = "x-user: bob\r\n";
    for way in WAYS {
        for on in OPERATIONS {
            let foreign = target.ask(way, on, &task, bob).await;
            way.assert_refused(&foreign, TaskNotFound, &format!("{on:?}"));
            let unknown = target.ask(way, on, "no", bob).await;
            let masked = |answer: &Answer| answer.text().replace(&task, "no");
            assert_eq!(masked(&foreign), masked(&unknown), "{way:?} {on:?}");
        }
    }
    assert_eq!(target.runs.load(Ordering::SeqCst), runs);
    let own = target.ask(Way::Rest(Version::V1_0), On::Get, &task, "x-user: ada\r\n").await;
    assert_eq!(answer_json(&own)["id"], task);
}

#[tokio::test]
async fn a_task_that_is_over_takes_nothing_more() {
    let target = target().await;
    let task = make(&target, "hello", "").await;
    for way in WAYS {
        for (on, kind) in [
            (On::Send, UnsupportedOperation),
            (On::Stream, UnsupportedOperation),
            (On::Cancel, TaskNotCancelable),
        ] {
            let answer = target.ask(way, on, &task, "").await;
            way.assert_refused(&answer, kind, &format!("{on:?}"));
        }
        let answer = target.ask(way, On::Subscribe, &task, "").await;
        match way.version() {
            Version::V1_0 => way.assert_refused(&answer, UnsupportedOperation, "subscribe"),
            Version::V0_3 => assert!(answer.text().contains(&task), "{}", answer.text()),
        }
    }
    assert_eq!(target.runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_canceled_task_is_canceled_once_in_0_3() {
    let target = target().await;
    for way in WAYS {
        let task = make(&target, "ask", "").await;
        let first = target.ask(way, On::Cancel, &task, "").await;
        assert!(answer_json(&first).get("error").is_none(), "{}", first.text());
        let second = target.ask(way, On::Cancel, &task, "").await;
        match way.version() {
            Version::V0_3 => way.assert_refused(&second, TaskNotCancelable, "twice"),
            Version::V1_0 => assert_eq!(answer_json(&second), answer_json(&first)),
        }
    }
}

#[tokio::test]
async fn ids_that_contradict_are_refused_in_1_0() {
    let target = target().await;
    for way in WAYS {
        let task = make(&target, "ask", "").await;
        let mut params = way.send_params();
        params["message"]["taskId"] = task.as_str().into();
        params["message"]["contextId"] = "another".into();
        let answer = target.send(way, false, &params.to_string()).await;
        match way.version() {
            Version::V1_0 => way.assert_refused(&answer, InvalidParams, "another context"),
            Version::V0_3 => {
                assert_eq!(answer.status, 200, "{way:?} {}", answer.text());
                assert!(!answer.text().contains("another"), "{}", answer.text());
            }
        }
    }
}

#[tokio::test]
async fn a_position_that_is_not_one_of_the_task_is_refused() {
    let target = target().await;
    let task = make(&target, "ask", "").await;
    let other = make(&target, "ask", "").await;
    let ids: [(String, ErrorKind); 8] = [
        (format!("{other}:1"), InvalidParams),
        (format!("{task}:-1"), InvalidParams),
        (format!("{task}:99"), InvalidParams),
        (format!("{task}:18446744073709551615"), InvalidParams),
        (format!("{task}:18446744073709551616"), InvalidParams),
        (format!("{task}:one"), InvalidParams),
        (task.clone(), InvalidParams),
        (format!("{task}:1\r\nLast-Event-ID: {task}:2"), InvalidParams),
    ];
    for way in WAYS {
        for (id, kind) in &ids {
            let headers = format!("Last-Event-ID: {id}\r\n");
            let answer = target.ask(way, On::Subscribe, &task, &headers).await;
            way.assert_refused(&answer, *kind, id);
        }
    }
}
