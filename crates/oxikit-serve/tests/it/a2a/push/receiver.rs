//! A receiver of notifications that fails as the test says.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot, watch};

use crate::kit::PATIENCE;

/// What a receiver does with a notification.
pub(super) enum Reaction {
    Answer(u16),
    /// Closes the connection.
    Close,
    /// Answers this when the test says so.
    AnswerLater(oneshot::Receiver<u16>),
}

/// A notification as it arrived.
#[derive(Debug)]
pub(super) struct Received {
    headers: Vec<(String, String)>,
    pub(super) bytes: Vec<u8>,
}

/// A server on loopback. It answers 204 unless [`then`](Self::then) says otherwise.
pub(super) struct Receiver {
    address: SocketAddr,
    received: mpsc::UnboundedReceiver<Received>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    reactions: Mutex<VecDeque<Reaction>>,
    is_away: Mutex<bool>,
    connections: watch::Sender<usize>,
}

impl Receiver {
    pub(super) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, received) = mpsc::unbounded_channel();
        let shared = Arc::<Shared>::default();
        tokio::spawn(accept(listener, shared.clone(), sender));
        Self { address, received, shared }
    }

    pub(super) fn url(&self) -> String {
        self.url_at("127.0.0.1")
    }

    pub(super) fn url_at(&self, host: &str) -> String {
        format!("http://{host}:{}/hook", self.address.port())
    }

    /// Reacts like this to a notification, once, behind the reactions before.
    pub(super) fn then(&self, reaction: Reaction) {
        self.shared.reactions.lock().unwrap().push_back(reaction);
    }

    /// Reads nothing and closes all connections while it is away.
    pub(super) fn set_away(&self, is_away: bool) {
        *self.shared.is_away.lock().unwrap() = is_away;
    }

    /// Number of connections until now.
    pub(super) fn connections(&self) -> usize {
        *self.shared.connections.borrow()
    }

    /// Waits for this number of connections.
    pub(super) async fn wait_for_connections(&self, number: usize) {
        let mut connections = self.shared.connections.subscribe();
        let reached = connections.wait_for(|now| *now >= number);
        tokio::time::timeout(PATIENCE, reached).await.unwrap().unwrap();
    }

    /// The next notification.
    pub(super) async fn next(&mut self) -> Received {
        let next = tokio::time::timeout(PATIENCE, self.received.recv()).await;
        next.expect("a notification did not arrive").unwrap()
    }

    /// The next notifications.
    pub(super) async fn take(&mut self, number: usize) -> Vec<Received> {
        let mut all = Vec::new();
        for _ in 0..number {
            all.push(self.next().await);
        }
        all
    }

    /// Fails if there is another notification already.
    pub(super) fn assert_no_more(&mut self) {
        assert!(self.received.try_recv().is_err());
    }
}

impl Received {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} is there twice");
        value
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap()
    }

    /// The id of the delivery: the task, the number of the event and the webhook.
    pub(super) fn delivery(&self) -> (&str, u64, &str) {
        let mut parts = self.header("x-a2a-delivery").unwrap().splitn(3, ':');
        let mut part = || parts.next().unwrap();
        (part(), part().parse().unwrap(), part())
    }
}

async fn accept(
    listener: TcpListener,
    shared: Arc<Shared>,
    sender: mpsc::UnboundedSender<Received>,
) {
    while let Ok((connection, _)) = listener.accept().await {
        shared.connections.send_modify(|now| *now += 1);
        if !*shared.is_away.lock().unwrap() {
            tokio::spawn(react(connection, shared.clone(), sender.clone()));
        }
    }
}

async fn react(
    mut connection: TcpStream,
    shared: Arc<Shared>,
    sender: mpsc::UnboundedSender<Received>,
) {
    let Some(received) = read(&mut connection).await else { return };
    let reaction = shared.reactions.lock().unwrap().pop_front();
    if sender.send(received).is_err() {
        return;
    }
    let status = match reaction {
        None => 204,
        Some(Reaction::Answer(status)) => status,
        Some(Reaction::Close) => return,
        Some(Reaction::AnswerLater(status)) => status.await.unwrap_or(500),
    };
    let location = "location: http://127.0.0.1:1/\r\n";
    let head = format!("HTTP/1.1 {status} Any\r\n{location}connection: close\r\n");
    let length = if status == 204 { "" } else { "content-length: 0\r\n" };
    let _ = connection.write_all(format!("{head}{length}\r\n").as_bytes()).await;
}

async fn read(connection: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    loop {
        if connection.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") else { continue };
        let head = str::from_utf8(&bytes[..end]).unwrap();
        let mut lines = head.lines();
        assert_eq!(lines.next(), Some("POST /hook HTTP/1.1"));
        let header = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_ascii_lowercase(), value.to_owned())
        };
        let headers: Vec<_> = lines.map(header).collect();
        let length = headers.iter().find(|(name, _)| name == "content-length").unwrap();
        if bytes.len() >= end + 4 + length.1.parse::<usize>().unwrap() {
            return Some(Received { headers, bytes: bytes.split_off(end + 4) });
        }
    }
}
