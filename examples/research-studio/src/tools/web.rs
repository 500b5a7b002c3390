//! Pages and feeds, fetched under the policy for URLs that others have chosen.
//!
//! Search results, feeds and models choose the URLs that are fetched here, so only public addresses
//! are allowed. The services that the operator has configured (the search, the feeds) are the
//! exception: they may be on this machine.

use std::sync::Arc;
use std::time::Duration;

use oxikit::outgoing::{OutgoingClient, OutgoingError, OutgoingPolicy, OutgoingResponse, Url};
use oxikit::prelude::*;

use super::feed::{self, FeedItem};
use super::readable::{self, Page};
use crate::UserError;

/// Maximum size of a page or feed in bytes. Larger ones are refused.
const MAX_BYTES: usize = 2 * 1024 * 1024;
/// Timeout of one request.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum number of redirects. Each target is checked as the first URL was.
const MAX_REDIRECTS: usize = 3;

/// Fetches pages and feeds. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Web {
    /// For URLs that others have chosen.
    foreign: OutgoingClient,
    /// For URLs at the origins that the operator has configured.
    own: OutgoingClient,
    origins: Arc<Vec<String>>,
}

impl Web {
    /// A client that also reaches these services of the operator, wherever they are.
    ///
    /// # Errors
    ///
    /// If TLS cannot be set up.
    pub fn new(services: &[Url]) -> Result<Self> {
        let policy = OutgoingPolicy::default().timeout(TIMEOUT).max_response_bytes(MAX_BYTES);
        let mut own = policy.clone();
        for url in services {
            own = own.allow_loopback_of(url);
            if let Some(host) = url.host_str() {
                own = own.allow_http_host(host);
            }
        }
        let origins = services.iter().map(origin).collect();
        Ok(Self {
            foreign: OutgoingClient::new(policy).or_internal()?,
            own: OutgoingClient::new(own).or_internal()?,
            origins: Arc::new(origins),
        })
    }

    /// Reads a page: its title and its readable text.
    ///
    /// # Errors
    ///
    /// [`UserError::Page`] if the URL is not allowed, the page cannot be fetched or is not text.
    pub async fn page(&self, url: &str) -> Result<Page> {
        let (url, response) = self.fetch(url).await?;
        let text = String::from_utf8_lossy(response.body());
        let media_type = media_type(&response);
        match media_type.as_str() {
            "text/html" | "application/xhtml+xml" | "" => Ok(readable::page(url.as_str(), &text)),
            plain if plain.starts_with("text/") => Ok(Page {
                title: text
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .trim_start_matches('#')
                    .trim()
                    .to_owned(),
                url: url.to_string(),
                text: text.into_owned(),
            }),
            other => Err(failure(url.as_str(), format!("it is `{other}`, not a text"))),
        }
    }

    /// Reads an RSS or Atom feed.
    ///
    /// # Errors
    ///
    /// As [`page`](Self::page), and if the answer is not a feed.
    pub async fn feed(&self, url: &str) -> Result<Vec<FeedItem>> {
        let (url, response) = self.fetch(url).await?;
        let text = String::from_utf8_lossy(response.body());
        feed::parse(&text).map_err(|reason| failure(url.as_str(), reason))
    }

    /// Reads a JSON document, from a service of the operator.
    ///
    /// # Errors
    ///
    /// As [`page`](Self::page), and if the answer is not JSON.
    pub async fn json(&self, url: &str) -> Result<Value> {
        let (url, response) = self.fetch(url).await?;
        serde_json::from_slice(response.body())
            .map_err(|_| failure(url.as_str(), "its answer is not JSON".to_owned()))
    }

    async fn fetch(&self, text: &str) -> Result<(Url, OutgoingResponse)> {
        let mut url = Url::parse(text).map_err(|error| failure(text, error.to_string()))?;
        for _ in 0..=MAX_REDIRECTS {
            let client = match self.origins.contains(&origin(&url)) {
                true => &self.own,
                false => &self.foreign,
            };
            let refuse = |error: OutgoingError| failure(text, error.to_string());
            let request = client.get(url.clone()).header("user-agent", "oxikit-research-studio");
            let response = request.map_err(refuse)?.send().await.map_err(refuse)?;
            let status = response.status();
            if !status.is_redirection() {
                return match status.is_success() {
                    true => Ok((url, response)),
                    false => Err(failure(text, format!("the server answered {}", status.as_u16()))),
                };
            }
            let target = response.headers().get("location").and_then(|it| it.to_str().ok());
            let target = target.and_then(|target| url.join(target).ok());
            url = target.ok_or_else(|| failure(text, "it redirects to nowhere".to_owned()))?;
        }
        Err(failure(text, format!("it redirects more than {MAX_REDIRECTS} times")))
    }
}

fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn media_type(response: &OutgoingResponse) -> String {
    let header = response.headers().get("content-type").and_then(|it| it.to_str().ok());
    let media_type = header.unwrap_or_default().split(';').next().unwrap_or_default();
    media_type.trim().to_ascii_lowercase()
}

fn failure(url: &str, reason: String) -> Status {
    UserError::Page { url: url.to_owned(), reason }.into()
}
