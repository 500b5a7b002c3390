//! Refuses requests whose end two readers could see at different places.
//!
//! The guard lies between the socket and hyper. It passes all bytes to [`Framing`] first and
//! replaces the first byte that is not allowed by one that hyper rejects, so that hyper writes
//! the error response.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::framing::Framing;

/// A byte that is not allowed in the head of a request, nor in the lines between chunks. hyper
/// answers 400 to it and closes the connection.
const REFUSED: u8 = 0;
/// Follows [`REFUSED`]. hyper does not look at a head that arrives in pieces before it has this
/// end, and would close the connection without an answer.
const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// A connection from which the server reads only strictly framed requests. The first byte of
/// another form is replaced by [`REFUSED`] and [`END_OF_HEAD`], and the server reads nothing after
/// them.
#[derive(Debug)]
pub(crate) struct FramingGuard<Io> {
    inner: Io,
    framing: Framing,
    /// The rest of [`END_OF_HEAD`] that the server has to read, if a byte was refused.
    refused: Option<&'static [u8]>,
    /// The reader that waits until the server has answered a request to change the protocol.
    held: Option<Waker>,
}

impl<Io> FramingGuard<Io> {
    /// Guards a new connection.
    pub(crate) fn new(inner: Io) -> Self {
        Self { inner, framing: Framing::default(), refused: None, held: None }
    }

    /// Notes what the server writes. If a reader waits for the response, it is woken.
    fn written(&mut self, bytes: &[u8]) {
        if self.framing.is_held() && !bytes.is_empty() {
            self.framing.answered(bytes);
            if let Some(waker) = self.held.take() {
                waker.wake();
            }
        }
    }
}

impl<Io: AsyncRead + Unpin> AsyncRead for FramingGuard<Io> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(rest) = &mut self.refused {
            // A read of no bytes is the end of the connection for hyper.
            let (now, later) = rest.split_at(rest.len().min(buffer.remaining()));
            buffer.put_slice(now);
            *rest = later;
            return Poll::Ready(Ok(()));
        }
        if self.framing.is_held() {
            self.held = Some(cx.waker().clone());
            return Poll::Pending;
        }
        // Only the bytes of this read are new; hyper may have left others in the buffer.
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        let new = &mut buffer.filled_mut()[before..];
        if let Err(at) = self.framing.read(new) {
            new[at] = REFUSED;
            self.refused = Some(END_OF_HEAD);
            buffer.set_filled(before + at + 1);
        }
        Poll::Ready(Ok(()))
    }
}

impl<Io: AsyncWrite + Unpin> AsyncWrite for FramingGuard<Io> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.written(data);
        Pin::new(&mut self.inner).poll_write(cx, data)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let Some(first) = data.iter().find(|slice| !slice.is_empty()) {
            self.written(first);
        }
        Pin::new(&mut self.inner).poll_write_vectored(cx, data)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
