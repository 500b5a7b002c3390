//! Registrations: made, read and removed, in both versions and bindings.

use oxikit_core::ActionContext;
use oxikit_serve::context_from;
use serde_json::{Value, json};

use super::{app_with_push, push, send_with};
use crate::a2a::kit::{App, app, app_with, message};

const URL: &str = "http://127.0.0.1:9/hook";

#[tokio::test]
async fn only_a_card_of_a_server_with_push_notifications_declares_them() {
    let declared = async |app: App| {
        let card = app.request("GET", "/.well-known/agent-card.json", "", "").await;
        card.json()["capabilities"]["pushNotifications"].clone()
    };
    assert_eq!(declared(app_with_push().await).await, true);
    assert_ne!(declared(app().await).await, true);
}

#[tokio::test]
async fn without_push_notifications_every_request_about_them_is_refused() {
    let app = app().await;
    let task = app.send(message("ask")).await;
    let config = json!({ "taskId": task["id"], "id": "c", "url": URL });
    for method in [
        "CreateTaskPushNotificationConfig",
        "GetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
        "DeleteTaskPushNotificationConfig",
    ] {
        let refused = app.call(method, config.clone()).await;
        assert_eq!(refused["error"]["code"], -32003, "{method} {refused}");
    }
    let refused = app.call("SendMessage", send_with(message("ask"), json!({ "url": URL }))).await;
    assert_eq!(refused["error"]["code"], -32003);
}

#[tokio::test]
async fn clients_of_1_0_manage_webhooks_by_json_rpc() {
    let app = app_with_push().await;
    let task = app.send(message("ask")).await;
    let id = &task["id"];
    let authentication = json!({ "scheme": "Bearer", "credentials": "c" });
    let sent = json!({
        "taskId": id, "id": "one", "url": URL, "token": "t", "authentication": authentication,
    });
    let made = app.call("CreateTaskPushNotificationConfig", sent.clone()).await;
    assert_eq!(made["result"], sent);
    let unnamed = json!({ "taskId": id, "url": URL });
    let made = app.call("CreateTaskPushNotificationConfig", unnamed).await;
    assert_eq!(made["result"]["id"], *id, "the default one has the id of the task");
    let named = |config: &str| json!({ "taskId": id, "id": config });
    let got = app.call("GetTaskPushNotificationConfig", named("one")).await;
    assert_eq!(got["result"], sent);
    let got = app.call("GetTaskPushNotificationConfig", named("default")).await;
    assert_eq!(got["result"]["id"], *id);
    let unknown = app.call("GetTaskPushNotificationConfig", named("two")).await;
    assert_eq!(unknown["error"]["code"], -32001);
    let list = async || app.call("ListTaskPushNotificationConfigs", json!({ "taskId": id })).await;
    assert_eq!(list().await["result"]["configs"].as_array().unwrap().len(), 2);
    for _ in 0..2 {
        let gone = app.call("DeleteTaskPushNotificationConfig", named("one")).await;
        assert_eq!(gone.get("result"), Some(&Value::Null), "{gone}");
    }
    assert_eq!(list().await["result"]["configs"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn clients_of_0_3_manage_webhooks_by_json_rpc_and_keep_all_schemes() {
    let app = app_with_push().await;
    let task = app.send(message("ask")).await;
    let id = &task["id"];
    let call = async |method: &str, params: Value| {
        app.call(&format!("tasks/pushNotificationConfig/{method}"), params).await
    };
    let authentication = json!({ "schemes": ["Bearer", "Basic"], "credentials": "c" });
    let config = json!({ "url": URL, "token": "t", "authentication": authentication });
    let made = call("set", json!({ "taskId": id, "pushNotificationConfig": config })).await;
    let made = &made["result"];
    assert_eq!(made["taskId"], *id);
    assert_eq!(made["pushNotificationConfig"]["id"], *id);
    assert_eq!(made["pushNotificationConfig"]["authentication"], authentication);
    // Without an id, or as `default`, it is the default one.
    assert_eq!(call("get", json!({ "id": id })).await["result"], *made);
    let named = json!({ "id": id, "pushNotificationConfigId": "default" });
    assert_eq!(call("get", named.clone()).await["result"], *made);
    assert_eq!(call("list", json!({ "id": id })).await["result"], json!([made]));
    // A client of 1.0 sees the first scheme, and no member that its version does not have.
    let seen = app.call("GetTaskPushNotificationConfig", json!({ "taskId": id, "id": id })).await;
    let first = json!({ "scheme": "Bearer", "credentials": "c" });
    assert_eq!(seen["result"]["authentication"], first);
    let gone = call("delete", named).await;
    assert_eq!(gone.get("result"), Some(&Value::Null), "{gone}");
    assert_eq!(call("list", json!({ "id": id })).await["result"], json!([]));
}

#[tokio::test]
async fn webhooks_are_managed_by_http_in_both_versions() {
    let app = app_with_push().await;
    let task = app.send(message("ask")).await;
    let id = task["id"].as_str().unwrap();
    let json_type = "Content-Type: application/json\r\n";
    for (version, config) in [
        ("", json!({ "id": "c", "url": URL })),
        ("v1/", json!({ "config": { "pushNotificationConfig": { "id": "c", "url": URL } } })),
    ] {
        let path = format!("/a2a/script/{version}tasks/{id}/pushNotificationConfigs");
        let made = app.request("POST", &path, json_type, &config.to_string()).await;
        assert_eq!(made.status, 200, "{}", made.text());
        let one = format!("{path}/c");
        let got = app.request("GET", &one, "", "").await;
        assert_eq!((got.status, got.json()), (200, made.json()));
        assert!(got.text().contains(URL));
        let list = app.request("GET", &path, "", "").await;
        assert_eq!(list.json()["configs"], json!([made.json()]));
        assert_eq!(app.request("DELETE", &one, "", "").await.status, 204);
        assert_eq!(app.request("GET", &one, "", "").await.status, 404);
    }
}

#[tokio::test]
async fn webhooks_of_other_callers_are_not_found() {
    let auth = context_from(|request| {
        let auth = json!({ "uid": request.header("x-caller") });
        Ok(ActionContext::default().with("auth", auth))
    });
    let app = app_with(|server| server.auth(auth).push_notifications(push())).await;
    let call = async |caller: &str, method: &str, params: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let header = format!("X-Caller: {caller}\r\n");
        app.raw("script", &header, &body.to_string()).await.json()
    };
    let (own, other) = ("ada", "bob");
    let config = json!({ "id": "c", "url": URL, "token": "a-secret" });
    let sent = call(own, "SendMessage", send_with(message("ask"), config)).await;
    let id = &sent["result"]["task"]["id"];
    let params = json!({ "taskId": id, "id": "c", "url": URL });
    for method in [
        "GetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
        "CreateTaskPushNotificationConfig",
        "DeleteTaskPushNotificationConfig",
    ] {
        let refused = call(other, method, params.clone()).await;
        assert_eq!(refused["error"]["code"], -32001, "{method} {refused}");
        let mut unknown = params.clone();
        unknown["taskId"] = json!("no-such-task");
        assert_eq!(call(other, method, unknown).await, refused, "the same as an unknown task");
    }
    let kept = call(own, "GetTaskPushNotificationConfig", params).await;
    assert_eq!(kept["result"]["token"], "a-secret");
}

#[tokio::test]
async fn a_task_has_ten_webhooks_at_most() {
    let app = app_with_push().await;
    let task = app.send(message("ask")).await;
    let create = async |number: usize| {
        let params = json!({ "taskId": task["id"], "id": format!("c{number}"), "url": URL });
        app.call("CreateTaskPushNotificationConfig", params).await
    };
    for number in 0..10 {
        assert!(create(number).await["result"].is_object());
    }
    assert_eq!(create(10).await["error"]["code"], -32004);
    assert!(create(9).await["result"].is_object(), "one that is there is replaced");
}
