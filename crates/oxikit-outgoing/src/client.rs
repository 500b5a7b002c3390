//! The client, its requests and its responses.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, ClientBuilder, Method, Request, Response, StatusCode, redirect};
use url::{Host, Url};

use crate::error::{AddressError, BoxError, OutgoingError};
use crate::policy::OutgoingPolicy;
use crate::resolver::{CheckedResolver, Resolver, SystemResolver};

/// Sends requests to URLs that others have chosen, as far as its [`OutgoingPolicy`] allows them.
///
/// A clone shares its connections.
///
/// ```no_run
/// use oxikit_outgoing::{OutgoingClient, OutgoingError, OutgoingPolicy, Url};
///
/// # async fn example(url: Url) -> Result<(), OutgoingError> {
/// let client = OutgoingClient::new(OutgoingPolicy::default())?;
/// let response = client.get(url).header("accept", "application/json")?.send().await?;
/// println!("{}: {} bytes", response.status(), response.body().len());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct OutgoingClient {
    client: Client,
    resolver: CheckedResolver,
}

impl OutgoingClient {
    /// A client that finds addresses by the DNS of the system.
    ///
    /// # Errors
    ///
    /// [`OutgoingError::Setup`] if TLS cannot be set up.
    pub fn new(policy: OutgoingPolicy) -> Result<Self, OutgoingError> {
        Self::with_resolver(policy, Arc::new(SystemResolver))
    }

    /// A client that finds addresses by this resolver.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_resolver(
        policy: OutgoingPolicy,
        resolver: Arc<dyn Resolver>,
    ) -> Result<Self, OutgoingError> {
        let resolver = CheckedResolver { policy: Arc::new(policy), resolver };
        let client =
            builder(&resolver).build().map_err(|error| OutgoingError::Setup(error.into()))?;
        Ok(Self { client, resolver })
    }

    /// A client with the same policy and resolver that speaks only HTTP/2, also without TLS, as
    /// gRPC needs it. It has connections of its own.
    ///
    /// ```
    /// use oxikit_outgoing::{OutgoingClient, OutgoingPolicy};
    ///
    /// # fn main() -> Result<(), oxikit_outgoing::OutgoingError> {
    /// let grpc = OutgoingClient::new(OutgoingPolicy::default())?.over_http2()?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn over_http2(&self) -> Result<Self, OutgoingError> {
        let client = builder(&self.resolver).http2_prior_knowledge().build();
        let client = client.map_err(|error| OutgoingError::Setup(error.into()))?;
        Ok(Self { client, resolver: self.resolver.clone() })
    }

    /// Checks a URL with the addresses that its host has now, for the time at which somebody
    /// registers it. [`send`](OutgoingRequest::send) checks again.
    ///
    /// # Errors
    ///
    /// As [`OutgoingPolicy::check`], and [`OutgoingError::Address`] if the host does not exist or
    /// has an address that is not allowed.
    pub async fn check(&self, url: &Url) -> Result<(), OutgoingError> {
        self.resolver.policy.check(url)?;
        let Some(Host::Domain(name)) = url.host() else { return Ok(()) };
        let limit = self.resolver.policy.connect_timeout;
        let checked = match tokio::time::timeout(limit, self.resolver.addresses(name)).await {
            Ok(addresses) => addresses.map(drop),
            Err(_) => Err(AddressError::TimedOut),
        };
        checked.map_err(|error| error.of(&Host::Domain(name.to_owned())))
    }

    /// The maximum time and the maximum size in bytes of a response, for a caller that reads it
    /// itself.
    pub fn limits(&self) -> (Duration, usize) {
        (self.resolver.policy.timeout, self.resolver.policy.max_response_bytes)
    }

    /// Sends a request whose response the caller reads itself, such as a stream of events. The
    /// limits of the policy for the size and the time of a response do not apply to it; the caller
    /// has its own.
    ///
    /// ```no_run
    /// use oxikit_outgoing::{OutgoingClient, OutgoingError, Request};
    ///
    /// # async fn example(client: OutgoingClient, request: Request) -> Result<(), OutgoingError> {
    /// let mut response = client.open(request).await?;
    /// while let Ok(Some(piece)) = response.chunk().await {
    ///     println!("{} bytes", piece.len());
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check), and [`OutgoingError::NoResponse`], whose source is the error of
    /// the HTTP client.
    pub async fn open(&self, request: Request) -> Result<Response, OutgoingError> {
        // The resolver is not asked about a host that is an address: this line checks those.
        self.resolver.policy.check(request.url())?;
        let host = request.url().host_str().unwrap_or_default().to_owned();
        self.client.execute(request).await.map_err(|error| failure(&host, error))
    }

    /// A GET request.
    pub fn get(&self, url: Url) -> OutgoingRequest<'_> {
        OutgoingRequest::new(self, Method::GET, url, Bytes::new())
    }

    /// A POST request with this body.
    pub fn post(&self, url: Url, body: impl Into<Bytes>) -> OutgoingRequest<'_> {
        OutgoingRequest::new(self, Method::POST, url, body.into())
    }
}

impl fmt::Debug for OutgoingClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutgoingClient")
            .field("policy", &self.resolver.policy)
            .finish_non_exhaustive()
    }
}

/// A request that is not sent yet; see [`OutgoingClient::get`] and [`OutgoingClient::post`].
#[must_use = "a request is sent by `send`"]
pub struct OutgoingRequest<'a> {
    client: &'a OutgoingClient,
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Bytes,
}

impl<'a> OutgoingRequest<'a> {
    fn new(client: &'a OutgoingClient, method: Method, url: Url, body: Bytes) -> Self {
        Self { client, method, url, headers: HeaderMap::new(), body }
    }

    /// Sets a header.
    ///
    /// # Errors
    ///
    /// [`OutgoingError::Header`] if the name or the value has characters that are not allowed,
    /// such as a line break.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, OutgoingError> {
        let invalid = || OutgoingError::Header(name.escape_debug().to_string());
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
        let value = HeaderValue::from_str(value).map_err(|_| invalid())?;
        self.headers.insert(header, value);
        Ok(self)
    }

    /// Sends the request and reads the whole response, whatever its status is. A redirect is a
    /// response as any other.
    ///
    /// # Errors
    ///
    /// As [`OutgoingClient::check`], and [`OutgoingError::NoResponse`] or
    /// [`OutgoingError::TooLarge`].
    pub async fn send(self) -> Result<OutgoingResponse, OutgoingError> {
        let policy = &self.client.resolver.policy;
        let host = self.url.host_str().unwrap_or_default().to_owned();
        let mut request = Request::new(self.method, self.url);
        *request.headers_mut() = self.headers;
        *request.body_mut() = Some(self.body.into());
        *request.timeout_mut() = Some(policy.timeout);
        let mut response = self.client.open(request).await?;
        let failed = |error: reqwest::Error| failure(&host, error);
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        let limit = policy.max_response_bytes;
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(failed)? {
            if body.len() + piece.len() > limit {
                return Err(OutgoingError::TooLarge { host, limit });
            }
            body.extend_from_slice(&piece);
        }
        Ok(OutgoingResponse { status, headers, body: body.into() })
    }
}

impl fmt::Debug for OutgoingRequest<'_> {
    /// Without the headers and the body, which may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutgoingRequest")
            .field("method", &self.method)
            .field("host", &self.url.host_str())
            .finish_non_exhaustive()
    }
}

/// A response with its whole body.
#[derive(Clone)]
pub struct OutgoingResponse {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl OutgoingResponse {
    /// The status code.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The body. Do not show it to the person who chose the URL, unless it is meant for them.
    pub fn body(&self) -> &Bytes {
        &self.body
    }
}

impl fmt::Debug for OutgoingResponse {
    /// Without the headers and the body, which may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutgoingResponse")
            .field("status", &self.status)
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

fn builder(resolver: &CheckedResolver) -> ClientBuilder {
    Client::builder()
        .connect_timeout(resolver.policy.connect_timeout)
        .redirect(redirect::Policy::none())
        // A proxy would resolve the name itself, and so connect to unchecked addresses.
        .no_proxy()
        .dns_resolver(resolver.clone())
}

/// The client reports a name that the resolver has refused as a failure to connect.
fn failure(host: &str, error: reqwest::Error) -> OutgoingError {
    let error = error.without_url();
    let first: &(dyn Error + 'static) = &error;
    let mut causes = std::iter::successors(Some(first), |&cause| cause.source());
    let is_refused = causes.any(|cause| cause.is::<AddressError>());
    let (host, source) = (host.to_owned(), BoxError::from(error));
    match is_refused {
        true => OutgoingError::Address { host, source },
        false => OutgoingError::NoResponse { host, source },
    }
}
