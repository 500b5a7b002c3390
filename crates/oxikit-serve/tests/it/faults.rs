//! Panics, clients that leave or stall, shutdown, and limits.

use std::time::{Duration, Instant};

use oxikit::prelude::*;
use oxikit_serve::{Expose, Limits, Server, context_from};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::kit::{App, Client, PATIENCE, SECRETS, app, app_with, app_within, post};

const STREAM: &str = "accept: text/event-stream\r\n";

/// Waits for something that must happen.
async fn soon<T>(event: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, event).await.expect("it happens")
}

/// A client that has started `slow` and waits.
async fn waiting(app: &mut App, headers: &str) -> Client {
    let mut client = app.connect().await;
    client.send(post("/slow", headers, r#"{"data":1}"#)).await;
    soon(app.started.recv()).await.unwrap();
    client
}

#[tokio::test]
async fn a_panic_is_internal_to_its_caller_only() {
    let app = app().await;
    let mut client = app.connect().await;
    for _ in 0..3 {
        client.send(post("/panicking", "", r#"{"data":0}"#)).await;
        client.answer().await.unwrap().assert_error(500, "INTERNAL");
        client.send(post("/panicking", STREAM, r#"{"data":2}"#)).await;
        let answer = client.answer().await.unwrap();
        let error =
            "error: {\"error\":{\"status\":\"INTERNAL\",\"message\":\"Internal error\"}}\n\n";
        let blocks = answer.text().strip_suffix(error).unwrap_or_else(|| panic!("{answer:?}"));
        assert_eq!(blocks, "data: {\"message\":0}\n\ndata: {\"message\":1}\n\n");
        answer.assert_says_nothing();
    }
    assert!(app.is_alive().await);
}

#[tokio::test]
async fn one_panic_in_a_hundred_calls_harms_no_other() {
    let app = app().await;
    let mut calls = JoinSet::new();
    for worker in 0..50 {
        let mut client = app.connect().await;
        calls.spawn(async move {
            for call in 0..20 {
                let is_bad = (worker * 20 + call) % 100 == 7;
                let data = if is_bad { "1" } else { "null" };
                let headers = if call % 2 == 0 { STREAM } else { "" };
                client.send(post("/panicking", headers, format!(r#"{{"data":{data}}}"#))).await;
                let answer = client.answer().await.unwrap();
                assert_eq!(answer.text().contains("INTERNAL"), is_bad, "{answer:?}");
                assert_eq!(answer.text().contains("calm"), !is_bad, "{answer:?}");
            }
        });
    }
    while let Some(call) = soon(calls.join_next()).await {
        call.unwrap();
    }
    assert_eq!(app.effects(), 1000);
}

#[tokio::test]
async fn panics_outside_of_actions_are_answered_too() {
    let panics = context_from(|request| match request.header("x-mood") {
        Some("bad") => panic!("{}", SECRETS[1]),
        _ => Ok(ActionContext::default()),
    });
    let app = app_with(|server| server.auth(panics)).await;
    let mut client = app.connect().await;
    for headers in ["x-mood: bad\r\n".to_owned(), format!("x-mood: bad\r\n{STREAM}")] {
        client.send(post("/echo", &headers, r#"{"data":1}"#)).await;
        client.answer().await.unwrap().assert_error(500, "INTERNAL");
    }
    client.send("GET /metrics HTTP/1.1\r\nhost: localhost\r\nx-mood: bad\r\n\r\n").await;
    client.answer().await.unwrap().assert_error(500, "INTERNAL");
    assert!(app.is_alive().await);
    assert_eq!(app.effects(), 1);

    let ai = Oxikit::builder().build().unwrap();
    let flow = ai.define_flow("guarded", |_: Value| async move { Ok(1) });
    let flow = Expose::new(&flow).policy(|_| panic!("{}", SECRETS[2]));
    let server = Server::new(&ai).expose(flow).port(0).bind().await.unwrap();
    let address = server.local_addr().unwrap();
    let server = tokio::spawn(server.run(std::future::pending()));
    let mut client = Client::connect(address).await;
    client.send(post("/guarded", "", "{}")).await;
    client.answer().await.unwrap().assert_error(500, "INTERNAL");
    server.abort();
}

#[tokio::test]
async fn planted_secrets_do_not_leave() {
    let app = app().await;
    for number in 0..=4 {
        let body = format!(r#"{{"data":{number}}}"#);
        let answer = app.post("/secret", &body).await;
        assert!(answer.status >= 400);
        answer.assert_error_form();
        let answer = app.stream("/secret", &body).await;
        assert!(answer.text().contains("\n\nerror: {"), "{answer:?}");
        answer.assert_says_nothing();
    }
}

#[tokio::test]
async fn an_action_sees_that_its_client_has_left() {
    let mut app = app().await;
    for headers in ["", STREAM] {
        for way in ["close", "half-close", "reset"] {
            let mut client = waiting(&mut app, headers).await;
            let left = Instant::now();
            match way {
                "close" => drop(client),
                "half-close" => client.half_close().await,
                _ => client.reset(),
            }
            let seen = soon(app.cancelled.recv()).await.unwrap();
            let took = seen.saturating_duration_since(left);
            assert!(took < Duration::from_millis(100), "{way} {headers} {took:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_clients_leave_at_once_and_all_their_runs_end() {
    let mut app = app().await;
    let mut clients = Vec::new();
    for number in 0..200 {
        clients.push(waiting(&mut app, if number % 2 == 0 { STREAM } else { "" }).await);
    }
    let left = Instant::now();
    drop(clients);
    let mut times = Vec::new();
    for _ in 0..200 {
        let seen = soon(app.cancelled.recv()).await.unwrap();
        times.push(seen.saturating_duration_since(left));
    }
    times.sort();
    assert!(times[197] < Duration::from_millis(100), "{:?}", &times[190..]);
    assert!(app.is_alive().await);
}

#[tokio::test]
async fn slow_senders_are_cut() {
    let app = app_within(|limits| {
        limits.header_time = Duration::from_millis(200);
        limits.body_time = Duration::from_millis(200);
    })
    .await;
    // Nothing, half a line, and headers that never end.
    for start in ["", "POST /ec", "POST /echo HTTP/1.1\r\nhost: localhost\r\n"] {
        let (mut client, begun) = (app.connect().await, Instant::now());
        client.send(start).await;
        let answer = client.answer().await;
        assert!(answer.is_none_or(|answer| answer.status == 408));
        assert_eq!(client.rest().await, b"");
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
    // A byte now and then does not help.
    for start in ["x", "POST /echo HTTP/1.1\r\nhost: localhost\r\nx: "] {
        let mut client = app.connect().await;
        client.send(start).await;
        let trickled = async {
            while client.try_send("y").await {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        soon(trickled).await;
    }
    for headers in ["", STREAM] {
        let mut client = app.connect().await;
        let head = format!(
            "POST /echo HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: 1000\r\n\r\n{{"
        );
        client.send(head).await;
        client.answer().await.unwrap().assert_error(408, "DEADLINE_EXCEEDED");
        assert_eq!(client.rest().await, b"");

        let mut client = app.connect().await;
        let head = format!(
            "POST /echo HTTP/1.1\r\nhost: localhost\r\n{headers}transfer-encoding: chunked\r\n\r\n"
        );
        client.send(head).await;
        let trickled = async {
            while client.try_send("1\r\n \r\n").await {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        soon(trickled).await;
        let answer = client.answer().await;
        assert!(answer.is_none_or(|answer| answer.status == 408));
    }
    assert_eq!(app.effects(), 0);
    assert!(app.is_alive().await);
}

#[tokio::test]
async fn a_reader_that_stops_is_cut_and_its_run_cancelled() {
    let mut app =
        app_within(|limits| limits.stalled_reader_time = Duration::from_millis(300)).await;
    let mut client = Client::connect_narrow(app.address).await;
    let begun = Instant::now();
    client.send(post("/big", STREAM, r#"{"data":1000000}"#)).await;
    client.head().await.unwrap();
    let seen = soon(app.cancelled.recv()).await.unwrap();
    let took = seen.saturating_duration_since(begun);
    assert!(took >= Duration::from_millis(300) && took < Duration::from_secs(5), "{took:?}");
    assert!(app.is_alive().await);
}

#[tokio::test]
async fn a_slow_reader_that_goes_on_reading_gets_everything() {
    let app = app_within(|limits| limits.stalled_reader_time = Duration::from_secs(1)).await;
    let mut client = app.connect().await;
    client.send(post("/big", STREAM, r#"{"data":30000}"#)).await;
    client.head().await.unwrap();
    let (mut length, begun) = (0, Instant::now());
    let mut last = Vec::new();
    loop {
        let piece = client.piece().await.expect("the stream goes on");
        if piece.is_empty() {
            break;
        }
        length += piece.len();
        last = piece;
        // In all longer than the limit, but never that long at once. Not slower
        // than this: the kernel tells of room only when a third of its buffer,
        // which grows to 4 MB, is empty.
        if begun.elapsed() < Duration::from_millis(1500) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    assert!(length > 30000 << 10, "{length}");
    assert!(last.ends_with(b"data: {\"result\":\"done\"}\n\n"));
}

#[tokio::test]
async fn shutdown_lets_open_requests_end() {
    let mut app = app_within(|limits| limits.drain_time = PATIENCE).await;
    let mut idle = app.connect().await;
    idle.send(post("/echo", "", "{}")).await;
    idle.answer().await.unwrap();
    let mut sending = app.connect().await;
    sending.send("POST /count HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\ncontent-length: 10\r\n\r\n{").await;
    let mut done = app.connect().await;
    done.send(post("/count", STREAM, r#"{"data":1}"#)).await;
    done.answer().await.unwrap();

    app.stop();
    // The idle ones are closed, new ones are not taken.
    assert_eq!(idle.rest().await, b"");
    assert_eq!(done.rest().await, b"");
    assert!(TcpStream::connect(app.address).await.is_err());
    sending.send(r#""data":2}"#).await;
    let answer = sending.answer().await.unwrap();
    assert!(answer.text().ends_with("data: {\"result\":\"done\"}\n\n"), "{answer:?}");
    assert_eq!(sending.rest().await, b"");
    soon(&mut app.server).await.unwrap();
}

#[tokio::test]
async fn open_streams_end_with_an_error_at_shutdown() {
    let mut app = app_within(|limits| limits.drain_time = Duration::from_millis(200)).await;
    let mut streams = Vec::new();
    for _ in 0..20 {
        streams.push(waiting(&mut app, STREAM).await);
    }
    let mut unary = waiting(&mut app, "").await;
    let begun = Instant::now();
    app.stop();
    for stream in &mut streams {
        let answer = stream.answer().await.expect("a whole answer");
        let error =
            answer.text().strip_prefix("data: {\"message\":\"started\"}\n\nerror: ").unwrap();
        let error: Value = serde_json::from_str(error).unwrap();
        assert_eq!(error["error"]["status"], "UNAVAILABLE", "{error}");
        soon(app.cancelled.recv()).await.unwrap();
    }
    assert!(begun.elapsed() >= Duration::from_millis(200));
    unary.answer().await.expect("a whole answer").assert_error(503, "UNAVAILABLE");
    soon(&mut app.server).await.unwrap();
}

#[tokio::test]
async fn a_stream_that_never_pauses_is_cut_at_shutdown_too() {
    let mut app = app_within(|limits| limits.drain_time = Duration::from_millis(100)).await;
    let mut client = app.connect().await;
    client.send(post("/count", STREAM, r#"{"data":4000000000}"#)).await;
    client.head().await.unwrap();
    client.piece().await.unwrap();
    app.stop();
    let mut last = Vec::new();
    loop {
        let piece = client.piece().await.expect("a whole answer");
        if piece.is_empty() {
            break;
        }
        last = piece;
    }
    let last = String::from_utf8(last).unwrap();
    assert!(last.contains("error: ") && last.contains("UNAVAILABLE"), "{last}");
    soon(&mut app.server).await.unwrap();
}

#[tokio::test]
async fn connections_over_the_limit_are_answered_and_closed() {
    let app = app_within(|limits| limits.connections = 3).await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = app.connect().await;
        client.send(post("/echo", "", "{}")).await;
        assert_eq!(client.answer().await.unwrap().status, 200);
        clients.push(client);
    }
    for _ in 0..5 {
        let mut refused = app.connect().await;
        let answer = refused.answer().await.unwrap();
        answer.assert_error(503, "UNAVAILABLE");
        assert_eq!(answer.header("retry-after"), Some("1"));
        assert_eq!(refused.rest().await, b"");
    }
    // Those inside are served meanwhile, and a place that is left is given away.
    clients[0].send(post("/echo", "", "{}")).await;
    assert_eq!(clients[0].answer().await.unwrap().status, 200);
    drop(clients.pop());
    let taken = async {
        loop {
            let mut client = app.connect().await;
            client.try_send(post("/echo", "", "{}")).await;
            if client.answer().await.is_some_and(|answer| answer.status == 200) {
                break;
            }
        }
    };
    soon(taken).await;
}

#[tokio::test]
async fn requests_over_the_limit_are_refused_and_streams_count() {
    let mut app = app_within(|limits| limits.requests = 2).await;
    let unary = waiting(&mut app, "").await;
    let stream = waiting(&mut app, STREAM).await;
    for headers in ["", STREAM] {
        let answer = app.ask(post("/echo", headers, r#"{"data":1}"#)).await;
        answer.assert_error(503, "UNAVAILABLE");
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    assert_eq!(app.effects(), 2);
    drop(unary);
    soon(app.cancelled.recv()).await.unwrap();
    drop(stream);
    soon(app.cancelled.recv()).await.unwrap();
    let freed = async { while app.post("/echo", "{}").await.status != 200 {} };
    soon(freed).await;
}

#[tokio::test]
async fn limits_of_nothing_are_no_panic() {
    let mut limits = Limits::default();
    (limits.header_bytes, limits.body_bytes, limits.requests) = (0, 0, 0);
    let app = app_with(|server| server.limits(limits)).await;
    app.post("/echo", "{}").await.assert_error(503, "UNAVAILABLE");
}
