//! HTTP/2 beside HTTP/1.1 on one port. A client that speaks HTTP/2 without TLS begins with a text
//! that is no request of HTTP/1.1, so that the first bytes of a connection tell the protocol.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;

use super::{Driven, http1};
use crate::limits::Limits;
use crate::stall_guard::StallGuard;

/// The text that a connection of HTTP/2 begins with.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Time without a frame of the client after which the server asks whether it is still there.
const PING_INTERVAL: Duration = Duration::from_secs(15);
/// Maximum number of bytes of one response that wait for the client, before the server stops to
/// produce more of it.
const SEND_BUFFER: usize = 64 * 1024;

/// Serves a connection over the protocol that it begins with. Its first bytes have to arrive
/// within `limits.header_time`.
pub(super) async fn either<S>(
    mut stream: StallGuard,
    service: S,
    limits: Limits,
    draining: CancellationToken,
) where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Send + 'static,
    S::Future: Send,
{
    let mut start = [0; PREFACE.len()];
    let read = tokio::select! {
        read = tokio::time::timeout(limits.header_time, read_start(&mut stream, &mut start)) => read,
        () = draining.cancelled() => return,
    };
    let Ok(Ok(length)) = read else { return };
    let start = &start[..length];
    let stream = Begun { start: start.to_vec(), at: 0, rest: stream };
    if start == PREFACE {
        Box::pin(connection(stream, service, &limits, draining)).await;
    } else {
        Box::pin(http1(stream, service, &limits, draining)).await;
    }
}

/// Reads until the bytes differ from the preface or are the whole of it; the number of bytes.
async fn read_start(stream: &mut StallGuard, start: &mut [u8; PREFACE.len()]) -> io::Result<usize> {
    let mut length = 0;
    while length < start.len() && start[..length] == PREFACE[..length] {
        match stream.read(&mut start[length..]).await? {
            0 => break,
            read => length += read,
        }
    }
    Ok(length)
}

/// Serves a connection over HTTP/2. The limits of hyper on streams that the client resets stay on.
fn connection<S>(
    stream: Begun,
    service: S,
    limits: &Limits,
    draining: CancellationToken,
) -> impl Future<Output = ()> + Send + use<S>
where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Send + 'static,
    S::Future: Send,
{
    let header_bytes = u32::try_from(limits.header_bytes).unwrap_or(u32::MAX);
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.http2_streams)
        .max_header_list_size(header_bytes)
        .max_send_buf_size(SEND_BUFFER)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(limits.stalled_reader_time)
        .serve_connection(TokioIo::new(stream), service);
    Driven::new(connection, draining, |connection| connection.graceful_shutdown())
}

/// A connection whose first bytes were read already; they are given out again.
struct Begun {
    start: Vec<u8>,
    at: usize,
    rest: StallGuard,
}

impl AsyncRead for Begun {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { start, at, rest } = &mut *self;
        let known = &start[*at..];
        if known.is_empty() || buffer.remaining() == 0 {
            return Pin::new(rest).poll_read(cx, buffer);
        }
        let length = known.len().min(buffer.remaining());
        buffer.put_slice(&known[..length]);
        *at += length;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Begun {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.rest).poll_write(cx, data)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.rest).poll_write_vectored(cx, data)
    }

    fn is_write_vectored(&self) -> bool {
        self.rest.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.rest).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.rest).poll_shutdown(cx)
    }
}
