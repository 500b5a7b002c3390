//! How servers are reached: connections, headers, timeouts, limits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use oxikit_core::{Result, Status, StatusCode};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::{Attempt, Policy};

use crate::{RemoteAction, RemoteAgent};

/// Reaches servers. Clones share their connections.
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
}

#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) headers: HeaderMap,
    pub(crate) idle_timeout: Duration,
    pub(crate) timeout: Option<Duration>,
    pub(crate) retries: u32,
    pub(crate) reconnects: u32,
    pub(crate) block_limit: usize,
    pub(crate) answer_limit: usize,
}

impl Client {
    /// A client with the defaults of [`ClientBuilder`].
    pub fn new() -> Result<Self> {
        Self::builder().build()
    }

    /// A client with settings of its own.
    pub fn builder() -> ClientBuilder {
        ClientBuilder {
            http: None,
            connect_timeout: Duration::from_secs(10),
            fault: None,
            settings: Settings {
                headers: HeaderMap::new(),
                idle_timeout: Duration::from_secs(300),
                timeout: None,
                retries: 2,
                reconnects: 5,
                block_limit: 16 << 20,
                answer_limit: 64 << 20,
            },
        }
    }

    /// The action at this address.
    pub fn action(&self, url: &str) -> Result<RemoteAction> {
        RemoteAction::at(self.clone(), url)
    }

    /// The agent at this address.
    pub fn agent(&self, url: &str) -> Result<RemoteAgent> {
        Ok(RemoteAgent::at(self.action(url)?))
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

/// Settings of a [`Client`] in the making.
#[derive(Debug)]
#[must_use = "call `build` to get the client"]
pub struct ClientBuilder {
    http: Option<reqwest::Client>,
    connect_timeout: Duration,
    fault: Option<Status>,
    settings: Settings,
}

impl ClientBuilder {
    /// Sends this header with every call; its value is shown nowhere. One that
    /// is not legal is reported by [`build`](Self::build).
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Err(status) = set_header(&mut self.settings.headers, name, value) {
            self.fault.get_or_insert(status);
        }
        self
    }

    /// The longest wait for a connection; ten seconds if not set. Has no effect
    /// on an [`http_client`](Self::http_client) of your own.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// The longest wait for the first byte of an answer, and between two; five
    /// minutes if not set. A unary answer comes all at once, so an action that
    /// works for longer needs more, or is streamed.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.settings.idle_timeout = timeout;
        self
    }

    /// The longest time a whole call may take, streams with all of their
    /// reconnects included; without limit if not set.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = Some(timeout);
        self
    }

    /// How often a request is sent again if that is safe: any request that could
    /// not be delivered at all, and the resuming of a durable stream. Two if not
    /// set.
    pub fn retries(mut self, retries: u32) -> Self {
        self.settings.retries = retries;
        self
    }

    /// How often in a row, without a new chunk between, a durable stream whose
    /// connection broke is connected again; five if not set.
    pub fn reconnects(mut self, reconnects: u32) -> Self {
        self.settings.reconnects = reconnects;
        self
    }

    /// The largest block of a stream; 16 MiB if not set.
    pub fn max_block_bytes(mut self, bytes: usize) -> Self {
        self.settings.block_limit = bytes;
        self
    }

    /// The largest unary answer; 64 MiB if not set.
    pub fn max_answer_bytes(mut self, bytes: usize) -> Self {
        self.settings.answer_limit = bytes;
        self
    }

    /// Sends through this client, with its proxy, certificates, connect timeout
    /// and redirects.
    pub fn http_client(mut self, client: reqwest::Client) -> Self {
        self.http = Some(client);
        self
    }

    /// The client. Fails if a header is not legal or the machine's certificates
    /// cannot be read.
    pub fn build(self) -> Result<Client> {
        if let Some(status) = self.fault {
            return Err(status);
        }
        let http = match self.http {
            Some(http) => http,
            None => reqwest::Client::builder()
                .user_agent(concat!("oxikit/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(self.connect_timeout)
                // Node closes a connection that is idle for five seconds. A call
                // that crosses with that is lost, and must not be repeated.
                .pool_idle_timeout(Duration::from_secs(4))
                .referer(false)
                .redirect(Policy::custom(redirect))
                .build()
                .map_err(|error| Status::internal("cannot make an HTTP client").caused_by(error))?,
        };
        Ok(Client { http, settings: Arc::new(self.settings) })
    }
}

/// Follows only what repeats the same POST at the same server: any other place
/// would get the headers of this one.
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
