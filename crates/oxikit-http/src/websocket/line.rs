//! The connection below a WebSocket. Two may write to it: the socket, and a sender of frames that many
//! peers receive. The lock is held for single reads and writes, which do not wait.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf, Bytes};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::TextFrame;

/// The connection of a socket.
#[derive(Debug, Clone)]
pub(super) struct SharedLine(Arc<Mutex<Line>>);

#[derive(Debug)]
pub(super) struct Line {
    io: TokioIo<Upgraded>,
    /// The rest of a frame that was sent past the library. It is written before anything else.
    unsent: Bytes,
    /// Whether the library has begun to write what it has not yet written to its end. That can be the
    /// answer to a ping, of which its user does not know.
    is_writing: bool,
    /// Whether only the socket may write: it has messages that were queued before, or has ended.
    is_reserved: bool,
}

/// Sends frames on a [`Socket`](super::Socket) from outside of the task that serves it, as long as the
/// network takes them. It does not keep the connection open.
///
/// A change that many peers are told of is sent without waking a task for each of them.
#[derive(Debug, Clone)]
pub struct FrameSender(Weak<Mutex<Line>>);

/// What has become of a frame that was given to a [`FrameSender`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// The network has all of it.
    Whole,
    /// The network has a part of it. The task of the socket has to be woken: it sends the rest.
    Partly,
    /// Nothing was sent: the socket is busy, has other messages to send, or has ended. The frame has to
    /// be sent by the task of the socket.
    Not,
}

impl SharedLine {
    pub(super) fn new(upgraded: Upgraded) -> Self {
        let (io, unsent) = (TokioIo::new(upgraded), Bytes::new());
        Self(Arc::new(Mutex::new(Line { io, unsent, is_writing: false, is_reserved: false })))
    }

    pub(super) fn sender(&self) -> FrameSender {
        FrameSender(Arc::downgrade(&self.0))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Line> {
        // A panic below a read or a write is reported by the next one.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FrameSender {
    /// Sends a frame at once, without waiting.
    pub fn try_send(&self, frame: &TextFrame) -> Sent {
        let Some(line) = self.0.upgrade() else { return Sent::Not };
        let Ok(mut line) = line.try_lock() else { return Sent::Not };
        if line.is_reserved {
            return Sent::Not;
        }
        // No waker: if the network takes only a part, the caller wakes the task of the socket, which then
        // waits for the network with its own.
        match line.send_now(&mut Context::from_waker(Waker::noop()), frame) {
            Some(Ok(sent)) if sent == frame.as_bytes().len() => Sent::Whole,
            Some(Ok(1..)) => Sent::Partly,
            Some(Ok(0)) => {
                // The task sends the whole frame.
                line.unsent.clear();
                Sent::Not
            }
            // The next read of the task reports a failure.
            Some(Err(_)) | None => Sent::Not,
        }
    }
}

impl Line {
    /// Lets only the socket write, or others, too.
    pub(super) fn set_reserved(&mut self, is_reserved: bool) {
        self.is_reserved = is_reserved;
    }

    /// Number of bytes of a frame that was begun and not yet sent to its end.
    pub(super) fn unsent(&self) -> usize {
        self.unsent.len()
    }

    /// Writes a frame past the library. Answers the number of bytes that the network has taken; the
    /// rest is written before anything else. `None` if the frame would come into the middle of another
    /// one.
    pub(super) fn send_now(
        &mut self,
        cx: &mut Context<'_>,
        frame: &TextFrame,
    ) -> Option<io::Result<usize>> {
        if self.is_writing || !self.unsent.is_empty() {
            return None;
        }
        let bytes = frame.as_bytes();
        let mut sent = 0;
        while sent < bytes.len() {
            match Pin::new(&mut self.io).poll_write(cx, &bytes[sent..]) {
                Poll::Ready(Ok(0)) => return Some(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(written)) => sent += written,
                Poll::Ready(Err(error)) => return Some(Err(error)),
                Poll::Pending => {
                    self.unsent = frame.rest(sent);
                    break;
                }
            }
        }
        Some(Ok(sent))
    }

    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }

    pub(super) fn poll_write(
        &mut self,
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

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_unsent(cx))?;
        Pin::new(&mut self.io).poll_flush(cx)
    }

    pub(super) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
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
}
