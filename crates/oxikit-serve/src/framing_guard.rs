//! Refuses requests whose end two readers could see at different places.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::framing::Framing;

/// No request may have this byte in its head, nor in the lines between its chunks: the
/// server answers 400 to it and closes.
const REFUSED: u8 = 0;

/// A connection of which the server reads what is framed strictly. The first
/// byte that is not becomes one that the server refuses, and nothing follows it.
#[derive(Debug)]
pub struct FramingGuard<Io> {
    inner: Io,
    framing: Framing,
    is_refused: bool,
    /// Waits for the answer to a request for another protocol.
    held: Option<Waker>,
}

impl<Io> FramingGuard<Io> {
    /// Guards a new connection.
    pub fn new(inner: Io) -> Self {
        Self { inner, framing: Framing::default(), is_refused: false, held: None }
    }

    /// The server writes: that ends the waiting for its answer.
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
        if self.is_refused {
            return Poll::Ready(Ok(()));
        }
        if self.framing.is_held() {
            self.held = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        let new = &mut buffer.filled_mut()[before..];
        if let Err(at) = self.framing.read(new) {
            new[at] = REFUSED;
            self.is_refused = true;
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
