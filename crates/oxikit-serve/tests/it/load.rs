//! More than there is room for: the excess is refused at once, the rest is served.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::kit::{Client, PATIENCE, app, app_within, post};

const STREAM: &str = "accept: text/event-stream\r\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_idle_streams_leave_room_for_others() {
    let mut app = app().await;
    let mut streams = Vec::new();
    for _ in 0..1000 {
        let mut client = app.connect().await;
        client.send(post("/slow", STREAM, r#"{"data":1}"#)).await;
        streams.push(client);
    }
    for stream in &mut streams {
        assert_eq!(stream.head().await.unwrap().status, 200);
        assert_eq!(stream.piece().await.unwrap(), b"data: {\"message\":\"started\"}\n\n");
    }
    for _ in 0..20 {
        assert!(app.is_alive().await);
    }
    drop(streams);
    for _ in 0..1000 {
        tokio::time::timeout(PATIENCE, app.cancelled.recv()).await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_readers_that_stop_are_cut_while_others_are_served() {
    let mut app =
        app_within(|limits| limits.stalled_reader_time = Duration::from_millis(500)).await;
    let mut readers = Vec::new();
    for _ in 0..60 {
        let mut client = Client::connect_narrow(app.address).await;
        client.send(post("/big", STREAM, r#"{"data":100000}"#)).await;
        client.head().await.unwrap();
        readers.push(client);
    }
    let mut slowest = Duration::ZERO;
    let mut cut = 0;
    while cut < 60 {
        let begun = Instant::now();
        assert!(app.is_alive().await);
        slowest = slowest.max(begun.elapsed());
        while app.cancelled.try_recv().is_ok() {
            cut += 1;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    // The connections have ended, before all was sent.
    for reader in &mut readers {
        assert!(reader.rest().await.len() < 100 << 20);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_times_too_many_requests_are_refused_at_once() {
    const ROOM: usize = 50;
    let mut app = app_within(|limits| limits.requests = ROOM).await;
    let mut inside = Vec::new();
    for _ in 0..ROOM {
        let mut client = app.connect().await;
        client.send(post("/slow", STREAM, r#"{"data":1}"#)).await;
        tokio::time::timeout(PATIENCE, app.started.recv()).await.unwrap();
        inside.push(client);
    }
    let mut calls = JoinSet::new();
    for number in 0..3 * ROOM {
        let mut client = app.connect().await;
        let headers = if number % 2 == 0 { STREAM } else { "" };
        calls.spawn(async move {
            let begun = Instant::now();
            client.send(post("/slow", headers, r#"{"data":1}"#)).await;
            let answer = client.answer().await.unwrap();
            answer.assert_error(503, "UNAVAILABLE");
            begun.elapsed()
        });
    }
    let mut times = Vec::new();
    while let Some(time) = calls.join_next().await {
        times.push(time.unwrap());
    }
    times.sort();
    // The middle one, since this machine is also the client of all.
    assert!(times[times.len() / 2] < Duration::from_millis(100), "{times:?}");
    assert_eq!(app.effects(), ROOM);
    for client in &mut inside {
        assert_eq!(client.head().await.unwrap().status, 200);
        assert_eq!(client.piece().await.unwrap(), b"data: {\"message\":\"started\"}\n\n");
    }
}
