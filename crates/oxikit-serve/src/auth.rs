//! Authentication and authorisation: context providers and policies.
//!
//! A [`ContextProvider`] finds out which caller sent a request, from its head alone. A
//! [`Policy`] then decides whether that caller may call the action. Neither sees the body, which
//! is read after both.

mod api_key;
#[cfg(feature = "mutual-tls")]
mod client_cert;
mod combined;
mod scopes;
mod security;

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, Method, Uri};
use oxikit_core::{ActionContext, Result};
use oxikit_http::peer_address;

pub use api_key::ApiKey;
#[cfg(feature = "mutual-tls")]
pub use client_cert::ClientCert;
pub(crate) use combined::NotAGuess;
pub use combined::{AllOf, AnyOf};
pub(crate) use scopes::{check_scopes, scopes_of};
pub use security::Security;

/// The part of a request that a context provider sees. The body is not read yet: an unknown
/// caller is rejected before.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct RequestInfo<'a> {
    /// `POST` for actions; `GET` or `HEAD` for pages of the server itself.
    pub method: &'a Method,
    /// The path and query.
    pub uri: &'a Uri,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// Key of the action, such as `/flow/greet`; for the snapshots of an agent the
    /// key of the agent; of a page of the server itself its path, such as `/metrics`.
    pub action: &'a str,
    /// The address that the connection comes from, such as that of a proxy; `0.0.0.0` if the
    /// application that the routes are nested in does not tell it.
    pub peer: IpAddr,
}

impl<'a> RequestInfo<'a> {
    pub(crate) fn new(head: &'a axum::http::request::Parts, action: &'a str) -> Self {
        let peer = peer_address(&head.extensions);
        Self { method: &head.method, uri: &head.uri, headers: &head.headers, action, peer }
    }

    /// A header as text; `None` if it is missing, was sent more than once, or is not visible
    /// ASCII. A repeated header is not used, because a proxy in front may have checked the
    /// other one.
    pub fn header(&self, name: impl axum::http::header::AsHeaderName) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let first = values.next()?;
        if values.next().is_some() { None } else { first.to_str().ok() }
    }

    /// The credentials of `Authorization: Bearer …`, without white space around them; `None` for
    /// another scheme.
    pub fn bearer(&self) -> Option<&str> {
        let (scheme, credentials) = self.header(AUTHORIZATION)?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| credentials.trim())
    }
}

/// Authenticates a request and makes the context of the action: the caller, and any other
/// facts for actions. An error is answered as an HTTP error before the body is read and the
/// action runs. Use `UNAUTHENTICATED` for an unknown caller and `PERMISSION_DENIED` for one
/// without permission.
///
/// [`ApiKey`], `JwtAuth` and `ClientCert` are ready-made, [`AnyOf`] and [`AllOf`] combine them;
/// [`context_from`] makes one of a function that need not wait. A provider that asks a service
/// implements the trait:
///
/// ```
/// use oxikit::{ActionContext, Result, Status, async_trait};
/// use oxikit_serve::{ContextProvider, RequestInfo};
/// use serde_json::json;
///
/// struct Sessions;
///
/// # async fn user_of(_: &str) -> Option<String> { None }
/// #[async_trait]
/// impl ContextProvider for Sessions {
///     async fn context(&self, request: RequestInfo<'_>) -> Result<ActionContext> {
///         let token = request.bearer().ok_or_else(|| Status::unauthenticated("log in first"))?;
///         match user_of(token).await {
///             Some(user) => Ok(ActionContext::default().with("auth", json!({ "uid": user }))),
///             None => Err(Status::unauthenticated("the session has ended")),
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait ContextProvider: Send + Sync {
    /// The context of a call. Its member `auth` is the caller: sessions of agents and durable
    /// streams belong to it, and policies read it by [`ActionContext::auth`].
    ///
    /// # Errors
    ///
    /// Any error rejects the request. Its message is sent to the client only if the status is
    /// public, as those of `Status::unauthenticated` and `Status::permission_denied` are.
    async fn context(&self, request: RequestInfo<'_>) -> Result<ActionContext>;

    /// Whether the refusal of this request is that of a key that could be guessed. Such
    /// refusals are counted by address, and too many of them are answered with 429; see
    /// [`Limits::wrong_keys`](crate::Limits::wrong_keys). No by default: tokens that
    /// expire are refused often, and their clients have to see the 401.
    fn is_guess(&self, _request: &RequestInfo<'_>) -> bool {
        false
    }

    /// The demands of this provider on callers, for the cards of A2A agents and the OpenAPI
    /// document. The default describes the API as one that needs no credentials.
    fn security(&self) -> Security {
        Security::default()
    }
}

/// A context provider made of a function of the request.
///
/// ```
/// use oxikit::{ActionContext, Status};
/// use oxikit_serve::context_from;
/// use serde_json::json;
///
/// // A proxy in front of the server has authenticated the user.
/// let provider = context_from(|request| match request.header("x-authenticated-user") {
///     Some(user) => Ok(ActionContext::default().with("auth", json!({ "uid": user }))),
///     None => Err(Status::unauthenticated("the proxy named no user")),
/// });
/// ```
pub fn context_from<F>(function: F) -> impl ContextProvider
where
    F: Fn(RequestInfo<'_>) -> Result<ActionContext> + Send + Sync + 'static,
{
    struct FromFunction<F>(F);

    #[async_trait]
    impl<F> ContextProvider for FromFunction<F>
    where
        F: Fn(RequestInfo<'_>) -> Result<ActionContext> + Send + Sync + 'static,
    {
        async fn context(&self, request: RequestInfo<'_>) -> Result<ActionContext> {
            (self.0)(request)
        }
    }
    FromFunction(function)
}

/// Decides whether a caller may call an action. Called after the context is known and before
/// the body is read; an error is answered as an HTTP error. Set by [`Expose::policy`](crate::Expose::policy).
pub type Policy = Arc<dyn Fn(&ActionContext) -> Result<()> + Send + Sync>;
