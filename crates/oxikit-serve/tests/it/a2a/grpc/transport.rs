//! HTTP/2 beside HTTP/1.1, frames that are not right, and limits.

use std::time::Duration;

use bytes::Bytes;
use oxikit_a2a_grpc::{path, write_frame};
use oxikit_core::Registry;
use oxikit_serve::{Limits, Server};
use oxikit_wire::a2a::{ErrorKind, Operation, Version};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::client::{Grpc, Refused};
use super::{BOTH, begin, send, subscribe};
use crate::a2a::kit::{app, app_with, message, serve};

/// Sends a body to a method; its status.
async fn refused(client: &Grpc, body: impl Into<Bytes>) -> Refused {
    let path = path(Operation::SendMessage, client.version).unwrap();
    client.post(&path, body).await.refused().await
}

#[tokio::test]
async fn bodies_that_are_no_message_are_refused() {
    let app = app().await;
    for version in BOTH {
        let client = Grpc::connect(app.address, version).await;
        let mut two = Vec::new();
        write_frame(&mut two, &send("one"), version);
        write_frame(&mut two, &send("two"), version);
        for (body, code) in [
            (&b""[..], "UNIMPLEMENTED"),
            (b"\0\0\0", "INVALID_ARGUMENT"),
            (b"\0\0\0\0\x09short", "INVALID_ARGUMENT"),
            (b"\x01\0\0\0\0", "UNIMPLEMENTED"),
            (&two, "UNIMPLEMENTED"),
        ] {
            let body = Bytes::copy_from_slice(body);
            let refused = refused(&client, body.clone()).await;
            assert_eq!(refused.code.name(), code, "{body:?} {refused:?}");
            assert_eq!(refused.metadata["grpc-accept-encoding"], "identity");
        }
        let malformed = refused(&client, &b"\0\0\0\0\x02\x0a\xff"[..]).await;
        assert_eq!(malformed.kind(), Some(ErrorKind::InvalidRequest), "{malformed:?}");
        assert_eq!(malformed.code.name(), "INVALID_ARGUMENT");
        let empty = refused(&client, &b"\0\0\0\0\0"[..]).await;
        assert_eq!(empty.kind(), Some(ErrorKind::InvalidParams), "a message without a message");
    }
}

#[tokio::test]
async fn methods_and_services_that_are_not_there_are_unimplemented() {
    let app = app().await;
    let client = Grpc::connect(app.address, Version::V1_0).await;
    for path in ["/lf.a2a.v1.A2AService/Fly", "/a2a.v1.A2AService/ListTasks"] {
        let refused = client.post(path, &b"\0\0\0\0\0"[..]).await.refused().await;
        assert_eq!(refused.code.name(), "UNIMPLEMENTED", "{path}");
    }
    // Clients of gRPC read this HTTP status as UNIMPLEMENTED.
    let other = client.post("/grpc.health.v1.Health/Check", &b"\0\0\0\0\0"[..]).await;
    assert_eq!(other.http, 404);
}

#[tokio::test]
async fn a_message_beyond_the_limit_is_refused() {
    let mut limits = Limits::default();
    limits.body_bytes = 4096;
    let app = app_with(|server| server.limits(limits)).await;
    for version in BOTH {
        let client = Grpc::connect(app.address, version).await;
        let mut body = Vec::new();
        write_frame(&mut body, &send(&"x".repeat(5000)), version);
        assert_eq!(refused(&client, body).await.code.name(), "RESOURCE_EXHAUSTED");
        client.task(send(&"x".repeat(3000))).await;
    }
}

#[tokio::test]
async fn one_port_serves_http_1_and_http_2() {
    let app = app().await;
    let client = Grpc::connect(app.address, Version::V1_0).await;
    let task = client.task(send("hello")).await;
    assert_eq!(app.send(message("hello")).await["status"]["state"], "TASK_STATE_COMPLETED");
    let path = "/lf.a2a.v1.A2AService/GetTask";
    let old = app.request("POST", path, "Content-Type: application/grpc\r\n", "").await;
    assert_eq!(old.status, 505, "gRPC needs HTTP/2");
    // The other bindings are there over HTTP/2 too.
    let path = format!("/a2a/script/tasks/{}", task.id);
    let json = client.post(&path, "").await;
    assert_eq!(json.http, 404, "this path takes GET only");
}

#[tokio::test]
async fn requests_that_are_not_grpc_keep_their_http_status() {
    let app = app().await;
    let client = Grpc::connect(app.address, Version::V1_0).await;
    let path = path(Operation::GetTask, Version::V1_0).unwrap();
    for (media_type, http) in [
        ("application/json", 415),
        ("application/grpc+json", 415),
        ("application/grpc-web", 415),
        ("application/grpc+proto", 200),
        ("application/grpc;charset=utf-8", 200),
    ] {
        let client = client.with("content-type", media_type);
        assert_eq!(client.post(&path, "{}").await.http, http, "{media_type}");
    }
}

#[tokio::test]
async fn many_requests_share_one_connection() {
    let app = app().await;
    let client = Grpc::connect(app.address, Version::V1_0).await;
    let waiting = client.stream(Operation::SendStreamingMessage, &send("wait")).await;
    let calls = (0..32).map(|_| client.task(send("hello")));
    let tasks = futures_util::future::join_all(calls).await;
    assert_eq!(tasks.len(), 32);
    app.gate.notify_one();
    waiting.all().await;
}

#[tokio::test]
async fn a_stream_that_a_shutdown_cuts_says_so() {
    let app = app().await;
    let client = Grpc::connect(app.address, Version::V1_0).await;
    let task = client.task(begin("wait")).await;
    // The task belongs to the first server, so that it goes on when the second one ends.
    let mut limits = Limits::default();
    limits.drain_time = Duration::ZERO;
    let set = |server: Server| server.limits(limits);
    let other = serve(app.store.clone(), &Registry::default(), set).await;
    let client = Grpc::connect(other.address, Version::V1_0).await;
    let mut stream = client.stream(Operation::SubscribeToTask, &subscribe(&task.id)).await;
    stream.next().await.unwrap();
    drop(other);
    while stream.next().await.is_some() {}
    assert_eq!(stream.result().unwrap_err().code.name(), "UNAVAILABLE");
}

#[tokio::test]
async fn headers_beyond_the_limit_are_refused() {
    let app = app().await;
    let client = Grpc::connect(app.address, Version::V1_0).await;
    let path = path(Operation::SendMessage, Version::V1_0).unwrap();
    let large = client.with("x-large", &"x".repeat(20_000));
    assert_eq!(large.post(&path, "").await.http, 431);
    client.task(send("hello")).await;
}

#[tokio::test]
async fn a_connection_that_does_not_say_its_protocol_is_closed() {
    let mut limits = Limits::default();
    limits.header_time = Duration::from_millis(50);
    let app = app_with(|server| server.limits(limits)).await;
    for start in ["", "PRI * HTTP/2.0\r\n"] {
        let mut stream = TcpStream::connect(app.address).await.unwrap();
        stream.write_all(start.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // It ends by the server: this side keeps the connection open.
        _ = stream.read_to_end(&mut answer).await;
        assert_eq!(answer, b"");
    }
}

#[tokio::test]
async fn a_server_without_agents_takes_http_1_only() {
    let server = Server::new(&Registry::default()).port(0).bind().await.unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(server.run(std::future::pending()));
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert_eq!(answer, b"", "the server closes the connection without settings of HTTP/2");
}

#[tokio::test]
async fn the_first_bytes_tell_the_protocol_however_they_arrive() {
    let app = app().await;
    // A request line that begins as the preface of HTTP/2 does.
    let mut stream = TcpStream::connect(app.address).await.unwrap();
    for piece in ["P", "R", "OPFIND / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"] {
        stream.write_all(piece.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 4"), "{answer}");
    // The preface, cut into pieces: the server answers with its settings, a frame of type 4.
    let mut stream = TcpStream::connect(app.address).await.unwrap();
    for piece in [&b"PRI * HT"[..], b"TP/2.0\r\n\r\nSM\r\n\r\n", b"\0\0\0\x04\0\0\0\0\0"] {
        stream.write_all(piece).await.unwrap();
        stream.flush().await.unwrap();
    }
    let mut frame = [0; 9];
    stream.read_exact(&mut frame).await.unwrap();
    assert_eq!(frame[3], 4, "{frame:?}");
}
