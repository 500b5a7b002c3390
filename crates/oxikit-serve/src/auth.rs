//! Who calls: context providers and policies.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, Method, Uri};
use oxikit_core::{ActionContext, Result, Secret, Status};
use serde_json::{Value, json};
use subtle::ConstantTimeEq;

/// What a context provider is shown of a request. The body is not read yet: a
/// stranger is refused before anything is taken from them.
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
}

impl<'a> RequestInfo<'a> {
    pub(crate) fn new(head: &'a axum::http::request::Parts, action: &'a str) -> Self {
        Self { method: &head.method, uri: &head.uri, headers: &head.headers, action }
    }

    /// A header as text, if it came once.
    pub fn header(&self, name: impl axum::http::header::AsHeaderName) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let first = values.next()?;
        if values.next().is_some() { None } else { first.to_str().ok() }
    }

    /// The credentials of `Authorization: Bearer …`.
    pub fn bearer(&self) -> Option<&str> {
        let (scheme, credentials) = self.header(AUTHORIZATION)?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| credentials.trim())
    }
}

/// Turns a request into the context of the action: who calls, and whatever else
/// actions are to know. A refusal is answered as an HTTP error, before the body
/// is read and before anything runs; use `UNAUTHENTICATED` for an unknown caller
/// and `PERMISSION_DENIED` for one who may not.
#[async_trait]
pub trait ContextProvider: Send + Sync {
    /// The context of a call.
    async fn context(&self, request: RequestInfo<'_>) -> Result<ActionContext>;

    /// Whether the refusal of this request is that of a key that could be guessed. Such
    /// refusals are counted by address, and too many of them are answered with 429; see
    /// [`Limits::wrong_keys`](crate::Limits::wrong_keys). No by default: tokens that
    /// expire are refused often, and their clients have to see the 401.
    fn is_guess(&self, _request: &RequestInfo<'_>) -> bool {
        false
    }

    /// How callers show who they are, as an OpenAPI security scheme object.
    fn security_scheme(&self) -> Option<Value> {
        None
    }
}

/// Lets in who sends a key as `Authorization: <key>` or `Authorization: Bearer <key>`.
///
/// ```
/// # use oxikit_serve::ApiKey;
/// let auth = ApiKey::new("a-long-random-text");
/// ```
pub struct ApiKey {
    keys: Vec<Secret<String>>,
}

impl ApiKey {
    /// Lets in who knows this key.
    pub fn new(key: impl Into<String>) -> Self {
        Self { keys: vec![Secret::new(key.into())] }
    }

    /// One more key that is good, while keys are changed.
    #[must_use]
    pub fn or(mut self, key: impl Into<String>) -> Self {
        self.keys.push(Secret::new(key.into()));
        self
    }
}

#[async_trait]
impl ContextProvider for ApiKey {
    async fn context(&self, request: RequestInfo<'_>) -> Result<ActionContext> {
        let sent = request.bearer().or_else(|| request.header(AUTHORIZATION));
        let sent = sent.ok_or_else(|| Status::unauthenticated("Unauthenticated"))?;
        // Every key is compared in full, so that time tells nothing.
        let is_known = self.keys.iter().fold(subtle::Choice::from(0), |known, key| {
            known | key.expose().as_bytes().ct_eq(sent.as_bytes())
        });
        if !bool::from(is_known) {
            return Err(Status::permission_denied("Permission Denied"));
        }
        Ok(ActionContext::default().with("auth", json!({ "apiKey": sent })))
    }

    fn is_guess(&self, request: &RequestInfo<'_>) -> bool {
        request.headers.contains_key(AUTHORIZATION)
    }

    fn security_scheme(&self) -> Option<Value> {
        Some(json!({ "type": "http", "scheme": "bearer", "description": "An API key." }))
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKey").field("keys", &self.keys.len()).finish()
    }
}

/// A context provider made of a function of the request.
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

/// Whether a caller may call one action; asked after the context is known.
pub type Policy = Arc<dyn Fn(&ActionContext) -> Result<()> + Send + Sync>;
