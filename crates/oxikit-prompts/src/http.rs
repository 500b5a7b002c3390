//! The library over HTTP: the REST API, the WebSockets of live editing, and the page to try them.
//!
//! [`PromptRoutes`] makes the routes. They check no sender and no token: the server that they are
//! part of does so before, as the developer tools do, or [`PromptServer`](crate::PromptServer),
//! which serves nothing else. What a request does is decided by [`Prompts`].
//!
//! Errors have the form of Prompt Manager, `{"detail": …}`. The whole API is described by
//! [`openapi`].

mod answer;
mod applications;
mod body;
mod changes;
mod conversion;
mod debug_page;
mod directories;
mod documents;
mod echo;
mod etag;
mod expansion;
mod failure;
mod history;
mod openapi;
mod page;
mod routes;
mod socket;
mod sockets;
mod target;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio_util::sync::CancellationToken;

use crate::Prompts;
pub(crate) use answer::{effect_check, nowhere};
pub(crate) use failure::Failure;
pub use page::{is_page_path, page_routes};
pub use routes::openapi;
#[doc(hidden)]
pub use routes::prompt_route_table;
use sockets::Sockets;

/// Limits of [`PromptRoutes`].
///
/// ```
/// use oxikit_prompts::RouteOptions;
///
/// let mut options = RouteOptions::default();
/// options.max_sockets = 100;
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RouteOptions {
    /// Maximum number of open WebSockets. More are answered with 503. Default: 10,000.
    pub max_sockets: usize,
    /// Maximum number of bytes of a message of a WebSocket, and of a request body. A larger message
    /// closes the socket with 1009, a larger body is answered with 413. Default: 4 MiB.
    pub max_message: usize,
    /// Number of bytes that the incomplete messages of all sockets may use together. Beyond it the
    /// socket whose message has begun last is closed with 1013. Default: 64 MiB.
    pub max_partial_messages: usize,
    /// Interval of pings. Default: 15 s.
    pub ping_interval: Duration,
    /// Time without a sign of life after which a socket is closed with 1001. Default: 30 s.
    pub pong_timeout: Duration,
    /// Time for the rest of a message that has begun. Later the socket is closed with 1002.
    /// Default: 30 s.
    pub message_timeout: Duration,
    /// Cancelled by a server that closes or is dropped: all WebSockets are then closed with 1001, and
    /// streams of changes end. [`PromptRoutes::close`] also waits for their end. Default: a token
    /// that nobody cancels.
    pub closing: CancellationToken,
}

impl Default for RouteOptions {
    fn default() -> Self {
        Self {
            max_sockets: 10_000,
            max_message: 4 << 20,
            max_partial_messages: 64 << 20,
            ping_interval: Duration::from_secs(15),
            pong_timeout: Duration::from_secs(30),
            message_timeout: Duration::from_secs(30),
            closing: CancellationToken::new(),
        }
    }
}

/// The routes of a library. Clones share their sockets.
///
/// | path | what |
/// | --- | --- |
/// | `/api/prompts/…` | the REST API, see [`openapi`] |
/// | `/api/prompts/ws/{id}`, `/api/prompts/ws/fragments/{id}` | live editing of a prompt or fragment |
/// | `/ws/prompts/{id}` | the same as the first, for clients of newer versions of Prompt Manager |
/// | `/api/ws/test` | a WebSocket that sends every message back |
/// | `/debug/websocket` | a page to try a WebSocket by hand |
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
///
/// use oxikit_core::ports::memory::MemoryRevisions;
/// use oxikit_prompts::{PromptRoutes, Prompts, PromptsOptions, RouteOptions};
///
/// # let folder = tempfile::tempdir()?;
/// let options = PromptsOptions::new([folder.path()]);
/// let prompts = Prompts::open(options, Arc::new(MemoryRevisions::default())).await?;
/// let routes = PromptRoutes::new(prompts, RouteOptions::default());
/// let router: axum::Router = routes.router();
/// // … serve the router, behind checks of the sender and the token.
/// routes.close().await;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct PromptRoutes(Arc<PromptApi>);

/// The state of the routes.
#[derive(Debug)]
pub(crate) struct PromptApi {
    pub(crate) prompts: Prompts,
    pub(crate) sockets: Sockets,
    pub(crate) options: RouteOptions,
}

impl PromptRoutes {
    /// The routes of this library. It has to be called inside of a tokio runtime.
    pub fn new(prompts: Prompts, options: RouteOptions) -> Self {
        let sockets = Sockets::new(&options);
        Self(Arc::new(PromptApi { prompts, sockets, options }))
    }

    /// The routes as a router, without a fallback for other paths.
    pub fn router(&self) -> Router {
        routes::router()
            .route_layer(effect_check())
            .method_not_allowed_fallback(answer::wrong_method)
            .with_state(self.0.clone())
    }

    /// The library.
    pub fn prompts(&self) -> &Prompts {
        &self.0.prompts
    }

    /// Number of open WebSockets.
    pub fn open_sockets(&self) -> usize {
        self.0.sockets.open()
    }

    /// Closes all WebSockets with 1001 and ends the streams of changes, then the library. New
    /// sockets are refused from here on.
    pub async fn close(&self) {
        self.0.sockets.begin_close();
        self.0.prompts.close().await;
        self.0.sockets.closed().await;
    }
}
