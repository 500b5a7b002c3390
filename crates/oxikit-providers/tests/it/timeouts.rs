//! Slow providers, and callers that drop their call.

use std::time::{Duration, Instant};

use oxikit::{Call, Event, StatusCode};
use serde_json::json;

use crate::server::{Reply, Server};
use crate::support::*;

const MODEL: &str = "acme/m";
/// Long enough for a busy machine to send what it is to send.
const SHORT: Duration = Duration::from_secs(1);
/// Maximum time until the provider sees that the caller has gone.
const SOON: Duration = Duration::from_millis(100);

fn first_piece() -> Reply {
    Reply::sse(&[json!({"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hel"}, "finish_reason": null}]})])
}

#[tokio::test]
async fn a_server_that_never_begins_is_given_up() {
    let (silent, gone) = Reply::silent();
    let server = Server::start([silent]).await;
    let failed = ask(compatible(&server).timeout(SHORT), MODEL, hello()).await.unwrap_err();
    assert_eq!(failed.code(), StatusCode::DeadlineExceeded);
    assert!(failed.message().contains("sent nothing for 1s"), "{failed}");
    gone.await.unwrap();
}

#[tokio::test]
async fn a_stream_that_stops_is_given_up() {
    let (stalled, gone) = first_piece().stalled();
    let server = Server::start([stalled]).await;
    let (pieces, failed) = stream(compatible(&server).timeout(SHORT), MODEL, hello()).await;
    assert_eq!(pieces.len(), 1);
    assert_eq!(failed.unwrap_err().code(), StatusCode::DeadlineExceeded);
    gone.await.unwrap();
}

#[tokio::test]
async fn a_body_that_stops_is_given_up() {
    let (stalled, gone) = Reply::new(200, "application/json", vec!["{".to_owned()]).stalled();
    let server = Server::start([stalled]).await;
    let failed = ask(compatible(&server).timeout(SHORT), MODEL, hello()).await.unwrap_err();
    assert_eq!(failed.code(), StatusCode::DeadlineExceeded);
    gone.await.unwrap();
}

/// A busy machine may be late once; code that waits for something is late always.
async fn check_soon(time_to_close: impl AsyncFn() -> Duration) {
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        fastest = fastest.min(time_to_close().await);
        if fastest < SOON {
            return;
        }
    }
    panic!("the connection was closed after {fastest:?}");
}

#[tokio::test]
async fn a_caller_who_leaves_a_stream_closes_the_connection() {
    check_soon(async || {
        let (stalled, gone) = first_piece().stalled();
        let server = Server::start([stalled]).await;
        let model = model(compatible(&server), MODEL).await;
        let mut run = model.start(Call::new(hello())).unwrap();
        assert!(matches!(run.next().await, Some(Event::Chunk(_))));
        let left = Instant::now();
        drop(run);
        gone.await.unwrap() - left
    })
    .await;
}

#[tokio::test]
async fn a_caller_who_leaves_before_the_answer_closes_the_connection() {
    check_soon(async || {
        let (silent, gone) = Reply::silent();
        let server = Server::start([silent]).await;
        let model = model(compatible(&server), MODEL).await;
        let asked = tokio::spawn(async move { model.run(Call::new(hello())).await });
        server.arrived().await;
        let left = Instant::now();
        asked.abort();
        gone.await.unwrap() - left
    })
    .await;
}

#[tokio::test]
async fn a_run_that_is_cancelled_closes_the_connection() {
    check_soon(async || {
        let (stalled, gone) = first_piece().stalled();
        let server = Server::start([stalled]).await;
        let model = model(compatible(&server), MODEL).await;
        let mut run = model.start(Call::new(hello())).unwrap();
        assert!(matches!(run.next().await, Some(Event::Chunk(_))));
        let left = Instant::now();
        run.canceller().cancel();
        let Some(Event::Failed(status)) = run.next().await else {
            panic!("a cancelled run fails");
        };
        assert_eq!(status.code(), StatusCode::Cancelled);
        gone.await.unwrap() - left
    })
    .await;
}
