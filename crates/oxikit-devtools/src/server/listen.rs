//! Ports and connections.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use oxikit_serve::inside::{FramingGuard, StallGuard};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::gate::Gate;
use super::proof::PROOF;
use super::{PortChoice, unread};
use crate::telemetry::{Connection, TelemetryPort};

/// Time to send the headers of a request.
const HEADER_TIME: Duration = Duration::from_secs(10);
/// Bytes and number of the headers of a request; more is 431.
const HEADER_BYTES: usize = 16 << 10;
const HEADER_FIELDS: usize = 100;
/// Time without a byte being taken by a reader; then the connection is closed.
const STALLED_READER_TIME: Duration = Duration::from_secs(10);
/// Runtimes are pinged, and given up by those who ask them.
const FROZEN_RUNTIME_TIME: Duration = Duration::from_secs(60);
/// Connections of one port at a time; the next one is closed.
const MAX_CONNECTIONS: usize = 4096;
/// The kernel is out of handles: trying again at once would only burn time.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// So often another port is tried where any will do.
const TRIES: usize = 16;

/// A port that is listened on.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) listeners: Vec<TcpListener>,
    address: SocketAddr,
}

impl Bound {
    /// The URL that it is reached by from this machine.
    pub(crate) fn url(&self, scheme: &str) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(Ipv4Addr::LOCALHOST.into());
        }
        format!("{scheme}://{address}")
    }
}

/// Listens on a port of this choice: on the former one, if it is among those that would do.
pub(crate) async fn bind(
    what: &str,
    host: IpAddr,
    choice: &PortChoice,
    former: Option<u16>,
) -> io::Result<Bound> {
    let (ports, name): (Vec<u16>, String) = match choice {
        PortChoice::FirstFree(ports) => {
            let former = former.filter(|port| ports.contains(port));
            let name = format!("{}–{}", ports.start(), ports.end());
            (former.into_iter().chain(ports.clone()).collect(), name)
        }
        PortChoice::Fixed(0) => (vec![0; TRIES], "0".to_owned()),
        PortChoice::Fixed(port) => (vec![*port], port.to_string()),
    };
    let mut last = io::Error::from(io::ErrorKind::AddrInUse);
    for port in ports {
        match bind_port(host, port).await {
            Ok(bound) => return Ok(bound),
            Err(error) => last = error,
        }
    }
    let message = format!("the {what} port {name} of {host} cannot be listened on: {last}");
    Err(io::Error::new(last.kind(), message))
}

/// `localhost` is two addresses: a port of which somebody else has the other one is
/// not free, or callers would reach the wrong one.
async fn bind_port(host: IpAddr, port: u16) -> io::Result<Bound> {
    let first = TcpListener::bind((host, port)).await?;
    let address = first.local_addr()?;
    let mut listeners = vec![first];
    if host == Ipv4Addr::LOCALHOST {
        match TcpListener::bind((Ipv6Addr::LOCALHOST, address.port())).await {
            Ok(second) => listeners.push(second),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(error),
            // This machine has no IPv6.
            Err(_) => {}
        }
    }
    Ok(Bound { listeners, address })
}

/// What is behind a port.
#[derive(Clone)]
pub(crate) struct Door {
    gate: Option<Arc<Gate>>,
    routes: Routes,
    patience: Duration,
}

#[derive(Clone)]
enum Routes {
    Router(TowerToHyperService<Router>),
    Telemetry(TelemetryPort),
}

impl Door {
    /// Routes behind the gates.
    pub(crate) fn gated(gate: Gate, router: Router) -> Self {
        Self { gate: Some(Arc::new(gate)), ..Self::plain(router) }
    }

    /// Routes that look after themselves.
    pub(crate) fn plain(router: Router) -> Self {
        let routes = Routes::Router(TowerToHyperService::new(router));
        Self { gate: None, routes, patience: STALLED_READER_TIME }
    }

    /// The port of spans, which looks after itself.
    pub(crate) fn telemetry(port: TelemetryPort) -> Self {
        Self { gate: None, routes: Routes::Telemetry(port), patience: STALLED_READER_TIME }
    }

    /// The socket of runtimes, which may be busy.
    pub(crate) fn runtimes(router: Router) -> Self {
        Self { patience: FROZEN_RUNTIME_TIME, ..Self::plain(router) }
    }

    async fn enter(
        &self,
        peer: SocketAddr,
        connection: Arc<Connection>,
        mut request: Request<Incoming>,
    ) -> Response<Body> {
        let Some(gate) = &self.gate else {
            request.extensions_mut().insert(ConnectInfo(peer));
            request.extensions_mut().insert(connection);
            return self.answer(request).await;
        };
        match gate.admit(peer.ip(), &mut request) {
            Ok(()) => {
                let (page, proof) = (gate.page(request.headers()), gate.proof(&request));
                let mut response = self.answer(request).await;
                gate.finish(page, &mut response);
                if let Some(proof) = proof {
                    response.headers_mut().insert(PROOF, proof);
                }
                response
            }
            Err(response) => *response,
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let (request, body) = unread::lend(request);
        let response = match &self.routes {
            Routes::Router(router) => {
                let Ok(response) = router.call(request).await;
                response
            }
            Routes::Telemetry(port) => port.answer(request).await,
        };
        if let Some(body) = body {
            body.read_away().await;
        }
        response
    }
}

/// Serves connections until the end, then lets open requests end.
pub(crate) async fn listen(
    listener: TcpListener,
    door: Door,
    closing: CancellationToken,
    connections: TaskTracker,
) {
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::debug!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
            () = closing.cancelled() => break,
        };
        let Ok(slot) = slots.clone().try_acquire_owned() else { continue };
        let work = connection(stream, peer, door.clone(), closing.clone());
        connections.spawn(async move {
            work.await;
            drop(slot);
        });
    }
}

async fn connection(stream: TcpStream, peer: SocketAddr, door: Door, closing: CancellationToken) {
    // A chunk is worth a packet: nothing waits for more to be sent.
    _ = stream.set_nodelay(true);
    let of = Arc::new(Connection::new(peer, stream.local_addr().ok()));
    let io = TokioIo::new(FramingGuard::new(StallGuard::new(stream, door.patience)));
    let service = service_fn(move |request| {
        let (door, of) = (door.clone(), of.clone());
        async move { Ok::<_, Infallible>(door.enter(peer, of, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(HEADER_BYTES)
        .max_headers(HEADER_FIELDS)
        .serve_connection(io, service)
        .with_upgrades();
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended");
    }
}
