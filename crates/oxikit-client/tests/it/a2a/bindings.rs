//! The choice of a binding, and servers that speak HTTP+JSON differently.

use oxikit_client::StatusCode;
use oxikit_client::a2a::{
    A2aClient, Binding, ErrorKind, OutgoingMessage, PushConfig, StreamResponse, TaskState, Version,
    error_kind,
};
use serde_json::{Value, json};

use super::kit::{agent, body_of, card, card_of, header_of, json_reply};
use crate::peer::{Peer, Reply, peer, reply};

async fn client(version: &str, replies: impl IntoIterator<Item = Reply>) -> (A2aClient, Peer) {
    let card = json_reply(200, &card_of(&[("HTTP+JSON", version)]));
    let peer = peer([card].into_iter().chain(replies)).await;
    (agent(&peer).connect().await.unwrap(), peer)
}

fn task(state: &str) -> Value {
    json!({ "id": "t", "contextId": "c", "status": { "state": state } })
}

#[tokio::test]
async fn the_newest_version_and_then_the_order_of_the_card_decide() {
    let cases = [
        (card_of(&[("HTTP+JSON", "1.0"), ("JSONRPC", "1.0")]), Binding::HttpJson, Version::V1_0),
        (card_of(&[("GRPC", "1.0"), ("JSONRPC", "1.0")]), Binding::JsonRpc, Version::V1_0),
        (card_of(&[("JSONRPC", "0.3"), ("HTTP+JSON", "1.0")]), Binding::HttpJson, Version::V1_0),
        (card_of(&[("JSONRPC", "2.0"), ("http+json", "0.3.0")]), Binding::HttpJson, Version::V0_3),
        // As servers of 0.3 write it.
        (
            json!({ "name": "Old", "protocolVersion": "0.3.0", "url": "/agent",
                "preferredTransport": "HTTP+JSON",
                "additionalInterfaces": [{ "url": "/rpc", "transport": "JSONRPC" }] }),
            Binding::HttpJson,
            Version::V0_3,
        ),
        // In the JSON of the proto file of 0.3.
        (
            json!({ "name": "Old", "protocol_version": "0.3.0", "url": "/agent",
                "preferred_transport": "GRPC",
                "additional_interfaces": [{ "url": "/agent", "transport": "HTTP+JSON" }] }),
            Binding::HttpJson,
            Version::V0_3,
        ),
    ];
    for (card, binding, version) in cases {
        let peer = peer([json_reply(200, &card)]).await;
        let client = agent(&peer).connect().await.unwrap();
        assert_eq!((client.binding(), client.version()), (binding, version), "{card}");
    }
}

#[tokio::test]
async fn a_binding_that_the_card_does_not_have_is_refused_with_its_list() {
    let peer = peer([(); 2].map(|()| json_reply(200, &card(&["1.0", "0.3"])))).await;
    let status = agent(&peer).binding(Binding::HttpJson).connect().await.unwrap_err();
    assert_eq!(status.code(), StatusCode::FailedPrecondition);
    let text = "has no HTTP+JSON address of version 1.0 or 0.3; it lists: JSONRPC 1.0, JSONRPC 0.3";
    assert!(status.message().ends_with(text), "{status}");
    let builder = agent(&peer).binding(Binding::JsonRpc).version(Version::V0_3);
    assert_eq!(builder.connect().await.unwrap().version(), Version::V0_3);
}

#[tokio::test]
async fn requests_have_the_paths_and_bodies_of_their_version() {
    for (version, state, prefix, parts) in [
        ("1.0", "TASK_STATE_COMPLETED", "/agent/", "parts"),
        ("0.3", "TASK_STATE_COMPLETED", "/agent/v1/", "content"),
    ] {
        let replies = [
            json_reply(200, &json!({ "task": task(state) })),
            json_reply(200, &task(state)),
            json_reply(200, &json!({ "tasks": [task(state)], "nextPageToken": "" })),
            json_reply(202, &task("TASK_STATE_CANCELLED")),
        ];
        let (client, peer) = client(version, replies).await;
        client.send(OutgoingMessage::new("hello").for_task("t")).await.unwrap();
        client.get_task("a b", Some(3)).await.unwrap();
        assert_eq!(client.list_tasks(Default::default()).await.unwrap().tasks.len(), 1);
        let canceled = client.cancel("t").await.unwrap();
        assert_eq!(canceled.status.state, TaskState::Canceled);
        let requests = peer.requests().await;
        let lines: Vec<_> =
            requests[1..].iter().map(|it| it.lines().next().unwrap().to_owned()).collect();
        let line = |line: &str| line.replace('>', prefix) + " HTTP/1.1";
        let expected = [
            line("POST >message:send"),
            line("GET >tasks/a%20b?historyLength=3"),
            line("GET >tasks"),
            line("POST >tasks/t:cancel"),
        ];
        assert_eq!(lines, expected);
        let sent = body_of(&requests[1]);
        assert_eq!(sent["message"][parts][0]["text"], "hello", "{sent}");
        assert_eq!(sent["message"]["role"], "ROLE_USER");
        // A server of 0.3 takes a missing member for `false`.
        let blocking = (version == "0.3").then_some(true);
        assert_eq!(sent["configuration"]["blocking"].as_bool(), blocking);
        assert_eq!(header_of(&requests[1], "a2a-version"), Some(version));
    }
}

#[tokio::test]
async fn the_tenant_is_a_part_of_the_path() {
    let mut card = card_of(&[("HTTP+JSON", "1.0")]);
    card["supportedInterfaces"][0]["tenant"] = json!("acme/eu");
    let peer = peer([
        json_reply(200, &card),
        json_reply(200, &json!({ "task": task("TASK_STATE_COMPLETED") })),
    ])
    .await;
    agent(&peer).connect().await.unwrap().send("hello").await.unwrap();
    let requests = peer.requests().await;
    assert!(requests[1].starts_with("POST /agent/acme%2Feu/message:send "), "{}", requests[1]);
    assert_eq!(body_of(&requests[1]).get("tenant"), None);
}

#[tokio::test]
async fn errors_of_every_form_have_the_same_kind() {
    let details = json!([{ "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "TASK_NOT_FOUND", "domain": "a2a-protocol.org" }]);
    let bodies = [
        (
            "1.0",
            404,
            json!({ "error": { "code": 404, "status": "NOT_FOUND", "message": "no", "details": details } }),
        ),
        ("1.0", 404, json!({ "error": { "code": 404, "message": "no" } })),
        ("0.3", 404, json!({ "code": -32001, "message": "no" })),
        ("0.3", 404, json!({ "message": "no" })),
        ("0.3", 400, json!({ "code": -32001, "message": "no" })),
    ];
    for (version, http, body) in bodies {
        let (client, _) = client(version, [json_reply(http, &body)]).await;
        let status = client.get_task("t", None).await.unwrap_err();
        assert_eq!(error_kind(&status), Some(ErrorKind::TaskNotFound), "{body}");
        assert_eq!((status.code(), status.message()), (StatusCode::NotFound, "no"), "{body}");
    }
    let (client, _) = client("0.3", [json_reply(409, &json!({ "message": "too late" }))]).await;
    let status = client.cancel("t").await.unwrap_err();
    assert_eq!(error_kind(&status), Some(ErrorKind::TaskNotCancelable));
}

#[tokio::test]
async fn a_server_without_1_0_is_called_in_0_3() {
    let card = card_of(&[("HTTP+JSON", "1.0"), ("HTTP+JSON", "0.3")]);
    let replies = [
        json_reply(200, &card),
        reply(404, ["not here"]),
        json_reply(200, &json!({ "task": task("TASK_STATE_COMPLETED") })),
    ];
    let peer = peer(replies).await;
    let client = agent(&peer).connect().await.unwrap();
    client.send("hello").await.unwrap();
    assert_eq!(client.version(), Version::V0_3);
    assert!(peer.requests().await[2].starts_with("POST /agent/v1/message:send "));
}

#[tokio::test]
async fn streams_and_their_errors_are_read_in_every_spelling() {
    let done = json!({ "statusUpdate": { "taskId": "t", "contextId": "c", "final": true,
        "status": { "state": "TASK_STATE_COMPLETED" } } });
    let begun = json!({ "task": task("TASK_STATE_WORKING") });
    // Indented JSON over several lines, with CRLF.
    let pretty = serde_json::to_string_pretty(&begun).unwrap();
    let pretty: String = pretty.lines().map(|line| format!("data: {line}\r\n")).collect();
    let events = |text: String| reply(200, [text]).header("content-type", "text/event-stream");
    for version in ["0.3", "1.0"] {
        let text = format!("{pretty}\r\n: ping\r\n\r\ndata: {done}\n\n");
        let (client, _) = client(version, [events(text)]).await;
        let mut stream = client.send_stream("hello").await.unwrap();
        assert!(matches!(stream.next().await, Some(Ok(StreamResponse::Task(_)))));
        let reply = stream.finish().await.unwrap();
        assert_eq!(reply.state(), Some(TaskState::Completed));
    }
    let error = r#"{"error":{"code":404,"message":"no","details":[{"reason":"TASK_NOT_FOUND"}]}}"#;
    for text in [format!("event: error\ndata: {error}\n\n"), format!("data: {error}\n\n")] {
        let (client, _) = client("1.0", [events(text)]).await;
        let status = client.subscribe("t").await.unwrap().finish().await.unwrap_err();
        assert_eq!(error_kind(&status), Some(ErrorKind::TaskNotFound));
    }
    for garbage in ["[]", "\"x\"", "{}", "{\"task\":1}"] {
        let (client, _) = client("1.0", [events(format!("data: {garbage}\n\n"))]).await;
        let status = client.subscribe("t").await.unwrap().finish().await.unwrap_err();
        assert_eq!(status.code(), StatusCode::Internal, "{garbage}");
    }
}

#[tokio::test]
async fn a_subscription_is_tried_with_the_other_method() {
    let done = format!("data: {}\n\n", json!({ "task": task("TASK_STATE_COMPLETED") }));
    for (version, methods) in [("0.3", ["GET", "POST"]), ("1.0", ["POST", "GET"])] {
        let events = reply(200, [&done]).header("content-type", "text/event-stream");
        let (client, peer) = client(version, [reply(405, [""; 0]), events]).await;
        client.subscribe("t").await.unwrap().finish().await.unwrap();
        let requests = peer.requests().await;
        let sent = requests[1..].iter().map(|it| it.split(' ').next().unwrap());
        assert_eq!(sent.collect::<Vec<_>>(), methods);
    }
}

/// Servers of 0.3 read the registration of a webhook as their proto file describes it.
#[tokio::test]
async fn a_webhook_of_0_3_is_registered_with_its_parent() {
    let inner = json!({ "id": "c", "url": "https://example.com/" });
    let name = "tasks/t/pushNotificationConfigs/c";
    let answer = json!({ "name": name, "pushNotificationConfig": inner });
    let (client, peer) = client("0.3", [json_reply(200, &answer)]).await;
    let config: PushConfig =
        serde_json::from_value(json!({ "taskId": "t", "id": "c", "url": "https://example.com/" }))
            .unwrap();
    assert_eq!(client.set_push_config(config.clone()).await.unwrap(), config);
    let expected = json!({ "parent": "tasks/t", "configId": "c", "config": answer });
    assert_eq!(body_of(&peer.requests().await[1]), expected);
}

/// The server of Python 0.3 answers with the status and a message only.
#[tokio::test]
async fn a_message_to_a_task_that_a_server_of_0_3_does_not_have_is_a_missing_task() {
    let missing = json_reply(404, &json!({ "message": "Task t was specified but does not exist" }));
    let no_path = json_reply(404, &json!({ "detail": "Not Found" }));
    let (client, _peer) = client("0.3", [missing, no_path]).await;
    for kind in [ErrorKind::TaskNotFound, ErrorKind::MethodNotFound] {
        let status = client.send(OutgoingMessage::new("hi").for_task("t")).await.unwrap_err();
        assert_eq!(error_kind(&status), Some(kind), "{status}");
    }
}
