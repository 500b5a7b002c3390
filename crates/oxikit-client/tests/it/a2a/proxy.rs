//! A proxy that loses a connection at a given place.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Passes connections to the server. The first one whose answer contains the text is closed right
/// after it.
pub(crate) async fn cutting(server: SocketAddr, text: &'static str) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let has_cut = Arc::new(AtomicBool::new(false));
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(pass(client, server, text, has_cut.clone()));
        }
    });
    address
}

async fn pass(client: TcpStream, server: SocketAddr, text: &str, has_cut: Arc<AtomicBool>) {
    let server = TcpStream::connect(server).await.unwrap();
    let (mut from_server, mut to_server) = server.into_split();
    let (mut from_client, mut to_client) = client.into_split();
    let requests =
        tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
    let (mut seen, mut buffer) = (String::new(), [0; 4096]);
    while let Ok(length @ 1..) = from_server.read(&mut buffer).await {
        seen.push_str(&String::from_utf8_lossy(&buffer[..length]));
        if to_client.write_all(&buffer[..length]).await.is_err() {
            break;
        }
        if seen.contains(text) && !has_cut.swap(true, Ordering::Relaxed) {
            break;
        }
    }
    requests.abort();
}
