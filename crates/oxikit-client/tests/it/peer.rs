//! A scripted server: the test decides every byte of its answers.

use std::net::SocketAddr;

use oxikit_client::{Client, RemoteAction};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// The answer on one connection.
pub(crate) struct Reply {
    head: String,
    pieces: Vec<Vec<u8>>,
    end: End,
}

enum End {
    /// The answer is complete.
    Whole,
    /// The connection is closed in the middle.
    Cut,
    /// Nothing more comes until the client leaves.
    Silent,
}

/// A whole answer with this HTTP status and these bytes, each as one HTTP chunk.
pub(crate) fn reply<P: AsRef<[u8]>>(http: u16, pieces: impl IntoIterator<Item = P>) -> Reply {
    let pieces = pieces.into_iter().map(|piece| piece.as_ref().to_vec()).collect();
    Reply { head: format!("HTTP/1.1 {http} X\r\n"), pieces, end: End::Whole }
}

/// A connection that is closed without an answer.
pub(crate) fn hang_up() -> Reply {
    Reply { head: String::new(), pieces: Vec::new(), end: End::Cut }
}

/// A connection on which nothing ever comes.
pub(crate) fn silence() -> Reply {
    Reply { head: String::new(), pieces: Vec::new(), end: End::Silent }
}

impl Reply {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.head += &format!("{name}: {value}\r\n");
        self
    }

    pub(crate) fn then_cut(self) -> Self {
        Self { end: End::Cut, ..self }
    }

    pub(crate) fn then_silent(self) -> Self {
        Self { end: End::Silent, ..self }
    }

    async fn send(self, connection: &mut TcpStream) -> std::io::Result<()> {
        if !self.head.is_empty() {
            let is_empty = self.head.starts_with("HTTP/1.1 204");
            let framing = if is_empty { "" } else { "transfer-encoding: chunked\r\n" };
            let head = format!("{}{framing}connection: close\r\n\r\n", self.head);
            connection.write_all(head.as_bytes()).await?;
            for piece in self.pieces.iter().filter(|piece| !piece.is_empty()) {
                connection.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
                connection.write_all(piece).await?;
                connection.write_all(b"\r\n").await?;
            }
            if matches!(self.end, End::Whole) && !is_empty {
                connection.write_all(b"0\r\n\r\n").await?;
            }
        }
        if matches!(self.end, End::Silent) {
            while connection.read(&mut [0; 64]).await? > 0 {}
        }
        Ok(())
    }
}

pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    requests: mpsc::UnboundedReceiver<String>,
}

/// Answers as many requests as there are replies; after that, connections are
/// refused.
pub(crate) async fn peer(replies: impl IntoIterator<Item = Reply>) -> Peer {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, requests) = mpsc::unbounded_channel();
    let mut replies: std::collections::VecDeque<Reply> = replies.into_iter().collect();
    tokio::spawn(async move {
        let mut listener = Some(listener);
        while let Some(reply) = replies.pop_front() {
            let Some(listening) = &listener else { return };
            let (mut connection, _) = listening.accept().await.unwrap();
            if replies.is_empty() {
                listener = None;
            }
            let sender = sender.clone();
            tokio::spawn(async move {
                let Some(request) = read_request(&mut connection).await else { return };
                drop(sender.send(request));
                // The client may have closed the connection by now, which is not an error.
                drop(reply.send(&mut connection).await);
            });
        }
    });
    Peer { address, requests }
}

thread_local! {
    /// One for all calls of a test: it takes a while to read the certificates.
    static CLIENT: Client = Client::new().unwrap();
}

impl Peer {
    pub(crate) fn action(&self) -> RemoteAction {
        CLIENT.with(|client| client.action(&self.url()).unwrap())
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/action", self.address)
    }

    /// All requests, once every reply was used.
    pub(crate) async fn requests(mut self) -> Vec<String> {
        let mut requests = Vec::new();
        while let Some(request) = self.requests.recv().await {
            requests.push(request);
        }
        requests
    }
}

/// One whole request; `None` if the client leaves before.
async fn read_request(connection: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let length = connection.read(&mut buffer).await.ok().filter(|length| *length > 0)?;
        request.extend_from_slice(&buffer[..length]);
        let text = String::from_utf8_lossy(&request).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let line = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= line.map_or(0, |length| length.parse().unwrap()) {
                return Some(String::from_utf8(request).unwrap());
            }
        }
    }
}
