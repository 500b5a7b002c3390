//! A WebSocket to a document.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures_util::{SinkExt, StreamExt};
use oxikit_wire::prompts::ServerMessage;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::sleep;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::PATIENCE;

/// Pause before another attempt to reach a manager that may be dead.
pub(super) const PAUSE: Duration = Duration::from_millis(10);

/// A connection.
pub(super) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    /// Connects, as soon as the manager listens.
    pub(super) async fn open(url: &str) -> Result<Self> {
        let began = Instant::now();
        loop {
            match connect_async(url).await {
                Ok((socket, _)) => return Ok(Self(socket)),
                Err(error) if began.elapsed() > PATIENCE => {
                    return Err(error).context("the manager cannot be reached");
                }
                Err(_) => sleep(PAUSE).await,
            }
        }
    }

    /// Sends a message. Returns whether the connection is still open.
    pub(super) async fn send(&mut self, message: &Value) -> bool {
        self.0.send(Message::text(message.to_string())).await.is_ok()
    }

    /// The next message; `None` if the connection has ended. Nothing is lost if the future is
    /// dropped.
    pub(super) async fn next(&mut self) -> Result<Option<ServerMessage>> {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => {
                    let message = serde_json::from_str(&text);
                    return message.with_context(|| format!("this is not a message: {text}"));
                }
                Some(Ok(Message::Close(frame))) => match frame {
                    Some(frame) if u16::from(frame.code) != 1001 => bail!("closed: {frame}"),
                    _ => return Ok(None),
                },
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Ok(None),
            }
        }
    }
}
