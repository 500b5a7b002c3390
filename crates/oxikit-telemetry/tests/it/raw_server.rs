//! Servers that behave as no HTTP library lets them.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

pub(crate) type Peer = BufReader<TcpStream>;

pub(crate) const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nOK";

/// A listener on a free port, and its address as a URL.
pub(crate) async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    (listener, url)
}

/// An address where nobody listens.
pub(crate) async fn nowhere() -> (SocketAddr, String) {
    let (listener, url) = listen().await;
    (listener.local_addr().unwrap(), url)
}

pub(crate) async fn accept(listener: &TcpListener) -> Peer {
    BufReader::new(listener.accept().await.unwrap().0)
}

/// The body of the next request; `None` at the end of the connection.
pub(crate) async fn read_post(peer: &mut Peer) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if peer.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    peer.read_exact(&mut body).await.ok()?;
    Some(serde_json::from_slice(&body).unwrap())
}
