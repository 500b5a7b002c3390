//! The same over the network of this machine.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use oxikit_core::Registry;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{Message, WebSocketConfig};
use tokio_util::sync::CancellationToken;

use super::kit::{flow, identity, runs};
use crate::v2::{Backoff, ManagerAddress, Settings, serve_manager};

/// Far more than anything here takes.
const LONG: Duration = Duration::from_secs(60);

struct ServedManager {
    listener: TcpListener,
    ending: CancellationToken,
    app: JoinHandle<()>,
}

impl ServedManager {
    /// An application that connects to this path at `localhost`.
    async fn start(path: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let registry = Registry::default();
        flow(&registry, "echo", async |input: Value| Ok(input));
        let ending = CancellationToken::new();
        let settings = Settings {
            manager: ManagerAddress::parse(&format!("ws://localhost:{port}{path}"), None).unwrap(),
            identity: identity(),
            telemetry: None,
            backoff: Backoff::default(),
        };
        let app = tokio::spawn(serve_manager(settings, runs(registry), ending.clone()));
        Self { listener, ending, app }
    }

    /// The next connection after its registration, and what path it asked for.
    async fn accept(&self) -> (WebSocketStream<TcpStream>, String) {
        let (stream, _) = timeout(LONG, self.listener.accept()).await.unwrap().unwrap();
        let mut path = String::new();
        #[expect(clippy::result_large_err, reason = "the signature is that of the library")]
        let note = |request: &Request, response: Response| {
            path = request.uri().to_string();
            Ok(response)
        };
        let config = WebSocketConfig::default().max_frame_size(None).max_message_size(None);
        let accepted =
            tokio_tungstenite::accept_hdr_async_with_config(stream, note, Some(config)).await;
        let mut socket = accepted.unwrap();
        assert_eq!(recv(&mut socket).await["method"], "register");
        (socket, path)
    }

    async fn end(self) {
        self.ending.cancel();
        timeout(LONG, self.app).await.unwrap().unwrap();
    }
}

async fn recv(socket: &mut WebSocketStream<TcpStream>) -> Value {
    loop {
        let message = timeout(LONG, socket.next()).await.unwrap().unwrap().unwrap();
        if message.is_text() {
            return serde_json::from_str(message.to_text().unwrap()).unwrap();
        }
    }
}

async fn run(socket: &mut WebSocketStream<TcpStream>, id: &str, input: Value) -> Value {
    let params = json!({"key": "/flow/echo", "input": input});
    let request = json!({"method": "runAction", "params": params, "id": id});
    socket.send(Message::text(request.to_string())).await.unwrap();
    assert_eq!(recv(socket).await["method"], "runActionState");
    recv(socket).await["result"]["result"].take()
}

#[tokio::test]
async fn a_host_name_with_several_addresses_is_connected_and_the_path_is_kept() {
    let served = ServedManager::start("/rt/s3cret?token=abc").await;
    let (mut socket, path) = served.accept().await;
    assert_eq!(path, "/rt/s3cret?token=abc");
    assert_eq!(run(&mut socket, "1", json!({"a": 1})).await, json!({"a": 1}));
    served.end().await;
    let close = loop {
        match timeout(LONG, socket.next()).await.unwrap() {
            Some(Ok(Message::Close(frame))) => break frame,
            Some(Ok(_)) => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(close.unwrap().code, CloseCode::Away);
}

#[tokio::test]
async fn a_connection_that_is_reset_is_opened_again() {
    let served = ServedManager::start("").await;
    let (socket, path) = served.accept().await;
    assert_eq!(path, "/");
    drop(socket);
    let (mut socket, _) = served.accept().await;
    assert_eq!(run(&mut socket, "1", json!(1)).await, json!(1));
    served.end().await;
}

#[tokio::test]
async fn a_message_beyond_the_limit_is_answered_with_1009() {
    let served = ServedManager::start("").await;
    let (socket, _) = served.accept().await;
    let (mut sink, mut stream) = socket.split();
    let large = Message::text("x".repeat(33 << 20));
    // The connection may be closed before everything is sent.
    let sending = tokio::spawn(async move { _ = sink.send(large).await });
    let close = loop {
        match timeout(LONG, stream.next()).await.unwrap() {
            Some(Ok(Message::Close(frame))) => break frame,
            Some(Ok(_)) => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(close.unwrap().code, CloseCode::Size);
    sending.await.unwrap();
    drop(stream);
    let (mut socket, _) = served.accept().await;
    assert_eq!(run(&mut socket, "1", json!(1)).await, json!(1));
    served.end().await;
}

#[tokio::test]
async fn a_manager_without_a_handshake_is_given_up() {
    let served = ServedManager::start("").await;
    // The TCP connection is accepted, but there is no handshake.
    let (silent, _) = served.listener.accept().await.unwrap();
    let (mut socket, _) = served.accept().await;
    assert_eq!(run(&mut socket, "1", json!(1)).await, json!(1));
    drop(silent);
    served.end().await;
}

#[tokio::test]
async fn an_invalid_address_is_rejected_at_once() {
    let config = crate::DevConfig {
        manager: Some("http://localhost:3200".to_owned()),
        ..crate::DevConfig::default()
    };
    let refused = config.start(&Registry::default()).await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::InvalidInput);
    assert!(refused.to_string().contains("the scheme `http`"), "{refused}");
}
