//! Calls over gRPC: addresses, callers that are refused, and answers that are cut off. The calls
//! themselves are in `server`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use oxikit_a2a_grpc::write_frame;
use oxikit_client::a2a::{
    A2aBuilder, A2aClient, Binding, ErrorKind, StreamResponse, Task, TaskState, TaskStatus,
    Version, error_kind,
};
use oxikit_client::{Client, StatusCode};
use oxikit_serve::ApiKey;
use serde_json::json;

use super::grpc_peer::{Piece, grpc_peer, head};
use super::kit::{agent, app, app_with, builder, json_reply};
use crate::peer::{Peer, peer};

const OK: (&str, &str) = ("grpc-status", "0");

/// A server with a card whose only address is this one.
async fn card_with(address: &str) -> Peer {
    let interface = json!({ "url": address, "protocolBinding": "GRPC", "protocolVersion": "1.0" });
    peer([json_reply(200, &json!({ "name": "Agent", "supportedInterfaces": [interface] }))]).await
}

async fn connect(address: &str) -> oxikit_client::Result<A2aClient> {
    agent(&card_with(address).await).connect().await
}

async fn scripted(answers: Vec<Vec<Piece>>) -> A2aClient {
    connect(&grpc_peer(answers).await.to_string()).await.unwrap()
}

fn task(state: TaskState) -> Task {
    Task::new("t", "c", TaskStatus::new(state))
}

fn message(message: &dyn oxikit_a2a_grpc::Encode) -> Piece {
    let mut data = Vec::new();
    write_frame(&mut data, message, Version::V1_0);
    Piece::Data(data)
}

#[tokio::test]
async fn all_forms_of_an_address_are_called() {
    let app = app().await;
    let host = app.address.to_string();
    for form in ["", "dns:///", "http://"] {
        // Another server than that of the card: the client for foreign URLs sends the request.
        let agent = connect(&format!("{form}{host}")).await.unwrap();
        assert_eq!(agent.url(), format!("http://{host}/"));
        assert_eq!(agent.send("hello").await.unwrap().text(), "hello");
        app.gate.notify_one();
        let stream = agent.send_stream("chunks").await.unwrap();
        assert_eq!(stream.finish().await.unwrap().text(), "one two three");
    }
    for form in ["/agent", "", "host:port:7", "unix:/run/agent", "ftp://127.0.0.1:9", "a@b:1"] {
        let status = connect(form).await.unwrap_err();
        assert_eq!(status.code(), StatusCode::FailedPrecondition, "{form}");
        assert!(status.message().ends_with("an address that is not `host:port`"), "{status}");
    }
}

#[tokio::test]
async fn another_server_gets_headers_only_if_it_is_trusted() {
    let app = app().await;
    let card = card_with(&app.address.to_string()).await;
    let status = agent(&card).bearer("secret").connect().await.unwrap_err();
    let origin = format!("http://{}", app.address);
    assert!(status.message().ends_with(&format!("trust the origin {origin}")), "{status}");
    let card = card_with(&app.address.to_string()).await;
    let trusting = agent(&card).bearer("secret").trust_origin(&origin).connect().await.unwrap();
    assert_eq!(trusting.send("hello").await.unwrap().text(), "hello");
}

#[tokio::test]
async fn refused_callers_get_one_further_try() {
    let app = app_with(|server| server.auth(ApiKey::new("a-long-random-text"))).await;
    for version in [Version::V0_3, Version::V1_0] {
        let open = |settings: fn(A2aBuilder) -> A2aBuilder| {
            settings(builder(&app.url()).binding(Binding::Grpc).version(version)).connect()
        };
        let refused = open(|it| it).await.unwrap();
        let status = refused.send("hello").await.unwrap_err();
        assert_eq!(status.code(), StatusCode::Unauthenticated, "{status}");
        let status = refused.send_stream("hello").await.map(drop).unwrap_err();
        assert_eq!(status.code(), StatusCode::Unauthenticated, "{status}");
        let wrong = open(|it| it.bearer("another-random-text")).await.unwrap();
        let status = wrong.send("hello").await.unwrap_err();
        assert_eq!(status.code(), StatusCode::PermissionDenied, "{status}");
        let calls = Arc::new(AtomicU32::new(0));
        let counted = calls.clone();
        let renewing = builder(&app.url()).binding(Binding::Grpc).version(version);
        let renewing = renewing.bearer_from(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            async { Ok("a-long-random-text".to_owned()) }
        });
        let renewing = renewing.connect().await.unwrap();
        for _ in 0..2 {
            assert_eq!(renewing.send("hello").await.unwrap().text(), "hello");
        }
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test]
async fn an_answer_counts_only_with_its_status() {
    let done = || message(&task(TaskState::Completed));
    let agent = scripted(vec![
        vec![head(), done(), Piece::Trailers(vec![OK])],
        vec![head(), done(), Piece::End],
        vec![head(), done(), Piece::Trailers(vec![("x", "y")])],
        vec![head(), Piece::Trailers(vec![OK])],
        vec![head(), done(), done(), Piece::Trailers(vec![OK])],
        vec![head(), Piece::Data(b"\x01\0\0\0\0".to_vec()), Piece::Trailers(vec![OK])],
        vec![head(), Piece::Data(b"\0\0\0\0\x09ab".to_vec()), Piece::Trailers(vec![OK])],
        vec![Piece::Headers(vec![(":status", "200")]), done(), Piece::Trailers(vec![OK])],
        vec![Piece::Trailers(vec![(":status", "503")])],
        vec![head(), done(), Piece::Cut],
    ])
    .await;
    assert_eq!(agent.get_task("t", None).await.unwrap().id, "t");
    let expected = [
        (StatusCode::Unavailable, "before its status"),
        (StatusCode::Unavailable, "before its status"),
        (StatusCode::Internal, "an answer without a message"),
        (StatusCode::Internal, "several messages"),
        (StatusCode::Internal, "a compressed message"),
        (StatusCode::Unavailable, "before its status"),
        (StatusCode::Internal, "something that is not gRPC"),
        (StatusCode::Unavailable, "answered HTTP 503"),
        (StatusCode::Unavailable, "broke"),
    ];
    for (code, text) in expected {
        let status = agent.get_task("t", None).await.unwrap_err();
        assert_eq!(status.code(), code, "{text}: {status}");
        assert!(status.message().contains(text), "{text}: {status}");
    }
}

#[tokio::test]
async fn errors_are_read_from_headers_and_from_trailers() {
    let missing = vec![("grpc-status", "5"), ("grpc-message", "no task%20%C3%A9")];
    let mut only_headers = vec![(":status", "200"), ("content-type", "application/grpc+proto")];
    only_headers.extend(missing.clone());
    let full = vec![("grpc-status", "8"), ("grpc-message", "full")];
    let agent = scripted(vec![
        vec![Piece::Trailers(only_headers)],
        vec![head(), Piece::Trailers(missing)],
        vec![head(), Piece::Trailers(full)],
        vec![head(), Piece::Trailers(vec![("grpc-status", "99")])],
    ])
    .await;
    for _ in 0..2 {
        let status = agent.get_task("t", None).await.unwrap_err();
        assert_eq!(error_kind(&status), Some(ErrorKind::TaskNotFound));
        assert_eq!(status.message(), "no task é");
    }
    let status = agent.get_task("t", None).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (StatusCode::ResourceExhausted, "full"));
    let status = agent.get_task("t", None).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::Unknown);
}

#[tokio::test]
async fn a_stream_without_a_status_goes_on_with_the_task() {
    let event = |state| message(&StreamResponse::Task(task(state)));
    let unavailable = vec![("grpc-status", "14"), ("grpc-message", "shutting down")];
    let agent = scripted(vec![
        vec![head(), event(TaskState::Working), Piece::End],
        vec![head(), event(TaskState::Working), Piece::Trailers(unavailable)],
        vec![head(), event(TaskState::Working), Piece::Cut],
        vec![head(), event(TaskState::Completed), Piece::Trailers(vec![OK])],
    ])
    .await;
    let reply = agent.send_stream("hello").await.unwrap().finish().await.unwrap();
    assert_eq!(reply.state(), Some(TaskState::Completed));
}

#[tokio::test]
async fn messages_are_limited() {
    let mut large = task(TaskState::Completed);
    large.id = "t".repeat(2000);
    let answer = |message: Piece| vec![head(), message, Piece::Trailers(vec![OK])];
    // Only the start of a message that would be larger still.
    let endless = Piece::Data([&b"\0\xff\xff\xff\xff"[..], &[b'x'; 2000]].concat());
    let address: SocketAddr = grpc_peer(vec![
        answer(message(&large)),
        vec![head(), endless],
        answer(message(&StreamResponse::Task(large))),
    ])
    .await;
    let card = card_with(&address.to_string()).await;
    let client = Client::builder().max_answer_bytes(1000).max_block_bytes(1000).build().unwrap();
    let agent = agent(&card).client(&client).connect().await.unwrap();
    for _ in 0..2 {
        let status = agent.get_task("t", None).await.unwrap_err();
        assert_eq!(status.code(), StatusCode::ResourceExhausted, "{status}");
    }
    let stream = agent.send_stream("hello").await.unwrap();
    let status = stream.finish().await.unwrap_err();
    assert!(status.message().contains("a message of more than 1000 bytes"), "{status}");
}
