//! The checks before every route: `Host` and `Origin` headers, and the token in the path.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode as HttpStatus};
use axum::middleware::{self, Next};
use oxikit_core::{Registry, Status};

use crate::identity::GENKIT_VERSION;
use oxikit_http::{HttpError, SenderCheck, Token, TokenCheck, guarded, peer_address, reply};

const VERSION: HeaderName = HeaderName::from_static(oxikit_wire::headers::VERSION);

const WRONG_TOKEN: &str =
    "the path does not begin with this runtime's token: use the URL in its runtime file";

/// The part of a path before the token.
const TOKEN_PREFIX: &str = "/s/";

/// Checks the headers and the token of each request.
#[derive(Clone)]
pub(super) struct AccessCheck {
    sender: SenderCheck,
    token: Arc<TokenCheck>,
}

impl AccessCheck {
    /// An `AccessCheck` with a new random token.
    pub(super) fn new(is_loopback: bool) -> Self {
        let sender = if is_loopback { SenderCheck::local() } else { SenderCheck::any_host() };
        Self { sender, token: Arc::new(TokenCheck::new(Token::random())) }
    }

    /// The prefix of all paths, with the token.
    pub(super) fn path(&self) -> String {
        format!("{TOKEN_PREFIX}{}", self.token.token().reveal())
    }

    /// Adds the checks to these routes. Other paths are answered with a JSON error.
    pub(super) fn protect(self, routes: Router, registry: Registry) -> Router {
        let routes = routes.fallback(nothing_here).method_not_allowed_fallback(not_by_this_method);
        Router::new()
            .nest(&format!("{TOKEN_PREFIX}{{token}}"), routes)
            .fallback(nothing_here)
            .layer(middleware::from_fn_with_state((self, registry), check_access))
    }

    /// Checks the headers first: a web page must not even learn whether a token is right.
    fn check(&self, request: &Request) -> Result<(), Status> {
        self.sender.check(request.uri(), request.headers())?;
        let after = request.uri().path().strip_prefix(TOKEN_PREFIX).unwrap_or_default();
        let presented = after.split('/').next().unwrap_or_default();
        self.token.check(peer_address(request.extensions()), presented, WRONG_TOKEN)
    }
}

/// Checks a request before it is routed and its body is read. The path is never logged, because
/// it contains the token.
async fn check_access(
    State((access_check, registry)): State<(AccessCheck, Registry)>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let mut response = match access_check.check(&request) {
        Ok(()) => guarded(async { Ok(next.run(request).await) })
            .await
            .unwrap_or_else(|failed: HttpError| failed.report(&registry, "reflection")),
        Err(status) => reply::error(&status),
    };
    response.headers_mut().insert(VERSION, HeaderValue::from_static(GENKIT_VERSION));
    response
}

async fn nothing_here() -> Response<Body> {
    reply::error(&Status::not_found("there is nothing at this path"))
}

async fn not_by_this_method() -> Response<Body> {
    let status = Status::invalid_argument("this path takes another method");
    reply::error_with(HttpStatus::METHOD_NOT_ALLOWED, &status)
}
