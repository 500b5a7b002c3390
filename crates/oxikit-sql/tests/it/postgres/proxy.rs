//! A proxy between a store and its database, which loses an answer on request.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A proxy on a port of its own.
pub(super) struct Proxy {
    pub(super) url: String,
    /// Number of responses that are passed on before one is dropped and its connection closed.
    left: Arc<AtomicI64>,
}

impl Proxy {
    pub(super) async fn start(url: &str) -> Self {
        let (before, rest) = url.split_once('@').unwrap();
        let (target, database) = rest.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let left = Arc::new(AtomicI64::new(i64::MAX));
        let (target, counter) = (target.to_owned(), left.clone());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&target).await.unwrap();
                tokio::spawn(pass(client, server, counter.clone()));
            }
        });
        Self { url: format!("{before}@{address}/{database}"), left }
    }

    /// Loses one answer, after `after` others have been passed on.
    pub(super) fn lose_answer(&self, after: i64) {
        self.left.store(after, SeqCst);
    }

    /// Whether it has been lost; from now on, all is passed on.
    pub(super) fn has_lost(&self) -> bool {
        self.left.swap(i64::MAX, SeqCst) < 0
    }
}

async fn pass(client: TcpStream, server: TcpStream, left: Arc<AtomicI64>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let requests =
        tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
    let mut answer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from_server.read(&mut answer).await {
        // The database has done its work: only the answer does not arrive.
        if left.fetch_sub(1, SeqCst) == 0 {
            break;
        }
        if to_client.write_all(&answer[..length]).await.is_err() {
            break;
        }
    }
    requests.abort();
}
