//! Who may send, and who may read.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::Router;
use axum::body::HttpBody;
use axum::extract::{ConnectInfo, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use oxikit_core::StatusCode as Code;
use oxikit_sql::TraceStore;
use tokio::runtime::Handle;

use super::answer::Refused;
use super::own_processes::Connection;
use super::{TelemetryOptions, path};
use crate::manager::Token;
use crate::manager::gate::{WrongTokens, check_sender};

/// A post of more bytes takes so long to read that others would notice.
const LARGE: u64 = 256 << 10;

/// What all routes of the port share.
#[derive(Debug)]
pub(super) struct PortState {
    pub(super) store: TraceStore,
    pub(super) options: TelemetryOptions,
    token: Token,
    wrong_tokens: WrongTokens,
    allowance: Allowance,
}

impl PortState {
    pub(super) fn new(store: TraceStore, token: Token, options: TelemetryOptions) -> Self {
        let allowance = Allowance::new(options.unverified_per_second);
        Self { store, options, token, wrong_tokens: WrongTokens::default(), allowance }
    }

    /// The gates before all others: no foreign host name, no page at all, no wrong token.
    /// What the routes get is the path without the token.
    fn admit(&self, request: &mut Request) -> Result<Option<HasToken>, Refused> {
        check_sender(request.uri(), request.headers())?;
        path::merge_slashes(request.uri_mut());
        let Some(presented) = path::token(request.uri()) else { return Ok(None) };
        self.wrong_tokens.check(&self.token, presented)?;
        path::remove_token(request.uri_mut());
        request.extensions_mut().insert(HasToken);
        Ok(Some(HasToken))
    }

    /// Whether the sender is a process of ours, whatever it has sent.
    async fn is_own(&self, parts: &Parts) -> bool {
        let Some(connection) = parts.extensions.get::<Arc<Connection>>() else { return false };
        self.options.own_processes.have(connection).await
    }

    fn admit_unverified(&self, parts: &Parts) -> Result<(), Refused> {
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        let is_remote = peer.is_some_and(|ConnectInfo(peer)| !peer.ip().is_loopback());
        if self.options.strict || is_remote {
            let message = "the path must begin with `/t/<token>`; `oxikit env` prints the URL";
            return Err(Refused::new(StatusCode::UNAUTHORIZED, Code::Unauthenticated, message));
        }
        if !self.allowance.take() {
            let message = "too many posts without a token; use the URL that `oxikit env` prints";
            let code = Code::ResourceExhausted;
            return Err(Refused::new(StatusCode::TOO_MANY_REQUESTS, code, message));
        }
        Ok(())
    }
}

/// The port: the gates, and the routes behind them. They are called as they are, without
/// layers: a post of one span costs less than a few layers do.
#[derive(Clone)]
pub(crate) struct TelemetryPort {
    state: Arc<PortState>,
    with_token: TowerToHyperService<Router>,
    without_token: TowerToHyperService<Router>,
    /// Where large posts are read: nothing else waits for them there.
    other_threads: Option<Handle>,
}

impl TelemetryPort {
    /// All routes, and those that are served without a token as well.
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

    pub(crate) async fn answer(&self, mut request: Request) -> Response {
        let routes = match self.state.admit(&mut request) {
            Ok(Some(HasToken)) => &self.with_token,
            Ok(None) => &self.without_token,
            Err(refused) => return refused.into_response(),
        };
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

/// The path of the request began with `/t/<token>`, and it was the right one.
#[derive(Debug, Clone, Copy)]
struct HasToken;

/// Somebody who may send. Python's runtime loses the path of the URL it was given, and
/// the token with it; what comes without is stored with a mark, unless a process of ours
/// has sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    Verified,
    Unverified,
}

impl FromRequestParts<Arc<PortState>> for Sender {
    type Rejection = Refused;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &Arc<PortState>,
    ) -> Result<Self, Refused> {
        if parts.extensions.get::<HasToken>().is_some() || state.is_own(parts).await {
            return Ok(Self::Verified);
        }
        state.admit_unverified(parts).map(|()| Self::Unverified)
    }
}

/// Somebody who may read: never without a token.
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

/// So many posts a second, and a few more at once.
#[derive(Debug)]
struct Allowance {
    per_second: f64,
    left: Mutex<(Instant, f64)>,
}

impl Allowance {
    fn new(per_second: u32) -> Self {
        let per_second = f64::from(per_second);
        Self { per_second, left: Mutex::new((Instant::now(), 3.0 * per_second)) }
    }

    fn take(&self) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, count) = *left;
        let now = Instant::now();
        let earned = now.duration_since(since).as_secs_f64() * self.per_second;
        let count = (count + earned).min(3.0 * self.per_second);
        let is_allowed = count >= 1.0;
        *left = (now, if is_allowed { count - 1.0 } else { count });
        is_allowed
    }
}
