//! The byte stream below a WebSocket: counts received bytes, reads ahead on busy connections,
//! and lets the socket check its memory budget at regular intervals.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

use super::TextFrame;

/// A closed connection is treated as drained when nothing arrives for this long.
const QUIET: Duration = Duration::from_millis(100);
/// Number of bytes that are read ahead from a peer that sends much.
const BURST: usize = 32 << 10;
/// Number of bytes that are passed on in one turn. Then the socket checks its memory budget.
const TURN: usize = 256 << 10;

/// An upgraded connection that counts the bytes it receives.
#[derive(Debug)]
pub(super) struct Transport {
    io: TokioIo<Upgraded>,
    received: u64,
    /// Count of received bytes at which the turn ends.
    turn_end: u64,
    /// Only on a connection on which much arrives.
    burst: Option<Burst>,
    /// The rest of a frame that was sent past the library. It is written before anything else.
    unsent: Bytes,
    /// Whether the library has begun to write what it has not yet written to its end. That can be the
    /// answer to a ping, of which its user does not know.
    is_writing: bool,
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
        let io = TokioIo::new(upgraded);
        let unsent = Bytes::new();
        Self { io, received: 0, turn_end: TURN as u64, burst: None, unsent, is_writing: false }
    }

    /// Whether a frame can be written past the library without coming into the middle of another one.
    pub(super) fn is_between_frames(&self) -> bool {
        !self.is_writing && self.unsent.is_empty()
    }

    /// Writes a frame past the library. Answers the number of bytes that the network has taken; the
    /// rest is written before anything else. The transport has to be
    /// [between frames](Self::is_between_frames).
    pub(super) fn send_now(
        &mut self,
        cx: &mut Context<'_>,
        frame: &TextFrame,
    ) -> io::Result<usize> {
        let bytes = frame.as_bytes();
        let mut sent = 0;
        while sent < bytes.len() {
            match Pin::new(&mut self.io).poll_write(cx, &bytes[sent..]) {
                Poll::Ready(written) => match written? {
                    0 => return Err(io::ErrorKind::WriteZero.into()),
                    written => sent += written,
                },
                Poll::Pending => {
                    self.unsent = frame.rest(sent);
                    break;
                }
            }
        }
        Ok(sent)
    }

    fn poll_unsent(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.unsent.is_empty() {
            match ready!(Pin::new(&mut self.io).poll_write(cx, &self.unsent))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.unsent.advance(written),
            }
        }
        Poll::Ready(Ok(()))
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
        if self.io.shutdown().await.is_err() {
            return;
        }
        let mut buffer = vec![0; 64 << 10];
        while let Ok(Ok(1..)) = tokio::time::timeout(QUIET, self.io.read(&mut buffer)).await {}
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
            ready!(Pin::new(&mut self.io).poll_read(cx, buffer))?;
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
        self.is_writing = true;
        ready!(self.poll_unsent(cx))?;
        let written = ready!(Pin::new(&mut self.io).poll_write(cx, bytes))?;
        // The library writes all that it has at once, and the rest until there is none.
        self.is_writing = written < bytes.len();
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_unsent(cx))?;
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
