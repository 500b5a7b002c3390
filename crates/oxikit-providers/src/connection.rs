//! The connection to a provider: address, key, headers, timeouts.
//!
//! A [`Connection`] is what the application has set. It becomes a [`Link`] for each call: then the
//! key is looked up and the address is checked, so that a wrong setting does not keep the
//! application from starting.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use oxikit_ai::{Result, Secret, Status, StatusCode};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rig_core::error::ProviderError;

use crate::failure::{ProviderFailure, status_of};
use crate::http::Http;
use crate::key::KeySource;

/// Maximum time to open a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time without a byte of the answer. Models may think for a while before the first.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// The settings that all providers share. Clones share the HTTP client.
#[derive(Clone)]
pub(crate) struct Connection {
    /// The namespace of the provider's actions.
    pub(crate) name: String,
    pub(crate) base_url: String,
    pub(crate) key: KeySource,
    pub(crate) timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) headers: HeaderMap,
    /// Whether the base URL usually has a path, such as `/v1`.
    pub(crate) wants_path: bool,
    /// The HTTP client, made at the first call: making it reads the machine's certificates.
    pub(crate) client: Arc<OnceLock<Result<reqwest::Client>>>,
}

/// The connection of one call: the checked address, the key and the HTTP client.
pub(crate) struct Link {
    pub(crate) provider: String,
    pub(crate) base_url: String,
    pub(crate) key: Option<Secret<String>>,
    pub(crate) http: Http,
    wants_path: bool,
}

impl Connection {
    pub(crate) fn new(
        name: impl Into<String>,
        base_url: impl Into<String>,
        key: KeySource,
    ) -> Self {
        Self {
            name: name.into(),
            base_url: base_url.into(),
            key,
            timeout: IDLE_TIMEOUT,
            connect_timeout: CONNECT_TIMEOUT,
            headers: HeaderMap::new(),
            wants_path: false,
            client: Arc::default(),
        }
    }

    /// The link for a call with this key, or with the connection's own.
    pub(crate) fn link(&self, key: Option<Secret<String>>) -> Result<Link> {
        let key = match key {
            Some(key) => Some(key),
            None => self.key.find(&self.name)?,
        };
        let base_url = self.checked_base_url()?;
        let client = self.client.get_or_init(|| self.build_client()).clone()?;
        Ok(Link {
            provider: self.name.clone(),
            base_url,
            key,
            http: Http { client, idle: self.timeout, headers: Arc::new(self.headers.clone()) },
            wants_path: self.wants_path,
        })
    }

    /// The base URL without a slash at its end. A wrong URL is refused here, with advice: the
    /// error of the HTTP client would not name the mistake.
    fn checked_base_url(&self) -> Result<String> {
        let url = self.base_url.trim();
        let refused = |what: &str| {
            let name = &self.name;
            Status::internal(format!("the base URL of `{name}` is `{url}`: {what}"))
        };
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(refused(&format!(
                "it has no scheme; write `http://{url}` or `https://{url}`"
            )));
        };
        if !["http", "https"].contains(&scheme.to_ascii_lowercase().as_str()) {
            return Err(refused("it must begin with `http://` or `https://`"));
        }
        if rest.trim_start_matches('/').is_empty() {
            return Err(refused("it names no host"));
        }
        let is_whole_path = ["/chat/completions", "/responses", "/embeddings", "/messages"]
            .iter()
            .find(|path| url.trim_end_matches('/').ends_with(**path));
        if let Some(path) = is_whole_path {
            return Err(refused(&format!("it must end before `{path}`, which is added to it")));
        }
        Ok(url.trim_end_matches('/').to_owned())
    }

    fn build_client(&self) -> Result<reqwest::Client> {
        reqwest::Client::builder()
            .user_agent(concat!("oxikit/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.connect_timeout)
            // A redirect would send the key to another server.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| {
                Status::new(StatusCode::Internal, "cannot make an HTTP client").caused_by(error)
            })
    }

    pub(crate) fn set_header(&mut self, name: &str, value: &str) {
        let (Ok(name), Ok(mut value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value))
        else {
            // A builder cannot return an error here, and the call may work without it.
            tracing::warn!(name, "header left out: its name or value is not valid");
            return;
        };
        value.set_sensitive(true);
        self.headers.insert(name, value);
    }
}

impl Link {
    /// The key as rig takes it; empty if there is none.
    pub(crate) fn key(&self) -> &str {
        self.key.as_ref().map_or("", |key| key.expose())
    }

    /// The status for an error of this call. A 404 at a base URL without a path gets a hint.
    pub(crate) fn failure(&self, error: ProviderError) -> Status {
        let status = status_of(&self.provider, self.key.as_ref(), error);
        let is_nowhere = status
            .cause::<ProviderFailure>()
            .is_some_and(|failure| failure.http_status() == Some(404));
        let has_path = self.base_url.splitn(4, '/').nth(3).is_some_and(|path| !path.is_empty());
        if is_nowhere && self.wants_path && !has_path {
            let url = &self.base_url;
            return status.with_hint(format!(
                "the base URL `{url}` has no path; most servers that speak OpenAI's protocol want `{url}/v1`"
            ));
        }
        status
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("name", &self.name)
            .field("base_url", &self.base_url)
            .field("key", &self.key)
            .field("timeout", &self.timeout)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// The builder methods that all providers share.
macro_rules! connection_methods {
    () => {
        /// Calls the provider at this address instead of its own, for example a gateway. The URL
        /// is checked by the first call.
        #[must_use]
        pub fn base_url(mut self, url: impl Into<String>) -> Self {
            self.connection.base_url = url.into();
            self
        }

        /// Uses this key instead of one from the environment.
        #[must_use]
        pub fn api_key(mut self, key: impl Into<String>) -> Self {
            let key = oxikit_ai::Secret::new(key.into());
            self.connection.key = $crate::key::KeySource::Given(key);
            self
        }

        /// Maximum time without a byte of the answer; two minutes by default. Beyond it the call
        /// fails with `DEADLINE_EXCEEDED`. A streamed answer that keeps coming is never
        /// cut. An answer that is not streamed arrives all at once, so a model that
        /// writes for longer than this needs a larger value.
        #[must_use]
        pub fn timeout(mut self, timeout: std::time::Duration) -> Self {
            self.connection.timeout = timeout;
            self
        }

        /// Maximum time to open a connection; ten seconds by default. Has no
        /// effect on an [`http_client`](Self::http_client) of your own.
        #[must_use]
        pub fn connect_timeout(mut self, timeout: std::time::Duration) -> Self {
            self.connection.connect_timeout = timeout;
            self.connection.client = Default::default();
            self
        }

        /// Sends requests through this HTTP client, with its proxy, certificates and connect
        /// timeout. It should not follow redirects: they would send the key to another server.
        #[must_use]
        pub fn http_client(mut self, client: reqwest::Client) -> Self {
            self.connection.client = std::sync::Arc::new(Ok(client).into());
            self
        }

        /// Sends this header with every call. Its value never appears in errors or debug output.
        /// An invalid header is left out with a warning in the log.
        #[must_use]
        pub fn header(mut self, name: &str, value: &str) -> Self {
            self.connection.set_header(name, value);
            self
        }
    };
}
pub(crate) use connection_methods;
