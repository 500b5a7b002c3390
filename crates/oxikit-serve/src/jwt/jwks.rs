//! Fetches and caches the keys of an issuer.
//!
//! A caller that sends tokens with invented key ids must not be able to make the server flood
//! the issuer with requests. So there is one fetch at a time and at most one per interval, and
//! all requests that need it wait for the same one.

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::Jwk;
use oxikit_core::{Causes, Result, Status, StatusCode};
use oxikit_outgoing::{OutgoingClient, OutgoingError, OutgoingPolicy, OutgoingResponse, Url};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;

use super::Algorithm;

/// Maximum size of a key set in bytes. A larger one is rejected.
const SIZE_LIMIT: usize = 64 * 1024;
/// Timeout of the connection to the issuer. The fetch then fails and old keys stay in use.
const CONNECT_TIME: Duration = Duration::from_secs(3);
/// Timeout of a whole fetch, with the connection. Requests that need its keys wait that long.
const WHOLE_TIME: Duration = Duration::from_secs(10);

/// The path of an issuer's configuration below its URL.
const CONFIGURATION: &str = "/.well-known/openid-configuration";

/// A key that tokens are checked with.
#[derive(Clone)]
pub(super) struct VerifyKey {
    pub(super) kid: Option<String>,
    pub(super) key: DecodingKey,
}

impl VerifyKey {
    /// `None` if it is not a public key for this algorithm.
    pub(super) fn from_jwk(jwk: &Value, algorithm: Algorithm) -> Option<Self> {
        let jwk = Jwk::deserialize(jwk).ok()?;
        let key = algorithm.key_from_jwk(&jwk)?;
        Some(Self { kid: jwk.common.key_id, key })
    }

    /// Whether this key may verify a token that names the key `kid`: not if both have a name
    /// and the names differ.
    pub(super) fn may_verify(&self, kid: Option<&str>) -> bool {
        match (self.kid.as_deref(), kid) {
            (Some(own), Some(named)) => own == named,
            _ => true,
        }
    }
}

/// The times of the cache.
#[derive(Clone, Copy)]
struct Timing {
    /// Minimum time between two fetches.
    interval: Duration,
    /// Age at which keys are fetched again, so that withdrawn keys are dropped.
    fresh: Duration,
    /// Time for which keys are used beyond `fresh` while the issuer does not answer.
    stale: Duration,
}

const TIMING: Timing = Timing {
    interval: Duration::from_secs(30),
    fresh: Duration::from_secs(600),
    stale: Duration::from_secs(3600),
};

/// The key set at a URL.
pub(super) struct Jwks(Arc<Inner>);

struct Inner {
    source: Source,
    algorithm: Algorithm,
    client: OutgoingClient,
    timing: Timing,
    state: Mutex<State>,
}

/// Where the keys are.
enum Source {
    /// At this URL.
    Keys(Url),
    /// At the URL that the configuration of the issuer names.
    Configuration { url: Url, issuer: String },
}

#[derive(Default)]
struct State {
    keys: Arc<[VerifyKey]>,
    fetched: Option<Instant>,
    attempted: Option<Instant>,
    /// Closed when the fetch that is under way has ended.
    fetch: Option<watch::Receiver<()>>,
}

impl Jwks {
    /// The key set at this URL, which must fit the policy.
    pub(super) fn new(url: &str, algorithm: Algorithm, policy: OutgoingPolicy) -> Result<Self> {
        Self::at(Source::Keys(parse(url)?), algorithm, policy)
    }

    /// The key set that the configuration of this issuer names.
    pub(super) fn of_issuer(
        issuer: &str,
        algorithm: Algorithm,
        policy: OutgoingPolicy,
    ) -> Result<Self> {
        let url = parse(&format!("{}{CONFIGURATION}", issuer.trim_end_matches('/')))?;
        let source = Source::Configuration { url, issuer: issuer.to_owned() };
        Self::at(source, algorithm, policy)
    }

    fn at(source: Source, algorithm: Algorithm, policy: OutgoingPolicy) -> Result<Self> {
        let policy = policy_for(source.url(), policy);
        policy.check(source.url()).map_err(refused)?;
        let client = OutgoingClient::new(policy)?;
        Ok(Self::with_client(source, algorithm, client, TIMING))
    }

    fn with_client(
        source: Source,
        algorithm: Algorithm,
        client: OutgoingClient,
        timing: Timing,
    ) -> Self {
        let state = Mutex::default();
        Self(Arc::new(Inner { source, algorithm, client, timing, state }))
    }

    /// The URL of the key set, or of the issuer's configuration.
    pub(super) fn url(&self) -> &Url {
        self.0.source.url()
    }

    /// The key of this name; without a name, the only key of the set, if it has just one.
    ///
    /// # Errors
    ///
    /// `UNAVAILABLE` if there are no keys that may still be used: they were never fetched, or
    /// the issuer has not answered for longer than they stay usable.
    pub(super) async fn find(&self, kid: Option<&str>) -> Result<Option<VerifyKey>> {
        let fetch = {
            let mut state = self.0.state();
            let now = Instant::now();
            let known = state.key(kid, now, &self.0.timing);
            if known.is_some() && state.is_fresh(now, &self.0.timing) {
                return Ok(known);
            }
            self.begin_fetch(&mut state, now);
            // Old keys are used until the fetch has ended: no request waits for it.
            if known.is_some() {
                return Ok(known);
            }
            state.running_fetch()
        };
        if let Some(mut fetch) = fetch {
            // Ends by its own time limit; this one is for a runtime that is stuck.
            let ended = async { while fetch.changed().await.is_ok() {} };
            let _ = tokio::time::timeout(WHOLE_TIME + CONNECT_TIME, ended).await;
        }
        let state = self.0.state();
        let now = Instant::now();
        if !state.is_usable(now, &self.0.timing) {
            return Err(Status::public(
                StatusCode::Unavailable,
                "tokens cannot be checked now, try later",
            )
            .with_retry_after(self.0.timing.interval));
        }
        Ok(state.key(kid, now, &self.0.timing))
    }

    /// Fetches in a task: it goes on for the others when this caller leaves, and
    /// ends within its time limit.
    fn begin_fetch(&self, state: &mut State, now: Instant) {
        let is_too_early = state
            .attempted
            .is_some_and(|attempted| now.duration_since(attempted) < self.0.timing.interval);
        if is_too_early || state.running_fetch().is_some() {
            return;
        }
        state.attempted = Some(now);
        let (running, fetch) = watch::channel(());
        state.fetch = Some(fetch);
        let inner = self.0.clone();
        tokio::spawn(async move {
            match inner.fetch().await {
                Ok(keys) => {
                    let mut state = inner.state();
                    state.keys = keys;
                    state.fetched = Some(Instant::now());
                }
                Err(error) => {
                    let url = inner.source.url();
                    tracing::warn!(%url, %error, "cannot fetch the key set");
                }
            }
            drop(running);
        });
    }
}

impl State {
    fn key(&self, kid: Option<&str>, now: Instant, timing: &Timing) -> Option<VerifyKey> {
        if !self.is_usable(now, timing) {
            return None;
        }
        match (kid, &*self.keys) {
            (Some(kid), keys) => keys.iter().find(|key| key.kid.as_deref() == Some(kid)).cloned(),
            (None, [only]) => Some(only.clone()),
            (None, _) => None,
        }
    }

    fn is_fresh(&self, now: Instant, timing: &Timing) -> bool {
        self.fetched.is_some_and(|fetched| now.duration_since(fetched) < timing.fresh)
    }

    fn is_usable(&self, now: Instant, timing: &Timing) -> bool {
        let limit = timing.fresh + timing.stale;
        self.fetched.is_some_and(|fetched| now.duration_since(fetched) < limit)
    }

    fn running_fetch(&self) -> Option<watch::Receiver<()>> {
        self.fetch.clone().filter(|fetch| fetch.has_changed().is_ok())
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        // The state is replaced as a whole, so it is consistent even after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn fetch(&self) -> std::result::Result<Arc<[VerifyKey]>, FetchError> {
        let url = match &self.source {
            Source::Keys(url) => url.clone(),
            Source::Configuration { url, issuer } => {
                key_set_url(self.get(url.clone()).await?.body(), issuer)?
            }
        };
        self.read(self.get(url).await?.body())
    }

    async fn get(&self, url: Url) -> std::result::Result<OutgoingResponse, FetchError> {
        let response = self.client.get(url).send().await?;
        match response.status().as_u16() {
            200 => Ok(response),
            status => Err(FetchError::Answer(status)),
        }
    }

    /// The keys that fit; other ones, also of kinds to come, are left out.
    fn read(&self, body: &[u8]) -> std::result::Result<Arc<[VerifyKey]>, FetchError> {
        #[derive(Deserialize)]
        struct KeySet {
            keys: Vec<Value>,
        }
        let set: KeySet = serde_json::from_slice(body).map_err(|_| FetchError::NotAKeySet)?;
        let keys = set.keys.iter().filter_map(|key| VerifyKey::from_jwk(key, self.algorithm));
        Ok(keys.collect())
    }
}

impl Source {
    fn url(&self) -> &Url {
        match self {
            Self::Keys(url) | Self::Configuration { url, .. } => url,
        }
    }
}

/// The URL of the key set in an issuer's configuration, which must be that of this issuer.
fn key_set_url(configuration: &[u8], issuer: &str) -> std::result::Result<Url, FetchError> {
    #[derive(Deserialize)]
    struct Configuration {
        issuer: String,
        jwks_uri: String,
    }
    let configuration: Configuration =
        serde_json::from_slice(configuration).map_err(|_| FetchError::NotAConfiguration)?;
    if configuration.issuer != issuer {
        return Err(FetchError::AnotherIssuer);
    }
    Url::parse(&configuration.jwks_uri).map_err(|_| FetchError::NotAConfiguration)
}

/// The reason why a fetch failed. It is logged and not sent to callers.
#[derive(Debug)]
enum FetchError {
    Request(OutgoingError),
    Answer(u16),
    NotAKeySet,
    NotAConfiguration,
    AnotherIssuer,
}

impl std::fmt::Display for FetchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Request(error) => write!(f, "{error}{}", Causes(error)),
            Self::Answer(status) => write!(f, "it was answered by {status}"),
            Self::NotAKeySet => write!(f, "it is not a JSON Web Key Set"),
            Self::NotAConfiguration => write!(f, "it is not a configuration of OpenID Connect"),
            Self::AnotherIssuer => write!(f, "the configuration is that of another issuer"),
        }
    }
}

impl From<OutgoingError> for FetchError {
    fn from(error: OutgoingError) -> Self {
        Self::Request(error)
    }
}

/// The policy with the limits of a key set. An issuer on this machine is allowed if the URL says
/// so itself, but not if the name of another host leads here.
fn policy_for(url: &Url, policy: OutgoingPolicy) -> OutgoingPolicy {
    policy
        .https_only()
        .allow_loopback_of(url)
        .connect_timeout(CONNECT_TIME)
        .timeout(WHOLE_TIME)
        .max_response_bytes(SIZE_LIMIT)
}

fn parse(url: &str) -> Result<Url> {
    Url::parse(url).map_err(|_| Status::invalid_argument("the key set's URL is not a URL"))
}

fn refused(error: OutgoingError) -> Status {
    let hint = match error {
        OutgoingError::PlainHttp(_) => Some("name the host by `allow_http_host` before the URL"),
        OutgoingError::Address { .. } => {
            Some("name the host by `allow_private_host` before the URL")
        }
        _ => None,
    };
    let status = Status::invalid_argument(format!("the key set's URL is refused: {error}"));
    match hint {
        Some(hint) => status.with_hint(hint),
        None => status,
    }
}
