//! Failures: the status that the caller gets, and the requests that are repeated.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use oxikit_client::{Client, RemoteAction, Status, StatusCode};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use serde_json::{Value, json};

use crate::peer::{Peer, hang_up, peer, reply};

fn action(peer: &Peer) -> RemoteAction {
    peer.action()
}

async fn failure(http: u16, body: &str) -> Status {
    let peer = peer([reply(http, [body])]).await;
    action(&peer).run::<Value>(&1).await.unwrap_err()
}

#[tokio::test]
async fn http_errors_of_all_servers_keep_code_message_and_details() {
    use StatusCode::*;
    let cases = [
        (404, r#"{"code":404,"status":"NOT_FOUND","message":"x"}"#, NotFound, "x"),
        // Python answers 500 whatever the status is.
        (500, r#"{"status":"FAILED_PRECONDITION","message":"x"}"#, FailedPrecondition, "x"),
        (500, r#"{"error":{"status":"ABORTED","message":"x"}}"#, Aborted, "x"),
        (400, r#"{"message":"x","status":"INVALID ARGUMENT"}"#, InvalidArgument, "x"),
        (422, r#"{"detail":"x"}"#, InvalidArgument, "x"),
        (503, r#"{"status":"OK","message":"x"}"#, Unavailable, "x"),
        (418, r#"{"error":"x"}"#, InvalidArgument, "x"),
        // Go writes text.
        (400, "OUT_OF_RANGE: x\n", OutOfRange, "x"),
        (400, "no such field: x\n", InvalidArgument, "no such field: x"),
        (500, "NOT_FOUND: x", Internal, "NOT_FOUND: x"),
        (403, "x", PermissionDenied, "x"),
    ];
    for (http, body, code, message) in cases {
        let status = failure(http, body).await;
        assert_eq!((status.code(), status.message()), (code, message), "{http} {body}");
        assert!(!status.is_public(), "{http} {body}");
    }
    let detailed =
        failure(400, r#"{"status":"INVALID_ARGUMENT","message":"x","details":{"a":[1]}}"#);
    assert_eq!(detailed.await.details(), Some(&json!({ "a": [1] })));
}

#[tokio::test]
async fn an_answer_without_words_is_named_by_its_http_status() {
    use StatusCode::*;
    let cases = [
        (302, FailedPrecondition),
        (401, Unauthenticated),
        (404, NotFound),
        (405, Unimplemented),
        (408, DeadlineExceeded),
        (409, Aborted),
        (413, ResourceExhausted),
        (429, ResourceExhausted),
        (499, Cancelled),
        (500, Internal),
        (502, Unavailable),
        (504, DeadlineExceeded),
    ];
    for (http, code) in cases {
        for body in ["", "{}", "[]", "<!DOCTYPE html><p>Cannot POST /x"] {
            let status = failure(http, body).await;
            assert_eq!(status.code(), code, "{http} {body}");
            assert!(
                status.message().ends_with(&format!("/action answered HTTP {http}")),
                "{status}"
            );
        }
    }
}

#[tokio::test]
async fn the_wait_that_a_server_asks_for_is_told() {
    let busy = reply(429, ["{\"message\":\"later\"}"]).header("retry-after", "7");
    let peer = peer([busy]).await;
    let status = action(&peer).run::<Value>(&1).await.unwrap_err();
    assert_eq!(status.retry_after(), Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn a_call_that_may_have_reached_its_action_is_not_repeated() {
    let peer = peer([hang_up()]).await;
    let status = action(&peer).run::<Value>(&1).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::Unavailable);
    assert!(status.message().contains("broke"), "{status}");
    assert_eq!(peer.requests().await.len(), 1);

    for http in [500, 502, 503, 504] {
        let peer = crate::peer::peer([reply(http, [""])]).await;
        assert!(action(&peer).stream::<Value, Value>(&1).await.is_err());
        assert_eq!(peer.requests().await.len(), 1);
    }
}

#[tokio::test]
async fn a_stream_that_is_not_durable_is_not_repeated_when_it_breaks() {
    let cut = reply(200, ["data: {\"message\":1}\n\n"]).then_cut();
    let peer = peer([cut]).await;
    let mut stream = action(&peer).stream::<u8, Value>(&1).await.unwrap();
    assert_eq!(stream.stream_id(), None);
    assert_eq!(stream.next().await.unwrap().unwrap(), 1);
    let last = stream.next().await.unwrap().unwrap_err();
    assert_eq!(last.code(), StatusCode::Unavailable);
    assert!(stream.next().await.is_none());
    assert_eq!(stream.finish().await.unwrap_err().code(), StatusCode::Unavailable);
    assert_eq!(peer.requests().await.len(), 1);
}

#[tokio::test]
async fn a_refused_connection_is_unavailable() {
    let gone = peer([]).await;
    let client = Client::builder().retries(0).build().unwrap();
    // The port is closed once the peer without replies is done.
    let listener = loop {
        match tokio::net::TcpListener::bind(gone.address).await {
            Ok(listener) => break listener,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    drop(listener);
    let action = client.action(&gone.url()).unwrap();
    let status = action.run::<Value>(&1).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::Unavailable, "{status}");
    assert!(status.message().starts_with("cannot connect to http://127.0.0.1:"), "{status}");
}

/// A resolver that finds the address only from the third lookup on.
struct SlowResolver(AtomicUsize, SocketAddr);

impl Resolve for SlowResolver {
    fn resolve(&self, _: Name) -> Resolving {
        let is_known = self.0.fetch_add(1, Ordering::SeqCst) >= 2;
        let answer = if is_known { Ok(self.1) } else { Err("not yet".into()) };
        Box::pin(async move { answer.map(|address| Box::new(std::iter::once(address)) as Addrs) })
    }
}

#[tokio::test]
async fn a_call_that_reached_nobody_is_tried_again() {
    for (retries, is_enough) in [(1, false), (2, true)] {
        let peer = peer([reply(200, ["{\"result\":1}"])]).await;
        let resolver = Arc::new(SlowResolver(AtomicUsize::new(0), peer.address));
        let http = reqwest::Client::builder().no_proxy().dns_resolver(resolver).build().unwrap();
        let client = Client::builder().http_client(http).retries(retries).build().unwrap();
        let url = format!("http://somewhere.test:{}/action", peer.address.port());
        let output = client.action(&url).unwrap().run::<u8>(&1).await;
        match output {
            Ok(output) => assert!(is_enough && output == 1),
            Err(status) => {
                assert!(!is_enough, "{status}");
                assert_eq!(status.code(), StatusCode::Unavailable);
            }
        }
    }
}

#[tokio::test]
async fn a_redirect_to_another_server_is_not_followed() {
    let other = peer([reply(200, ["{\"result\":1}"])]).await;
    for (http, location) in [(307, other.url()), (302, "/elsewhere".to_owned())] {
        let peer = peer([reply(http, [""]).header("location", &location)]).await;
        let action = action(&peer).with_header("x-api-key", "secret");
        let status = action.run::<u8>(&1).await.unwrap_err();
        assert_eq!(status.code(), StatusCode::FailedPrecondition, "{status}");
    }
}

#[tokio::test]
async fn a_value_of_another_type_is_an_internal_failure() {
    let peer = peer([
        reply(200, ["{\"result\":\"text\"}"]),
        reply(
            200,
            ["data: {\"message\":\"text\"}\n\ndata: {\"message\":2}\n\ndata: {\"result\":\"text\"}\n\n"],
        ),
    ])
    .await;
    let action = action(&peer);
    let status = action.run::<u8>(&1).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::Internal);
    assert!(status.message().starts_with("the output is not of the expected type"), "{status}");
    let mut stream = action.stream::<u8, u8>(&1).await.unwrap();
    let status = stream.next().await.unwrap().unwrap_err();
    assert!(status.message().starts_with("the chunk is not of the expected type"), "{status}");
    assert_eq!(stream.next().await.unwrap().unwrap(), 2, "the stream goes on");
    let last = stream.next().await.unwrap().unwrap_err();
    assert!(stream.next().await.is_none());
    let status = stream.finish().await.unwrap_err();
    assert_eq!(status.message(), last.message());
    assert!(status.message().starts_with("the output is not of the expected type"), "{status}");
}

#[tokio::test]
async fn secrets_are_shown_neither_by_debug_nor_by_errors() {
    let peer = peer([hang_up(), reply(500, [""])]).await;
    let client = Client::builder().header("x-one", "hunter2").build().unwrap();
    let url = format!("http://me:hunter2@{}/action?key=hunter2#hunter2", peer.address);
    let action = client.action(&url).unwrap().with_header("authorization", "hunter2");
    for _ in 0..2 {
        let status = action.run::<Value>(&1).await.unwrap_err();
        for text in [format!("{status}"), format!("{status:?}")] {
            assert!(!text.contains("hunter2"), "{text}");
        }
    }
    for text in [format!("{client:?}"), format!("{action:?}")] {
        assert!(!text.contains("hunter2"), "{text}");
    }
    for url in ["hunter2", "ftp://me:hunter2@example/", "http://me:hunter2@:x/"] {
        let status = client.action(url).unwrap_err();
        assert_eq!(status.code(), StatusCode::InvalidArgument);
        assert!(!format!("{status:?}").contains("hunter2"), "{status:?}");
    }
}

#[tokio::test]
async fn settings_that_cannot_be_sent_fail_every_call() {
    let peer = peer([]).await;
    let bad_name = action(&peer).with_header("a b", "c");
    let bad_value = action(&peer).with_header("a", "b\nc");
    let bad_init = action(&peer).with_init(std::collections::HashMap::from([((1, 2), 3)]));
    for action in [bad_name, bad_value, bad_init] {
        let refused = [
            action.run::<Value>(&1).await.unwrap_err(),
            action.stream::<Value, Value>(&1).await.unwrap_err(),
            action.resume::<Value, Value>("id").await.unwrap_err(),
        ];
        for status in refused {
            assert_eq!(status.code(), StatusCode::InvalidArgument, "{status}");
        }
    }
    assert!(Client::builder().header("a b", "c").build().is_err());
    let bad_id = action(&peer).resume::<Value, Value>("a\nb").await.unwrap_err();
    assert_eq!(bad_id.code(), StatusCode::InvalidArgument);
}
