//! The settings that all calls to servers share: connections, headers, timeouts, limits.
//!
//! Requests themselves are in `exchange`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use oxikit_core::{Result, Status, StatusCode};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::{Attempt, Policy};

use crate::card_cache::CardCache;
use crate::{RemoteAction, RemoteAgent};

/// A pool of connections with common settings, from which actions and agents are made. Clones
/// share their connections.
///
/// Make one per application: connections are reused, and the certificates of the machine are
/// read once.
///
/// ```no_run
/// use std::time::Duration;
/// use oxikit_client::Client;
///
/// # fn example(token: &str) -> oxikit_client::Result<()> {
/// let client = Client::builder()
///     .header("authorization", token)
///     .idle_timeout(Duration::from_secs(60))
///     .build()?;
/// let greet = client.action("https://flows.example/greet")?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Client {
    pub(crate) http: reqwest::Client,
    pub(crate) settings: Arc<Settings>,
    pub(crate) cards: Arc<CardCache>,
    /// The client for gRPC. Made when it is needed, because it reads the certificates of the
    /// machine.
    #[cfg(feature = "a2a-grpc")]
    http2: Arc<std::sync::OnceLock<reqwest::Client>>,
}

/// The settings of a client; see the methods of [`ClientBuilder`].
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) headers: HeaderMap,
    /// Maximum time to open a connection.
    connect_timeout: Duration,
    /// Maximum time without a byte from the server.
    pub(crate) idle_timeout: Duration,
    /// Maximum time of a whole call.
    pub(crate) timeout: Option<Duration>,
    /// Maximum number of repetitions of a request that could not be delivered.
    pub(crate) retries: u32,
    /// Maximum number of reconnects of a durable stream without a new chunk.
    pub(crate) reconnects: u32,
    /// Maximum bytes of a block of a stream.
    pub(crate) block_limit: usize,
    /// Maximum bytes of a unary answer.
    pub(crate) answer_limit: usize,
}

impl Client {
    /// A client with the defaults of [`ClientBuilder`].
    ///
    /// # Errors
    ///
    /// If the machine's certificates cannot be read.
    pub fn new() -> Result<Self> {
        Self::builder().build()
    }

    /// Begins a client with other settings than the defaults.
    pub fn builder() -> ClientBuilder {
        ClientBuilder {
            http: None,
            #[cfg(feature = "a2a-grpc")]
            http2: None,
            fault: None,
            settings: Settings {
                headers: HeaderMap::new(),
                connect_timeout: Duration::from_secs(10),
                idle_timeout: Duration::from_secs(300),
                timeout: None,
                retries: 2,
                reconnects: 5,
                block_limit: 16 << 20,
                answer_limit: 64 << 20,
            },
        }
    }

    /// The action at this address, such as `http://127.0.0.1:3400/greet`. Nothing is sent yet.
    ///
    /// ```
    /// # fn main() -> oxikit_client::Result<()> {
    /// let client = oxikit_client::Client::new()?;
    /// let greet = client.action("http://127.0.0.1:3400/greet")?;
    /// assert!(client.action("ftp://127.0.0.1/greet").is_err());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the URL is not an HTTP address.
    pub fn action(&self, url: &str) -> Result<RemoteAction> {
        RemoteAction::at(self.clone(), url)
    }

    /// The agent at this address. Nothing is sent yet; see [`RemoteAgent::new`] for the addresses
    /// of its snapshots and of aborts.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the URL is not an HTTP address.
    pub fn agent(&self, url: &str) -> Result<RemoteAgent> {
        Ok(RemoteAgent::at(self.action(url)?))
    }

    /// The same client with connections that speak only HTTP/2, also without TLS.
    #[cfg(feature = "a2a-grpc")]
    pub(crate) fn over_http2(&self) -> Result<Self> {
        let http = match self.http2.get() {
            Some(http) => http,
            None => {
                let http = http_builder(&self.settings).redirect(Policy::none());
                let http = http.http2_prior_knowledge().build().map_err(unmade)?;
                self.http2.get_or_init(|| http)
            }
        };
        Ok(Self { http: http.clone(), ..self.clone() })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            // Their values may be secrets.
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("idle_timeout", &self.idle_timeout)
            .field("timeout", &self.timeout)
            .field("retries", &self.retries)
            .field("reconnects", &self.reconnects)
            .finish_non_exhaustive()
    }
}

/// The settings of a new [`Client`].
///
/// | setting | default |
/// | --- | --- |
/// | [`connect_timeout`](Self::connect_timeout) | 10 seconds |
/// | [`idle_timeout`](Self::idle_timeout) | 5 minutes |
/// | [`timeout`](Self::timeout) | none |
/// | [`retries`](Self::retries) | 2 |
/// | [`reconnects`](Self::reconnects) | 5 |
/// | [`max_block_bytes`](Self::max_block_bytes) | 16 MiB |
/// | [`max_answer_bytes`](Self::max_answer_bytes) | 64 MiB |
///
/// ```
/// use std::time::Duration;
///
/// # fn main() -> oxikit_client::Result<()> {
/// let client = oxikit_client::Client::builder()
///     .header("x-team", "search")
///     .timeout(Duration::from_secs(30))
///     .retries(0)
///     .build()?;
/// // The values of headers are never printed.
/// assert!(!format!("{client:?}").contains("search"));
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "call `build` to get the client"]
pub struct ClientBuilder {
    http: Option<reqwest::Client>,
    #[cfg(feature = "a2a-grpc")]
    http2: Option<reqwest::Client>,
    /// The first invalid setting, which `build` reports.
    fault: Option<Status>,
    settings: Settings,
}

impl ClientBuilder {
    /// Sends this header with every call. Its value never appears in errors or debug output. An
    /// invalid header is reported by [`build`](Self::build).
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Err(status) = set_header(&mut self.settings.headers, name, value) {
            self.fault.get_or_insert(status);
        }
        self
    }

    /// Maximum time to open a connection; ten seconds by default. Has no effect
    /// on an [`http_client`](Self::http_client) of your own.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.settings.connect_timeout = timeout;
        self
    }

    /// Maximum time without a byte of the answer; five minutes by default. Beyond it the call fails
    /// with `DEADLINE_EXCEEDED`. The answer of [`RemoteAction::run`] arrives all at once, so an
    /// action that works for longer needs a larger value, or is streamed.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.settings.idle_timeout = timeout;
        self
    }

    /// Maximum time of a whole call, including retries and the reconnects of a stream; without
    /// limit by default. Beyond it the call fails with `DEADLINE_EXCEEDED`.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = Some(timeout);
        self
    }

    /// Maximum number of repetitions of a request, where repeating is safe: a request for which
    /// no connection could be made, and the resuming of a durable stream. Two by default. The
    /// pause before the first is 100 ms, and doubles up to 3.2 s.
    pub fn retries(mut self, retries: u32) -> Self {
        self.settings.retries = retries;
        self
    }

    /// Maximum number of reconnects of a durable stream whose connection broke, in a row and
    /// without a new chunk in between; five by default.
    pub fn reconnects(mut self, reconnects: u32) -> Self {
        self.settings.reconnects = reconnects;
        self
    }

    /// Maximum bytes of one block of a stream, which is one chunk or the output; 16 MiB by
    /// default. A larger one fails the stream with `RESOURCE_EXHAUSTED`.
    pub fn max_block_bytes(mut self, bytes: usize) -> Self {
        self.settings.block_limit = bytes;
        self
    }

    /// Maximum bytes of the answer of [`RemoteAction::run`]; 64 MiB by default. A larger one fails
    /// the call with `RESOURCE_EXHAUSTED`.
    pub fn max_answer_bytes(mut self, bytes: usize) -> Self {
        self.settings.answer_limit = bytes;
        self
    }

    /// Sends requests through this HTTP client, with its proxy, certificates, connect timeout
    /// and redirects. Its own total timeout should be off: it would also end long streams.
    pub fn http_client(mut self, client: reqwest::Client) -> Self {
        self.http = Some(client);
        self
    }

    /// Sends calls over gRPC through this HTTP client, in place of one with the default proxy and
    /// certificates. It has to speak only HTTP/2, see
    /// [`http2_prior_knowledge`](reqwest::ClientBuilder::http2_prior_knowledge), and should follow
    /// no redirects. [`http_client`](Self::http_client) is for all other requests.
    #[cfg(feature = "a2a-grpc")]
    pub fn grpc_client(mut self, client: reqwest::Client) -> Self {
        self.http2 = Some(client);
        self
    }

    /// Makes the client.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if a header is invalid, `INTERNAL` if the machine's certificates cannot
    /// be read.
    pub fn build(self) -> Result<Client> {
        if let Some(status) = self.fault {
            return Err(status);
        }
        let http = match self.http {
            Some(http) => http,
            None => http_builder(&self.settings)
                // Node closes a connection that is idle for five seconds. A call
                // that crosses with that is lost, and must not be repeated.
                .pool_idle_timeout(Duration::from_secs(4))
                .redirect(Policy::custom(redirect))
                .build()
                .map_err(unmade)?,
        };
        Ok(Client {
            http,
            settings: Arc::new(self.settings),
            cards: Arc::default(),
            #[cfg(feature = "a2a-grpc")]
            http2: Arc::new(self.http2.map_or_else(Default::default, Into::into)),
        })
    }
}

fn http_builder(settings: &Settings) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .user_agent(concat!("oxikit/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(settings.connect_timeout)
        .referer(false)
}

fn unmade(error: reqwest::Error) -> Status {
    Status::internal("cannot make an HTTP client").caused_by(error)
}

/// Follows only redirects that repeat the same POST at the same server: another server must not
/// get the headers of this one, which may hold a token.
fn redirect(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let is_same_post = matches!(attempt.status().as_u16(), 307 | 308);
    let is_same_server =
        attempt.previous().last().is_some_and(|from| from.origin() == attempt.url().origin());
    if is_same_post && is_same_server && attempt.previous().len() < 10 {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

/// Adds a header whose value is marked as sensitive.
pub(crate) fn set_header(headers: &mut HeaderMap, name: &str, value: &str) -> Result<()> {
    let refuse = |what: &str| {
        // The value is never shown, not even a wrong one.
        Err(Status::new(StatusCode::InvalidArgument, format!("{what} of a header is not legal")))
    };
    let Ok(name) = name.parse::<HeaderName>() else { return refuse("the name") };
    let Ok(mut value) = HeaderValue::from_str(value) else {
        return refuse("the value");
    };
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(())
}
