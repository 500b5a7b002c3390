//! Sockets on a connection that takes few bytes at a time.

use std::convert::Infallible;
use std::future::poll_fn;
use std::task::Poll;

use axum::body::Body;
use axum::extract::Request;
use futures_util::{SinkExt, StreamExt};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::{Batch, Handshake, PartialMessages, Socket, TextFrame};

/// Number of bytes that the connection holds in each direction.
const CAPACITY: usize = 64;

/// A socket of the server and its client.
async fn connect() -> (Socket, WebSocketStream<DuplexStream>) {
    let (near, far) = tokio::io::duplex(CAPACITY);
    let (opened, mut upgrades) = mpsc::channel(1);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request: Request = request.map(Body::new);
        let (response, upgraded) = Handshake::read(&mut request).unwrap().accept();
        _ = opened.try_send(upgraded);
        async { Ok::<_, Infallible>(response) }
    });
    let http = hyper::server::conn::http1::Builder::new();
    tokio::spawn(http.serve_connection(TokioIo::new(near), service).with_upgrades());
    let (client, _) = tokio_tungstenite::client_async("ws://localhost/", far).await.unwrap();
    let upgraded = upgrades.recv().await.unwrap().await.unwrap();
    let memory = PartialMessages::new(1 << 20);
    (Socket::new(upgraded, 1 << 20, memory.share()).await, client)
}

/// The answer to a ping is sent by the library, and its rest may wait although nothing is queued.
#[tokio::test]
async fn a_frame_does_not_come_into_the_middle_of_an_answer_to_a_ping() {
    let (mut socket, mut client) = connect().await;
    let content = vec![b'p'; 125];
    let mut batch = Batch::default();
    let ping = client.send(Message::Ping(content.clone().into()));
    let read = async {
        while !batch.take_received() {
            socket.work(&mut batch, true).await.unwrap();
        }
    };
    let (sent, ()) = tokio::join!(ping, read);
    sent.unwrap();
    let received = tokio::spawn(async move {
        let messages = client.take(2).map(Result::unwrap);
        messages.collect::<Vec<_>>().await
    });
    // The client makes room, and is not yet sent the rest of the answer.
    tokio::task::yield_now().await;
    let frame = TextFrame::from("x".repeat(3 * CAPACITY).as_str());
    poll_fn(|cx| {
        socket.send_frame(cx, &frame);
        Poll::Ready(())
    })
    .await;
    let mut batch = Batch::default();
    let received = tokio::select! {
        _ = socket.work(&mut batch, true) => panic!("the client has sent nothing"),
        received = received => received.unwrap(),
    };
    let expected = [Message::Pong(content.into()), Message::text("x".repeat(3 * CAPACITY))];
    assert_eq!(received, expected);
}
