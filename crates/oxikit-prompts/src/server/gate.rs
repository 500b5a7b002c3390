//! The checks before every route, in this order: host, origin, token. They run before the body is read
//! or a socket is opened.
//!
//! Without a token the first two keep pages of other sites out; programs of this machine, and the
//! server's own page, may call.

use std::net::IpAddr;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Method, Request, Response};
use axum::response::IntoResponse;
use oxikit_core::Status;
use oxikit_http::{Cors, SenderCheck, TokenCheck, take_token};

use super::PromptServerOptions;
use crate::http::{Failure, is_page_path};

/// The CORS headers for pages of allowed origins.
const CORS: Cors = Cors {
    methods: "GET, POST, PUT, DELETE",
    request_headers: Some("authorization, content-type, if-match, last-event-id"),
    response_headers: "etag",
};

/// How the person at the terminal allows another host or origin.
const HOST_HINT: &str = "`--allow-host` allows others";
const ORIGIN_HINT: &str = "`--allow-origin` allows others";

/// The checks of the server.
#[derive(Debug)]
pub(super) struct Gate {
    sender: SenderCheck,
    token: Option<TokenCheck>,
}

/// The response to a request that is not admitted. Boxed: it is rare and large.
type Refused = Box<Response<Body>>;

impl Gate {
    /// The checks for these options.
    pub(super) fn new(options: &PromptServerOptions) -> Self {
        let sender = SenderCheck::local()
            .allow_hosts(options.allow_hosts.iter().cloned())
            .allow_address(options.host)
            .allow_origins(options.allow_origins.iter().cloned())
            .without_https()
            .with_hints(HOST_HINT, ORIGIN_HINT);
        Self { sender, token: options.token.clone().map(TokenCheck::new) }
    }

    /// Admits a request, with the path that the routes know, or makes the response to it.
    pub(super) fn admit<B>(&self, peer: IpAddr, request: &mut Request<B>) -> Result<(), Refused> {
        let refused = |status: Status| Box::new(Failure::from(status).into_response());
        self.sender.check(request.uri(), request.headers()).map_err(refused)?;
        let is_options = *request.method() == Method::OPTIONS;
        if is_options && self.sender.allowed_origin(request.headers()).is_some() {
            return Err(Box::new(CORS.preflight(&self.sender, request.headers())));
        }
        // A token in the path is removed also if the server has none, for pages that still have one.
        let presented = take_token(request).map_err(refused)?;
        let Some(token) = &self.token else { return Ok(()) };
        match presented {
            Some(presented) => {
                token.check(peer, &presented, "this token is not known").map_err(refused)
            }
            None if is_public(request) => Ok(()),
            None => {
                let message = "this needs a token: `Authorization: Bearer …`";
                Err(refused(Status::unauthenticated(message)))
            }
        }
    }

    /// The origin of the calling page, if it may read the response.
    pub(super) fn allowed_origin<B>(&self, request: &Request<B>) -> Option<HeaderValue> {
        self.sender.allowed_origin(request.headers()).cloned()
    }

    /// Adds the headers that browsers need.
    pub(super) fn finish(origin: Option<&HeaderValue>, response: &mut Response<Body>) {
        let headers = response.headers_mut();
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        CORS.add(origin, headers);
    }
}

/// Whether the request is for a file of a page, which needs no token: it contains no secret. The
/// user has the token in the fragment of the URL, which a browser does not send.
fn is_public<B>(request: &Request<B>) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD) && is_page_path(request.uri().path())
}
