//! Who may send, and who may read.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::extract::{ConnectInfo, FromRequestParts, RawPathParams, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use oxikit_core::StatusCode as Code;
use oxikit_sql::TraceStore;

use super::TelemetryOptions;
use super::answer::Refused;
use super::own_processes::Connection;
use crate::manager::Token;
use crate::manager::gate::{WrongTokens, check_sender};

/// What all routes of the port share.
#[derive(Debug)]
pub(super) struct Door {
    pub(super) store: TraceStore,
    pub(super) options: TelemetryOptions,
    token: Token,
    wrong_tokens: WrongTokens,
    allowance: Allowance,
}

impl Door {
    pub(super) fn new(store: TraceStore, token: Token, options: TelemetryOptions) -> Self {
        let allowance = Allowance::new(options.unverified_per_second);
        Self { store, options, token, wrong_tokens: WrongTokens::default(), allowance }
    }

    /// `None` if there is no token in the path.
    async fn check_token(&self, parts: &mut Parts) -> Result<Option<()>, Refused> {
        let params = RawPathParams::from_request_parts(parts, &()).await;
        let params = params.map_err(|_| Refused::invalid("the path is not UTF-8"))?;
        let presented = params.iter().find(|(name, _)| *name == "token");
        let check = |(_, presented)| self.wrong_tokens.check(&self.token, presented);
        Ok(presented.map(check).transpose()?)
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

/// The gates before all others: no foreign host name, and no page at all.
pub(super) async fn check_host_and_origin(request: Request, next: Next) -> Response {
    match check_sender(request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => Refused::from(refusal).into_response(),
    }
}

/// Somebody who may send. Python's runtime loses the path of the URL it was given, and
/// the token with it; what comes without is stored with a mark, unless a process of ours
/// has sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    Verified,
    Unverified,
}

impl FromRequestParts<Arc<Door>> for Sender {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, door: &Arc<Door>) -> Result<Self, Refused> {
        match door.check_token(parts).await? {
            Some(()) => Ok(Self::Verified),
            None if door.is_own(parts).await => Ok(Self::Verified),
            None => door.admit_unverified(parts).map(|()| Self::Unverified),
        }
    }
}

/// Somebody who may read: never without a token.
#[derive(Debug)]
pub(super) struct Reader;

impl FromRequestParts<Arc<Door>> for Reader {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, door: &Arc<Door>) -> Result<Self, Refused> {
        let missing = || {
            Refused::new(StatusCode::UNAUTHORIZED, Code::Unauthenticated, "the token is missing")
        };
        door.check_token(parts).await?.map(|()| Self).ok_or_else(missing)
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
