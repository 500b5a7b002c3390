//! The checks in front of every request, and the headers on every response.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, Response};
use oxikit_core::Registry;

use crate::cors::Cors;
use crate::error::HttpError;
use crate::sender::SenderCheck;

/// The checks of `Host` and `Origin`, and CORS, for one server.
///
/// A handler calls [`admit`](Self::admit) before it reads anything of a body, and
/// [`finish`](Self::finish) on every response.
///
/// ```
/// use oxikit_http::{Cors, Edge, SenderCheck};
///
/// let edge = Edge {
///     sender: SenderCheck::local(),
///     cors: Cors { methods: "GET, POST", request_headers: None, response_headers: "" },
/// };
/// # _ = edge;
/// ```
#[derive(Debug, Clone)]
pub struct Edge {
    /// The check of hosts and pages that may call.
    pub sender: SenderCheck,
    /// The CORS headers for pages of allowed origins.
    pub cors: Cors,
}

impl Edge {
    /// Admits a request, or makes the response to it: an error, which is logged, or the
    /// response to a CORS preflight request.
    ///
    /// # Errors
    ///
    /// The response, if the request is not to be handled. It is boxed because it is rare
    /// and large.
    pub fn admit(&self, head: &Parts, registry: &Registry) -> Result<(), Box<Response<Body>>> {
        if let Err(status) = self.sender.check(&head.uri, &head.headers) {
            return Err(Box::new(HttpError::from(status).report(registry, head.uri.path())));
        }
        if Cors::is_preflight(&head.method, &head.headers) {
            return Err(Box::new(self.cors.preflight(&self.sender, &head.headers)));
        }
        Ok(())
    }

    /// Adds the headers that let pages of allowed origins read the response.
    pub fn finish(&self, asked: &HeaderMap, response: &mut Response<Body>) {
        self.cors.add(self.sender.allowed_origin(asked), response.headers_mut());
    }
}

/// The address that a request comes from, if the server has stored it as [`ConnectInfo`] in
/// the extensions of the request; otherwise `0.0.0.0`, so that limits per address count all
/// such requests together.
pub fn peer_address(extensions: &Extensions) -> IpAddr {
    let peer = extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| peer.ip());
    peer.unwrap_or(Ipv4Addr::UNSPECIFIED.into())
}
