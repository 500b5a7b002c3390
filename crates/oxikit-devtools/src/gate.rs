//! The checks before every route of the API, in this order: host, origin, token.
//!
//! The first stops DNS rebinding, the second pages of other sites, the third callers without the
//! token; none replaces another. They run before the body is read.
//!
//! The token may be in the header `Authorization`, for programs that accept only a URL in the path
//! below `/k/`, and for a WebSocket of the page among its subprotocols: see [`take_token`]. Wrong tokens
//! are counted by address and answered with 429 after several ones. The server's own page has a cookie
//! instead, see [`SignIn`].

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, COOKIE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Method, Request, Response};
use oxikit_core::{Status, StatusCode};
use oxikit_http::reply::error;
use oxikit_http::{Cors, SenderCheck, is_navigation, take_token};

use oxikit_prompts::is_page_path;

use super::DevServerOptions;
use super::proof::{CHALLENGE, prove};
use super::sign_in::SignIn;

/// The path at which a browser exchanges a code for a cookie.
pub(crate) const SIGN_IN_PATH: &str = "/api/v1/sign-in";

/// The CORS headers for pages of allowed origins.
const CORS: Cors = Cors {
    methods: "GET, POST, PUT, PATCH, DELETE",
    request_headers: Some("authorization, content-type, last-event-id"),
    response_headers: oxikit_wire::headers::TRACE_ID,
};

/// The checks of the API.
#[derive(Debug)]
pub(crate) struct Gate {
    sender: SenderCheck,
    sign_in: Arc<SignIn>,
}

/// The response to a request that is not admitted. Boxed: it is rare and large.
type Refused = Box<Response<Body>>;

impl Gate {
    /// The checks for these options.
    pub(crate) fn new(options: &DevServerOptions, sign_in: Arc<SignIn>) -> Self {
        let sender = SenderCheck::local()
            .allow_hosts(options.allow_hosts.iter().cloned())
            .allow_address(options.host)
            .allow_origins(options.allow_origins.iter().cloned())
            .without_https();
        Self { sender, sign_in }
    }

    /// Admits a request, with the path that the routes know, or makes the response to it.
    pub(crate) fn admit<B>(&self, peer: IpAddr, request: &mut Request<B>) -> Result<(), Refused> {
        // Host and origin come first, also for the page: a request that fails them must not even
        // find out whether its token is right. A preflight request has no token.
        let is_page = is_page(request);
        let refused = |status: Status| Box::new(error(&status));
        // The caller is the developer, who needs to know the options.
        let forbidden = |status: Status| match status.code() {
            StatusCode::PermissionDenied => refused(Status::permission_denied(format!(
                "{}; `--allow-host` and `--allow-origin` allow others",
                status.message()
            ))),
            _ => refused(status),
        };
        self.sender.check(request.uri(), request.headers()).map_err(forbidden)?;
        // Only a page of an allowed origin gets the CORS headers without a token.
        let is_options = *request.method() == Method::OPTIONS;
        if is_options && self.sender.allowed_origin(request.headers()).is_some() {
            return Err(Box::new(CORS.preflight(&self.sender, request.headers())));
        }
        if is_page {
            return Ok(());
        }
        // The API is for programs. A URL that a person opens, typed or from a bookmark, could have
        // an effect that the person does not expect.
        if is_navigation(request.headers()) {
            let message = "a browser opened this URL; call it by a program, with the token";
            return Err(refused(Status::permission_denied(message)));
        }
        self.check_credentials(peer, request)
    }

    /// Takes the token or the cookie out of the request and compares it, so that routes and logs
    /// never see it.
    fn check_credentials<B>(&self, peer: IpAddr, request: &mut Request<B>) -> Result<(), Refused> {
        let refused = |status: Status| Box::new(error(&status));
        let presented = take_token(request).map_err(refused)?;
        if let Some(presented) = presented {
            request.headers_mut().remove(COOKIE);
            return self.sign_in.check_token(peer, &presented).map_err(refused);
        }
        let has_cookie = self.sign_in.has_cookie(request.headers());
        // A page of another port of this host sends the cookie, too, and must not use it.
        let is_own_page = self.sender.is_own_page(request.uri(), request.headers());
        let signed_in = match is_own_page {
            true => self.sign_in.signed_in(request.headers()),
            false => None,
        };
        request.headers_mut().remove(COOKIE);
        if is_sign_in(request) {
            return Ok(());
        }
        let message = match (signed_in, has_cookie && is_own_page) {
            (Some(signed_in), _) => {
                request.extensions_mut().insert(signed_in);
                return Ok(());
            }
            (None, true) => "this browser is no longer signed in: `oxikit open` signs it in again",
            (None, false) => "this needs a token: `Authorization: Bearer …`",
        };
        Err(refused(Status::unauthenticated(message)))
    }

    /// The answer to a challenge, if the request of a command has one: see [`super::proof`].
    pub(crate) fn proof<B>(&self, request: &Request<B>) -> Option<HeaderValue> {
        let challenge = request.headers().get(CHALLENGE).filter(|_| is_page(request))?;
        prove(self.sign_in.token(), challenge.to_str().ok()?)?.parse().ok()
    }

    /// The origin of the calling page, if it may read the response.
    pub(crate) fn allowed_origin<B>(&self, request: &Request<B>) -> Option<HeaderValue> {
        self.sender.allowed_origin(request.headers()).cloned()
    }

    /// Adds the headers that browsers need.
    pub(crate) fn finish(origin: Option<&HeaderValue>, response: &mut Response<Body>) {
        let headers = response.headers_mut();
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        CORS.add(origin, headers);
    }
}

/// Whether this is the request of a page or of one of its files, which needs no token: they contain
/// no secret. Its user has the token in the fragment of the URL, which a browser does not send.
fn is_page<B>(request: &Request<B>) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD) && is_page_path(request.uri().path())
}

/// Whether a browser exchanges its code, for which it cannot have a token yet.
fn is_sign_in<B>(request: &Request<B>) -> bool {
    *request.method() == Method::POST && request.uri().path() == SIGN_IN_PATH
}
