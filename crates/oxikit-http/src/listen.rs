//! Accepts connections within limits, and shuts a server down in two steps: it drains, then
//! it cuts. Routing and handlers are the caller's.

#[cfg(feature = "http2")]
mod http2;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use futures_util::FutureExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use pin_project_lite::pin_project;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;

use crate::framing_guard::FramingGuard;
use crate::limits::Limits;
use crate::stall_guard::StallGuard;

/// Time to write the responses that are cut short at shutdown. After it the connections are
/// dropped.
const CUT_TIME: Duration = Duration::from_secs(1);
/// Pause after a failed accept, such as when the process has no free file handles.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// The smallest buffer that hyper accepts.
const MIN_BUFFER: usize = 8 * 1024;

/// Body of the response to a connection beyond the limit.
const TOO_MANY: &str =
    r#"{"code":503,"status":"UNAVAILABLE","message":"too many connections, try later"}"#;

/// The two steps of a shutdown: first the server takes no new requests, then it cuts those
/// that are still open. Clones share the same state.
///
/// Handlers of long streams watch [`cut`](Self::cut), and tasks that outlive their connection
/// are spawned in [`background`](Self::background).
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    /// Cancelled when no new requests are taken.
    pub draining: CancellationToken,
    /// Cancelled when open streams have to end.
    pub cut: CancellationToken,
    /// Tasks that continue without a connection. The shutdown waits for them too.
    pub background: TaskTracker,
}

/// Serves connections until `stop` is ready, then waits for open requests: for as long as
/// `limits.drain_time`, after which it cuts them. The [crate] documentation has an example.
///
/// `service_of` makes the service of one connection; it is given the connection and the
/// address of the client.
pub async fn serve<M, S>(
    listener: TcpListener,
    service_of: M,
    limits: Limits,
    shutdown: Shutdown,
    stop: impl Future<Output = ()>,
) where
    M: Fn(&TcpStream, SocketAddr) -> S,
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Send + 'static,
    S::Future: Send,
{
    // Shutdown: `draining` makes each connection finish its current request and close. After
    // `drain_time`, `cut` ends the streams that are still open; they get `CUT_TIME` to send their
    // last event. Connections that remain then continue until the tokio runtime ends.
    let connections = TaskTracker::new();
    tokio::select! {
        () = accept(listener, service_of, &limits, &shutdown.draining, &connections) => {}
        () = stop => {}
    }
    tracing::info!(open = connections.len(), "shutdown began");
    shutdown.draining.cancel();
    connections.close();
    shutdown.background.close();
    let all_ended = async {
        connections.wait().await;
        shutdown.background.wait().await;
    };
    tokio::pin!(all_ended);
    if tokio::time::timeout(limits.drain_time, &mut all_ended).await.is_err() {
        tracing::warn!(open = connections.len(), "open requests were cut");
        shutdown.cut.cancel();
        _ = tokio::time::timeout(CUT_TIME, all_ended).await;
    }
}

/// Accepts connections until `draining` is cancelled. Each connection is a task in
/// `connections`; when `draining` is cancelled, it finishes its current request and closes.
///
/// This future may be dropped: connections that were accepted continue in their tasks.
pub async fn accept<M, S>(
    listener: TcpListener,
    service_of: M,
    limits: &Limits,
    draining: &CancellationToken,
    connections: &TaskTracker,
) where
    M: Fn(&TcpStream, SocketAddr) -> S,
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Send + 'static,
    S::Future: Send,
{
    let slots = Arc::new(Semaphore::new(limits.connections));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = draining.cancelled() => return,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                wait_after(&error).await;
                continue;
            }
        };
        // Beyond the limit a connection gets 503 and not silence: the client can retry.
        let Ok(slot) = slots.clone().try_acquire_owned() else {
            connections.spawn(refuse(stream));
            continue;
        };
        let service = service_of(&stream, peer);
        // Each chunk of a stream is sent at once, without waiting for more data.
        _ = stream.set_nodelay(true);
        let stream = StallGuard::new(stream, limits.stalled_reader_time);
        // A token of its own: it is polled with the connection, for each request, and takes a lock.
        let draining = draining.child_token();
        #[cfg(feature = "http2")]
        if limits.http2_streams > 0 {
            let work = http2::either(stream, service, limits.clone(), draining);
            connections.spawn(work.map(|()| drop(slot)));
            continue;
        }
        connections.spawn(http1(stream, service, limits, draining).map(|()| drop(slot)));
    }
}

/// Serves a connection over HTTP/1.1. From the inside out: the stall guard sees writes to the
/// socket, the framing guard sees the bytes before hyper parses them.
fn http1<Io, S>(
    stream: Io,
    service: S,
    limits: &Limits,
    draining: CancellationToken,
) -> impl Future<Output = ()> + Send + use<Io, S>
where
    Io: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Send + 'static,
    S::Future: Send,
{
    let io = TokioIo::new(FramingGuard::new(stream));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_buf_size(limits.header_bytes.max(MIN_BUFFER))
        .max_headers(limits.header_fields)
        .serve_connection(io, service)
        .with_upgrades();
    Driven::new(connection, draining, |connection| connection.graceful_shutdown())
}

pin_project! {
    /// Serves a connection until it ends, and asks it to end after the current requests when the server
    /// drains. A failure is logged at debug level only: clients disconnect at any time.
    ///
    /// This is not an `async fn`, which would have room for the connection twice: as its parameter and
    /// pinned.
    struct Driven<C> {
        #[pin]
        connection: C,
        // `None` once the connection was asked to end.
        #[pin]
        draining: Option<WaitForCancellationFutureOwned>,
        shut_down: fn(Pin<&mut C>),
    }
}

impl<C> Driven<C> {
    fn new(connection: C, draining: CancellationToken, shut_down: fn(Pin<&mut C>)) -> Self {
        Self { connection, draining: Some(draining.cancelled_owned()), shut_down }
    }
}

impl<C: Future<Output = hyper::Result<()>>> Future for Driven<C> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        let draining = this.draining.as_mut().as_pin_mut();
        if draining.is_some_and(|draining| draining.poll(cx).is_ready()) {
            this.draining.set(None);
            (this.shut_down)(this.connection.as_mut());
        }
        if let Err(error) = ready!(this.connection.poll(cx)) {
            tracing::debug!(%error, "connection failed");
        }
        Poll::Ready(())
    }
}

/// Answers 503 without reading the request.
async fn refuse(mut stream: TcpStream) {
    let response = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{TOO_MANY}",
        TOO_MANY.len()
    );
    _ = tokio::time::timeout(CUT_TIME, stream.write_all(response.as_bytes())).await;
}

/// Waits after a failed accept, if the failure would repeat at once.
async fn wait_after(error: &io::Error) {
    // Errors of a single connection need no pause. Others, such as too many open files, would
    // repeat at once and keep the processor busy.
    let is_about_one_peer = matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
    );
    if !is_about_one_peer {
        tracing::error!(%error, "accepting a connection failed");
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use hyper::service::service_fn;

    use super::*;

    /// The memory of an idle connection is mostly its task.
    #[tokio::test]
    async fn the_task_of_a_connection_has_room_for_it_once() {
        let service = service_fn(async |_: Request<Incoming>| Ok(Response::new(Body::empty())));
        let (stream, _client) = tokio::io::duplex(64);
        let work = http1(stream, service, &Limits::default(), CancellationToken::new());
        let size = size_of_val(&work);
        assert!(size <= 1024, "{size} bytes");
    }
}
