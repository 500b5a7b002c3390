//! Reflection V1: the developer tools call this runtime over HTTP.
//!
//! Everything is below `/s/<token>`, which only the runtime file tells.

mod door;
mod manage;
mod run_action;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::{get, post};
use oxikit_core::{ActionContext, Result, Status};
use oxikit_telemetry::GenkitExporter;
use oxikit_wire::JsonObject;
use oxikit_wire::rpc::CONTEXT_HEADER;
use percent_encoding::percent_decode_str;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::runs::Runs;
use crate::auth::{RequestInfo, context_from};
use crate::limits::Limits;
use crate::listen::{Ending, Service, bind, listen};
use crate::server::Server;
use door::Door;

/// Where official runtimes listen.
const PORTS: std::ops::RangeInclusive<u16> = 3100..=3200;

/// So long may open requests take to end when the server does.
const DRAIN: Duration = Duration::from_millis(200);

/// The largest body: the official tools send up to 30 MB.
const BODY_BYTES: usize = 32 * 1024 * 1024;

/// What every request needs.
#[derive(Clone)]
pub(super) struct Reflection {
    pub(super) runs: Runs,
    /// What the runtime file says.
    pub(super) id: Arc<str>,
    /// Told where to send; `None` if that is not for the tools to say.
    pub(super) telemetry: Option<GenkitExporter>,
    pub(super) limits: Arc<Limits>,
    pub(super) ending: Ending,
    /// Ends the server.
    pub(super) quit: CancellationToken,
}

/// A reflection server that listens.
pub(super) struct Listening {
    listener: TcpListener,
    address: SocketAddr,
    door: Door,
}

impl Listening {
    pub(super) async fn bind(host: &str, port: Option<u16>) -> io::Result<Self> {
        let listener = match port {
            Some(port) => bind(host, port, "GENKIT_REFLECTION_PORT").await?,
            None => first_free(host).await?,
        };
        let address = listener.local_addr()?;
        if !address.ip().is_loopback() {
            tracing::warn!(%address, "other machines reach the developer tools' door; only its token keeps them out");
        }
        Ok(Self { listener, address, door: Door::new(address.ip().is_loopback()) })
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Where the tools reach it, with the token: not for logs.
    pub(super) fn url(&self) -> String {
        let ip = match self.address.ip() {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        format!("http://{}{}", SocketAddr::new(ip, self.port()), self.door.path())
    }

    /// Answers the tools until `quit` is cancelled.
    pub(super) async fn serve(
        self,
        runs: Runs,
        id: String,
        telemetry: Option<GenkitExporter>,
        quit: CancellationToken,
    ) {
        let limits = Limits { body_bytes: BODY_BYTES, drain_time: DRAIN, ..Limits::default() };
        let reflection = Reflection {
            runs,
            id: id.into(),
            telemetry,
            limits: Arc::new(limits.clone()),
            ending: Ending::default(),
            quit: quit.clone(),
        };
        let ending = reflection.ending.clone();
        let registry = reflection.runs.registry().clone();
        let router = self.door.guard(router(reflection), registry);
        let service = Service { router, tells_peer: false };
        listen(self.listener, service, limits, ending, quit.cancelled_owned()).await;
    }
}

fn router(reflection: Reflection) -> Router {
    let agents = Server::new(reflection.runs.registry())
        .auth(context_from(caller))
        .limits(reflection.limits.as_ref().clone())
        .agents_routes(reflection.ending.clone());
    Router::new()
        .route("/api/__health", get(manage::health))
        .route("/api/__quitquitquit", get(manage::quit).post(manage::quit))
        .route("/api/envs", get(manage::envs))
        .route("/api/notify", post(manage::notify))
        .route("/api/actions", get(manage::actions))
        .route("/api/values", get(manage::values))
        .route("/api/runAction", post(run_action::run_action))
        .route("/api/cancelAction", post(manage::cancel_action))
        .with_state(reflection)
        .merge(agents)
}

/// Whom the tools ask for. The door has let them in: they may be anybody.
fn caller(request: RequestInfo<'_>) -> Result<ActionContext> {
    let Some(context) = request.header(CONTEXT_HEADER) else { return Ok(Default::default()) };
    let refuse = || Status::invalid_argument(format!("`{CONTEXT_HEADER}` is no JSON object"));
    let text = percent_decode_str(context).decode_utf8().map_err(|_| refuse())?;
    let context: JsonObject = serde_json::from_str(&text).map_err(|_| refuse())?;
    Ok(context.into())
}

async fn first_free(host: &str) -> io::Result<TcpListener> {
    for port in PORTS {
        match TcpListener::bind((host, port)).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            bound => return bound,
        }
    }
    let message = format!(
        "all ports from {} to {} are in use; name another by GENKIT_REFLECTION_PORT",
        PORTS.start(),
        PORTS.end()
    );
    Err(io::Error::new(io::ErrorKind::AddrInUse, message))
}
