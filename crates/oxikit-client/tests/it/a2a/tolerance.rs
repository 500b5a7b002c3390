//! Servers that write the protocol differently.

use oxikit_client::StatusCode;
use oxikit_client::a2a::{A2aClient, ErrorKind};
use oxikit_client::a2a::{PushConfig, TaskState, Version, error_kind};
use serde_json::{Value, json};

use super::kit::{agent, body_of, card, error, json_reply, result};
use crate::peer::{Peer, Reply, peer, reply};

async fn client(version: &str, replies: impl IntoIterator<Item = Reply>) -> (A2aClient, Peer) {
    let card = json_reply(200, &card(&[version]));
    let peer = peer([card].into_iter().chain(replies)).await;
    (agent(&peer).connect().await.unwrap(), peer)
}

fn stream_of(text: &str) -> Reply {
    reply(200, [text]).header("content-type", "text/event-stream; charset=utf-8")
}

#[tokio::test]
async fn tasks_are_read_in_every_spelling() {
    let tasks = [
        ("0.3", json!({ "id": "t", "contextId": "c", "status": { "state": "cancelled" } })),
        (
            "0.3",
            json!({ "kind": "task", "id": "t", "contextId": "c",
            "status": { "state": "canceled", "timestamp": "2026-01-02T03:04:05" } }),
        ),
        (
            "1.0",
            json!({ "id": "t", "context_id": "c",
            "status": { "state": "TASK_STATE_CANCELLED", "timestamp": "2026-01-02T03:04:05+02:00" } }),
        ),
        // A server that answers in the form of the other version.
        (
            "1.0",
            json!({ "kind": "task", "id": "t", "contextId": "c", "status": { "state": "canceled" },
            "artifacts": [{ "artifactId": "a", "parts": [{ "kind": "file", "file": { "uri": "u:x" } }] }] }),
        ),
    ];
    for (version, task) in tasks {
        let (client, _) = client(version, [result(task.clone())]).await;
        let read = client.get_task("t", None).await.unwrap();
        assert_eq!(read.status.state, TaskState::Canceled, "{task}");
    }
}

#[tokio::test]
async fn streams_are_read_in_every_spelling() {
    let done = r#"{"kind":"task","id":"t","contextId":"c","status":{"state":"completed"}}"#;
    let texts = [
        format!("data: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{done}}}\n\n"),
        format!(
            ": hello\r\nretry: 5\r\n\r\nevent: message\r\nid: 7\r\ndata: {{\"result\":{done}}}\r\n\r\n"
        ),
        format!("data: {{\ndata:  \"result\":\ndata: {done}\ndata: }}\n\n"),
        // Without the last empty line.
        format!("data: {{\"result\":{done}}}"),
    ];
    for text in texts {
        let (client, _) = client("0.3", [stream_of(&text)]).await;
        let reply = client.send_stream("hello").await.unwrap().finish().await.unwrap();
        assert_eq!(reply.state(), Some(TaskState::Completed), "{text}");
    }
    let single = json_reply(
        200,
        &json!({ "result": { "message":
        { "messageId": "m", "role": "ROLE_AGENT", "parts": [{ "text": "hi" }] } } }),
    );
    let (client, _) = client("1.0", [single]).await;
    assert_eq!(client.send_stream("hello").await.unwrap().finish().await.unwrap().text(), "hi");
}

#[tokio::test]
async fn errors_of_streams_are_read_in_every_spelling() {
    let error_object = r#"{"code":-32001,"message":"Task not found"}"#;
    let replies = [
        error(-32001),
        json_reply(404, &json!({ "error": { "code": -32001, "message": "Task not found" } })),
        stream_of(&format!("data: {{\"error\":{error_object}}}\n\n")),
        stream_of(&format!("event: error\ndata: {{\"id\":1,\"error\":{error_object}}}\n\n")),
        stream_of(&format!("event: error\ndata: {error_object}\n\n")),
    ];
    for (number, reply) in replies.into_iter().enumerate() {
        let (client, _) = client("1.0", [reply]).await;
        let status = match client.subscribe("t").await {
            Ok(stream) => stream.finish().await.unwrap_err(),
            Err(status) => status,
        };
        assert_eq!(error_kind(&status), Some(ErrorKind::TaskNotFound), "reply {number}");
        assert_eq!(status.code(), StatusCode::NotFound, "reply {number}");
    }
}

#[tokio::test]
async fn answers_outside_the_protocol_are_errors() {
    let replies = [
        reply(200, ["<html>"]),
        json_reply(200, &json!([])),
        json_reply(200, &json!({})),
        result(json!({ "surprise": true })),
        result(Value::Null),
        stream_of("data: nonsense\n\n"),
    ];
    for reply in replies {
        let (client, _) = client("1.0", [reply]).await;
        assert_eq!(client.send("hello").await.unwrap_err().code(), StatusCode::Internal);
    }
    for text in ["data: nonsense\n\n", "nonsense\n\n", "data: {\"result\":7}\n\n"] {
        let (client, _) = client("1.0", [stream_of(text)]).await;
        let status = client.send_stream("hello").await.unwrap().finish().await.unwrap_err();
        assert_eq!(status.code(), StatusCode::Internal, "{text}");
    }
}

#[tokio::test]
async fn webhooks_are_registered_in_the_form_of_the_version() {
    let old = json!({ "taskId": "t", "pushNotificationConfig": { "id": "p", "url": "https://h.example" } });
    let new = json!({ "taskId": "t", "id": "p", "url": "https://h.example" });
    for (version, config, list) in
        [("0.3", &old, json!([old])), ("1.0", &new, json!({ "configs": [new] }))]
    {
        let replies = [result(config.clone()), result(config.clone()), result(list)];
        let (client, peer) = client(version, replies).await;
        let asked = PushConfig {
            task_id: Some("t".to_owned()),
            url: "https://h.example".to_owned(),
            ..PushConfig::default()
        };
        let made = client.set_push_config(asked).await.unwrap();
        assert_eq!((made.id.as_deref(), made.url.as_str()), (Some("p"), "https://h.example"));
        assert_eq!(client.get_push_config("t", "p").await.unwrap(), made);
        assert_eq!(client.list_push_configs("t").await.unwrap(), [made]);
        let requests = peer.requests().await;
        let params = |number: usize| body_of(&requests[number])["params"].clone();
        match client.version() {
            Version::V0_3 => {
                assert_eq!(params(1)["pushNotificationConfig"]["url"], "https://h.example");
                assert_eq!(params(2), json!({ "id": "t", "pushNotificationConfigId": "p" }));
            }
            Version::V1_0 => {
                assert_eq!(params(1)["url"], "https://h.example");
                assert_eq!(params(2), json!({ "taskId": "t", "id": "p" }));
            }
        }
    }
}

#[tokio::test]
async fn a_deletion_may_have_any_result() {
    let missing = json_reply(200, &json!({ "jsonrpc": "2.0", "id": 1 }));
    for answer in [result(Value::Null), result(json!({})), missing] {
        let (client, _) = client("1.0", [answer]).await;
        client.delete_push_config("t", "p").await.unwrap();
    }
    let (client, _) = client("0.3", [error(-32003)]).await;
    let status = client.delete_push_config("t", "p").await.unwrap_err();
    assert_eq!(error_kind(&status), Some(ErrorKind::PushNotificationNotSupported));
}
