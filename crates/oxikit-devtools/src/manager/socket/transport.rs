//! The bytes below a socket.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

/// A peer that is sent away and is silent for so long has said what it had to say.
const QUIET: Duration = Duration::from_millis(100);

/// An upgraded connection that counts what comes.
pub(crate) struct Transport {
    io: TokioIo<Upgraded>,
    received: u64,
}

impl Transport {
    pub(crate) fn new(upgraded: Upgraded) -> Self {
        Self { io: TokioIo::new(upgraded), received: 0 }
    }

    /// Bytes that have come so far.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// Reads what the peer still sends, and drops it: a connection that is closed
    /// with unread bytes is reset, and the peer never reads why.
    pub(crate) async fn read_away(&mut self) {
        if self.io.shutdown().await.is_err() {
            return;
        }
        let mut buffer = vec![0; 64 << 10];
        while let Ok(Ok(1..)) = tokio::time::timeout(QUIET, self.io.read(&mut buffer)).await {}
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let poll = Pin::new(&mut self.io).poll_read(cx, buffer);
        self.received += (buffer.filled().len() - before) as u64;
        poll
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
