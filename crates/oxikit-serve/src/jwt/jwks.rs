//! The keys of an issuer, fetched and kept.
//!
//! Whoever sends tokens with made-up key names must not make us hammer the issuer:
//! there is one fetch at a time and at most one an interval; all who need it wait
//! for the same one.

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::Jwk;
use oxikit_core::{Result, Status, StatusCode};
use reqwest::{Client, Url, redirect};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;

use super::Algorithm;

/// A larger key set is refused.
const SIZE_LIMIT: usize = 64 * 1024;
const CONNECT_TIME: Duration = Duration::from_secs(3);
const WHOLE_TIME: Duration = Duration::from_secs(10);

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

    /// Whether a token that names this key may be signed by it.
    pub(super) fn may_verify(&self, kid: Option<&str>) -> bool {
        match (self.kid.as_deref(), kid) {
            (Some(own), Some(named)) => own == named,
            _ => true,
        }
    }
}

/// How long things are good.
#[derive(Clone, Copy)]
struct Timing {
    /// Between two fetches, whatever happens.
    interval: Duration,
    /// Then keys are fetched again, so that one that was withdrawn goes.
    fresh: Duration,
    /// So long they stay good beyond that, while the issuer does not answer.
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
    url: Url,
    algorithm: Algorithm,
    client: Client,
    timing: Timing,
    state: Mutex<State>,
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
    pub(super) fn new(url: &str, algorithm: Algorithm, http_hosts: &[String]) -> Result<Self> {
        Self::with_timing(url, algorithm, http_hosts, TIMING)
    }

    fn with_timing(
        url: &str,
        algorithm: Algorithm,
        http_hosts: &[String],
        timing: Timing,
    ) -> Result<Self> {
        let url = checked(url, http_hosts)?;
        let mut client = Client::builder()
            .connect_timeout(CONNECT_TIME)
            .timeout(WHOLE_TIME)
            .redirect(redirect::Policy::none());
        if url.host_str().is_some_and(is_this_machine) {
            client = client.no_proxy();
        }
        let client = client.build().map_err(|error| {
            Status::internal("cannot make a client for key sets").caused_by(error)
        })?;
        let state = Mutex::default();
        Ok(Self(Arc::new(Inner { url, algorithm, client, timing, state })))
    }

    /// The key of this name; without a name, the only one there is.
    pub(super) async fn find(&self, kid: Option<&str>) -> Result<Option<VerifyKey>> {
        let fetch = {
            let mut state = self.0.state();
            let now = Instant::now();
            let known = state.key(kid, now, &self.0.timing);
            if known.is_some() && state.is_fresh(now, &self.0.timing) {
                return Ok(known);
            }
            self.begin_fetch(&mut state, now);
            // Old keys are good until new ones are there: nobody waits for them.
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
                Err(error) => tracing::warn!(url = %inner.url, %error, "cannot fetch the key set"),
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
        // Whole values are replaced in it: it is right even after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn fetch(&self) -> std::result::Result<Arc<[VerifyKey]>, FetchError> {
        let mut response = self.client.get(self.url.clone()).send().await?;
        if response.status() != reqwest::StatusCode::OK {
            return Err(FetchError::Answer(response.status().as_u16()));
        }
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await? {
            if body.len() + piece.len() > SIZE_LIMIT {
                return Err(FetchError::TooLarge);
            }
            body.extend_from_slice(&piece);
        }
        self.read(&body)
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

/// Why there are no new keys; for the log.
#[derive(Debug)]
enum FetchError {
    Transport(reqwest::Error),
    Answer(u16),
    TooLarge,
    NotAKeySet,
}

impl std::fmt::Display for FetchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Transport(error) => write!(f, "{error}"),
            Self::Answer(status) => write!(f, "it was answered by {status}"),
            Self::TooLarge => write!(f, "it is larger than {SIZE_LIMIT} bytes"),
            Self::NotAKeySet => write!(f, "it is not a JSON Web Key Set"),
        }
    }
}

impl From<reqwest::Error> for FetchError {
    fn from(error: reqwest::Error) -> Self {
        Self::Transport(error.without_url())
    }
}

/// The URL, if keys may be taken from there.
fn checked(url: &str, http_hosts: &[String]) -> Result<Url> {
    let refuse = |why: &str| Err(Status::invalid_argument(format!("the key set's URL {why}")));
    let Ok(url) = Url::parse(url) else { return refuse("is not a URL") };
    let Some(host) = url.host_str() else { return refuse("has no host") };
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("must not hold credentials");
    }
    let is_listed = http_hosts.iter().any(|listed| listed.eq_ignore_ascii_case(host));
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_listed || is_this_machine(host) => Ok(url),
        _ => refuse("must be https; name the host by `allow_http_host` for http"),
    }
}

fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
