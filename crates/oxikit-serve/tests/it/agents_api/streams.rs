//! Turns as events, and reading them again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use oxikit_core::Payload;
use oxikit_core::ports::memory::MemoryStreams;
use oxikit_core::ports::{Owner, StreamScope, StreamStore};
use serde_json::{Value, json};

use super::{App, Event, app, app_with, events};
use crate::kit::Client;

async fn durable() -> App {
    app_with(|server| server.durable_streams(Arc::new(MemoryStreams::default()))).await
}

fn body(text: &str) -> String {
    json!({ "input": text, "init": { "sessionId": "s" }, "stream": true }).to_string()
}

/// Reads until this text has come.
async fn until(client: &mut Client, text: &str) -> String {
    let mut read = String::new();
    while !read.contains(text) {
        read.push_str(str::from_utf8(&client.piece().await.unwrap()).unwrap());
    }
    read
}

#[tokio::test]
async fn events_come_in_the_order_they_were_made() {
    let app = app().await;
    for (agent, has_store) in [("support", true), ("helper", false)] {
        let path = format!("/{agent}/execute");
        let answer = app.ask("POST", &path, "", &body("draw")).await;
        assert_eq!(answer.header("cache-control"), Some("no-cache"));
        let mut all = events(&answer);
        let end = all.iter_mut().find(|event| event.name == "turnEnd").unwrap();
        let snapshot = end.data["turnEnd"].as_object_mut().unwrap().remove("snapshotId");
        assert_eq!(snapshot.is_some(), has_store);
        let reply = json!({ "role": "model", "content": [{ "text": "draw: done" }] });
        let topics = json!({ "currentTopic": "draw", "turns": 1 });
        let map = json!({ "name": "map", "parts": [{ "text": "here be dragons" }] });
        let chunk =
            |text: &str| json!({ "sessionId": "s", "chunk": { "content": [{ "text": text }] } });
        let mut done = json!({
            "sessionId": "s",
            "messages": [{ "role": "user", "content": [{ "text": "draw" }] }, reply],
            "state": topics,
            "artifacts": [map],
            "finishReason": "stop",
            "message": reply,
        });
        if let Some(snapshot) = snapshot {
            done["snapshotId"] = snapshot;
        }
        let expected = [
            (
                "stateUpdate",
                json!({
                    "sessionId": "s", "stateUpdate": topics,
                    "patch": [{ "op": "replace", "path": "", "value": topics }],
                }),
            ),
            ("chunk", chunk("The")),
            ("chunk", chunk(" map")),
            ("artifact", json!({ "sessionId": "s", "artifact": map })),
            ("turnEnd", json!({ "sessionId": "s", "turnEnd": { "finishReason": "stop" } })),
            ("done", done),
        ];
        let telemetry = all.pop().unwrap();
        assert_eq!(telemetry.name, "telemetry");
        assert_eq!(telemetry.data["traceId"].as_str(), answer.header("x-genkit-trace-id"));
        assert_eq!(telemetry.data["spanId"].as_str(), answer.header("x-genkit-span-id"));
        let seen: Vec<_> = all.into_iter().map(|event| (event.name, event.data)).collect();
        let expected: Vec<_> =
            expected.into_iter().map(|(name, data)| (name.to_owned(), data)).collect();
        assert_eq!(without_indexes(seen), expected, "{agent}");
    }
}

/// The texts of chunks. Their other members belong to the agent and are not compared.
fn without_indexes(mut events: Vec<(String, Value)>) -> Vec<(String, Value)> {
    for (_, data) in &mut events {
        if let Some(chunk) = data.get_mut("chunk").and_then(Value::as_object_mut) {
            chunk.retain(|member, _| member == "content");
        }
    }
    events
}

#[tokio::test]
async fn every_way_to_ask_for_a_stream_is_understood_and_every_session_has_a_name() {
    let app = app().await;
    for agent in ["support", "helper"] {
        for (path, headers, stream) in [
            ("execute", "", Some(true)),
            ("execute", "accept: text/event-stream\r\n", None),
            ("execute?stream=true", "", None),
        ] {
            let mut body = json!({ "input": "hi" });
            if let Some(stream) = stream {
                body["stream"] = json!(stream);
            }
            let answer =
                app.ask("POST", &format!("/{agent}/{path}"), headers, &body.to_string()).await;
            let all = events(&answer);
            let session = all[0].data["sessionId"].as_str().unwrap();
            assert_eq!(session.len(), 36, "{session}");
            for event in all.iter().filter(|event| event.name != "telemetry") {
                assert_eq!(event.data["sessionId"], session, "{event:?}");
            }
        }
    }
    // A fork: the session is that of the snapshot.
    let first = app.say("support", "hi", json!({ "sessionId": "s" })).await;
    let init = json!({ "snapshotId": first["snapshotId"] });
    let body = json!({ "input": "hi", "init": init, "stream": true }).to_string();
    let all = events(&app.ask("POST", "/support/execute", "", &body).await);
    assert_eq!(all[0].data["sessionId"], "s");
}

#[tokio::test]
async fn a_turn_that_fails_is_done_and_one_that_is_refused_is_an_error() {
    let app = app().await;
    let all = events(&app.ask("POST", "/support/execute", "", &body("fail")).await);
    let [.., done, telemetry] = &all[..] else { panic!("{all:?}") };
    assert_eq!((done.name.as_str(), telemetry.name.as_str()), ("done", "telemetry"));
    assert_eq!(done.data["error"], json!({ "status": "NOT_FOUND", "message": "no such weather" }));
    assert_eq!(done.data["finishReason"], "failed");

    let init = json!({ "snapshotId": "x", "state": { "messages": [] } });
    let body = json!({ "input": "hi", "init": init, "stream": true }).to_string();
    let all = events(&app.ask("POST", "/helper/execute", "", &body).await);
    let [error, telemetry] = &all[..] else { panic!("{all:?}") };
    assert_eq!((error.name.as_str(), telemetry.name.as_str()), ("error", "telemetry"));
    assert_eq!(error.data["error"]["status"], "FAILED_PRECONDITION");
    assert!(telemetry.data["traceId"].is_string());
}

#[tokio::test]
async fn what_follows_any_event_can_be_read_again_without_gap_or_duplicate() {
    let app = durable().await;
    let answer = app.ask("POST", "/support/execute", "", &body("count 20")).await;
    let stream = answer.header("x-genkit-stream-id").unwrap();
    let all = events(&answer);
    assert_eq!(all.len(), 20 + 7 + 3);
    for (number, event) in (1..).zip(&all) {
        assert_eq!(event.id, format!("{stream}/{number}"));
    }
    let last_update = all.iter().rfind(|event| event.name == "stateUpdate").unwrap();
    assert_eq!(last_update.data["stateUpdate"]["turns"], 7);
    let again = async |way: &str, last: Option<&Event>| {
        let id = last.map(|event| format!("last-event-id: {}\r\n", event.id)).unwrap_or_default();
        match way {
            // As a client does that sends its request once more.
            "POST" => app.ask("POST", "/support/execute", &id, &body("count 20")).await,
            // As a browser does.
            _ => app.ask("GET", &format!("/support/streams/{stream}"), &id, "").await,
        }
    };
    assert_eq!(events(&again("GET", None).await), all);
    for way in ["GET", "POST"] {
        for (position, event) in all.iter().enumerate().take(all.len() - 1) {
            let rest = again(way, Some(event)).await;
            assert_eq!(rest.header("x-genkit-stream-id"), Some(stream));
            assert_eq!(events(&rest), all[position + 1..], "{way} {position}");
        }
        let nothing = again(way, all.last()).await;
        assert_eq!((nothing.status, nothing.text()), (204, ""), "{way}");
    }
    // None of these requests started another turn.
    let session = app.get("/support/sessions/s").await.json();
    assert_eq!(session["metadata"]["snapshotCount"], 1);
}

#[tokio::test]
async fn a_recorded_turn_goes_on_without_its_reader() {
    let mut app = durable().await;
    let mut reader = app.send("POST", "/support/execute", "", &body("wait")).await;
    let head = reader.head().await.unwrap();
    let stream = head.header("x-genkit-stream-id").unwrap().to_owned();
    let read = until(&mut reader, "waiting").await;
    app.started.recv().await.unwrap();
    drop(reader);
    let known = read.matches("event: ").count();
    let id = format!("last-event-id: {stream}/{known}\r\n");
    let again = app.send("GET", &format!("/support/streams/{stream}"), &id, "").await;
    app.go_on.notify_one();
    let mut again = again;
    let rest = events(&again.answer().await.unwrap());
    let names: Vec<_> = rest.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["turnEnd", "done", "telemetry"]);
    assert_eq!(rest[0].id, format!("{stream}/{}", known + 1));
    assert_eq!(rest[1].data["message"]["content"][0]["text"], "wait: done");
    assert!(app.cancelled.try_recv().is_err());
}

#[tokio::test]
async fn other_turns_end_with_their_reader() {
    let mut app = app().await;
    for is_streamed in [true, false] {
        let body = json!({ "input": "wait", "stream": is_streamed }).to_string();
        let mut reader = app.send("POST", "/support/execute", "", &body).await;
        if is_streamed {
            assert_eq!(reader.head().await.unwrap().header("x-genkit-stream-id"), None);
            until(&mut reader, "waiting").await;
        }
        app.started.recv().await.unwrap();
        let left = Instant::now();
        drop(reader);
        let cancelled = app.cancelled.recv().await.unwrap();
        assert!(cancelled.duration_since(left) < Duration::from_secs(1));
    }
    assert_eq!(app.get("/support/sessions").await.json(), json!({ "sessions": [] }));
}

#[tokio::test]
async fn a_reader_that_comes_back_never_starts_another_turn() {
    let app = app().await;
    let all = events(&app.ask("POST", "/support/execute", "", &body("hi")).await);
    // The turn was not recorded, but its id shows that there was one.
    let id = format!("last-event-id: {}\r\n", all[0].id);
    app.ask("POST", "/support/execute", &id, &body("hi")).await.assert_error(404, "NOT_FOUND");
    let app = durable().await;
    app.ask("POST", "/support/execute", &id, &body("hi")).await.assert_error(404, "NOT_FOUND");
    for odd in ["", "x", "7", "/", "a/", "a/-1", "a/b", "a/1.5", "a/99999999999999999999"] {
        let id = format!("last-event-id: {odd}\r\n");
        let answer = app.ask("POST", "/support/execute", &id, &body("hi")).await;
        answer.assert_error(400, "INVALID_ARGUMENT");
    }
    assert_eq!(app.get("/support/sessions").await.json(), json!({ "sessions": [] }));
}

#[tokio::test]
async fn a_recorded_turn_is_read_by_its_owner_through_its_agent_alone() {
    let app = durable().await;
    let ada = "x-user: ada\r\n";
    let answer = app.ask("POST", "/support/execute", ada, &body("hi")).await;
    let stream = answer.header("x-genkit-stream-id").unwrap();
    let unknown = stream.replace(|c: char| c.is_ascii_digit(), "0");
    for (agent, who, id) in [
        ("support", ada, unknown.as_str()),
        ("support", "x-user: eve\r\n", stream),
        ("support", "", stream),
        ("sales", ada, stream),
        ("helper", ada, stream),
    ] {
        let answer = app.ask("GET", &format!("/{agent}/streams/{id}"), who, "").await;
        answer.assert_error(404, "NOT_FOUND");
        let expected = format!("there is no stream `{id}`; its turn was not repeated");
        assert_eq!(answer.json()["message"], expected);
    }
    let again = app.ask("GET", &format!("/support/streams/{stream}"), ada, "").await;
    assert_eq!(events(&again), events(&answer));
    let other = format!("{ada}last-event-id: {unknown}/1\r\n");
    let answer = app.ask("GET", &format!("/support/streams/{stream}"), &other, "").await;
    answer.assert_error(400, "INVALID_ARGUMENT");
    // The action protocol has streams of its own.
    let mut client = Client::connect(app.address).await;
    let headers = format!("accept: text/event-stream\r\nx-genkit-stream-id: {stream}\r\n{ada}");
    client.send(crate::kit::post("/support", &headers, "{}")).await;
    assert_eq!(client.answer().await.unwrap().status, 204);
}

#[tokio::test]
async fn any_server_of_the_same_store_goes_on_with_a_turn() {
    let streams = Arc::new(MemoryStreams::default());
    let mut one = app_with(|server| server.durable_streams(streams.clone())).await;
    let other = app_with(|server| server.durable_streams(streams)).await;
    let mut reader = one.send("POST", "/helper/execute", "", &body("wait")).await;
    let head = reader.head().await.unwrap();
    let stream = head.header("x-genkit-stream-id").unwrap().to_owned();
    let read = until(&mut reader, "waiting").await;
    one.started.recv().await.unwrap();
    let known = read.matches("event: ").count();
    let id = format!("last-event-id: {stream}/{known}\r\n");
    let mut again = other.send("POST", "/helper/execute", &id, &body("wait")).await;
    one.go_on.notify_one();
    let rest = events(&again.answer().await.unwrap());
    let names: Vec<_> = rest.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["turnEnd", "done", "telemetry"]);
    assert_eq!(rest[1].data["messages"].as_array().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_idle_stream_is_kept_alive_and_ended_when_the_server_ends() {
    for is_recorded in [false, true] {
        let mut app = match is_recorded {
            true => durable().await,
            false => app().await,
        };
        let mut reader = app.send("POST", "/support/execute", "", &body("wait")).await;
        reader.head().await.unwrap();
        until(&mut reader, "waiting").await;
        assert_eq!(reader.piece().await.unwrap(), b": still here\n\n");
        drop(app.stop.take());
        let end = loop {
            let piece = String::from_utf8(reader.piece().await.unwrap()).unwrap();
            if !piece.starts_with(':') {
                break piece;
            }
        };
        let expected = if is_recorded { "retry: 1000\n\n" } else { "event: error\ndata: " };
        assert!(end.contains(expected), "{end}");
        if !is_recorded {
            assert!(end.contains("UNAVAILABLE") && end.contains("event: telemetry"), "{end}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_quiet_turn_is_not_lost() {
    let mut app = durable().await;
    let mut reader = app.send("POST", "/support/execute", "", &body("wait")).await;
    reader.head().await.unwrap();
    until(&mut reader, "waiting").await;
    let began = tokio::time::Instant::now();
    while began.elapsed() < Duration::from_secs(600) {
        assert_eq!(reader.piece().await.unwrap(), b": still here\n\n");
    }
    app.started.recv().await.unwrap();
    app.go_on.notify_one();
    until(&mut reader, "event: done").await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_has_lost_its_process_ends() {
    // The recording of a server that was killed.
    let streams = Arc::new(MemoryStreams::default());
    let telemetry = json!({ "traceId": "t", "spanId": "s" });
    let head = json!({ "agent": "support", "sessionId": "s", "telemetry": telemetry });
    let chunk = json!({ "modelChunk": { "content": [{ "text": "half" }] } });
    let id = "00000000-0000-4000-8000-000000000000";
    let stored = format!("agent-turn.{id}");
    let scope = StreamScope::new(Owner::nobody(), "turns of /agent/support");
    streams.open(&scope, &stored).await.unwrap();
    let entries = [head, chunk].map(Payload::of).to_vec();
    streams.append(&stored, 0, entries).await.unwrap();

    let app = app_with(|server| server.durable_streams(streams)).await;
    let began = tokio::time::Instant::now();
    let answer = app.get(&format!("/support/streams/{id}")).await;
    assert!(began.elapsed() <= Duration::from_secs(76), "{:?}", began.elapsed());
    let text = answer.text().replace(": still here\n\n", "");
    let error = r#"{"error":{"status":"UNAVAILABLE","message":"the server that ran this turn has ended; the turn has no result"}}"#;
    let expected = format!(
        "event: chunk\ndata: {{\"sessionId\":\"s\",\"chunk\":{{\"content\":[{{\"text\":\"half\"}}]}}}}\nid: {id}/1\n\n\
         event: error\ndata: {error}\nid: {id}/2\n\n\
         event: telemetry\ndata: {telemetry}\nid: {id}/3\n\n"
    );
    assert_eq!(text, expected);
    // It is the end for everybody.
    let again = app.ask("GET", &format!("/support/streams/{id}"), "last-event-id: 1\r\n", "").await;
    assert_eq!(events(&again).len(), 2);
}
