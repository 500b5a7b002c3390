//! The checks of the telemetry port: the sender, the token, and the rate of posts without a
//! token.
//!
//! Reading needs the token. Posting without it is allowed for programs of this machine, because
//! some runtimes lose the token; see [`telemetry_routes`](super::telemetry_routes).

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::TraceStore;
use axum::Router;
use axum::body::HttpBody;
use axum::extract::{ConnectInfo, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use oxikit_core::StatusCode as Code;
use tokio::runtime::Handle;

use super::answer::Refused;
use super::own_processes::Connection;
use super::peer_process::{Peer, RuntimeNames};
use super::{TelemetryOptions, path};
use oxikit_http::{SenderCheck, Token, TokenCheck, peer_address};

/// Number of bytes above which a post is handled on another thread: parsing it would delay the
/// other connections of this one.
const LARGE: u64 = 256 << 10;

/// The state that all routes of the port share.
#[derive(Debug)]
pub(super) struct PortState {
    pub(super) store: TraceStore,
    pub(super) options: TelemetryOptions,
    sender: SenderCheck,
    token: TokenCheck,
    rate_limit: RateLimit,
}

impl PortState {
    /// The state of a port with these options.
    pub(super) fn new(store: TraceStore, token: Token, options: TelemetryOptions) -> Self {
        let rate_limit = RateLimit::new(options.unverified_per_second);
        let (sender, token) = (SenderCheck::local_programs(), TokenCheck::new(token));
        Self { store, options, sender, token, rate_limit }
    }

    /// The checks before routing: no foreign host name, no web page, no wrong token. Removes the
    /// token from the path.
    fn admit(&self, request: &mut Request) -> Result<Option<HasToken>, Refused> {
        // Before the token is compared: a web page must not be able to try tokens.
        self.sender.check(request.uri(), request.headers())?;
        path::merge_slashes(request.uri_mut());
        let Some(presented) = path::token(request.uri()) else { return Ok(None) };
        let peer = peer_address(request.extensions());
        self.token.check(peer, presented, "the token in the path is wrong")?;
        path::remove_token(request.uri_mut());
        request.extensions_mut().insert(HasToken);
        Ok(Some(HasToken))
    }

    /// The process of the sender.
    async fn peer(&self, parts: &Parts, has_token: bool) -> Peer {
        match parts.extensions.get::<Arc<Connection>>() {
            Some(connection) => self.options.own_processes.find(connection, has_token).await,
            None => Peer::default(),
        }
    }

    /// The checks of a post without a token: only from this machine, not if the port is strict,
    /// and not too many per second.
    fn admit_unverified(&self, parts: &Parts) -> Result<(), Refused> {
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        let is_remote = peer.is_some_and(|ConnectInfo(peer)| !peer.ip().is_loopback());
        if self.options.strict || is_remote {
            let message = "the path must begin with `/t/<token>`; `oxikit env` prints the URL";
            return Err(Refused::new(StatusCode::UNAUTHORIZED, Code::Unauthenticated, message));
        }
        if !self.rate_limit.take() {
            let message = "too many posts without a token; use the URL that `oxikit env` prints";
            let code = Code::ResourceExhausted;
            return Err(Refused::new(StatusCode::TOO_MANY_REQUESTS, code, message));
        }
        Ok(())
    }
}

/// The telemetry port as a service: its checks and its routes. The routes are called without
/// middleware layers, which would cost more than a post of one span.
///
/// ```
/// # async fn example(store: oxikit_traces::TraceStore, request: axum::extract::Request) {
/// use oxikit_http::Token;
/// use oxikit_traces::{TelemetryOptions, telemetry_port};
///
/// let port = telemetry_port(store, Token::random(), TelemetryOptions::default());
/// let response = port.answer(request).await;
/// println!("answered with {}", response.status());
/// # }
/// ```
#[derive(Clone)]
pub struct TelemetryPort {
    state: Arc<PortState>,
    with_token: TowerToHyperService<Router>,
    without_token: TowerToHyperService<Router>,
    /// The runtime on whose threads large posts are handled.
    other_threads: Option<Handle>,
}

impl TelemetryPort {
    /// `all` are the routes with a token, `without_token` those that need none.
    pub(super) fn new(
        state: Arc<PortState>,
        all: Router<Arc<PortState>>,
        without_token: Router<Arc<PortState>>,
    ) -> Self {
        let serve = |routes: Router<_>| TowerToHyperService::new(routes.with_state(state.clone()));
        Self {
            with_token: serve(all),
            without_token: serve(without_token),
            state,
            other_threads: Handle::try_current().ok(),
        }
    }

    /// Answers a request. Errors are responses, too.
    pub async fn answer(&self, mut request: Request) -> Response {
        // Without the token there are only the routes for posts.
        let routes = match self.state.admit(&mut request) {
            Ok(Some(HasToken)) => &self.with_token,
            Ok(None) => &self.without_token,
            Err(refused) => return refused.into_response(),
        };
        // The developer tools serve this port on one thread, together with the writer of the store.
        // Small posts are handled there, large ones on the runtime in which the port was made.
        let is_large = request.body().size_hint().upper().is_none_or(|bytes| bytes > LARGE);
        let Some(threads) = self.other_threads.as_ref().filter(|_| is_large) else {
            let Ok(response) = routes.call(request).await;
            return response;
        };
        let answer = routes.call(request);
        match threads.spawn(answer).await {
            Ok(Ok(response)) => response,
            Err(error) => {
                tracing::error!(%error, "a large post was not stored");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}

impl fmt::Debug for TelemetryPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TelemetryPort").field("state", &self.state).finish_non_exhaustive()
    }
}

/// Marks a request whose path began with `/t/<token>` and the right token.
#[derive(Debug, Clone, Copy)]
struct HasToken;

/// The sender of a post. Genkit's Python runtime drops the path of its URL, and the token with
/// it; posts without a token are stored with a mark, unless a known process has sent them.
#[derive(Debug, Clone)]
pub(super) struct Sender {
    /// Whether it has sent the token, or is a known process.
    pub(super) is_verified: bool,
    /// The names of the runtime that it is; empty if it is not known.
    pub(super) runtime: RuntimeNames,
}

impl FromRequestParts<Arc<PortState>> for Sender {
    type Rejection = Refused;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &Arc<PortState>,
    ) -> Result<Self, Refused> {
        let has_token = parts.extensions.get::<HasToken>().is_some();
        let Peer { is_own, runtime } = state.peer(parts, has_token).await;
        let is_verified = is_own || has_token;
        if !is_verified {
            state.admit_unverified(parts)?;
        }
        Ok(Self { is_verified, runtime })
    }
}

/// Proof that the request has the token, which all reads need.
#[derive(Debug)]
pub(super) struct Reader;

impl FromRequestParts<Arc<PortState>> for Reader {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<PortState>) -> Result<Self, Refused> {
        let missing = || {
            Refused::new(StatusCode::UNAUTHORIZED, Code::Unauthenticated, "the token is missing")
        };
        parts.extensions.get::<HasToken>().map(|_| Self).ok_or_else(missing)
    }
}

/// A rate limit as a token bucket: `per_second` posts are added each second, up to three times
/// as many, and each post takes one.
#[derive(Debug)]
struct RateLimit {
    per_second: f64,
    /// When the number was computed, and the number of posts left.
    left: Mutex<(Instant, f64)>,
}

impl RateLimit {
    /// A full bucket.
    fn new(per_second: u32) -> Self {
        let per_second = f64::from(per_second);
        Self { per_second, left: Mutex::new((Instant::now(), 3.0 * per_second)) }
    }

    /// Takes one post; `false` if the bucket is empty.
    fn take(&self) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, count) = *left;
        let now = Instant::now();
        // No timer refills the bucket: the posts that were earned since the last call are added.
        let earned = now.duration_since(since).as_secs_f64() * self.per_second;
        let count = (count + earned).min(3.0 * self.per_second);
        let is_allowed = count >= 1.0;
        *left = (now, if is_allowed { count - 1.0 } else { count });
        is_allowed
    }
}
