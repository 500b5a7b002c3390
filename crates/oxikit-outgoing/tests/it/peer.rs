//! Servers that count their connections, and name servers that answer as the test says.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use oxikit_outgoing::{OutgoingClient, OutgoingPolicy, Resolver, Url};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A public address. No test connects to it.
pub(crate) const PUBLIC: &str = "93.184.215.14";

/// A server on 127.0.0.1, and on ::1 with the same port, that sends the same bytes to everybody
/// and closes the connection.
pub(crate) struct Peer {
    pub(crate) port: u16,
    listening: Vec<SocketAddr>,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    /// The clients, in the order of their connections.
    clients: Vec<SocketAddr>,
    requests: Vec<String>,
}

impl Peer {
    pub(crate) async fn new(response: impl Into<Vec<u8>>) -> Self {
        let v4 = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = v4.local_addr().unwrap().port();
        // Not every machine has IPv6.
        let v6 = TcpListener::bind(SocketAddr::new(Ipv6Addr::LOCALHOST.into(), port)).await;
        let response = Arc::<[u8]>::from(response.into());
        let mut peer = Self { port, listening: Vec::new(), seen: Arc::default() };
        for listener in [Some(v4), v6.ok()].into_iter().flatten() {
            peer.listening.push(listener.local_addr().unwrap());
            tokio::spawn(serve(listener, response.clone(), peer.seen.clone()));
        }
        peer
    }

    pub(crate) async fn ok() -> Self {
        Self::new("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok").await
    }

    pub(crate) fn url(&self, host: &str) -> Url {
        Url::parse(&format!("http://{host}:{}/hook", self.port)).unwrap()
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().requests.clone()
    }

    /// The number of connections until now. They are accepted in their order, so all of them have
    /// been counted when this function's own connection has been.
    pub(crate) async fn connections(&self) -> usize {
        for address in &self.listening {
            let own = TcpStream::connect(address).await.unwrap();
            let own = own.local_addr().unwrap();
            while !self.forget(own) {
                tokio::task::yield_now().await;
            }
        }
        self.seen.lock().unwrap().clients.len()
    }

    fn forget(&self, client: SocketAddr) -> bool {
        let clients = &mut self.seen.lock().unwrap().clients;
        let position = clients.iter().rposition(|seen| *seen == client);
        position.map(|position| clients.remove(position)).is_some()
    }
}

async fn serve(listener: TcpListener, response: Arc<[u8]>, seen: Arc<Mutex<Seen>>) {
    while let Ok((mut connection, client)) = listener.accept().await {
        seen.lock().unwrap().clients.push(client);
        let (seen, response) = (seen.clone(), response.clone());
        tokio::spawn(async move {
            if let Ok(request) = read_request(&mut connection).await {
                seen.lock().unwrap().requests.push(request);
                let _ = connection.write_all(&response).await;
            }
        });
    }
}

/// Head and body of a request, as far as the head says how long the body is.
async fn read_request(connection: &mut TcpStream) -> io::Result<String> {
    let mut bytes = Vec::new();
    loop {
        if connection.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
            return Ok(String::from_utf8(bytes).unwrap());
        }
    }
}

/// A name server that gives these answers, one for each time it is asked, and then always the
/// last one.
pub(crate) struct Dns {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
    asked: AtomicUsize,
}

impl Dns {
    pub(crate) fn new(answers: &[&[&str]]) -> Arc<Self> {
        let dns = Self { answers: Mutex::default(), asked: AtomicUsize::new(0) };
        dns.answer(answers);
        Arc::new(dns)
    }

    pub(crate) fn answer(&self, answers: &[&[&str]]) {
        let parse = |texts: &&[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        *self.answers.lock().unwrap() = answers.iter().map(parse).collect();
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Resolver for Dns {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        let answer = match answers.len() {
            0 => None,
            1 => answers.front().cloned(),
            _ => answers.pop_front(),
        };
        answer.ok_or_else(|| io::Error::other("there is no such name"))
    }
}

pub(crate) fn client(policy: OutgoingPolicy, dns: Arc<Dns>) -> OutgoingClient {
    OutgoingClient::with_resolver(policy, dns).unwrap()
}
