//! The prompts of a prompt manager, such as `oxikit prompts`: the [`PromptSource`] over HTTP.
//!
//! All prompts are loaded with one request. Changes are reported by a stream of server-sent
//! events. Retries and the compiling of prompts are the work of the application.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use oxikit_core::ports::{PromptSource, PromptText};
use oxikit_core::{Result, Status, StatusCode};
use oxikit_wire::prompts::{DocumentKind, Export, ExportedPrompt};
use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue};

use crate::Client;
use crate::action::parse_url;
use crate::blocks::{BlockError, Blocks};
use crate::client::set_header;
use crate::exchange::{Answer, Exchange};
use crate::failure::{Fault, Place};

/// Maximum time without a byte of the manager. The manager writes something every 15 seconds.
const IDLE_TIME: Duration = Duration::from_secs(60);

/// A prompt manager that an application loads its prompts from, for
/// `Oxikit::load_prompts_from` and `OxikitBuilder::prompts_from`.
///
/// Inclusions (`[[name]]`) are already replaced in the texts that it delivers. With a
/// [`label`](Self::label) the application gets the prompts that have the label, at the revision
/// that it names; without one, all prompts at their newest revision.
///
/// ```
/// use oxikit_client::PromptManager;
///
/// # fn example(token: &str) -> oxikit_client::Result<()> {
/// let prompts = PromptManager::new("https://prompts.example")?
///     .token(token)?
///     .label("production");
/// # Ok(()) }
/// # example("a token").unwrap();
/// ```
pub struct PromptManager {
    client: Client,
    url: Url,
    headers: HeaderMap,
    label: Option<String>,
    /// The open stream of changes. It is taken out while it is read.
    feed: Mutex<Option<Feed>>,
}

impl PromptManager {
    /// The prompt manager at this address, such as `http://127.0.0.1:8081`, with a [`Client`] of
    /// its own. Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the URL is not an HTTP address; else as [`Client::new`].
    pub fn new(url: &str) -> Result<Self> {
        Self::with_client(Client::builder().idle_timeout(IDLE_TIME).build()?, url)
    }

    /// The prompt manager at this address, called with the settings of this client. Its idle
    /// timeout is the time after which a manager that has disappeared is noticed; more than 15
    /// seconds are needed.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the URL is not an HTTP address.
    pub fn with_client(client: Client, url: &str) -> Result<Self> {
        let url = parse_url(url)?;
        let headers = client.settings.headers.clone();
        Ok(Self { client, url, headers, label: None, feed: Mutex::default() })
    }

    /// Loads only the prompts with this label, such as `production`, each at the revision that
    /// the label names. Fragments that they include are taken at the revision of the same label,
    /// or at the newest one if they do not have it.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sends this token with every request, as `Authorization: Bearer`.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if a header cannot hold the token.
    pub fn token(mut self, token: &str) -> Result<Self> {
        set_header(&mut self.headers, AUTHORIZATION.as_str(), &format!("Bearer {token}"))?;
        Ok(self)
    }

    /// An exchange with a path of the API.
    fn exchange(&self, name: &str) -> Exchange {
        let mut url = self.url.clone();
        let mut path = url.path_segments_mut().expect("HTTP addresses have a path");
        path.pop_if_empty().extend(["api", "prompts", name]);
        drop(path);
        let (client, headers) = (self.client.clone(), self.headers.clone());
        Exchange { client, outgoing: None, url, headers, deadline: None }
    }

    /// Sends a `GET` request. An error of the manager is a status.
    async fn get(&self, exchange: &Exchange, accept: &'static str) -> Result<Answer> {
        let request = self.client.http.get(exchange.url.clone()).headers(exchange.headers.clone());
        let request = request.header(ACCEPT, HeaderValue::from_static(accept)).build();
        let request = request.map_err(|error| Fault::of_transport(&exchange.url, error));
        let sent = async { exchange.execute(request?).await };
        let answer = sent.await.map_err(Fault::into_status)?;
        match answer.http() {
            200..300 => Ok(answer),
            _ => Err(exchange.refused(answer).await.0),
        }
    }

    async fn open_feed(&self) -> Result<Feed> {
        let exchange = self.exchange("changes");
        let answer = self.get(&exchange, "text/event-stream").await?;
        let blocks = Blocks::new(self.client.settings.block_limit);
        Ok(Feed { exchange, answer, blocks })
    }

    fn keep(&self, feed: Feed) {
        *self.feed.lock().unwrap_or_else(PoisonError::into_inner) = Some(feed);
    }
}

#[async_trait]
impl PromptSource for PromptManager {
    async fn load(&self) -> Result<Vec<PromptText>> {
        let mut exchange = self.exchange("export");
        if let Some(label) = &self.label {
            exchange.url.query_pairs_mut().append_pair("label", label);
        }
        let answer = self.get(&exchange, "application/json").await?;
        let body = exchange.read_whole(answer).await?;
        let export: Export = serde_json::from_slice(&body).map_err(|error| {
            exchange.garbage("something that is not a list of prompts").caused_by(error)
        })?;
        Ok(export.prompts.into_iter().map(text_of).collect())
    }

    async fn changed(&self) -> Result<()> {
        let open = self.feed.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut feed) = open else {
            // Changes before this moment may have been missed, so there may be one.
            self.keep(self.open_feed().await?);
            return Ok(());
        };
        // If this future is dropped or fails, the stream is closed. The next call opens another
        // one and reports a change.
        feed.next().await?;
        self.keep(feed);
        Ok(())
    }
}

impl fmt::Debug for PromptManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptManager")
            // The URL may contain a password.
            .field("url", &Place(&self.url).to_string())
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}

fn text_of(prompt: ExportedPrompt) -> PromptText {
    let ExportedPrompt { name, kind, id, rev, source, fragments, .. } = prompt;
    let mut text = match kind {
        DocumentKind::Prompt => PromptText::prompt(name, source),
        DocumentKind::Fragment => PromptText::partial(name, source),
    };
    text.origin.fragments = fragments;
    text.with_id(id).with_revision(rev)
}

/// The stream of changes.
struct Feed {
    exchange: Exchange,
    answer: Answer,
    blocks: Blocks,
}

impl Feed {
    /// Waits for the next change. Changes that have arrived together count as one.
    async fn next(&mut self) -> Result<()> {
        loop {
            let mut has_changed = false;
            while let Some(block) = self.blocks.next() {
                block.map_err(|error| self.unreadable(error))?;
                has_changed = true;
            }
            if has_changed {
                return Ok(());
            }
            let read = self.exchange.read(&mut self.answer).await;
            match read.map_err(Fault::into_status)? {
                Some(piece) => self.blocks.push(&piece),
                None => {
                    let place = Place(&self.exchange.url);
                    let message = format!("{place} has closed the stream of changes");
                    return Err(Status::new(StatusCode::Unavailable, message));
                }
            }
        }
    }

    fn unreadable(&self, error: BlockError) -> Status {
        match error {
            BlockError::Garbage => {
                self.exchange.garbage("something that is not a stream of events")
            }
            BlockError::TooLarge => {
                self.exchange.too_large("an event", self.exchange.client.settings.block_limit)
            }
        }
    }
}
