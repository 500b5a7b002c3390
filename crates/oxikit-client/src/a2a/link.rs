//! Requests to an agent: headers, and a further try after a refusal.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use oxikit_core::{Context, Result};
use oxikit_wire::a2a::{Operation, Version};
use oxikit_wire::headers;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Method, Url};
use tokio::time::Instant;

use super::guard::Guard;
use super::observer::Observer;
use crate::Client;
use crate::client::set_header;
use crate::exchange::{Answer, Exchange};
use crate::failure::Fault;

const VERSION: HeaderName = HeaderName::from_static(headers::A2A_VERSION);
const LAST_EVENT_ID: HeaderName = HeaderName::from_static(headers::LAST_EVENT_ID);
const TRACE_PARENT: HeaderName = HeaderName::from_static(headers::TRACE_PARENT);
pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

/// An answer of a server that refuses the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status, 401 or 403; over gRPC that of the status `UNAUTHENTICATED` or
    /// `PERMISSION_DENIED`.
    pub http: u16,
    /// The `WWW-Authenticate` header, which says what the server wants.
    pub challenge: Option<String>,
}

/// Headers for a further try; `None` if there are none.
type Renewed = Result<Option<Vec<(String, String)>>>;
pub(super) type RefusalHandler =
    Arc<dyn Fn(Refusal) -> Pin<Box<dyn Future<Output = Renewed> + Send>> + Send + Sync>;

/// The connection to an agent: what all of its requests have in common.
pub(super) struct Link {
    pub(super) client: Client,
    pub(super) headers: HeaderMap,
    /// Headers of the refusal handler, which replace others.
    pub(super) renewed: Mutex<HeaderMap>,
    /// Parameters for the query of every request, for example an API key.
    pub(super) query: Vec<(String, String)>,
    pub(super) on_refusal: Option<RefusalHandler>,
    pub(super) timeout: Option<Duration>,
    pub(super) guard: Guard,
    pub(super) observer: Option<Observer>,
}

/// A request that may be sent twice.
pub(super) struct Asking {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Asking {
    /// A request without a body, in this version of the protocol.
    pub(super) fn new(method: Method, url: Url, version: Version) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(VERSION, HeaderValue::from_static(version.name()));
        Self { method, url, headers, body: Bytes::new() }
    }

    /// Asks for events if the answer is a stream, else for this media type.
    pub(super) fn accepting(mut self, operation: Operation, media_type: HeaderValue) -> Self {
        let accepted = if operation.is_streaming() { EVENT_STREAM } else { media_type };
        self.headers.insert(ACCEPT, accepted);
        self
    }

    pub(super) fn with_body(mut self, media_type: HeaderValue, body: Vec<u8>) -> Self {
        self.headers.insert(CONTENT_TYPE, media_type);
        self.body = body.into();
        self
    }

    /// Asks a server that numbers its events for those after this one.
    pub(super) fn after(mut self, event_id: Option<&str>) -> Self {
        if let Some(id) = event_id.and_then(|id| HeaderValue::from_str(id).ok()) {
            self.headers.insert(LAST_EVENT_ID, id);
        }
        self
    }
}

impl Link {
    pub(super) fn exchange(&self, url: &Url) -> Result<Exchange> {
        let mut headers = self.client.settings.headers.clone();
        replace(&mut headers, &self.headers);
        headers.insert(VERSION, HeaderValue::from_static(Version::V1_0.name()));
        let parent = Context::current().map(|context| context.trace_parent().to_string());
        if let Some(parent) = parent.and_then(|parent| HeaderValue::try_from(parent).ok()) {
            headers.insert(TRACE_PARENT, parent);
        }
        let timeout = self.timeout.or(self.client.settings.timeout);
        Ok(Exchange {
            client: self.client.clone(),
            outgoing: self.guard.client_for(url)?,
            url: url.clone(),
            headers,
            deadline: timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
        })
    }

    /// Whether requests have headers that only the server of the card may get.
    pub(super) fn has_secrets(&self) -> bool {
        !self.headers.is_empty()
            || !self.client.settings.headers.is_empty()
            || !self.query.is_empty()
            || self.on_refusal.is_some()
    }

    /// Sends a request, and once more if the server refuses the caller and the handler has new
    /// headers. A refused request had no effect.
    pub(super) async fn send(&self, exchange: &Exchange, asking: &Asking) -> Result<Answer, Fault> {
        let answer = self.send_once(exchange, asking).await?;
        let (Some(http), Some(handler)) = (refused_with(&answer), &self.on_refusal) else {
            return Ok(answer);
        };
        let challenge = answer.headers().get(WWW_AUTHENTICATE);
        let challenge = challenge.and_then(|it| it.to_str().ok()).map(str::to_owned);
        let refusal = Refusal { http, challenge };
        let Some(pairs) = handler(refusal).await.map_err(Fault::Lasting)? else {
            return Ok(answer);
        };
        self.renew(pairs).map_err(Fault::Lasting)?;
        self.send_once(exchange, asking).await
    }

    fn renew(&self, pairs: Vec<(String, String)>) -> Result<()> {
        let mut renewed = self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        pairs.iter().try_for_each(|(name, value)| set_header(&mut renewed, name, value))
    }

    async fn send_once(&self, exchange: &Exchange, asking: &Asking) -> Result<Answer, Fault> {
        let mut tries = 0;
        loop {
            let request = self.request(exchange, asking)?;
            if let Some(observer) = &self.observer {
                let Asking { method, body, .. } = asking;
                observer.request(method, &exchange.url, request.headers(), body);
            }
            match exchange.execute(request).await {
                Ok(answer) => {
                    if let Some(observer) = &self.observer {
                        observer.response(answer.http(), answer.headers());
                    }
                    return Ok(answer);
                }
                Err(fault) => exchange.try_again(fault, &mut tries).await?,
            }
        }
    }

    /// Shows the body of a response to the observer.
    pub(super) fn observe_body(&self, text: &[u8]) {
        if let Some(observer) = &self.observer {
            observer.body(text);
        }
    }

    fn request(&self, exchange: &Exchange, asking: &Asking) -> Result<reqwest::Request, Fault> {
        let mut headers = exchange.headers.clone();
        replace(&mut headers, &self.renewed.lock().unwrap_or_else(PoisonError::into_inner));
        replace(&mut headers, &asking.headers);
        let mut url = exchange.url.clone();
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        let http = &exchange.client.http;
        http.request(asking.method.clone(), url)
            .headers(headers)
            .body(asking.body.clone())
            .build()
            .map_err(|error| Fault::of_transport(&exchange.url, error))
    }
}

/// The HTTP status of an answer that refuses the caller.
fn refused_with(answer: &Answer) -> Option<u16> {
    #[cfg(feature = "a2a-grpc")]
    let http = super::grpc_status::http_of(answer.headers()).unwrap_or(answer.http());
    #[cfg(not(feature = "a2a-grpc"))]
    let http = answer.http();
    matches!(http, 401 | 403).then_some(http)
}

fn replace(headers: &mut HeaderMap, others: &HeaderMap) {
    for (name, value) in others {
        headers.insert(name, value.clone());
    }
}
