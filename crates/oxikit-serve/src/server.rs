//! The server: what is served, to whom, and where.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
#[cfg(feature = "dev-tools")]
use std::time::Duration;

use axum::Router;
use oxikit_core::Registry;
use oxikit_core::ports::StreamStore;
use tokio::net::TcpListener;
#[cfg(feature = "dev-tools")]
use tokio_util::sync::CancellationToken;

use crate::action_http::{self, App};
use crate::agents_api::{self, AgentScope};
use crate::auth::ContextProvider;
use crate::exposed::{Expose, Exposed};
use crate::gate::Gate;
use crate::limits::Limits;
use crate::listen::{Ending, Service, bind, listen};
use crate::metrics::Metrics;
use crate::operations::{self, Operations, ReadyCheck};
#[cfg(feature = "dev-tools")]
use crate::reflection::DevTools;
use crate::wrong_keys::WrongKeys;

/// The port that is used when neither the program nor `PORT` names one.
const DEFAULT_PORT: u16 = 3400;

/// The official tools wait for the end of an application without a limit.
#[cfg(feature = "dev-tools")]
const DEV_DRAIN: Duration = Duration::from_millis(500);

/// Serves the actions of an application.
///
/// Without more it serves all flows and agents, on 127.0.0.1 and the port of `PORT`, else
/// 3400. Any other address needs [`auth`](Self::auth) or an explicit
/// [`allow_anonymous`](Self::allow_anonymous).
#[must_use = "a server does nothing until it is run"]
pub struct Server {
    registry: Registry,
    exposed: Vec<Expose>,
    prefix: String,
    provider: Option<Arc<dyn ContextProvider>>,
    gate: Gate,
    limits: Limits,
    host: IpAddr,
    port: Option<u16>,
    is_anonymous: bool,
    streams: Option<Arc<dyn StreamStore>>,
    is_all_durable: bool,
    has_operations: bool,
    has_agents_api: bool,
    ready_check: Option<ReadyCheck>,
    #[cfg(feature = "dev-tools")]
    has_dev_tools: bool,
}

impl Server {
    /// A server of this application.
    pub fn new(app: &impl AsRef<Registry>) -> Self {
        Self {
            registry: app.as_ref().clone(),
            exposed: Vec::new(),
            prefix: String::new(),
            provider: None,
            gate: Gate::default(),
            limits: Limits::default(),
            host: Ipv4Addr::LOCALHOST.into(),
            port: None,
            is_anonymous: false,
            streams: None,
            is_all_durable: false,
            has_operations: true,
            has_agents_api: false,
            ready_check: None,
            #[cfg(feature = "dev-tools")]
            has_dev_tools: true,
        }
    }

    /// Serves this action. Once one is named, only those that are named are
    /// served.
    pub fn expose(mut self, action: impl Into<Expose>) -> Self {
        self.exposed.push(action.into());
        self
    }

    /// Puts all actions below this path.
    pub fn path_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into().trim_matches('/').to_owned();
        self
    }

    /// Asks this who calls. [`Expose::auth`] replaces it for one action.
    pub fn auth(mut self, provider: impl ContextProvider + 'static) -> Self {
        self.provider = Some(Arc::new(provider));
        self
    }

    /// Lets everybody who can reach the address call everything that is served.
    pub fn allow_anonymous(mut self) -> Self {
        self.is_anonymous = true;
        self
    }

    /// Lets pages of this origin call, such as `https://app.example`.
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.gate.origins.push(origin.into());
        self
    }

    /// Answers to this host name too, when listening on this machine only.
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.gate.hosts.push(host.into());
        self
    }

    /// Keeps the streams of all actions in this store: they go on without their
    /// reader, and are read again by `x-genkit-stream-id`.
    pub fn durable_streams(mut self, store: Arc<dyn StreamStore>) -> Self {
        self.streams = Some(store);
        self.is_all_durable = true;
        self
    }

    /// Keeps the streams of those actions in this store that are exposed as
    /// [`durable`](Expose::durable).
    pub fn stream_store(mut self, store: Arc<dyn StreamStore>) -> Self {
        self.streams = Some(store);
        self
    }

    /// Whether the server has pages of its own; it has by default.
    ///
    /// They are at the root: `/healthz`, `/readyz`, `/metrics` (Prometheus),
    /// `/openapi.json` and `/docs`. The last three are for callers that
    /// [`auth`](Self::auth) lets in. An action at the same path is served instead.
    pub fn operations(mut self, has_operations: bool) -> Self {
        self.has_operations = has_operations;
        self
    }

    /// Serves the REST API for agents and their sessions too, at `/api/agents`.
    ///
    /// It shows the agents that are exposed, with their policies; if nothing is
    /// exposed by name, all agents of the application. Sessions belong to the
    /// caller that [`auth`](Self::auth) finds.
    pub fn agents_api(mut self) -> Self {
        self.has_agents_api = true;
        self
    }

    /// Asks this too before `/readyz` says that requests are welcome. A failure is
    /// logged, not shown.
    pub fn ready_check<F, Fut>(mut self, check: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = oxikit_core::Result<()>> + Send + 'static,
    {
        self.ready_check = Some(Arc::new(move || Box::pin(check())));
        self
    }

    /// Whether [`serve`](Self::serve) lets the developer tools in when `GENKIT_ENV`
    /// is `dev`; it does by default.
    #[cfg(feature = "dev-tools")]
    pub fn dev_tools(mut self, has_dev_tools: bool) -> Self {
        self.has_dev_tools = has_dev_tools;
        self
    }

    /// Replaces the limits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Listens on this address instead of 127.0.0.1.
    pub fn host(mut self, host: impl Into<IpAddr>) -> Self {
        self.host = host.into();
        self
    }

    /// Listens on this port; 0 takes a free one.
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// The paths that are served, in order; `{…}` stands for names and ids.
    pub fn paths(&self) -> Vec<String> {
        let exposed = Exposed::new(self.exposed.clone(), &self.registry, false);
        let pages = self.has_operations.then(operations::paths).into_iter().flatten();
        let actions = exposed.iter().map(|expose| expose.path_below(&self.prefix));
        let agents = self.has_agents_api.then(agents_api::templates).into_iter().flatten();
        let mut paths: Vec<_> = actions.chain(pages.chain(agents).map(str::to_owned)).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// The routes alone, to be nested into another axum application. The limits
    /// of connections are that application's business then.
    pub fn router(self) -> Router {
        self.into_router(Ending::default()).0
    }

    /// The routes of [`agents_api`](Self::agents_api) alone, for a server that has
    /// other ways to call actions.
    pub fn agents_router(self) -> Router {
        self.agents_routes(Ending::default())
    }

    /// The same, with its streams ended by the server they are part of.
    pub(crate) fn agents_routes(mut self, ending: Ending) -> Router {
        self.has_operations = false;
        agents_api::routes().with_state(self.into_app(ending))
    }

    /// Serves until the process is asked to end (Ctrl-C or SIGTERM).
    ///
    /// When `GENKIT_ENV` is `dev`, the developer tools may list and run all actions
    /// meanwhile, also those that are not exposed, and open requests get half a
    /// second to end. Tools that cannot be started are logged; the server goes on.
    ///
    /// Spans go to the collector that OpenTelemetry's variables name, if they do,
    /// such as `OTEL_EXPORTER_OTLP_ENDPOINT`.
    ///
    /// The URL and the actions are logged at the start, and failed calls when they
    /// happen. If the application has not set up [`tracing`], the log goes to the
    /// standard error, as [`init_log`](crate::init_log) says.
    ///
    /// # Errors
    /// If the address cannot be listened on, such as a port that is in use, and if an
    /// environment variable cannot be understood.
    pub async fn serve(self) -> io::Result<()> {
        #[cfg(feature = "log")]
        crate::init_log();
        let bound = self.bind().await?;
        #[cfg(feature = "otlp")]
        crate::otlp::export(&bound.server.registry)?;
        #[cfg(feature = "dev-tools")]
        if bound.server.has_dev_tools
            && let Some(dev_tools) = start_dev_tools(&bound.server.registry).await
        {
            bound.run_beside(dev_tools).await;
            return Ok(());
        }
        #[cfg(feature = "otlp")]
        let registry = bound.server.registry.clone();
        bound.run(asked_to_end()).await;
        #[cfg(feature = "otlp")]
        crate::otlp::flush(&registry).await;
        Ok(())
    }

    /// Listens, without serving yet: the address is known then. The developer
    /// tools are for the caller to [start](crate::DevTools::start).
    pub async fn bind(self) -> io::Result<BoundServer> {
        if !self.host.is_loopback() && self.provider.is_none() && !self.is_anonymous {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!(
                    "{} can be reached by others: say who may call by `auth(…)`, or that all may by `allow_anonymous()`",
                    self.host
                ),
            ));
        }
        let port = match self.port {
            Some(port) => port,
            None => port_from_env()?,
        };
        let option = "`Server::port` or the environment variable PORT";
        let listener = bind(&self.host.to_string(), port, option).await?;
        Ok(BoundServer { server: self, listener })
    }

    /// Says where the server is and what it serves.
    fn log_start(&self, address: SocketAddr) {
        let exposed = Exposed::new(self.exposed.clone(), &self.registry, false);
        let docs = if self.has_operations { "; described at /docs" } else { "" };
        tracing::info!("serving at http://{address}: {}{docs}", exposed.summary(&self.prefix));
    }

    fn asks_who_calls(&self) -> bool {
        self.provider.is_some() || self.exposed.iter().any(|expose| expose.provider.is_some())
    }

    fn into_router(self, ending: Ending) -> (Router, Limits) {
        let limits = self.limits.clone();
        let has_agents_api = self.has_agents_api;
        let app = self.into_app(ending);
        let mut routes = match &app.operations {
            Some(_) => operations::routes(&app, |path| app.find(path).is_some()),
            None => Router::new(),
        };
        if has_agents_api {
            routes = routes.merge(agents_api::routes());
        }
        (routes.fallback(action_http::handle).with_state(app), limits)
    }

    fn into_app(self, ending: Ending) -> Arc<App> {
        let only_exposed = !self.exposed.is_empty();
        let mut exposed = Exposed::new(self.exposed, &self.registry, self.is_all_durable);
        let metrics = if self.has_operations { Metrics::new() } else { None };
        if let Some(metrics) = &metrics {
            exposed.measure(metrics);
        }
        let (ready_check, has_agents_api) = (self.ready_check, self.has_agents_api);
        let operations = self.has_operations.then(|| Operations::new(ready_check, has_agents_api));
        Arc::new(App {
            agents: AgentScope::new(only_exposed, self.is_all_durable, metrics.as_ref()),
            exposed,
            registry: self.registry,
            prefix: self.prefix,
            provider: self.provider,
            wrong_keys: WrongKeys::default(),
            gate: self.gate,
            limits: self.limits,
            ending: ending.clone(),
            in_flight: AtomicUsize::new(0),
            streams: self.streams,
            recordings: ending.recordings.clone(),
            metrics,
            operations,
        })
    }
}

/// A [`Server`] that listens.
#[derive(Debug)]
pub struct BoundServer {
    server: Server,
    listener: TcpListener,
}

impl BoundServer {
    /// Where it listens.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `shutdown` is done, then lets open requests end.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let Self { mut server, listener } = self;
        server.gate.is_loopback = server.host.is_loopback();
        if let Ok(address) = listener.local_addr() {
            server.log_start(address);
        }
        let ending = Ending::default();
        let asks_who_calls = server.asks_who_calls();
        let (router, limits) = server.into_router(ending.clone());
        let service = Service { router, tells_peer: asks_who_calls };
        listen(listener, service, limits, ending, shutdown).await;
    }
}

#[cfg(feature = "dev-tools")]
impl BoundServer {
    async fn run_beside(mut self, dev_tools: DevTools) {
        let limits = &mut self.server.limits;
        limits.drain_time = limits.drain_time.min(DEV_DRAIN);
        let ended = CancellationToken::new();
        let close = async {
            asked_to_end().await;
            ended.cancel();
            dev_tools.close().await;
        };
        tokio::join!(self.run(ended.cancelled()), close);
    }
}

#[cfg(feature = "dev-tools")]
async fn start_dev_tools(registry: &Registry) -> Option<DevTools> {
    DevTools::start(registry).await.unwrap_or_else(|error| {
        tracing::error!(%error, "the developer tools cannot be used");
        None
    })
}

/// Serves all flows of an application with the defaults of [`Server`].
///
/// ```no_run
/// # async fn example(ai: oxikit_core::Registry) -> std::io::Result<()> {
/// oxikit_serve::serve(&ai).await
/// # }
/// ```
pub async fn serve(app: &impl AsRef<Registry>) -> io::Result<()> {
    Server::new(app).serve().await
}

fn port_from_env() -> io::Result<u16> {
    match std::env::var("PORT") {
        Ok(port) => port.parse().map_err(|_| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("PORT is `{port}`, not a port number"),
            )
        }),
        Err(_) => Ok(DEFAULT_PORT),
    }
}

/// Waits for Ctrl-C or SIGTERM.
pub(crate) async fn asked_to_end() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => tokio::select! {
                _ = interrupt => {}
                _ = terminate.recv() => {}
            },
            Err(_) => drop(interrupt.await),
        }
    }
    #[cfg(not(unix))]
    drop(interrupt.await);
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("exposed", &self.exposed)
            .field("host", &self.host)
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}
