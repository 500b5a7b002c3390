//! Reflection V1: an HTTP server that the developer tools call.
//!
//! All routes are below `/s/<token>`. Only the runtime file contains the token, and only this
//! user can read that file; so another user of the machine, or a web page in the developer's
//! browser, cannot run actions. The official tools take the URL from the file as it is and need
//! not know about the token.

mod access_check;
mod manage;
mod run_action;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::Request;
use axum::routing::{MethodRouter, get, post};
use hyper::body::Incoming;
use hyper::service::{Service as _, service_fn};
use hyper_util::service::TowerToHyperService;
use oxikit_http::ports::{bind, bind_first_free, local_address};
use oxikit_http::{Limits, Shutdown, serve};
use oxikit_telemetry::GenkitExporter;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::runs::Runs;
use access_check::AccessCheck;

/// The ports on which official runtimes listen.
const DEFAULT_PORTS: std::ops::RangeInclusive<u16> = 3100..=3200;

/// Time for which open requests may continue when the server shuts down.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// Maximum size of a request body in bytes; the official tools send up to 30 MB.
const MAX_BODY_BYTES: usize = 32 * 1024 * 1024;

/// The state of the request handlers.
#[derive(Clone)]
pub(super) struct Reflection {
    pub(super) runs: Runs,
    /// The id in the runtime file.
    pub(super) id: Arc<str>,
    /// Receives the URL for spans from the tools; `None` if the environment sets it.
    pub(super) telemetry: Option<GenkitExporter>,
    pub(super) limits: Arc<Limits>,
    pub(super) shutdown: Shutdown,
    /// Cancelled to shut the server down.
    pub(super) quit: CancellationToken,
}

/// A reflection server that listens.
pub(super) struct Listening {
    listener: TcpListener,
    address: SocketAddr,
    access_check: AccessCheck,
}

impl Listening {
    /// Listens on this host and port. Logs a warning if other machines can connect.
    pub(super) async fn bind(host: &str, port: Option<u16>) -> io::Result<Self> {
        let listener = match port {
            Some(port) => bind(host, port, "GENKIT_REFLECTION_PORT").await?,
            None => bind_first_free(host, DEFAULT_PORTS, "GENKIT_REFLECTION_PORT").await?,
        };
        let address = listener.local_addr()?;
        if !address.ip().is_loopback() {
            tracing::warn!(%address, "the reflection server can be reached from other machines; only its token protects it");
        }
        Ok(Self { listener, address, access_check: AccessCheck::new(address.ip().is_loopback()) })
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    /// The URL of the server. It contains the token and must not be logged.
    pub(super) fn url(&self) -> String {
        format!("http://{}{}", local_address(self.address), self.access_check.path())
    }

    /// Serves requests until `quit` is cancelled.
    pub(super) async fn serve(
        self,
        runs: Runs,
        id: String,
        telemetry: Option<GenkitExporter>,
        quit: CancellationToken,
    ) {
        let mut limits = Limits::default();
        (limits.body_bytes, limits.drain_time) = (MAX_BODY_BYTES, DRAIN_TIMEOUT);
        let reflection = Reflection {
            runs,
            id: id.into(),
            telemetry,
            limits: Arc::new(limits.clone()),
            shutdown: Shutdown::default(),
            quit: quit.clone(),
        };
        let shutdown = reflection.shutdown.clone();
        let registry = reflection.runs.registry().clone();
        let agents = reflection.runs.agents_api();
        let agents = agents.map(|agents| agents.routes(&registry, &limits, &shutdown));
        let router = self.access_check.protect(router(reflection, agents), registry);
        let service_of = |_: &TcpStream, peer: SocketAddr| {
            let router = TowerToHyperService::new(router.clone());
            service_fn(move |mut request: Request<Incoming>| {
                request.extensions_mut().insert(ConnectInfo(peer));
                router.call(request)
            })
        };
        serve(self.listener, service_of, limits, shutdown, quit.cancelled_owned()).await;
    }
}

/// Method and path of every route but those of the agents' API, for tests that call all of
/// them.
pub(super) fn route_table() -> Vec<(&'static str, &'static str)> {
    routes().map(|(method, path, _)| (method, path)).into()
}

/// The routes with their main method. `__quitquitquit` is also accepted by GET, as official
/// runtimes do.
fn routes() -> [(&'static str, &'static str, MethodRouter<Reflection>); 8] {
    [
        ("GET", "/api/__health", get(manage::health)),
        ("POST", "/api/__quitquitquit", get(manage::quit).post(manage::quit)),
        ("GET", "/api/envs", get(manage::envs)),
        ("POST", "/api/notify", post(manage::notify)),
        ("GET", "/api/actions", get(manage::actions)),
        ("GET", "/api/values", get(manage::values)),
        ("POST", "/api/runAction", post(run_action::run_action)),
        ("POST", "/api/cancelAction", post(manage::cancel_action)),
    ]
}

/// The routes of the reflection API.
fn router(reflection: Reflection, agents: Option<Router>) -> Router {
    let add = |router: Router<Reflection>, (_, path, handler)| router.route(path, handler);
    let routes = routes().into_iter().fold(Router::new(), add).with_state(reflection);
    match agents {
        Some(agents) => routes.merge(agents),
        None => routes,
    }
}
