//! Streams of events, and how a client comes back to them.

use oxikit_wire::a2a::{Operation, StreamResponse, TaskState, Version};
use prost::Message;
use serde_json::json;

use super::client::{Grpc, Stream};
use super::{BOTH, begin, send, subscribe};
use crate::a2a::kit::{Reply, app, app_with};
use oxikit_serve::a2a::A2aAgent;

fn kinds(events: &[StreamResponse]) -> Vec<&'static str> {
    let kind = |event: &StreamResponse| match event {
        StreamResponse::Task(_) => "task",
        StreamResponse::Message(_) => "message",
        StreamResponse::StatusUpdate(_) => "status",
        StreamResponse::ArtifactUpdate(_) => "artifact",
    };
    events.iter().map(kind).collect()
}

fn task_id(event: &StreamResponse) -> String {
    match event {
        StreamResponse::Task(task) => task.id.clone(),
        other => panic!("expected a task: {other:?}"),
    }
}

#[tokio::test]
async fn a_stream_is_the_task_and_then_its_events() {
    let app = app().await;
    for version in BOTH {
        let client = Grpc::connect(app.address, version).await;
        let stream = client.stream(Operation::SendStreamingMessage, &send("chunks")).await;
        let events = stream.all().await;
        assert_eq!(kinds(&events), ["task", "artifact", "artifact", "artifact", "status"]);
        let appended = |event: &StreamResponse| match event {
            StreamResponse::ArtifactUpdate(update) => Some((update.append, update.last_chunk)),
            _ => None,
        };
        let appended: Vec<_> = events.iter().filter_map(appended).collect();
        assert_eq!(appended, [(false, false), (true, false), (true, true)]);
    }
}

/// The part of a stream of version 0.3 that says which event is the last one.
#[derive(Clone, PartialEq, Message)]
struct Finality {
    #[prost(message, optional, tag = "3")]
    status_update: Option<Update>,
}

#[derive(Clone, PartialEq, Message)]
struct Update {
    #[prost(bool, tag = "4")]
    is_final: bool,
}

#[tokio::test]
async fn the_last_event_of_a_stream_of_0_3_is_final() {
    let app = app().await;
    let client = Grpc::connect(app.address, Version::V0_3).await;
    for text in ["chunks", "ask"] {
        let mut stream = client.stream(Operation::SendStreamingMessage, &send(text)).await;
        let mut finals = Vec::new();
        while let Some(message) = stream.message().await {
            let update = Finality::decode(&*message).unwrap().status_update;
            finals.push(update.is_some_and(|update| update.is_final));
        }
        stream.result().unwrap();
        assert_eq!(finals.iter().filter(|is_final| **is_final).count(), 1, "{text}");
        assert_eq!(finals.last(), Some(&true), "{text}");
    }
}

#[tokio::test]
async fn an_agent_that_replies_streams_one_message() {
    let app = app_with(|server| server.a2a(A2aAgent::with_executor("own", Reply))).await;
    let client = Grpc::connect(app.address, Version::V1_0).await;
    let mut request = send("hello");
    request.tenant = Some("own".to_owned());
    let stream = client.stream(Operation::SendStreamingMessage, &request).await;
    assert_eq!(kinds(&stream.all().await), ["message"]);
}

#[tokio::test]
async fn a_subscriber_gets_the_task_as_it_is_and_what_follows() {
    let app = app().await;
    for version in BOTH {
        let client = Grpc::connect(app.address, version).await;
        let task = client.task(begin("wait")).await;
        let mut one = client.stream(Operation::SubscribeToTask, &subscribe(&task.id)).await;
        let mut other = client.stream(Operation::SubscribeToTask, &subscribe(&task.id)).await;
        assert_eq!(task_id(&one.next().await.unwrap()), task.id);
        assert_eq!(task_id(&other.next().await.unwrap()), task.id);
        app.gate.notify_one();
        let last = async |stream: Stream| stream.all().await.pop();
        for last in [last(one).await, last(other).await] {
            let Some(StreamResponse::StatusUpdate(update)) = last else { panic!("{last:?}") };
            assert_eq!(update.status.state, TaskState::Completed);
        }
    }
}

#[tokio::test]
async fn a_client_that_leaves_cancels_nothing() {
    let app = app().await;
    let client = Grpc::connect(app.address, Version::V1_0).await;
    let mut stream = client.stream(Operation::SendStreamingMessage, &send("wait")).await;
    let id = task_id(&stream.next().await.unwrap());
    drop(stream);
    let mut again = client.stream(Operation::SubscribeToTask, &subscribe(&id)).await;
    again.next().await.unwrap();
    app.gate.notify_one();
    again.all().await;
    assert_eq!(app.task(&json!(id)).await["status"]["state"], "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn a_client_comes_back_without_gap_or_duplicate() {
    let app = app().await;
    for version in BOTH {
        let client = Grpc::connect(app.address, version).await;
        let stream = client.stream(Operation::SendStreamingMessage, &send("chunks")).await;
        let all = stream.all().await;
        let id = task_id(&all[0]);
        // The first event has the number 1, and each one the next number.
        for known in 1..=all.len() {
            let client = client.with("last-event-id", &format!("{id}:{known}"));
            let rest = client.stream(Operation::SubscribeToTask, &subscribe(&id)).await;
            assert_eq!(rest.all().await, all[known..], "after {known}");
        }
        let client = client.with("last-event-id", &format!("{id}:99"));
        let refused = client.stream(Operation::SubscribeToTask, &subscribe(&id)).await;
        assert_eq!(refused.refused().await.code.name(), "INVALID_ARGUMENT");
    }
}

#[tokio::test]
async fn a_subscriber_of_an_ended_task_is_told_as_its_version_says() {
    let app = app().await;
    let old = Grpc::connect(app.address, Version::V0_3).await;
    let task = old.task(send("hello")).await;
    let events = old.stream(Operation::SubscribeToTask, &subscribe(&task.id)).await.all().await;
    assert_eq!(events, [StreamResponse::Task(task.clone())]);
    let new = Grpc::connect(app.address, Version::V1_0).await;
    let refused = new.stream(Operation::SubscribeToTask, &subscribe(&task.id)).await;
    assert_eq!(refused.refused().await.code.name(), "FAILED_PRECONDITION");
}
