//! The server: its options, the listening socket, and its shutdown.
//!
//! The options become one [`App`] that all routes share when the server starts; they do not
//! change afterwards. How a call is answered is in [`action_http`](crate::action_http), how
//! connections are accepted and limited in `oxikit-http`.

mod a2a_options;
mod bound;

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

use axum::Router;
use oxikit_core::Registry;
use oxikit_core::ports::StreamStore;
use oxikit_http::ports::bind;
use oxikit_http::{Edge, Limits, Metrics, SenderCheck, Shutdown, WrongCredentials};
#[cfg(feature = "dev-tools")]
use oxikit_reflection::DevTools;

use crate::a2a::{self, A2a, A2aAgent};
use crate::action_http;
use crate::agents_api;
use crate::app::{AgentScope, App, CORS, Pages, ReadyCheck};
use crate::auth::ContextProvider;
use crate::end::asked_to_end;
use crate::exposed::{Expose, Exposed};
use crate::operations;
pub use bound::BoundServer;

/// The port that is used when neither the program nor `PORT` names one.
const DEFAULT_PORT: u16 = 3400;

/// Maximum number of requests at the same time on one connection of a client of gRPC, unless the
/// application says otherwise.
const HTTP2_STREAMS: u32 = 128;

/// Serves the actions of an application.
///
/// By default it serves all flows and agents, on 127.0.0.1 and the port that the environment
/// variable `PORT` names, else 3400. Any other address needs [`auth`](Self::auth) or an explicit
/// [`allow_anonymous`](Self::allow_anonymous).
///
/// ```no_run
/// use oxikit::prelude::*;
/// use oxikit_serve::{ApiKey, Expose, Server};
///
/// # #[tokio::main] async fn main() -> Result<()> {
/// let ai = Oxikit::builder().build()?;
/// let greet = ai.define_flow("greet", |name: String| async move { Ok(format!("Hello, {name}!")) });
/// Server::new(&ai)
///     .host([0, 0, 0, 0])
///     .port(8080)
///     .auth(ApiKey::new("a-long-random-text"))
///     .allow_origin("https://app.example")
///     .expose(Expose::new(&greet).path("v1/greet"))
///     .serve()
///     .await?;
/// # Ok(()) }
/// ```
#[must_use = "a server does nothing until it is run"]
pub struct Server {
    registry: Registry,
    exposed: Vec<Expose>,
    prefix: String,
    provider: Option<Arc<dyn ContextProvider>>,
    origins: Vec<String>,
    hosts: Vec<String>,
    limits: Limits,
    host: IpAddr,
    port: Option<u16>,
    is_anonymous: bool,
    streams: Option<Arc<dyn StreamStore>>,
    is_all_durable: bool,
    has_operations: bool,
    has_agents_api: bool,
    ready_check: Option<ReadyCheck>,
    a2a: a2a::Options,
    #[cfg(feature = "dev-tools")]
    has_dev_tools: bool,
}

impl Server {
    /// A server of this application with the defaults. Flows and agents have to be defined
    /// before it starts: later ones are not served.
    pub fn new(app: &impl AsRef<Registry>) -> Self {
        Self {
            registry: app.as_ref().clone(),
            exposed: Vec::new(),
            prefix: String::new(),
            provider: None,
            origins: Vec::new(),
            hosts: Vec::new(),
            limits: Limits::default(),
            host: Ipv4Addr::LOCALHOST.into(),
            port: None,
            is_anonymous: false,
            streams: None,
            is_all_durable: false,
            has_operations: true,
            has_agents_api: false,
            ready_check: None,
            a2a: a2a::Options::default(),
            #[cfg(feature = "dev-tools")]
            has_dev_tools: true,
        }
    }

    /// Serves this action. Without any call of this, all flows and agents are served; after the
    /// first one, only the actions that were given to it, of whatever kind.
    pub fn expose(mut self, action: impl Into<Expose>) -> Self {
        self.exposed.push(action.into());
        self
    }

    /// Puts all actions below this path: with `api/v1`, the flow `greet` is at `/api/v1/greet`.
    /// The server's own pages and `/api/agents` stay at the root. Slashes at its ends do not
    /// matter.
    pub fn path_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into().trim_matches('/').to_owned();
        self
    }

    /// Authenticates callers with this provider. [`Expose::auth`] replaces it for one action.
    ///
    /// It applies to all actions, to [`agents_api`](Self::agents_api) and to the pages that
    /// describe the application (`/metrics`, `/openapi.json`, `/docs`), but not to `/healthz`
    /// and `/readyz`: the probes of an orchestrator have no credentials.
    pub fn auth(mut self, provider: impl ContextProvider + 'static) -> Self {
        self.provider = Some(Arc::new(provider));
        self
    }

    /// Accepts calls without authentication from every client that can reach the address. It
    /// only matters for addresses other than loopback, where a server without
    /// [`auth`](Self::auth) does not start otherwise.
    pub fn allow_anonymous(mut self) -> Self {
        self.is_anonymous = true;
        self
    }

    /// Accepts calls by pages of this origin, such as `https://app.example`, and answers them
    /// with the CORS headers that browsers require. Calls by pages of other origins are
    /// rejected with 403, since a browser would send them with the user's access to this
    /// machine.
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// Accepts requests whose `Host` header has this name, too, when listening on loopback.
    ///
    /// There only `localhost` and loopback addresses are accepted by default: a foreign page
    /// whose domain name resolves to 127.0.0.1 (DNS rebinding) could call actions otherwise.
    /// Servers on other addresses accept every host name.
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into());
        self
    }

    /// Stores the streams of all actions in this store: runs continue without their reader,
    /// and streams can be read again by `x-genkit-stream-id`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use oxikit::prelude::*;
    /// use oxikit_core::ports::memory::MemoryStreams;
    /// use oxikit_serve::Server;
    ///
    /// let ai = Oxikit::builder().build()?;
    /// let server = Server::new(&ai).durable_streams(Arc::new(MemoryStreams::default()));
    /// # Ok::<(), Status>(())
    /// ```
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

    /// Leaves out the server's own pages.
    ///
    /// By default they are at the root: `/healthz`, `/readyz`, `/metrics` (Prometheus),
    /// `/openapi.json` and `/docs`. The last three are for callers that
    /// [`auth`](Self::auth) lets in. An action at the same path is served instead.
    pub fn without_operations(mut self) -> Self {
        self.has_operations = false;
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

    /// Runs this check, too, whenever `/readyz` is read, such as a query to a database. If it
    /// fails or takes longer than 5 seconds, `/readyz` answers 503. The reason is logged and not
    /// part of the answer, because the page needs no credentials.
    pub fn ready_check<F, Fut>(mut self, check: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = oxikit_core::Result<()>> + Send + 'static,
    {
        self.ready_check = Some(Arc::new(move || Box::pin(check())));
        self
    }

    /// Turns the developer tools off. By default [`serve`](Self::serve) turns them on when
    /// `GENKIT_ENV` is `dev`.
    #[cfg(feature = "dev-tools")]
    pub fn without_dev_tools(mut self) -> Self {
        self.has_dev_tools = false;
        self
    }

    /// Replaces the limits of sizes, times and numbers of connections and requests. Their
    /// defaults suit a public server; see the fields of [`Limits`] for what happens beyond each.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Listens on this address instead of 127.0.0.1. `[0, 0, 0, 0]` is every IPv4 address of
    /// the machine; that needs [`auth`](Self::auth) or
    /// [`allow_anonymous`](Self::allow_anonymous).
    pub fn host(mut self, host: impl Into<IpAddr>) -> Self {
        self.host = host.into();
        self
    }

    /// Listens on this port in place of `PORT` or 3400; 0 takes a free one, which
    /// [`BoundServer::local_addr`] tells.
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// The paths that are served, sorted; `{…}` stands for names and ids.
    ///
    /// ```
    /// # use oxikit::prelude::*;
    /// # use oxikit_serve::Server;
    /// let ai = Oxikit::builder().build()?;
    /// ai.define_flow("greet", |name: String| async move { Ok(name) });
    /// assert_eq!(Server::new(&ai).without_operations().paths(), ["/greet"]);
    /// # Ok::<(), Status>(())
    /// ```
    pub fn paths(&self) -> Vec<String> {
        let exposed = Exposed::new(self.exposed.clone(), &self.registry, false);
        let pages = self.has_operations.then(operations::paths).into_iter().flatten();
        let actions = exposed.iter().map(|expose| expose.path_below(&self.prefix));
        let agents = self.has_agents_api.then(agents_api::templates).into_iter().flatten();
        let a2a = self.a2a.agents.iter().flat_map(A2aAgent::paths);
        let own = pages.chain(agents).map(str::to_owned);
        let mut paths: Vec<_> = actions.chain(own).chain(a2a).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// The routes alone, to be nested into another axum application.
    ///
    /// That application listens and shuts down itself, so the limits of connections, the check
    /// of the `Host` header and the time to drain do not apply; limits of single requests do.
    pub fn router(self) -> Router {
        self.into_router(Shutdown::default(), SenderCheck::any_host())
    }

    /// The routes of [`agents_api`](Self::agents_api) alone, for a server that has
    /// other ways to call actions.
    pub fn agents_router(mut self) -> Router {
        self.has_operations = false;
        let app = self.into_app(Shutdown::default(), SenderCheck::any_host());
        agents_api::routes().with_state(app)
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
    ///
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

    /// Listens, without serving yet, so that the address is known before the first request.
    /// Neither the developer tools nor the export of spans are started: the caller
    /// [starts](crate::dev_tools) them if it wants them.
    ///
    /// ```no_run
    /// # async fn example(ai: oxikit::Oxikit) -> std::io::Result<()> {
    /// let server = oxikit_serve::Server::new(&ai).port(0).bind().await?;
    /// println!("listening on {}", server.local_addr()?);
    /// server.run(async { tokio::signal::ctrl_c().await.unwrap_or_default() }).await;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// If the address cannot be listened on, if it is not loopback and callers are neither
    /// authenticated nor explicitly anonymous, and if `PORT` is not a port number.
    pub async fn bind(self) -> io::Result<BoundServer> {
        if !self.host.is_loopback() && self.provider.is_none() && !self.is_anonymous {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!(
                    "{} can be reached by others: authenticate callers by `auth(…)`, or accept all of them by `allow_anonymous()`",
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

    /// The limits of the listener. gRPC needs HTTP/2; other servers take HTTP/1.1 only.
    fn listener_limits(&self) -> Limits {
        let mut limits = self.limits.clone();
        let has_grpc = cfg!(feature = "a2a-grpc") && !self.a2a.agents.is_empty();
        if has_grpc && limits.http2_streams == 0 {
            limits.http2_streams = HTTP2_STREAMS;
        }
        limits
    }

    fn asks_who_calls(&self) -> bool {
        self.provider.is_some()
            || self.exposed.iter().any(|expose| expose.provider.is_some())
            || self.a2a.agents.iter().any(A2aAgent::has_auth)
    }

    fn into_router(mut self, shutdown: Shutdown, sender: SenderCheck) -> Router {
        let a2a = A2a::new(std::mem::take(&mut self.a2a), &self.registry, &shutdown);
        let app = self.into_app(shutdown, sender);
        let mut routes = match &app.pages {
            Some(_) => operations::routes(&app, |path| app.find(path).is_some()),
            None => Router::new(),
        };
        if app.agents.is_served {
            routes = routes.merge(agents_api::routes());
        }
        if let Some(a2a) = a2a {
            a2a.start();
            let a2a = Arc::new(a2a);
            routes = routes.merge(a2a::routes(&app, &a2a));
            #[cfg(feature = "a2a-grpc")]
            {
                routes = routes.merge(a2a::grpc_routes(&a2a));
            }
        }
        routes.fallback(action_http::handle).with_state(app)
    }

    fn into_app(self, shutdown: Shutdown, sender: SenderCheck) -> Arc<App> {
        let only_exposed = !self.exposed.is_empty();
        let mut exposed = Exposed::new(self.exposed, &self.registry, self.is_all_durable);
        let metrics = if self.has_operations { Metrics::new() } else { None };
        if let Some(metrics) = &metrics {
            exposed.measure(metrics);
        }
        let sender = sender
            .allow_hosts(self.hosts)
            .allow_origins(self.origins)
            .with_hints("name it by `Server::allow_host`", "name it by `Server::allow_origin`");
        let ready_check = self.ready_check;
        let pages = || Pages { ready_check, openapi: OnceLock::new() };
        Arc::new(App {
            agents: AgentScope {
                is_served: self.has_agents_api,
                only_exposed,
                is_durable: self.is_all_durable,
                meters: metrics.as_ref().map(|metrics| metrics.of_action(agents_api::ROOT)),
            },
            exposed,
            registry: self.registry,
            prefix: self.prefix,
            provider: self.provider,
            wrong_keys: WrongCredentials::default(),
            edge: Edge { sender, cors: CORS },
            limits: self.limits,
            shutdown,
            in_flight: AtomicUsize::new(0),
            streams: self.streams,
            metrics,
            pages: self.has_operations.then(pages),
        })
    }
}

#[cfg(feature = "dev-tools")]
async fn start_dev_tools(registry: &Registry) -> Option<DevTools> {
    crate::dev_tools::dev_tools(registry).await.unwrap_or_else(|error| {
        tracing::error!(%error, "the developer tools cannot be used");
        None
    })
}

/// Serves all flows and agents of an application with the defaults of [`Server`], until the
/// process is asked to end.
///
/// ```no_run
/// # async fn example(ai: oxikit_core::Registry) -> std::io::Result<()> {
/// oxikit_serve::serve(&ai).await
/// # }
/// ```
///
/// # Errors
///
/// Those of [`Server::serve`].
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

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("exposed", &self.exposed)
            .field("host", &self.host)
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}
