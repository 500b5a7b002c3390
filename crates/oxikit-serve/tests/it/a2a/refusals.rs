//! Requests that are not right, over each binding.

use serde_json::{Value, json};

use super::kit::{app, app_with, for_task, message, message_v0_3};
use oxikit_serve::ApiKey;
use oxikit_serve::a2a::A2aAgent;

#[tokio::test]
async fn bodies_that_are_no_requests_are_refused_with_their_codes() {
    let app = app().await;
    for (body, code, id) in [
        ("{", -32700, json!(null)),
        ("nothing", -32700, json!(null)),
        ("[]", -32600, json!(null)),
        (r#"{"jsonrpc":"1.0","id":3,"method":"GetTask"}"#, -32600, json!(3)),
        (r#"{"jsonrpc":"2.0","id":{},"method":"GetTask"}"#, -32600, json!(null)),
        (r#"{"jsonrpc":"2.0","id":"x","method":"Fly","params":{}}"#, -32601, json!("x")),
        (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask"}"#, -32602, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}"#, -32602, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"no"}}"#, -32001, json!(1)),
    ] {
        let answer = app.raw("script", "", body).await;
        assert_eq!(answer.status, 200, "{body}");
        let response: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!((&response["error"]["code"], &response["id"]), (&json!(code), &id), "{body}");
        assert!(response.get("result").is_none());
    }
}

#[tokio::test]
async fn parameters_that_are_not_right_are_refused() {
    let app = app().await;
    let send = |message: Value| json!({ "message": message });
    for params in [
        send(json!({ "messageId": "m", "role": "ROLE_USER", "parts": [] })),
        send(json!({ "role": "ROLE_USER", "parts": [{ "text": "t" }] })),
        send(json!({ "messageId": "m", "parts": [{ "text": "t" }] })),
        send(json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{}] })),
        json!({}),
        json!({ "message": message("x"), "configuration": { "historyLength": -1 } }),
    ] {
        let response = app.call("SendMessage", params.clone()).await;
        assert_eq!(response["error"]["code"], -32602, "{params} {response}");
    }
    let unknown = for_task(message("x"), &json!({ "id": "no-such-task" }));
    assert_eq!(app.call("SendMessage", send(unknown)).await["error"]["code"], -32001);
    for (method, params, code) in [
        ("GetTask", json!({ "id": "no" }), -32001),
        ("CancelTask", json!({ "id": "no" }), -32001),
        ("SubscribeToTask", json!({ "id": "no" }), -32001),
        ("ListTasks", json!({ "pageSize": 0 }), -32602),
        ("ListTasks", json!({ "pageSize": 101 }), -32602),
        ("ListTasks", json!({ "pageToken": "no" }), -32602),
        ("GetExtendedAgentCard", json!({}), -32004),
        ("ListTaskPushNotificationConfigs", json!({ "taskId": "no" }), -32003),
    ] {
        let response = app.call(method, params).await;
        assert_eq!(response["error"]["code"], code, "{method} {response}");
        assert!(response["error"]["data"][0]["reason"].is_string());
    }
}

#[tokio::test]
async fn ended_tasks_and_contradictory_ids_are_refused_as_the_version_says() {
    let app = app().await;
    let done = app.send(message("hello")).await;
    for (method, message) in
        [("SendMessage", message("more")), ("message/send", message_v0_3("more"))]
    {
        let params = json!({ "message": for_task(message, &done) });
        assert_eq!(app.call(method, params).await["error"]["code"], -32004);
    }
    let asked = app.send(message("ask")).await;
    let mut other = for_task(message("ask"), &asked);
    other["contextId"] = json!("another");
    let refused = app.call("SendMessage", json!({ "message": other })).await;
    assert_eq!(refused["error"]["code"], -32602);
    let mut other = for_task(message_v0_3("ask"), &asked);
    other["contextId"] = json!("another");
    let accepted = app.call("message/send", json!({ "message": other })).await;
    assert_eq!(accepted["result"]["contextId"], asked["contextId"]);
}

#[tokio::test]
async fn a_version_that_contradicts_the_method_is_refused() {
    let app = app().await;
    let ask = async |version: &str, method: &str| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "id": "no" } });
        let headers = format!("A2A-Version: {version}\r\n");
        let answer = app.raw("script", &headers, &body.to_string()).await;
        let response: Value = serde_json::from_slice(&answer.body).unwrap();
        response["error"]["code"].as_i64().unwrap()
    };
    assert_eq!(ask("0.3", "GetTask").await, -32009);
    assert_eq!(ask("1.0", "tasks/get").await, -32601);
    assert_eq!(ask("2.0", "GetTask").await, -32009);
    assert_eq!(ask("1.0.1", "GetTask").await, -32001);
    assert_eq!(ask("0.3.0", "tasks/get").await, -32001);
    assert_eq!(ask("", "GetTask").await, -32001);
}

#[tokio::test]
async fn a_stream_of_0_3_tells_its_errors_as_events() {
    let app = app().await;
    let params =
        json!({ "message": { "kind": "message", "messageId": "m", "role": "user", "parts": [] } });
    let stream = app.stream("message/stream", params, "").await;
    assert_eq!(stream.head.header("content-type"), Some("text/event-stream"));
    let events = stream.all().await;
    assert_eq!((events.len(), &events[0].1["error"]["code"]), (1, &json!(-32602)));
    let params = json!({ "message": { "messageId": "m", "role": "ROLE_USER", "parts": [] } });
    let refused = app.call("SendStreamingMessage", params).await;
    assert_eq!(refused["error"]["code"], -32602);
}

#[tokio::test]
async fn the_http_binding_has_the_same_errors_with_their_status() {
    let app = app().await;
    let json_type = "Content-Type: application/json\r\n";
    for (method, path, body, status, code) in [
        ("GET", "tasks/no", "", 404, "TASK_NOT_FOUND"),
        ("POST", "message:send", "{", 400, "PARSE_ERROR"),
        ("POST", "message:send", "{}", 400, "INVALID_PARAMS"),
        ("GET", "nothing", "", 404, "METHOD_NOT_FOUND"),
        ("DELETE", "tasks/no", "", 404, "METHOD_NOT_FOUND"),
        ("GET", "extendedAgentCard", "", 400, "UNSUPPORTED_OPERATION"),
    ] {
        let answer = app.request(method, &format!("/a2a/script/{path}"), json_type, body).await;
        assert_eq!(answer.status, status, "{path} {}", answer.text());
        let error: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(error["error"]["details"][0]["reason"], code, "{path}");
    }
    for (method, path, body, status, code) in [
        ("GET", "v1/tasks/no", "", 404, -32001),
        ("POST", "v1/message:send", "{}", 400, -32602),
        ("GET", "v1/card", "", 400, -32004),
    ] {
        let answer = app.request(method, &format!("/a2a/script/{path}"), json_type, body).await;
        assert_eq!(answer.status, status, "{path} {}", answer.text());
        let error: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(error["code"], code, "{path}");
    }
}

#[tokio::test]
async fn the_http_binding_carries_out_both_versions() {
    let app = app().await;
    let json_type = "Content-Type: application/json\r\n";
    let send = async |path: &str, body: Value| {
        let path = format!("/a2a/script/{path}");
        let answer = app.request("POST", &path, json_type, &body.to_string()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        serde_json::from_slice::<Value>(&answer.body).unwrap()
    };
    let new = send("message:send", json!({ "message": message("hello") })).await;
    assert_eq!(new["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    let content = json!([{ "text": "hello" }]);
    let old = json!({ "message": { "messageId": "m", "role": "ROLE_USER", "content": content } });
    let old = send("v1/message:send", old).await;
    assert_eq!(old["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    let content = json!([{ "text": "wait" }]);
    let message_old = json!({ "messageId": "m", "role": "ROLE_USER", "content": content });
    let old = json!({ "message": message_old, "configuration": {} });
    let begun = send("v1/message:send", old).await;
    assert_eq!(begun["task"]["status"]["state"], "TASK_STATE_SUBMITTED", "0.3 omits `false`");
    let listed = app.request("GET", "/a2a/script/tasks?pageSize=1", "", "").await;
    let listed: Value = serde_json::from_slice(&listed.body).unwrap();
    assert_eq!(listed["totalSize"], 3);
    let id = new["task"]["id"].as_str().unwrap();
    let path = format!("/a2a/script/v1/tasks/{id}?historyLength=0");
    let task = app.request("GET", &path, "", "").await;
    let task: Value = serde_json::from_slice(&task.body).unwrap();
    assert!(task.get("history").is_none(), "{task}");
    let streamed = app
        .request(
            "POST",
            "/a2a/script/message:stream",
            json_type,
            &json!({ "message": message("chunks") }).to_string(),
        )
        .await;
    assert_eq!(streamed.text().matches("artifactUpdate").count(), 3);
}

#[tokio::test]
async fn a_caller_without_a_key_is_refused_with_a_body_of_the_protocol() {
    let app = app_with(|server| server.auth(ApiKey::new("a-long-random-text"))).await;
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": { "id": "no" } });
    let refused = app.raw("script", "", &body.to_string()).await;
    assert_eq!(refused.status, 401);
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    let response: Value = serde_json::from_slice(&refused.body).unwrap();
    assert_eq!(response["error"]["code"], -32600);
    assert_eq!(response["error"]["message"], "Unauthenticated");
    let key = "Authorization: Bearer a-long-random-text\r\n";
    let known = app.raw("script", key, &body.to_string()).await;
    assert_eq!(known.status, 200);
    let card = app.request("GET", "/.well-known/agent-card.json", "", "").await;
    assert_eq!(card.status, 200, "the card is public");
}

#[tokio::test]
async fn a_refused_caller_is_not_told_of_a_malformed_request_over_http() {
    let app = app_with(|server| server.auth(ApiKey::new("a-long-random-text"))).await;
    let json_body = "Content-Type: application/json\r\n";
    let refused = async |path: &str| {
        let refused = app.request("POST", path, json_body, "{}").await;
        assert_eq!(refused.status, 401, "{path}");
        serde_json::from_slice::<Value>(&refused.body).unwrap()
    };
    // Clients of 1.0 take a reason of the protocol for the error, and the status for that of HTTP.
    assert_eq!(
        refused("/a2a/script/message:send").await,
        json!({ "error": { "code": 401, "status": "UNAUTHENTICATED", "message": "Unauthenticated" } })
    );
    assert_eq!(
        refused("/a2a/script/v1/message:send").await,
        json!({ "code": -32600, "message": "Unauthenticated" })
    );
}

#[tokio::test]
async fn a_strict_agent_wants_the_version_of_1_0_to_be_named() {
    let agent = A2aAgent::with_executor("strict", super::kit::Reply).strict_version();
    let app = app_with(|server| server.a2a(agent)).await;
    let rpc = async |path: &str, headers: &str, method: &str| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "id": "no" } });
        let headers = format!("Content-Type: application/json\r\n{headers}");
        let answer = app.request("POST", path, &headers, &body.to_string()).await;
        assert_eq!(answer.status, 200);
        answer.json()["error"]["code"].clone()
    };
    let version = "A2A-Version: 1.0\r\n";
    assert_eq!(rpc("/a2a/strict", "", "GetTask").await, -32009);
    assert_eq!(rpc("/a2a/strict", "A2A-Version: \r\n", "GetTask").await, -32009);
    assert_eq!(rpc("/a2a/strict", version, "GetTask").await, -32001);
    assert_eq!(rpc("/a2a/strict?A2A-Version=1.0", "", "GetTask").await, -32001);
    assert_eq!(rpc("/a2a/strict", "", "tasks/get").await, -32001, "0.3 needs no header");
    assert_eq!(rpc("/a2a/script", "", "GetTask").await, -32001, "the default");
    assert_eq!(rpc("/a2a/script?A2A-Version=9.9", "", "GetTask").await, -32009);
    let rest = async |path: &str, headers: &str| app.request("GET", path, headers, "").await;
    let refused = rest("/a2a/strict/tasks", "").await;
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("VERSION_NOT_SUPPORTED"), "{}", refused.text());
    assert_eq!(rest("/a2a/strict/tasks", version).await.status, 200);
    assert_eq!(rest("/a2a/strict/tasks?A2A-Version=1.0", "").await.status, 200);
    assert_eq!(rest("/a2a/strict/v1/tasks", "").await.status, 200);
}
