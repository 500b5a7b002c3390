//! The state that all routes of a server share, and the authentication of callers.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use axum::http::request::Parts;
use oxikit_core::ports::StreamStore;
use oxikit_core::{ActionContext, Registry, Result, Status, StatusCode};
#[cfg(feature = "dev-tools")]
use oxikit_http::SenderCheck;
use oxikit_http::static_content::Document;
use oxikit_http::{
    Cors, Edge, Limits, Meters, Metrics, Shutdown, WRONG_CREDENTIALS_WINDOW, Watch,
    WrongCredentials, peer_address,
};
use percent_encoding::percent_decode_str;

use crate::auth::{ContextProvider, NotAGuess, RequestInfo};
use crate::exposed::{Expose, Exposed};

/// The CORS headers for pages of allowed origins.
pub(crate) const CORS: Cors = Cors {
    methods: "POST, GET, DELETE",
    request_headers: None,
    response_headers: oxikit_wire::headers::EXPOSED,
};

/// The application's own check of its readiness, called for every request of `/readyz`.
pub(crate) type ReadyCheck =
    Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Result<()>> + Send>> + Send + Sync>;

/// The state that every request needs.
pub(crate) struct App {
    pub(crate) registry: Registry,
    pub(crate) exposed: Exposed,
    /// Prefix of every path, without slashes around it.
    pub(crate) prefix: String,
    /// Authenticates callers of all actions that have no provider of their own.
    pub(crate) provider: Option<Arc<dyn ContextProvider>>,
    /// Counts wrong keys by address, for all providers together.
    pub(crate) wrong_keys: WrongCredentials,
    /// Checks `Host` and `Origin`, and adds the CORS headers.
    pub(crate) edge: Edge,
    pub(crate) limits: Limits,
    pub(crate) shutdown: Shutdown,
    /// Number of [`Slot`]s that are taken.
    pub(crate) in_flight: AtomicUsize,
    /// The store of durable streams; `None` if no stream is stored.
    pub(crate) streams: Option<Arc<dyn StreamStore>>,
    /// The metrics of the server; `None` if it has no pages to show them on.
    pub(crate) metrics: Option<Metrics>,
    /// The server's own pages; `None` after `Server::without_operations`.
    pub(crate) pages: Option<Pages>,
    /// The agents that the API of agents shows.
    pub(crate) agents: AgentScope,
}

/// The state of the server's own pages.
pub(crate) struct Pages {
    pub(crate) ready_check: Option<ReadyCheck>,
    /// The OpenAPI document, computed on the first request for it: most servers are never
    /// asked, and it takes a pass over all schemas.
    pub(crate) openapi: OnceLock<Document>,
}

/// Which agents the API of agents shows.
pub(crate) struct AgentScope {
    /// Whether the API is served.
    pub(crate) is_served: bool,
    /// Whether only agents are shown that are exposed by name, with their policies. Otherwise
    /// all agents of the application are, also those that are defined later.
    pub(crate) only_exposed: bool,
    /// Whether turns of agents that are not exposed are recorded.
    pub(crate) is_durable: bool,
    /// The meters of agents that are not exposed.
    pub(crate) meters: Option<Arc<Meters>>,
}

impl App {
    /// The state of a server that serves all agents of an application and nothing else. The
    /// server that its routes are part of checks the senders.
    #[cfg(feature = "dev-tools")]
    pub(crate) fn of_agents(
        registry: &Registry,
        provider: Arc<dyn ContextProvider>,
        limits: Limits,
        shutdown: Shutdown,
    ) -> Self {
        Self {
            exposed: Exposed::new(Vec::new(), registry, false),
            registry: registry.clone(),
            prefix: String::new(),
            provider: Some(provider),
            wrong_keys: WrongCredentials::default(),
            edge: Edge { sender: SenderCheck::any_host(), cors: CORS },
            limits,
            shutdown,
            in_flight: AtomicUsize::new(0),
            streams: None,
            metrics: None,
            pages: None,
            agents: AgentScope {
                is_served: true,
                only_exposed: false,
                is_durable: false,
                meters: None,
            },
        }
    }

    /// The action at this path; one slash at the end does not matter.
    pub(crate) fn find(&self, path: &str) -> Option<&Expose> {
        let path = path.strip_prefix('/')?;
        let path = path.strip_suffix('/').unwrap_or(path);
        let path = match self.prefix.as_str() {
            "" => path,
            prefix => path.strip_prefix(prefix)?.strip_prefix('/')?,
        };
        if path.contains('%') {
            return self.exposed.get(&percent_decode_str(path).decode_utf8().ok()?);
        }
        self.exposed.get(path)
    }

    /// Authenticates the caller with the context provider of the action, or else that of the
    /// server. Wrong keys are counted by address, and too many of them are answered with 429.
    /// A right key is never rejected because of wrong keys of others.
    pub(crate) async fn caller(
        &self,
        head: &Parts,
        expose: Option<&Expose>,
        action: &str,
    ) -> Result<ActionContext, Status> {
        let own = expose.and_then(|expose| expose.provider.as_ref());
        self.caller_by(head, own, action).await
    }

    /// Authenticates the caller with this context provider, or else that of the server.
    pub(crate) async fn caller_by(
        &self,
        head: &Parts,
        own: Option<&Arc<dyn ContextProvider>>,
        action: &str,
    ) -> Result<ActionContext, Status> {
        let Some(provider) = own.or(self.provider.as_ref()) else {
            return Ok(ActionContext::default());
        };
        let request = RequestInfo::new(head, action);
        provider.context(request).await.map_err(|status| {
            let is_refusal =
                matches!(status.code(), StatusCode::Unauthenticated | StatusCode::PermissionDenied);
            let is_too_many = || {
                let (peer, max) = (peer_address(&head.extensions), self.limits.wrong_keys);
                self.wrong_keys.is_too_many(peer, max)
            };
            let is_guess = || status.cause::<NotAGuess>().is_none() && provider.is_guess(&request);
            if is_refusal && is_guess() && is_too_many() {
                let status = Status::resource_exhausted("too many wrong keys; wait a minute");
                return status.with_retry_after(WRONG_CREDENTIALS_WINDOW);
            }
            status
        })
    }
}

/// A place among the requests that are handled at the same time. It is given back when it is
/// dropped, for a streamed response with the last block.
pub(crate) struct Slot {
    app: Arc<App>,
    /// Of a stream: it is over when its last block is written.
    pub(crate) watch: Watch,
}

impl Slot {
    /// Takes a place; `None` if the limit of concurrent requests is reached.
    pub(crate) fn take(app: &Arc<App>) -> Option<Self> {
        let taken = app.in_flight.fetch_add(1, Ordering::Relaxed);
        // Made before the check: dropping it takes back the addition above.
        let slot = Self { app: app.clone(), watch: Watch::default() };
        (taken < app.limits.requests).then_some(slot)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.app.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
