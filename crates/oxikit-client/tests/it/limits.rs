//! Time and size.

use std::time::Duration;

use oxikit_client::{Client, RemoteAction, StatusCode};
use serde_json::Value;

use crate::peer::{peer, reply, silence};

const SHORT: Duration = Duration::from_millis(30);

/// The same action with an idle timeout, with a limit of the client, and with one
/// of its own.
fn impatient(url: &str) -> [RemoteAction; 3] {
    let idle = Client::builder().idle_timeout(SHORT).build().unwrap();
    let whole = Client::builder().timeout(SHORT).build().unwrap();
    let own = Client::new().unwrap().action(url).unwrap().with_timeout(SHORT);
    [idle.action(url).unwrap(), whole.action(url).unwrap(), own]
}

#[tokio::test]
async fn a_server_that_says_nothing_exceeds_the_deadline() {
    let peer = peer([silence(), silence(), silence()]).await;
    for action in impatient(&peer.url()) {
        let status = action.run::<Value>(&1).await.unwrap_err();
        assert_eq!(status.code(), StatusCode::DeadlineExceeded, "{status}");
    }
}

#[tokio::test]
async fn a_stream_that_falls_silent_exceeds_the_deadline() {
    let first = || reply(200, ["data: {\"message\":1}\n\n"]).then_silent();
    let peer = peer([first(), first(), first()]).await;
    for action in impatient(&peer.url()) {
        // On a busy machine not even the head may come in time.
        let output = match action.stream::<u8, Value>(&1).await {
            Ok(stream) => stream.finish().await,
            Err(status) => Err(status),
        };
        assert_eq!(output.unwrap_err().code(), StatusCode::DeadlineExceeded);
    }
}

#[tokio::test]
async fn a_result_does_not_wait_for_the_end_of_its_connection() {
    let peer = peer([reply(200, ["data: {\"result\":1}\n\n"]).then_silent()]).await;
    let action = Client::new().unwrap().action(&peer.url()).unwrap();
    assert_eq!(action.stream::<u8, u8>(&1).await.unwrap().finish().await.unwrap(), 1);
}

#[tokio::test]
async fn what_is_larger_than_allowed_is_refused() {
    let large = "x".repeat(100);
    let peer = peer([
        reply(200, [format!("{{\"result\":\"{large}\"}}")]),
        reply(200, [format!("data: {{\"message\":1}}\n\ndata: {{\"message\":\"{large}")])
            .then_silent(),
    ])
    .await;
    let client = Client::builder().max_answer_bytes(50).max_block_bytes(50).build().unwrap();
    let action = client.action(&peer.url()).unwrap();
    let status = action.run::<Value>(&1).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::ResourceExhausted, "{status}");
    let mut stream = action.stream::<Value, Value>(&1).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap(), Value::from(1));
    let last = stream.next().await.unwrap().unwrap_err();
    assert_eq!(last.code(), StatusCode::ResourceExhausted);
    assert!(stream.next().await.is_none());
    assert_eq!(stream.finish().await.unwrap_err().code(), StatusCode::ResourceExhausted);
}
