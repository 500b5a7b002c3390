//! A server for a library alone, as `oxikit prompts` runs it: the page, the REST API and the
//! WebSockets on one port.

mod gate;
mod service;

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;
use oxikit_http::ports::{BoundPort, PortChoice};
use oxikit_http::reply::json_response;
use oxikit_http::{Limits, Token};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::Prompts;
use crate::http::{PromptRoutes, RouteOptions, effect_check, nowhere, page_routes};
use gate::Gate;
use service::PromptService;

/// The port of Prompt Manager.
const PORT: u16 = 8081;
/// Time for open requests to end when the server closes. Then they are cut.
const DRAIN_TIME: Duration = Duration::from_secs(5);
/// The path that ends a server with a token.
const SHUTDOWN_PATH: &str = "/api/shutdown";

/// Options of a [`PromptServer`].
///
/// ```
/// use oxikit_prompts::PromptServerOptions;
///
/// let mut options = PromptServerOptions::default();
/// options.allow_origins.push("http://localhost:5173".to_owned());
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PromptServerOptions {
    /// The address that the server listens on. `127.0.0.1`, the default, means both loopback
    /// addresses. Another one needs a token.
    pub host: IpAddr,
    /// The port. Default: 8081.
    pub port: PortChoice,
    /// The token that every request needs, except those for files of the page. Default: none, as
    /// clients of Prompt Manager have none; then only programs of this machine and the server's
    /// own page can use it.
    pub token: Option<Token>,
    /// Host names, besides those of this machine, that are accepted in the `Host` header. Others are
    /// rejected with 403, which prevents DNS rebinding.
    pub allow_hosts: Vec<String>,
    /// Origins, besides its own, whose pages may call.
    pub allow_origins: Vec<String>,
    /// Limits of the routes.
    pub routes: RouteOptions,
}

impl Default for PromptServerOptions {
    fn default() -> Self {
        Self {
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: PortChoice::Fixed(PORT),
            token: None,
            allow_hosts: Vec::new(),
            allow_origins: Vec::new(),
            routes: RouteOptions::default(),
        }
    }
}

impl PromptServerOptions {
    /// Listens on any free port: for tests.
    #[must_use]
    pub fn on_any_port(mut self) -> Self {
        self.port = PortChoice::Fixed(0);
        self
    }
}

/// A running server of a library. [`close`](Self::close) ends it in order. A server that is dropped
/// instead stops listening and closes its WebSockets too, but does not wait for them.
///
/// Every request is checked before anything of it is read: `Host`, `Origin` and, if the server has
/// one, the token. A page of another site cannot use the server, although it can send requests to
/// loopback.
///
/// ```
/// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
///
/// use oxikit_core::ports::memory::MemoryRevisions;
/// use oxikit_prompts::{PromptServer, PromptServerOptions, Prompts, PromptsOptions};
///
/// # let folder = tempfile::tempdir()?;
/// let options = PromptsOptions::new([folder.path()]);
/// let prompts = Prompts::open(options, Arc::new(MemoryRevisions::default())).await?;
/// let server = PromptServer::start(prompts, PromptServerOptions::default().on_any_port()).await?;
/// assert!(server.url().starts_with("http://127.0.0.1:"));
/// server.close().await;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct PromptServer {
    routes: PromptRoutes,
    url: String,
    token: Option<Token>,
    connections: TaskTracker,
    closing: CancellationToken,
    quit: CancellationToken,
    /// Stops listening also if the server is dropped without [`close`](Self::close).
    _closing: DropGuard,
}

impl PromptServer {
    /// Listens and serves the library.
    ///
    /// # Errors
    ///
    /// If the port is not free, or the address is not loopback and there is no token.
    pub async fn start(prompts: Prompts, options: PromptServerOptions) -> io::Result<Self> {
        if !options.host.is_loopback() && options.token.is_none() {
            let message = format!(
                "other machines can reach {}, so the server needs a token: set one, or listen on 127.0.0.1",
                options.host
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let bound = BoundPort::bind("prompts", options.host, &options.port, None).await?;
        let url = bound.url("http");
        let (closing, quit) = (options.routes.closing.child_token(), CancellationToken::new());
        let route_options = RouteOptions { closing: closing.clone(), ..options.routes.clone() };
        let routes = PromptRoutes::new(prompts, route_options);
        let service = PromptService::new(Gate::new(&options), router(&routes, &options, &quit));
        let connections = TaskTracker::new();
        for listener in bound.listeners {
            let work = service.clone().serve(
                listener,
                Limits::default(),
                closing.clone(),
                connections.clone(),
            );
            connections.spawn(work);
        }
        let _closing = closing.clone().drop_guard();
        let token = options.token;
        Ok(Self { routes, url, token, connections, closing, quit, _closing })
    }

    /// The URL of the server without its token, such as `http://127.0.0.1:8081`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The URL of the page, with the token in its fragment, which browsers do not send. It must not
    /// be logged.
    pub fn page_url(&self) -> String {
        match &self.token {
            Some(token) => format!("{}/#token={}", self.url, token.reveal()),
            None => format!("{}/", self.url),
        }
    }

    /// The library.
    pub fn prompts(&self) -> &Prompts {
        self.routes.prompts()
    }

    /// Number of open WebSockets.
    pub fn open_sockets(&self) -> usize {
        self.routes.open_sockets()
    }

    /// Waits until a client with the token has asked the server to quit. The caller then calls
    /// [`close`](Self::close).
    pub async fn quit_requested(&self) {
        self.quit.cancelled().await;
    }

    /// Stops listening, closes all WebSockets with 1001, finishes the edits that have begun, and
    /// waits up to five seconds for open requests.
    pub async fn close(self) {
        self.closing.cancel();
        self.connections.close();
        self.routes.close().await;
        if tokio::time::timeout(DRAIN_TIME, self.connections.wait()).await.is_err() {
            tracing::warn!(open = self.connections.len(), "open requests were cut");
        }
    }
}

/// All routes of the server.
fn router(
    routes: &PromptRoutes,
    options: &PromptServerOptions,
    quit: &CancellationToken,
) -> Router {
    let router = routes.router().merge(page_routes());
    // Without a token every program of the machine could end the server.
    let router = match options.token {
        Some(_) => {
            let quit = quit.clone();
            let handler = move || async move {
                quit.cancel();
                json_response(StatusCode::OK, r#"{"message":"the server shuts down"}"#)
            };
            router.route(SHUTDOWN_PATH, post(handler).layer(effect_check()))
        }
        None => router,
    };
    router.fallback(nowhere)
}

/// Method and path of every route of a [`PromptServer`] with a token, for tests that call all of
/// them.
#[doc(hidden)]
pub fn prompt_server_route_table() -> Vec<(&'static str, &'static str)> {
    crate::http::prompt_route_table().into_iter().chain([("POST", SHUTDOWN_PATH)]).collect()
}
