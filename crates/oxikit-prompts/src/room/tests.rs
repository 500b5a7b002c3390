//! What waits for members, and what they get.

use std::convert::Infallible;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use axum::body::Body;
use futures_util::StreamExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use oxikit_http::websocket::{Handshake, PartialMessages, Socket};
use oxikit_wire::prompts::UpdateReason;
use serde_json::Value;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;

use super::*;
use crate::document::{Document, source_of};
use crate::index::tests::document;

const STALL: Duration = Duration::from_secs(10);
const CONTENT: News = News { content: true, metadata: false };

fn state(text: &str, rev: u64) -> Arc<Document> {
    let document = document("p/a.md", "");
    Arc::new(document.with_text(source_of("a.md", text), rev, format!("hash {rev}")))
}

fn room() -> Room {
    Room::new(Snapshot::first(state("text 1", 1)), STALL)
}

/// Announces a new text to all members.
fn announce(room: &mut Room, rev: u64) {
    let (old, new) = (room.current.document.clone(), state(&format!("text {rev}"), rev));
    room.announce(Snapshot::after(old, new, UpdateReason::Edit), &UpToDate::default());
}

/// All messages that wait, in short.
fn read(outbox: &Outbox) -> Vec<String> {
    let mut messages = Vec::new();
    while let Some(message) = outbox.try_next() {
        messages.push(match message {
            Outgoing::Close { code, reason } => format!("close {code} {reason}"),
            Outgoing::Text(text) => {
                let message: Value = serde_json::from_str(&text).unwrap();
                format!("{} {}", message["action"].as_str().unwrap(), message["rev"])
            }
        });
    }
    messages
}

#[tokio::test(start_paused = true)]
async fn waiting_updates_are_replaced_by_the_newest() {
    let mut room = room();
    let (_, outbox, _) = room.join(None);
    for rev in 2..1000 {
        announce(&mut room, rev);
    }
    assert_eq!(read(&outbox), ["initial 1", "update 999"]);
    announce(&mut room, 1000);
    assert_eq!(read(&outbox), ["update 1000"]);
    let seen: Vec<_> = outbox.seen().iter().map(|text| text.as_str().to_owned()).collect();
    assert_eq!(seen, ["text 1", "text 999", "text 1000"], "only what was sent counts as seen");
}

#[tokio::test(start_paused = true)]
async fn members_share_the_text_of_a_broadcast() {
    let mut room = room();
    let outboxes: Vec<_> = (0..3).map(|_| room.join(None).1).collect();
    announce(&mut room, 2);
    let updates = outboxes.iter().map(|outbox| {
        outbox.try_next().unwrap();
        match outbox.try_next().unwrap() {
            Outgoing::Text(text) => text.as_ptr(),
            close => panic!("{close:?}"),
        }
    });
    let places: BTreeSet<_> = updates.collect();
    assert_eq!(places.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn members_of_the_extended_protocol_get_patches_that_follow_each_other() {
    let mut room = room();
    let (id, outbox, _) = room.join(None);
    room.hello(id, Hello { client: Some("Ada".to_owned()), ..Hello::default() });
    assert_eq!(room.label(id), Some("Ada"));
    assert_eq!(read(&outbox), ["initial 1", "welcome 1"]);
    announce(&mut room, 2);
    announce(&mut room, 3);
    assert_eq!(read(&outbox), ["patched 2", "patched 3"]);
    for rev in 4..40 {
        announce(&mut room, rev);
    }
    let messages = read(&outbox);
    assert!(messages.len() <= 17, "{messages:?}");
    assert!(messages[0].starts_with("update"), "{messages:?}");
    assert_eq!(messages.last().unwrap(), "patched 39");
}

#[tokio::test(start_paused = true)]
async fn a_member_that_does_not_read_gets_initial_again_after_the_stall_time() {
    let mut room = room();
    let (_, stalled, _) = room.join(None);
    let (_, reader, _) = room.join(None);
    read(&reader);
    announce(&mut room, 2);
    announce(&mut room, 3);
    assert_eq!(read(&reader), ["update 3"]);
    tokio::time::advance(STALL).await;
    assert!(room.due_at().unwrap() <= Instant::now());
    room.work();
    announce(&mut room, 4);
    assert_eq!(read(&reader), ["update 4"]);
    assert_eq!(read(&stalled), ["initial 3", "update 4"]);
}

#[tokio::test(start_paused = true)]
async fn answers_that_nobody_reads_end_the_connection() {
    let mut room = room();
    let (_, outbox, _) = room.join(None);
    for _ in 0..300 {
        outbox.reply("{}".into());
    }
    assert_eq!(read(&outbox), ["close 1013 too many messages are not read"]);
    let (_, outbox, _) = room.join(None);
    outbox.reply("x".repeat(3 << 20).as_str().into());
    assert!(matches!(outbox.try_next(), Some(Outgoing::Text(_))), "one large answer is possible");
}

#[tokio::test(start_paused = true)]
async fn presence_is_collected_and_shown_to_members_of_the_extended_protocol_only() {
    let mut room = room();
    let (plain, plain_box, _) = room.join(None);
    let (id, outbox, session) = room.join(None);
    room.hello(id, Hello::default());
    room.presence(plain, SetPresence { cursor: Some(1), ..SetPresence::default() });
    for cursor in 0..50 {
        room.presence(id, SetPresence { cursor: Some(cursor), ..SetPresence::default() });
    }
    read(&plain_box);
    read(&outbox);
    tokio::time::advance(PRESENCE_INTERVAL).await;
    room.work();
    assert_eq!(read(&plain_box), Vec::<String>::new());
    let Some(Outgoing::Text(text)) = outbox.try_next() else { panic!("nothing") };
    let list: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(list["clients"][0]["session"].as_str(), Some(&*session));
    assert_eq!(
        (&list["clients"][0]["cursor"], list["clients"].as_array().unwrap().len()),
        (&49.into(), 1)
    );
    outbox.leave();
    assert!(!room.is_empty());
    plain_box.leave();
    assert!(room.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_room_that_is_dropped_closes_its_members() {
    let mut room = room();
    let (_, outbox, _) = room.join(None);
    drop(room);
    assert_eq!(read(&outbox), ["close 1011 internal server error"]);
}

/// A socket of the server and its client.
async fn connect() -> (Socket, WebSocketStream<DuplexStream>) {
    let (near, far) = tokio::io::duplex(64 << 10);
    let (opened, mut upgrades) = mpsc::channel(1);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = request.map(Body::new);
        let (response, upgraded) = Handshake::read(&mut request).unwrap().accept();
        _ = opened.try_send(upgraded);
        async { Ok::<_, Infallible>(response) }
    });
    let http = hyper::server::conn::http1::Builder::new();
    tokio::spawn(http.serve_connection(TokioIo::new(near), service).with_upgrades());
    let (client, _) = tokio_tungstenite::client_async("ws://localhost/", far).await.unwrap();
    let upgraded = upgrades.recv().await.unwrap().await.unwrap();
    (Socket::new(upgraded, 1 << 20, PartialMessages::new(1 << 20).share()).await, client)
}

/// The next message of an outbox, for a reader that is asked by nobody.
fn poll(outbox: &Outbox) -> Poll<Outgoing> {
    outbox.poll_next(&Context::from_waker(Waker::noop()))
}

#[tokio::test]
async fn a_change_is_not_sent_past_a_reader_that_has_taken_one_and_not_sent_it() {
    let (mut room, (socket, mut client)) = (room(), connect().await);
    let (_, outbox, _) = room.join(None);
    outbox.send_through(socket.frame_sender());
    assert!(poll(&outbox).is_ready() && poll(&outbox).is_pending(), "the reader waits");
    announce(&mut room, 2);
    assert!(poll(&outbox).is_pending(), "the room has sent it");
    let state = |rev: u64| {
        let (old, new) =
            (state(&format!("text {}", rev - 1), rev - 1), state(&format!("text {rev}"), rev));
        Arc::new(Snapshot::after(old, new, UpdateReason::Edit))
    };
    outbox.announce(&state(3), CONTENT, Delivery::Later, Instant::now());
    // Before the room delivers it, the reader is woken by something else.
    assert!(poll(&outbox).is_ready());
    outbox.announce(&state(4), CONTENT, Delivery::Later, Instant::now());
    outbox.deliver();
    assert!(poll(&outbox).is_ready(), "it waits for the reader, who sends the one before first");
    outbox.deliver();
    let sent = client.next().await.unwrap().unwrap();
    assert!(sent.to_text().unwrap().contains("text 2"), "{sent}");
    drop(socket);
    assert!(!matches!(client.next().await, Some(Ok(_))), "nothing else was sent");
}
