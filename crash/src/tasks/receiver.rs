//! A receiver of notifications that can be away.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use oxikit_wire::headers::X_A2A_DELIVERY;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// A notification as it arrived.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Notification {
    pub(super) task: String,
    /// Number of the event.
    pub(super) number: u64,
    pub(super) body: Value,
}

/// A server that accepts every notification. While it is away its port is closed.
pub(super) struct Receiver {
    port: u16,
    shared: Arc<Shared>,
    /// `None` while it is away.
    listening: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    received: Mutex<Vec<Notification>>,
    /// Number of the notifications until now.
    count: watch::Sender<usize>,
}

impl Receiver {
    pub(super) async fn start(port: u16) -> Result<Self> {
        let mut receiver = Self { port, shared: Arc::default(), listening: None };
        receiver.come_back().await?;
        Ok(receiver)
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }

    /// Closes the port and all connections.
    pub(super) async fn leave(&mut self) {
        if let Some(listening) = self.listening.take() {
            listening.abort();
            // The task has ended, and with it those of its connections.
            _ = listening.await;
        }
    }

    pub(super) async fn come_back(&mut self) -> Result<()> {
        let listener = TcpListener::bind(("127.0.0.1", self.port)).await?;
        self.listening = Some(tokio::spawn(accept(listener, self.shared.clone())));
        Ok(())
    }

    /// Waits until the notifications that have arrived are `enough`.
    pub(super) async fn wait_for(&self, enough: impl Fn(&[Notification]) -> bool) -> Result<()> {
        let mut count = self.shared.count.subscribe();
        let is_enough = |_: &usize| enough(&self.shared.received());
        count.wait_for(is_enough).await.context("the receiver has ended")?;
        Ok(())
    }

    /// The notifications until now, in the order of their arrival.
    pub(super) fn received(&self) -> Vec<Notification> {
        self.shared.received().clone()
    }
}

impl Shared {
    fn received(&self) -> std::sync::MutexGuard<'_, Vec<Notification>> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a notification. It counts from now on, whether or not the answer reaches its sender.
    fn keep(&self, notification: Notification) {
        self.received().push(notification);
        self.count.send_modify(|count| *count += 1);
    }
}

/// Serves connections. They end with this future.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((connection, _)) = listener.accept().await {
        connections.spawn(serve(connection, shared.clone()));
    }
}

async fn serve(mut connection: TcpStream, shared: Arc<Shared>) -> Option<()> {
    let mut bytes = Vec::new();
    loop {
        let Some((notification, length)) = parse(&bytes) else {
            if connection.read_buf(&mut bytes).await.ok()? == 0 {
                return None;
            }
            continue;
        };
        bytes.drain(..length);
        shared.keep(notification?);
        connection.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.ok()?;
    }
}

/// The request at the start of the bytes and its length; `None` if it is not complete. A request
/// that is not a notification has none.
fn parse(bytes: &[u8]) -> Option<(Option<Notification>, usize)> {
    let end = bytes.windows(4).position(|it| it == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..end]);
    let header = |name: &str| {
        let mut headers = head.lines().filter_map(|line| line.split_once(": "));
        headers.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    };
    let length = header("content-length")?.parse::<usize>().ok()?;
    let body = bytes.get(end..end + length)?;
    let notification = || {
        let mut delivery = header(X_A2A_DELIVERY)?.splitn(3, ':');
        let (task, number) = (delivery.next()?.to_owned(), delivery.next()?.parse().ok()?);
        Some(Notification { task, number, body: serde_json::from_slice(body).ok()? })
    };
    Some((notification(), end + length))
}
