//! The bytes below a socket.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

/// A peer that is sent away and is silent for so long has said what it had to say.
const QUIET: Duration = Duration::from_millis(100);
/// So much is read at once of a peer that sends much.
const BURST: usize = 32 << 10;
/// So much is handed on before the socket looks at how much it holds.
const TURN: usize = 256 << 10;

/// An upgraded connection that counts what comes.
pub(crate) struct Transport {
    io: TokioIo<Upgraded>,
    received: u64,
    /// Bytes at which the turn is over.
    turn_end: u64,
    burst: Option<Burst>,
}

/// What was read ahead. There is none on a socket whose messages are few or small: what
/// an idle socket keeps is counted.
struct Burst {
    bytes: Vec<u8>,
    taken: usize,
}

impl Transport {
    pub(crate) fn new(upgraded: Upgraded) -> Self {
        Self { io: TokioIo::new(upgraded), received: 0, turn_end: TURN as u64, burst: None }
    }

    /// Bytes that have come so far.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// From here on as much is handed on as in one turn; then it looks as if there were
    /// no more, and the task is woken.
    pub(crate) fn begin_turn(&mut self) {
        self.turn_end = self.received + TURN as u64;
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

    fn poll_fill(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Some(burst) = &mut self.burst else {
            ready!(Pin::new(&mut self.io).poll_read(cx, buffer))?;
            // It is full: there is more.
            if buffer.remaining() == 0 {
                self.burst = Some(Burst { bytes: Vec::new(), taken: 0 });
            }
            return Poll::Ready(Ok(()));
        };
        if burst.taken == burst.bytes.len() {
            burst.bytes.resize(BURST, 0);
            burst.taken = 0;
            let mut ahead = ReadBuf::new(&mut burst.bytes);
            let read = Pin::new(&mut self.io).poll_read(cx, &mut ahead);
            let count = ahead.filled().len();
            burst.bytes.truncate(count);
            if count == 0 {
                self.burst = None;
                return read;
            }
        }
        let ahead = &burst.bytes[burst.taken..];
        let count = ahead.len().min(buffer.remaining());
        buffer.put_slice(&ahead[..count]);
        burst.taken += count;
        let is_last = burst.bytes.len() < BURST && burst.taken == burst.bytes.len();
        if is_last {
            self.burst = None;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.received >= self.turn_end {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let poll = self.poll_fill(cx, buffer);
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
