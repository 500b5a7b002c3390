//! Serves the ports of the tools: each with its checks, its routes and its limits.
//!
//! The accept loop, the limits of slow clients and the panic guard are those of `oxikit-http`. This
//! module only decides which of them each port uses, and in which order the checks of the API run.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::service::TowerToHyperService;
use oxikit_core::Status;
use oxikit_http::{Limits, Watch, accept, answer_and_drain, guarded, reply};
use oxikit_traces::{Connection, TelemetryPort};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::gate::Gate;
use super::proof::PROOF;
use super::resume::refuse_resume;

/// Maximum number of connections of one port at a time. More are answered with 503.
const MAX_CONNECTIONS: usize = 4096;
/// Time that a runtime may take to read from its socket. Runtimes are pinged, and callers
/// give up waiting for a frozen one before.
const FROZEN_RUNTIME_TIME: Duration = Duration::from_secs(60);

/// A port: the checks, the routes behind them, and the limits of its connections.
#[derive(Clone)]
pub(crate) struct Port {
    gate: Option<Arc<Gate>>,
    routes: Routes,
    limits: Limits,
}

#[derive(Clone)]
enum Routes {
    Api(TowerToHyperService<Router>),
    Runtimes(TowerToHyperService<Router>),
    Telemetry(TelemetryPort),
}

impl Port {
    /// The API: routes behind the checks.
    pub(crate) fn api(gate: Gate, router: Router) -> Self {
        let routes = Routes::Api(TowerToHyperService::new(router));
        Self { gate: Some(Arc::new(gate)), routes, limits: limits() }
    }

    /// The port of spans, which has checks of its own.
    pub(crate) fn telemetry(port: TelemetryPort) -> Self {
        Self { gate: None, routes: Routes::Telemetry(port), limits: limits() }
    }

    /// The socket of runtimes, which has checks of its own. A runtime may be busy and not
    /// read for a while.
    pub(crate) fn runtimes(router: Router) -> Self {
        let routes = Routes::Runtimes(TowerToHyperService::new(router));
        let mut limits = limits();
        limits.stalled_reader_time = FROZEN_RUNTIME_TIME;
        Self { gate: None, routes, limits }
    }

    /// Serves connections until `closing` is cancelled; open requests then end in their tasks.
    pub(crate) async fn serve(
        self,
        listener: TcpListener,
        closing: CancellationToken,
        connections: TaskTracker,
    ) {
        let limits = self.limits.clone();
        let port = Arc::new(self);
        let service_of = |stream: &TcpStream, peer: SocketAddr| {
            let connection = Arc::new(Connection::new(peer, stream.local_addr().ok()));
            let port = port.clone();
            service_fn(move |request| {
                let (port, connection) = (port.clone(), connection.clone());
                async move { Ok::<_, Infallible>(port.respond(peer, connection, request).await) }
            })
        };
        accept(listener, service_of, &limits, &closing, &connections).await;
    }

    /// Checks a request, answers it, and adds the headers of the API. Ports without a gate check
    /// requests themselves, for which they need the address of the client.
    async fn respond(
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
        // Only the API has an access log: paths of the other ports contain tokens.
        let (head, body) = request.into_parts();
        let mut watch = Watch::start(&head);
        let response = self.respond_api(gate, peer, Request::from_parts(head, body)).await;
        watch.answered(&response);
        response
    }

    async fn respond_api(
        &self,
        gate: &Gate,
        peer: SocketAddr,
        mut request: Request<Incoming>,
    ) -> Response<Body> {
        if let Err(response) = gate.admit(peer.ip(), &mut request) {
            return *response;
        }
        // Both are needed after the request was moved.
        let (origin, proof) = (gate.allowed_origin(&request), gate.proof(&request));
        request.extensions_mut().insert(ConnectInfo(peer));
        let mut response = self.answer(request).await;
        Gate::finish(origin.as_ref(), &mut response);
        if let Some(proof) = proof {
            response.headers_mut().insert(PROOF, proof);
        }
        response
    }

    /// Answers a request. The rest of its body is drained first, because a client that still
    /// sends may never receive the response.
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let answer = |request| async {
            guarded(self.route(request)).await.unwrap_or_else(|status: Status| {
                tracing::error!(%status, "a request failed");
                reply::error(&status)
            })
        };
        answer_and_drain(request, answer).await
    }

    async fn route(&self, request: Request<Body>) -> Result<Response<Body>, Status> {
        let router = match &self.routes {
            Routes::Telemetry(port) => return Ok(port.answer(request).await),
            Routes::Api(router) => {
                if let Err(response) = refuse_resume(&request) {
                    return Ok(*response);
                }
                router
            }
            Routes::Runtimes(router) => router,
        };
        let Ok(response) = router.call(request).await;
        Ok(response)
    }
}

/// The limits of the API and of telemetry.
fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.connections = MAX_CONNECTIONS;
    limits
}
