//! The manager's end of the socket.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use oxikit::prelude::*;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

/// Far more than anything here takes.
const LONG: Duration = Duration::from_secs(60);

/// The address at which runtimes register.
pub(super) struct Manager(TcpListener);

/// A runtime that has called.
pub(super) struct Socket(WebSocketStream<TcpStream>);

impl Manager {
    /// A manager, and where it listens.
    pub(super) async fn listen() -> (Self, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://localhost:{}", listener.local_addr().unwrap().port());
        (Self(listener), url)
    }

    pub(super) async fn accept(&self) -> Socket {
        let (stream, _) = timeout(LONG, self.0.accept()).await.unwrap().unwrap();
        Socket(tokio_tungstenite::accept_async(stream).await.unwrap())
    }
}

impl Socket {
    pub(super) async fn send(&mut self, message: Value) {
        self.0.send(Message::text(message.to_string())).await.unwrap();
    }

    /// The next frame of data.
    pub(super) async fn recv(&mut self) -> Value {
        loop {
            let message = self.next().await.expect("the runtime is there");
            if message.is_text() {
                return serde_json::from_str(message.to_text().unwrap()).unwrap();
            }
        }
    }

    /// The next message; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Message> {
        timeout(LONG, self.0.next()).await.unwrap()?.ok()
    }
}
