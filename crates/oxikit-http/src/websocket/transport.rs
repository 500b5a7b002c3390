//! The byte stream below a WebSocket: counts received bytes, reads ahead on busy connections,
//! and lets the socket check its memory budget at regular intervals.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::upgrade::Upgraded;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};

use super::line::SharedLine;

/// A closed connection is treated as drained when nothing arrives for this long.
const QUIET: Duration = Duration::from_millis(100);
/// Number of bytes that are read ahead from a peer that sends much.
const BURST: usize = 32 << 10;
/// Number of bytes that are passed on in one turn. Then the socket checks its memory budget.
const TURN: usize = 256 << 10;

/// An upgraded connection that counts the bytes it receives.
#[derive(Debug)]
pub(super) struct Transport {
    line: SharedLine,
    received: u64,
    /// Count of received bytes at which the turn ends.
    turn_end: u64,
    /// Only on a connection on which much arrives.
    burst: Option<Burst>,
}

/// Bytes that were read ahead. Idle sockets have no such buffer: they are many, and their
/// memory is limited.
#[derive(Debug)]
struct Burst {
    bytes: Vec<u8>,
    taken: usize,
}

impl Transport {
    pub(super) fn new(upgraded: Upgraded) -> Self {
        let line = SharedLine::new(upgraded);
        Self { line, received: 0, turn_end: TURN as u64, burst: None }
    }

    /// The connection.
    pub(super) fn line(&self) -> &SharedLine {
        &self.line
    }

    /// Number of bytes received so far.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Begins a turn. After its bytes were passed on, reads are pending as if no more had
    /// arrived, and the task is woken at once to begin the next turn.
    pub(super) fn begin_turn(&mut self) {
        self.turn_end = self.received + TURN as u64;
    }

    /// Reads and drops what the peer still sends: a connection that is closed with unread bytes
    /// is reset, and the peer never receives the close code.
    pub(super) async fn drain(&mut self) {
        if self.shutdown().await.is_err() {
            return;
        }
        let mut bytes = vec![0; 64 << 10];
        let mut read = async || {
            poll_fn(|cx| {
                let mut buffer = ReadBuf::new(&mut bytes);
                ready!(self.line.lock().poll_read(cx, &mut buffer))?;
                Poll::Ready(Ok::<_, io::Error>(buffer.filled().len()))
            })
            .await
        };
        while let Ok(Ok(1..)) = tokio::time::timeout(QUIET, read()).await {}
    }

    /// Fills the buffer, from the bytes that were read ahead if there are any.
    // tungstenite reads into a small buffer. While it is filled completely, larger pieces are read
    // ahead, which saves system calls; a read that returns less ends the burst and frees its memory.
    fn poll_fill(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Some(burst) = &mut self.burst else {
            ready!(self.line.lock().poll_read(cx, buffer))?;
            // A full buffer means that there is probably more.
            if buffer.remaining() == 0 {
                self.burst = Some(Burst { bytes: Vec::new(), taken: 0 });
            }
            return Poll::Ready(Ok(()));
        };
        if burst.taken == burst.bytes.len() {
            burst.bytes.resize(BURST, 0);
            burst.taken = 0;
            let mut ahead = ReadBuf::new(&mut burst.bytes);
            let read = self.line.lock().poll_read(cx, &mut ahead);
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
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.line.lock().poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.line.lock().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.line.lock().poll_shutdown(cx)
    }
}
