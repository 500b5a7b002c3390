//! Servers of 0.3 that do not number their events, and lose the connection at each of them.
//!
//! The log of the task has three chunks. A connection shows the events from the place where it was
//! opened; meanwhile the agent goes on.

use oxikit_client::a2a::{A2aStream, StreamResponse, TaskState};
use serde_json::{Value, json};

use super::kit::{agent, card, events, json_reply, result};
use crate::peer::{Reply, peer};

/// Number of events of the log.
const LOG: usize = 5;

/// The event at a place of the log.
fn event(texts: [&str; 3], place: usize) -> Value {
    match place {
        0 => task(texts, 1),
        1..=3 => {
            let part = json!({ "kind": "text", "text": texts[place - 1] });
            json!({ "kind": "artifact-update", "taskId": "t", "contextId": "c",
                "artifact": { "artifactId": "a", "parts": [part] }, "append": place > 1 })
        }
        _ => json!({ "kind": "status-update", "taskId": "t", "contextId": "c", "final": true,
            "status": { "state": "completed" } }),
    }
}

/// The task after this number of events.
fn task(texts: [&str; 3], events: usize) -> Value {
    let state = if events == LOG { "completed" } else { "working" };
    let chunks = &texts[..events.saturating_sub(1).min(3)];
    let parts: Vec<_> = chunks.iter().map(|text| json!({ "kind": "text", "text": text })).collect();
    let artifacts = match parts.is_empty() {
        true => json!([]),
        false => json!([{ "artifactId": "a", "parts": parts }]),
    };
    json!({ "kind": "task", "id": "t", "contextId": "c", "status": { "state": state },
        "artifacts": artifacts })
}

fn stream(listed: impl IntoIterator<Item = Value>) -> Reply {
    let listed: Vec<_> = listed.into_iter().map(|event| ("", event)).collect();
    events(&listed)
}

/// The texts of the chunks in the order in which they are yielded, and the answer.
async fn read(mut stream: A2aStream) -> (Vec<String>, String) {
    let mut chunks = Vec::new();
    while let Some(event) = stream.next().await {
        match event.unwrap() {
            StreamResponse::ArtifactUpdate(update) => {
                let texts = update.artifact.parts.iter().map(|it| it.as_text().unwrap());
                chunks.extend(texts.map(str::to_owned));
            }
            StreamResponse::Task(task) => assert!(task.artifacts.is_empty(), "{task:?}"),
            _ => {}
        }
    }
    let reply = stream.reply().unwrap();
    assert_eq!(reply.state(), Some(TaskState::Completed));
    (chunks, reply.text())
}

/// Streams a message to a server that answers with these replies.
async fn run(replies: Vec<Reply>) -> (Vec<String>, String) {
    let card = json_reply(200, &card(&["0.3"]));
    let peer = peer([card].into_iter().chain(replies)).await;
    let client = agent(&peer).connect().await.unwrap();
    read(client.send_stream("go").await.unwrap()).await
}

/// As the server of Python does it: the connection shows the events from the subscription on, and
/// the task is read after it. Events in between are in both.
#[tokio::test]
async fn events_between_the_subscription_and_the_task_are_not_repeated() {
    let texts = ["one ", "two ", "three"];
    for cut in 1..LOG {
        for subscribed in cut..LOG {
            for read in subscribed..LOG {
                let replies = vec![
                    stream((0..cut).map(|place| event(texts, place))).then_cut(),
                    stream((subscribed..LOG).map(|place| event(texts, place))),
                    result(task(texts, read)),
                    result(task(texts, LOG)),
                ];
                let (chunks, text) = run(replies).await;
                assert_eq!(chunks, texts, "cut {cut}, subscribed {subscribed}, read {read}");
                assert_eq!(text, texts.concat());
            }
        }
    }
}

/// Chunks with the same text cannot be told apart, but the answer is right at the end.
#[tokio::test]
async fn equal_chunks_are_all_in_the_answer() {
    let texts = ["la ", "la ", "la "];
    for cut in 1..LOG {
        for subscribed in cut..LOG {
            for read in subscribed..LOG {
                let replies = vec![
                    stream((0..cut).map(|place| event(texts, place))).then_cut(),
                    stream((subscribed..LOG).map(|place| event(texts, place))),
                    result(task(texts, read)),
                    result(task(texts, LOG)),
                ];
                let (_, text) = run(replies).await;
                assert_eq!(text, "la la la ", "cut {cut}, subscribed {subscribed}, read {read}");
            }
        }
    }
}

/// As the server of JavaScript does it: the task comes first, and events between it and the
/// subscription are lost.
#[tokio::test]
async fn events_that_the_server_has_lost_are_in_the_answer() {
    let texts = ["one ", "two ", "three"];
    for cut in 1..LOG {
        for first in cut..LOG {
            for subscribed in first..LOG {
                let following = (subscribed..LOG).map(|place| event(texts, place));
                let replies = vec![
                    stream((0..cut).map(|place| event(texts, place))).then_cut(),
                    stream([task(texts, first)].into_iter().chain(following)),
                    result(task(texts, first)),
                    result(task(texts, LOG)),
                ];
                let (chunks, text) = run(replies).await;
                assert_eq!(text, texts.concat(), "cut {cut}, task {first}, then {subscribed}");
                if subscribed == first {
                    assert_eq!(chunks, texts, "cut {cut}, task {first}");
                }
            }
        }
    }
}

/// The connection is lost after every single event.
#[tokio::test]
async fn a_stream_may_be_cut_at_each_event() {
    let texts = ["one ", "two ", "three"];
    let mut replies = vec![stream([event(texts, 0)]).then_cut()];
    for place in 1..LOG {
        let events = stream([event(texts, place)]);
        replies.push(if place == LOG - 1 { events } else { events.then_cut() });
        replies.push(result(task(texts, place)));
    }
    replies.push(result(task(texts, LOG)));
    let (chunks, text) = run(replies).await;
    assert_eq!((chunks, text), (texts.map(str::to_owned).to_vec(), texts.concat()));
}

/// A subscription to a server that does not begin with the task.
#[tokio::test]
async fn a_subscription_begins_with_the_task() {
    let texts = ["one ", "two ", "three"];
    for subscribed in 1..LOG {
        for read in subscribed..LOG {
            let replies = [
                json_reply(200, &card(&["0.3"])),
                stream((subscribed..LOG).map(|place| event(texts, place))),
                result(task(texts, read)),
                result(task(texts, LOG)),
            ];
            let peer = peer(replies).await;
            let client = agent(&peer).connect().await.unwrap();
            let mut stream = client.subscribe("t").await.unwrap();
            let first = stream.next().await.unwrap().unwrap();
            assert!(matches!(first, StreamResponse::Task(_)), "{first:?}");
            let mut chunks = 0;
            while let Some(event) = stream.next().await {
                chunks += usize::from(matches!(event.unwrap(), StreamResponse::ArtifactUpdate(_)));
            }
            assert_eq!(stream.reply().unwrap().text(), texts.concat());
            assert_eq!(chunks, LOG - 1 - read, "subscribed {subscribed}, read {read}");
        }
    }
}
