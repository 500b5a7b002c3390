//! The accept loop: connections with limits, and their orderly end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::caller::Peer;
use crate::framing_guard::FramingGuard;
use crate::limits::Limits;
use crate::stall_guard::StallGuard;

/// Answers cut at the very end get this long to be written.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// The kernel is out of handles: trying again at once would only burn time.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The least that hyper takes as the size of its buffer.
const MIN_BUFFER: usize = 8 * 1024;

const TOO_MANY: &str =
    r#"{"code":503,"status":"UNAVAILABLE","message":"too many connections, try later"}"#;

/// How a listening server ends: first no new requests, then no open ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ending {
    /// No new requests.
    pub(crate) draining: CancellationToken,
    /// Open streams end now.
    pub(crate) cut: CancellationToken,
    /// Runs that go on without a connection.
    pub(crate) recordings: TaskTracker,
}

/// What answers the requests of all connections.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) router: Router,
    /// Whether requests are given the [`Peer`] they come from.
    pub(crate) tells_peer: bool,
}

/// Listens on this address. An error names the address and says what to do: `option`
/// is how another port is chosen.
pub(crate) async fn bind(host: &str, port: u16, option: &str) -> io::Result<TcpListener> {
    TcpListener::bind((host, port)).await.map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::AddrInUse => {
                format!("port {port} is in use; end the program that uses it, or choose another port by {option}")
            }
            io::ErrorKind::PermissionDenied if port < 1024 => {
                format!("this user may not listen on port {port}; choose one above 1023 by {option}")
            }
            _ => error.to_string(),
        };
        io::Error::new(error.kind(), format!("cannot listen on {host}, port {port}: {hint}"))
    })
}

/// Serves connections until `shutdown`, then lets open requests end.
pub(crate) async fn listen(
    listener: TcpListener,
    service: Service,
    limits: Limits,
    ending: Ending,
    shutdown: impl Future<Output = ()>,
) {
    let connections = TaskTracker::new();
    let slots = Arc::new(Semaphore::new(limits.connections));
    tokio::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut shutdown => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                wait_after(&error).await;
                continue;
            }
        };
        let Ok(slot) = slots.clone().try_acquire_owned() else {
            connections.spawn(turn_away(stream));
            continue;
        };
        let peer = service.tells_peer.then_some(Peer(peer.ip()));
        let router = service.router.clone();
        let work = connection(stream, peer, router, limits.clone(), ending.draining.clone());
        connections.spawn(async move {
            work.await;
            drop(slot);
        });
    }
    drop(listener);
    tracing::info!(open = connections.len(), "shutting down");
    ending.draining.cancel();
    connections.close();
    ending.recordings.close();
    let all_ended = async {
        connections.wait().await;
        ending.recordings.wait().await;
    };
    tokio::pin!(all_ended);
    if tokio::time::timeout(limits.drain_time, &mut all_ended).await.is_err() {
        tracing::warn!(open = connections.len(), "open requests are cut");
        ending.cut.cancel();
        let _ = tokio::time::timeout(LAST_WORDS, all_ended).await;
    }
}

async fn connection(
    stream: TcpStream,
    peer: Option<Peer>,
    router: Router,
    limits: Limits,
    draining: CancellationToken,
) {
    // A chunk is worth a packet: nothing waits for more to be sent.
    let _ = stream.set_nodelay(true);
    let io = TokioIo::new(FramingGuard::new(StallGuard::new(stream, limits.stalled_reader_time)));
    let service = TowerToHyperService::new(router);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_buf_size(limits.header_bytes.max(MIN_BUFFER))
        .max_headers(limits.header_fields)
        .serve_connection(
            io,
            service_fn(move |mut request: Request<Incoming>| {
                if let Some(peer) = peer {
                    request.extensions_mut().insert(peer);
                }
                service.call(request)
            }),
        );
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = draining.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended");
    }
}

async fn turn_away(mut stream: TcpStream) {
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{TOO_MANY}",
        TOO_MANY.len()
    );
    let _ = tokio::time::timeout(LAST_WORDS, stream.write_all(answer.as_bytes())).await;
}

async fn wait_after(error: &io::Error) {
    let is_about_one_peer = matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
    );
    if !is_about_one_peer {
        tracing::error!(%error, "cannot accept connections");
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }
}
