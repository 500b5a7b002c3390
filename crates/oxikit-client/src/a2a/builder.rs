//! The settings of an [`A2aClient`].

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use oxikit_core::{Result, Status};
use oxikit_outgoing::OutgoingClient;
use oxikit_wire::a2a::{AgentCard, Version};
use reqwest::header::{AUTHORIZATION, HeaderMap};

use super::endpoint::Choice;
use super::guard::Guard;
use super::link::{Link, Refusal, RefusalHandler};
use super::observer::{Observer, RawExchange};
use super::{A2aClient, Binding, card};
use crate::Client;
use crate::action::parse_url;
use crate::card_cache::ReadCard;
use crate::client::set_header;

/// A card that was read with [`A2aBuilder::read_card`].
#[derive(Debug, Clone, PartialEq)]
pub struct FoundCard {
    /// The address at which the card was found.
    pub url: String,
    /// The card.
    pub card: AgentCard,
    /// The document itself, with members that [`AgentCard`] does not have.
    pub json: Bytes,
}

/// The settings of a new [`A2aClient`].
///
/// ```no_run
/// use oxikit_client::a2a::A2aClient;
///
/// # async fn new_token() -> oxikit_client::Result<String> { Ok("a token".to_owned()) }
/// # async fn example(token: &str) -> oxikit_client::Result<()> {
/// let agent = A2aClient::builder("https://agents.example/a2a/coder")
///     .bearer(token)
///     .on_refusal(|_| async {
///         Ok(Some([("authorization", format!("Bearer {}", new_token().await?))]))
///     })
///     .connect()
///     .await?;
/// # Ok(()) }
/// ```
#[must_use = "call `connect` to get the client"]
pub struct A2aBuilder {
    url: String,
    client: Option<Client>,
    headers: HeaderMap,
    on_refusal: Option<RefusalHandler>,
    version: Option<Version>,
    binding: Option<Binding>,
    trusted: Vec<String>,
    /// An API key, whose place the card names.
    api_key: Option<String>,
    is_foreign: bool,
    outgoing: Option<OutgoingClient>,
    timeout: Option<Duration>,
    observer: Option<Observer>,
    /// The first invalid setting, which `connect` reports.
    fault: Option<Status>,
}

impl A2aBuilder {
    /// Uses the connections, limits and headers of this client, and its cache of cards.
    pub fn client(mut self, client: &Client) -> Self {
        self.client = Some(client.clone());
        self
    }

    /// Sends this header with every request, for example an API key. Its value never appears in
    /// errors or debug output. An invalid header is reported by [`connect`](Self::connect).
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Err(status) = set_header(&mut self.headers, name, value) {
            self.fault.get_or_insert(status);
        }
        self
    }

    /// Sends this token with every request, as `Authorization: Bearer <token>`.
    pub fn bearer(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    /// Calls this function when a server answers 401 or 403. The headers that it returns are sent
    /// in one further try, and with all later requests. With `None` the refusal is the result.
    pub fn on_refusal<F, Fut, Pairs, Name, Text>(mut self, handler: F) -> Self
    where
        F: Fn(Refusal) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Option<Pairs>>> + Send + 'static,
        Pairs: IntoIterator<Item = (Name, Text)>,
        Name: Into<String>,
        Text: Into<String>,
    {
        self.on_refusal = Some(Arc::new(move |refusal| {
            let headers = handler(refusal);
            Box::pin(async move {
                let Some(headers) = headers.await? else { return Ok(None) };
                let pairs = headers.into_iter().map(|(name, text)| (name.into(), text.into()));
                Ok(Some(pairs.collect()))
            })
        }));
        self
    }

    /// Speaks only this version of the protocol. By default it is 1.0 if the card lists it, else
    /// 0.3.
    pub fn version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }

    /// Speaks only this binding. By default it is the first of the card's list that this client
    /// speaks in the chosen version.
    ///
    /// ```no_run
    /// use oxikit_client::a2a::{A2aClient, Binding, Version};
    ///
    /// # async fn example() -> oxikit_client::Result<()> {
    /// let agent = A2aClient::builder("https://agents.example/a2a/coder")
    ///     .binding(Binding::HttpJson)
    ///     .version(Version::V1_0)
    ///     .connect()
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn binding(mut self, binding: Binding) -> Self {
        self.binding = Some(binding);
        self
    }

    /// Sends this API key with every call, in the header, query parameter or cookie that the card
    /// names for it. The request for the card itself does not have it.
    ///
    /// ```no_run
    /// use oxikit_client::a2a::A2aClient;
    ///
    /// # async fn example(key: &str) -> oxikit_client::Result<()> {
    /// let url = "https://agents.example/a2a/coder";
    /// let agent = A2aClient::builder(url).api_key(key).connect().await?;
    /// # Ok(()) }
    /// ```
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// Calls this function for a token when a server answers 401. The token is sent in one further
    /// try, and with all later requests. It replaces [`on_refusal`](Self::on_refusal).
    ///
    /// ```no_run
    /// use oxikit_client::a2a::A2aClient;
    ///
    /// # async fn new_token() -> oxikit_client::Result<String> { Ok("a token".to_owned()) }
    /// # async fn example() -> oxikit_client::Result<()> {
    /// let url = "https://agents.example/a2a/coder";
    /// let agent = A2aClient::builder(url).bearer_from(new_token).connect().await?;
    /// # Ok(()) }
    /// ```
    pub fn bearer_from<F, Fut>(self, token: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String>> + Send + 'static,
    {
        self.on_refusal(move |refusal| {
            let token = (refusal.http == 401).then(&token);
            async move {
                let Some(token) = token else { return Ok(None) };
                Ok(Some([(AUTHORIZATION.as_str(), format!("Bearer {}", token.await?))]))
            }
        })
    }

    /// Says that others have chosen the URL: a user, a model, another card. Then the card too is
    /// read only from addresses that the policy of [`outgoing`](Self::outgoing) allows.
    ///
    /// ```no_run
    /// use oxikit_client::a2a::A2aClient;
    ///
    /// # async fn example(url_of_a_user: &str) -> oxikit_client::Result<()> {
    /// let agent = A2aClient::builder(url_of_a_user).foreign_url().connect().await?;
    /// # Ok(()) }
    /// ```
    pub fn foreign_url(mut self) -> Self {
        self.is_foreign = true;
        self
    }

    /// Sends requests to foreign addresses by this client: those that a card names at another
    /// server than its own, and all with [`foreign_url`](Self::foreign_url). Trusted origins are
    /// not foreign. By default only public addresses by https are allowed; besides, any port of
    /// this machine or of an address if the URL of the agent names it.
    pub fn outgoing(mut self, client: OutgoingClient) -> Self {
        self.outgoing = Some(client);
        self
    }

    /// Takes this server, such as `https://api.example`, for one that the application has chosen,
    /// if the card names it as an address of the agent: its address may be private, and it gets
    /// the headers. By default, headers go only to the server that the card is from: they may hold
    /// a token, and a card may name any address.
    pub fn trust_origin(mut self, origin: impl Into<String>) -> Self {
        self.trusted.push(origin.into());
        self
    }

    /// Maximum time of a request, in place of the [client's](crate::ClientBuilder::timeout). For
    /// a stream it includes the reconnects.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Calls this function with everything that is sent to the agent and received from it, as it is on
    /// the wire, for tools that show it. It must not block.
    ///
    /// ```
    /// use oxikit_client::a2a::A2aClient;
    ///
    /// let builder = A2aClient::builder("http://127.0.0.1:3400/a2a/coder")
    ///     .observe(|step| eprintln!("{step:?}"));
    /// # _ = builder;
    /// ```
    pub fn observe(mut self, observe: impl Fn(RawExchange) + Send + Sync + 'static) -> Self {
        self.observer = Some(Observer::new(observe));
        self
    }

    /// Reads the card of the agent and chooses one of its addresses.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the URL or a header is invalid, `NOT_FOUND` if there is no card,
    /// `FAILED_PRECONDITION` if the card has no address that this client can call, names one that
    /// it may not call, or has no place for an API key; else as
    /// [`A2aClient::send`].
    pub async fn connect(mut self) -> Result<A2aClient> {
        let (mut link, card) = self.discover().await?;
        if let Some(key) = &self.api_key {
            link.set_api_key(&card.card, key)?;
        }
        let choice = Choice {
            card_url: &card.url,
            has_secrets: link.has_secrets(),
            trusted: &self.trusted,
            version: self.version,
            binding: self.binding,
        };
        let (main, older) = choice.of(&card.card)?;
        link.guard.check(&card.url, &main.url).await?;
        let older = match older {
            Some(older) if link.guard.check(&card.url, &older.url).await.is_ok() => Some(older),
            _ => None,
        };
        Ok(A2aClient::new(link, card, main, older))
    }

    /// Only reads the card of the agent, also one without an address that this client can call.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub async fn read_card(mut self) -> Result<FoundCard> {
        let (_, found) = self.discover().await?;
        Ok(FoundCard {
            url: found.url.to_string(),
            card: found.card.clone(),
            json: found.text.clone(),
        })
    }

    async fn discover(&mut self) -> Result<(Link, Arc<ReadCard>)> {
        if let Some(status) = self.fault.take() {
            return Err(status);
        }
        let url = parse_url(&self.url)?;
        let guard = match self.is_foreign {
            true => Guard::of_foreign(&self.trusted),
            false => Guard::of_own(&url, &self.trusted),
        };
        let link = Link {
            guard: match self.outgoing.take() {
                Some(outgoing) => guard.with(outgoing),
                None => guard,
            },
            query: Vec::new(),
            client: self.client.take().map_or_else(Client::new, Ok)?,
            headers: std::mem::take(&mut self.headers),
            renewed: Mutex::new(HeaderMap::new()),
            on_refusal: self.on_refusal.take(),
            timeout: self.timeout,
            observer: self.observer.take(),
        };
        let card = card::discover(&link, &url).await?;
        Ok((link, card))
    }
}

impl A2aClient {
    /// Begins a client with headers and other settings.
    pub fn builder(url: &str) -> A2aBuilder {
        A2aBuilder {
            url: url.to_owned(),
            client: None,
            headers: HeaderMap::new(),
            on_refusal: None,
            version: None,
            binding: None,
            trusted: Vec::new(),
            api_key: None,
            is_foreign: false,
            outgoing: None,
            timeout: None,
            observer: None,
            fault: None,
        }
    }
}

impl fmt::Debug for A2aBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("A2aBuilder")
            // Their values may be secrets, and so may parts of the URL.
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("version", &self.version)
            .field("binding", &self.binding)
            .field("trusted", &self.trusted)
            .finish_non_exhaustive()
    }
}
