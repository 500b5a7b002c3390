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

use super::{Batch, Handshake, PartialMessages, Sent, Socket, TextFrame};

/// Number of bytes that the connection holds in each direction.
const CAPACITY: usize = 64;

/// A socket of the server and its client.
async fn connect() -> (Socket, WebSocketStream<DuplexStream>) {
    connect_with(CAPACITY).await
}

async fn connect_with(capacity: usize) -> (Socket, WebSocketStream<DuplexStream>) {
    let (near, far) = tokio::io::duplex(capacity);
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
        let messages: Vec<_> = (&mut client).take(2).map(Result::unwrap).collect().await;
        // Open until the end: the socket would report that it is lost.
        (messages, client)
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
    let (received, _client) = tokio::select! {
        _ = socket.work(&mut batch, true) => panic!("the client has sent nothing"),
        received = received => received.unwrap(),
    };
    let expected = [Message::Pong(content.into()), Message::text("x".repeat(3 * CAPACITY))];
    assert_eq!(received, expected);
}

/// Lets the socket work while the client receives this number of messages.
async fn receive(
    socket: &mut Socket,
    client: &mut WebSocketStream<DuplexStream>,
    count: usize,
) -> Vec<Message> {
    let mut batch = Batch::default();
    let received = client.take(count).map(Result::unwrap).collect();
    tokio::select! {
        _ = socket.work(&mut batch, true) => panic!("the client has sent nothing"),
        received = received => received,
    }
}

#[tokio::test]
async fn the_rest_of_a_frame_of_a_sender_comes_before_messages_of_the_socket() {
    let (mut socket, mut client) = connect().await;
    let sender = socket.frame_sender();
    let (small, large) = (TextFrame::from("small"), TextFrame::from(&*"x".repeat(3 * CAPACITY)));
    assert_eq!(sender.try_send(&small), Sent::Whole);
    assert_eq!(sender.try_send(&large), Sent::Partly);
    assert_eq!(sender.try_send(&small), Sent::Not, "the rest was not sent");
    socket.send(Message::text("own"));
    let received = receive(&mut socket, &mut client, 3).await;
    assert_eq!(received, ["small", &large, "own"].map(Message::text));
    assert_eq!(sender.try_send(&small), Sent::Whole, "all was sent");
    assert_eq!(receive(&mut socket, &mut client, 1).await, [Message::text("small")]);
}

#[tokio::test]
async fn a_sender_does_not_overtake_messages_of_the_socket() {
    let (mut socket, mut client) = connect().await;
    let sender = socket.frame_sender();
    let (small, large) = (TextFrame::from("small"), TextFrame::from(&*"x".repeat(3 * CAPACITY)));
    socket.send(Message::text("own"));
    assert_eq!(sender.try_send(&small), Sent::Not, "a message is queued");
    assert_eq!(receive(&mut socket, &mut client, 1).await, [Message::text("own")]);
    poll_fn(|cx| {
        socket.send_frame(cx, &large);
        Poll::Ready(())
    })
    .await;
    assert_eq!(sender.try_send(&small), Sent::Not, "the rest of a frame waits");
    assert_eq!(receive(&mut socket, &mut client, 1).await, [Message::text(&*large)]);
    // Nothing of a frame is sent if the network takes nothing.
    assert_eq!(sender.try_send(&TextFrame::from(&*"y".repeat(CAPACITY - 2))), Sent::Whole);
    assert_eq!(sender.try_send(&small), Sent::Not);
    let received = receive(&mut socket, &mut client, 1).await;
    assert_eq!(received, [Message::text("y".repeat(CAPACITY - 2))]);
}

#[tokio::test]
async fn a_sender_sends_nothing_after_the_end() {
    let frame = TextFrame::from("late");
    let (mut socket, mut client) = connect().await;
    let sender = socket.frame_sender();
    client.close(None).await.unwrap();
    let ending = socket.work(&mut Batch::default(), true).await;
    assert_eq!(sender.try_send(&frame), Sent::Not, "{ending:?}");

    let (socket, client) = connect().await;
    let sender = socket.frame_sender();
    let closing = tokio::spawn(socket.close_with(1001, "bye".to_owned()));
    let received: Vec<_> =
        client.take_while(|message| std::future::ready(message.is_ok())).collect().await;
    assert!(matches!(&received[..], [Ok(Message::Close(_))]), "{received:?}");
    assert_eq!(sender.try_send(&frame), Sent::Not);
    closing.await.unwrap();

    let (socket, _client) = connect().await;
    let sender = socket.frame_sender();
    drop(socket);
    assert_eq!(sender.try_send(&frame), Sent::Not);
}

/// Sizes around those of the reads, with headers and masks, alone and many at once.
#[tokio::test]
async fn messages_of_all_sizes_are_received_whole_and_in_order() {
    let sizes = [1 << 10, 4 << 10, 8 << 10, 32 << 10, 36 << 10, 64 << 10];
    let sizes = sizes.into_iter().flat_map(|size| [0, 9, size - 20, size - 9, size, size + 9]);
    let texts: Vec<_> =
        sizes.enumerate().map(|(n, size)| format!("{n} {}", "x".repeat(size))).collect();
    for capacity in [CAPACITY, 5_000, 1 << 20] {
        let (mut socket, mut client) = connect_with(capacity).await;
        let mut received = Vec::new();
        let send = async {
            for text in &texts {
                client.send(Message::text(text.as_str())).await.unwrap();
            }
        };
        let receive = async {
            while received.len() < texts.len() {
                let mut batch = Batch::default();
                socket.work(&mut batch, true).await.unwrap();
                received.extend(batch.messages.into_iter().map(|text| text.to_string()));
            }
        };
        tokio::join!(send, receive);
        assert!(received == texts, "capacity {capacity}");
    }
}
