//! Finds out who calls, before a body is read.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use oxikit_core::{ActionContext, Status, StatusCode};

use crate::action_http::App;
use crate::auth::RequestInfo;
use crate::exposed::Expose;
use crate::wrong_keys::WINDOW;

/// The address of the other end of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

impl App {
    /// Asks the context provider of the action, or else that of the server, who calls.
    /// Wrong keys are counted by address, and too many of them are 429. A right key is
    /// never refused for the wrong ones of others.
    pub(crate) async fn caller(
        &self,
        head: &Parts,
        expose: Option<&Expose>,
        action: &str,
    ) -> Result<ActionContext, Status> {
        let own = expose.and_then(|expose| expose.provider.as_ref());
        let Some(provider) = own.or(self.provider.as_ref()) else {
            return Ok(ActionContext::default());
        };
        let request = RequestInfo::new(head, action);
        provider.context(request).await.map_err(|status| {
            let is_refusal =
                matches!(status.code(), StatusCode::Unauthenticated | StatusCode::PermissionDenied);
            let max = self.limits.wrong_keys;
            if is_refusal
                && provider.is_guess(&request)
                && self.wrong_keys.is_too_many(address(head), max)
            {
                let status = Status::resource_exhausted("too many wrong keys; wait a minute");
                return status.with_retry_after(WINDOW);
            }
            status
        })
    }
}

/// The address that a request comes from. Where an application that nests the routes
/// does not tell, all requests count as of one.
fn address(head: &Parts) -> IpAddr {
    let own = head.extensions.get::<Peer>().map(|peer| peer.0);
    let nested = || Some(head.extensions.get::<ConnectInfo<SocketAddr>>()?.0.ip());
    own.or_else(nested).unwrap_or(Ipv4Addr::UNSPECIFIED.into())
}
