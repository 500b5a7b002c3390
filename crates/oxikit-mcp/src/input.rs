//! Detects the end of the input, which rmcp does not report to running calls.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::sync::CancellationToken;

/// A reader that cancels a token at the end of the input or after a read error.
pub(crate) struct WatchedInput {
    input: Box<dyn AsyncRead + Send + Unpin>,
    ended: CancellationToken,
}

impl WatchedInput {
    pub(crate) fn new(input: Box<dyn AsyncRead + Send + Unpin>, ended: CancellationToken) -> Self {
        Self { input, ended }
    }
}

impl AsyncRead for WatchedInput {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.input).poll_read(cx, buffer);
        let is_more = matches!(&read, Poll::Ready(Ok(()))) && buffer.filled().len() > before;
        if read.is_ready() && !is_more {
            self.ended.cancel();
        }
        read
    }
}
