//! Streams whose connection breaks.

use oxikit_client::StatusCode;
use oxikit_client::a2a::{A2aReply, StreamResponse, TaskState};
use serde_json::{Value, json};

use super::kit::{agent, body_of, card, error, events, header_of, json_reply, result};
use crate::peer::{Reply, hang_up, peer, reply};

fn task(state: &str, texts: &[&str]) -> Value {
    let parts: Vec<_> = texts.iter().map(|text| json!({ "text": text })).collect();
    let artifacts = json!([{ "artifactId": "a", "parts": parts }]);
    json!({ "id": "t", "contextId": "c", "status": { "state": state }, "artifacts": artifacts })
}

fn first() -> Value {
    json!({ "task": { "id": "t", "contextId": "c", "status": { "state": "TASK_STATE_WORKING" } } })
}

fn chunk(text: &str) -> Value {
    let artifact = json!({ "artifactId": "a", "parts": [{ "text": text }] });
    json!({ "artifactUpdate":
        { "taskId": "t", "contextId": "c", "artifact": artifact, "append": true } })
}

fn completed() -> Value {
    let status = json!({ "state": "TASK_STATE_COMPLETED" });
    json!({ "statusUpdate": { "taskId": "t", "contextId": "c", "status": status } })
}

/// Streams a message to an agent with these answers; the reply, and the methods with the
/// `Last-Event-ID` of each request.
async fn stream(
    version: &str,
    replies: impl IntoIterator<Item = Reply>,
) -> (oxikit_client::Result<A2aReply>, Vec<(String, Option<String>)>) {
    let card = json_reply(200, &card(&[version]));
    let peer = peer([card].into_iter().chain(replies)).await;
    let client = agent(&peer).connect().await.unwrap();
    let reply = match client.send_stream("hello").await {
        Ok(stream) => stream.finish().await,
        Err(status) => Err(status),
    };
    let requests = peer.requests().await;
    let call = |request: &String| {
        let method = body_of(request)["method"].as_str().unwrap().to_owned();
        (method, header_of(request, "last-event-id").map(str::to_owned))
    };
    (reply, requests[1..].iter().map(call).collect())
}

fn calls(expected: &[(&str, Option<&str>)]) -> Vec<(String, Option<String>)> {
    let owned = |(method, id): &(&str, Option<&str>)| ((*method).to_owned(), id.map(str::to_owned));
    expected.iter().map(owned).collect()
}

#[tokio::test]
async fn numbered_events_go_on_after_the_last_one() {
    let (reply, sent) = stream(
        "1.0",
        [
            events(&[("t:1", first()), ("t:2", chunk("one "))]).then_cut(),
            // Nothing new came over this connection, and the next one is refused by a proxy.
            events(&[]).then_cut(),
            reply(503, [""; 0]),
            events(&[("t:3", chunk("two")), ("t:4", completed())]),
        ],
    )
    .await;
    assert_eq!(reply.unwrap().text(), "one two");
    let again = ("SubscribeToTask", Some("t:2"));
    assert_eq!(sent, calls(&[("SendStreamingMessage", None), again, again, again]));
}

#[tokio::test]
async fn a_stream_that_ends_early_is_resumed_too() {
    let (reply, sent) = stream(
        "1.0",
        [events(&[("t:1", first())]), events(&[("t:2", chunk("one")), ("t:3", completed())])],
    )
    .await;
    assert_eq!(reply.unwrap().text(), "one");
    assert_eq!(sent[1], ("SubscribeToTask".to_owned(), Some("t:1".to_owned())));
}

#[tokio::test]
async fn a_task_of_another_server_replaces_what_was_read() {
    let snapshot = json!({ "task": task("TASK_STATE_WORKING", &["one ", "two "]) });
    let (reply, sent) = stream(
        "1.0",
        [
            // These ids are not numbers of events of the task.
            events(&[("7", first()), ("8", chunk("one "))]).then_cut(),
            events(&[("1", snapshot), ("2", chunk("three")), ("3", completed())]),
        ],
    )
    .await;
    assert_eq!(reply.unwrap().text(), "one two three");
    assert_eq!(sent, calls(&[("SendStreamingMessage", None), ("SubscribeToTask", None)]));
}

#[tokio::test]
async fn the_task_is_read_after_a_subscription_in_0_3() {
    let old = json!({ "kind": "task", "id": "t", "contextId": "c", "status": { "state": "working" },
        "artifacts": [{ "artifactId": "a", "parts": [{ "kind": "text", "text": "one " }] }] });
    let artifact = json!({ "artifactId": "a", "parts": [{ "kind": "text", "text": "two" }] });
    let chunk = json!({ "kind": "artifact-update", "taskId": "t", "contextId": "c",
        "artifact": artifact, "append": true });
    let done = json!({ "kind": "status-update", "taskId": "t", "contextId": "c",
        "status": { "state": "completed" }, "final": true });
    let begun =
        json!({ "kind": "task", "id": "t", "contextId": "c", "status": { "state": "working" } });
    let (reply, sent) = stream(
        "0.3",
        [events(&[("", begun)]).then_cut(), events(&[("", chunk), ("", done)]), result(old)],
    )
    .await;
    assert_eq!(reply.unwrap().text(), "one two");
    let methods: Vec<_> = sent.iter().map(|(method, _)| method.as_str()).collect();
    assert_eq!(methods, ["message/stream", "tasks/resubscribe", "tasks/get"]);
}

#[tokio::test]
async fn a_task_that_has_ended_meanwhile_is_read() {
    for code in [-32004, -32001, -32602] {
        let (reply, sent) = stream(
            "1.0",
            [
                events(&[("", first())]).then_cut(),
                error(code),
                result(task("TASK_STATE_COMPLETED", &["all"])),
            ],
        )
        .await;
        assert_eq!(reply.unwrap().text(), "all");
        assert_eq!(sent[2].0, "GetTask");
    }
}

#[tokio::test]
async fn a_message_is_never_sent_again() {
    for cut in [hang_up(), events(&[]).then_cut(), events(&[])] {
        let (reply, sent) = stream("1.0", [cut]).await;
        assert_eq!(reply.unwrap_err().code(), StatusCode::Unavailable);
        assert_eq!(sent.len(), 1);
    }
}

#[tokio::test]
async fn an_interrupted_task_may_end_a_stream() {
    let status = json!({ "state": "TASK_STATE_AUTH_REQUIRED" });
    let update = json!({ "statusUpdate": { "taskId": "t", "contextId": "c", "status": status } });
    let (reply, sent) = stream("1.0", [events(&[("", first()), ("", update)])]).await;
    assert_eq!(reply.unwrap().state(), Some(TaskState::AuthRequired));
    assert_eq!(sent.len(), 1);
}

#[tokio::test]
async fn reconnects_are_limited() {
    let replies = std::iter::once(events(&[("t:1", first())]).then_cut());
    let replies = replies.chain((0..5).map(|_| events(&[]).then_cut()));
    let (reply, sent) = stream("1.0", replies).await;
    assert_eq!(reply.unwrap_err().code(), StatusCode::Unavailable);
    assert_eq!(sent.len(), 6);
}

#[tokio::test]
async fn events_are_not_repeated_by_our_own_server() {
    let app = super::kit::app().await;
    for &(binding, version) in super::kit::WAYS {
        // The proxy ends the first connection for a stream as soon as it has passed two chunks.
        let proxy = super::proxy::cutting(app.address, "two ").await;
        let url = format!("http://{proxy}/a2a/script");
        let agent = super::kit::builder(&url).binding(binding).version(version);
        let agent = agent.connect().await.unwrap();
        let mut stream = agent.send_stream("chunks").await.unwrap();
        let (mut chunks, mut tasks) = (Vec::new(), 0);
        while let Some(event) = stream.next().await {
            match event.unwrap() {
                StreamResponse::Task(_) => tasks += 1,
                StreamResponse::ArtifactUpdate(update) => {
                    chunks.push(update.artifact.parts[0].as_text().unwrap().to_owned());
                    if chunks.len() == 2 {
                        app.gate.notify_one();
                    }
                }
                _ => {}
            }
        }
        assert_eq!((tasks, chunks), (1, ["one ", "two ", "three"].map(str::to_owned).to_vec()));
    }
}
