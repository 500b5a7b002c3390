//! Webhooks that the server must not call.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use oxikit_core::ports::TaskRetention;
use oxikit_outgoing::Resolver;
use oxikit_serve::a2a::{OutgoingClient, OutgoingPolicy, PushNotifications};
use serde_json::{Value, json};

use super::receiver::Receiver;
use super::{app_with_push, send_with, send_with_v0_3};
use crate::a2a::kit::{App, app_with, for_task, message, message_v0_3};
use crate::kit::PATIENCE;

/// A public address. No test connects to it.
const PUBLIC: &str = "93.184.215.14";

/// Gives each answer once, and then always the last one.
struct Dns(Mutex<VecDeque<IpAddr>>);

#[async_trait]
impl Resolver for Dns {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        let mut answers = self.0.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().copied() };
        Ok(answer.into_iter().collect())
    }
}

/// A server that calls public addresses only, by plain http too.
async fn app_with_dns(answers: &[&str]) -> App {
    let answers = answers.iter().map(|address| address.parse().unwrap()).collect();
    let dns = Arc::new(Dns(Mutex::new(answers)));
    let client = OutgoingClient::with_resolver(OutgoingPolicy::default(), dns).unwrap();
    let push = PushNotifications::with_client(client).first_retry(Duration::from_millis(1));
    app_with(|server| server.push_notifications(push.max_retries(2))).await
}

/// Tries to register a webhook in every way.
async fn assert_refused(app: &App, config: &Value) {
    let task = app.send(message("ask")).await;
    let mut flat = config.clone();
    flat["taskId"] = task["id"].clone();
    let nested = json!({ "taskId": task["id"], "pushNotificationConfig": config });
    let more = for_task(message("more"), &task);
    for (method, params) in [
        ("CreateTaskPushNotificationConfig", flat),
        ("tasks/pushNotificationConfig/set", nested),
        ("SendMessage", send_with(message("hello"), config.clone())),
        ("SendMessage", send_with(more, config.clone())),
        ("message/send", send_with_v0_3(message_v0_3("hello"), config.clone())),
    ] {
        let refused = app.call(method, params).await;
        assert_eq!(refused["error"]["code"], -32602, "{method} {config} {refused}");
    }
    assert_eq!(app.task(&task["id"]).await, task, "the message was not taken either");
    let params = json!({ "taskId": task["id"] });
    let list = app.call("ListTaskPushNotificationConfigs", params).await;
    assert_eq!(list["result"]["configs"], json!([]));
}

#[tokio::test]
async fn urls_that_are_not_public_are_refused_at_registration() {
    let canary = Receiver::new().await;
    let app = app_with_dns(&[PUBLIC]).await;
    for url in [
        &*canary.url(),
        &canary.url_at("localhost"),
        &canary.url_at("2130706433"),
        &canary.url_at("[::1]"),
        &canary.url_at("[::ffff:127.0.0.1]"),
        &canary.url_at("someone:word@example.com"),
        "http://10.0.0.1/",
        "http://192.168.1.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://100.64.0.1/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "/hook",
        "",
    ] {
        assert_refused(&app, &json!({ "url": url })).await;
    }
    assert_eq!(canary.connections(), 0);
}

#[tokio::test]
async fn texts_that_would_add_a_header_or_are_too_long_are_refused() {
    let app = app_with_dns(&[PUBLIC]).await;
    let url = "http://example.com/hook";
    for token in ["a\r\nx-injected: 1", "a\nb", &"a".repeat(9000)] {
        assert_refused(&app, &json!({ "url": url, "token": token })).await;
        assert_refused(&app, &json!({ "url": url, "id": token })).await;
    }
    let task = app.send(message("ask")).await;
    let authentication = json!({ "scheme": "Bearer", "credentials": "c\r\nx-injected: 1" });
    let params = json!({ "taskId": task["id"], "url": url, "authentication": authentication });
    let refused = app.call("CreateTaskPushNotificationConfig", params).await;
    assert_eq!(refused["error"]["code"], -32602);
}

#[tokio::test]
async fn plain_http_is_refused_unless_the_policy_allows_it() {
    let push = PushNotifications::new().unwrap();
    let app = app_with(|server| server.push_notifications(push)).await;
    assert_refused(&app, &json!({ "url": format!("http://{PUBLIC}/") })).await;
    // The task has no more events, so the address is not called.
    let task = app.send(message("hello")).await;
    let config = json!({ "taskId": task["id"], "url": format!("https://{PUBLIC}/") });
    let made = app.call("CreateTaskPushNotificationConfig", config).await;
    assert!(made["result"].is_object(), "{made}");
}

#[tokio::test]
async fn a_name_of_a_private_address_is_refused_at_registration() {
    let canary = Receiver::new().await;
    for address in ["127.0.0.1", "10.0.0.1", "::1", "0.0.0.0"] {
        let app = app_with_dns(&[address]).await;
        assert_refused(&app, &json!({ "url": canary.url_at("hooks.example.com") })).await;
    }
    assert_eq!(canary.connections(), 0);
}

#[tokio::test]
async fn a_name_that_becomes_private_after_the_registration_is_not_called() {
    let mut canary = Receiver::new().await;
    let app = app_with_dns(&[PUBLIC, "127.0.0.1"]).await;
    let config = json!({ "url": canary.url_at("hooks.example.com") });
    let sent = app.call("SendMessage", send_with(message("hello"), config)).await;
    assert!(sent["result"].is_object(), "{sent}");
    given_up(&app).await;
    assert_eq!(canary.connections(), 0);
    // A server that may call this machine does reach the canary.
    let app = app_with_push().await;
    app.call("SendMessage", send_with(message("hello"), json!({ "url": canary.url() }))).await;
    canary.take(3).await;
}

/// Waits until the webhook is given up: only then the store removes the task.
async fn given_up(app: &App) {
    let retention = TaskRetention { ended: Some(Duration::ZERO), ..TaskRetention::default() };
    let pruned = async {
        while app.store.prune(&retention).await.unwrap() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, pruned).await.unwrap();
}
