//! The HTTP client below rig: reqwest behind rig's client trait.
//!
//! It has what rig's own client lacks: an idle timeout also for streamed answers,
//! a limit on the size of an answer, keys that are sent as headers and never in a URL,
//! and errors without URLs.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::stream;
use oxikit_core::Causes;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName};
use rig_core::http_client::{
    Error, HttpClientExt, LazyBody, MultipartForm, Request, Response, Result, StreamingResponse,
};
use tokio::time::timeout;

/// Maximum bytes of an answer that is not streamed. A larger one fails the call.
const ANSWER_LIMIT: usize = 64 << 20;
/// Maximum bytes of an error answer. The rest is cut.
const ERROR_LIMIT: usize = 64 << 10;

/// Headers with a key. They are marked as sensitive, so that no layer below logs them.
const KEY_HEADERS: [HeaderName; 3] =
    [AUTHORIZATION, HeaderName::from_static("x-api-key"), GOOGLE_KEY];
/// The header in which Google accepts the key instead of in the URL.
pub(crate) const GOOGLE_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");

/// The reason why no answer, or only a part of one, arrived. The texts name the origin of the
/// server, never the whole URL.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransportError {
    #[error("cannot connect to {0}{chain}", chain = Causes(.1))]
    Connect(String, #[source] reqwest::Error),
    #[error("{0} sent nothing for {1:?}")]
    Idle(String, Duration),
    #[error("the connection to {0} broke{chain}", chain = Causes(.1))]
    Broken(String, #[source] reqwest::Error),
    #[error("the answer of {0} is larger than {ANSWER_LIMIT} bytes")]
    TooLarge(String),
    #[error("the base URL is not valid{chain}", chain = Causes(.0))]
    Address(#[source] reqwest::Error),
    #[error("multipart requests are not sent")]
    Multipart,
}

/// Sends requests. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Http {
    pub(crate) client: reqwest::Client,
    /// Maximum time without a byte of the answer.
    pub(crate) idle: Duration,
    /// Headers of each request; they replace those that rig has set.
    pub(crate) headers: Arc<HeaderMap>,
}

impl Http {
    /// Sends a request and waits for the head of a successful answer.
    async fn open(self, request: Request<Bytes>) -> Result<Answer> {
        let request = self.prepare(request).map_err(Error::instance)?;
        let origin = request.url().origin().ascii_serialization();
        let sent = timeout(self.idle, self.client.execute(request)).await;
        let mut answer = Answer {
            response: match sent {
                Err(_) => return Err(Error::instance(TransportError::Idle(origin, self.idle))),
                Ok(Err(error)) => return Err(Error::instance(classify(origin, self.idle, error))),
                Ok(Ok(response)) => response,
            },
            origin,
            idle: self.idle,
        };
        if answer.response.status().is_success() {
            return Ok(answer);
        }
        let body = answer.read_error().await;
        let status = answer.response.status();
        let headers = answer.response.headers().clone();
        Err(Error::non_success_with_details(status, headers, body))
    }

    /// The request for reqwest, with the headers of the connection and without a key in its URL.
    fn prepare(
        &self,
        request: Request<Bytes>,
    ) -> std::result::Result<reqwest::Request, TransportError> {
        let (parts, body) = request.into_parts();
        let mut request = self
            .client
            .request(parts.method, parts.uri.to_string())
            .headers(parts.headers)
            .body(body)
            .build()
            .map_err(|error| TransportError::Address(error.without_url()))?;
        for (name, value) in self.headers.iter() {
            request.headers_mut().insert(name, value.clone());
        }
        if self.headers.contains_key(GOOGLE_KEY) {
            drop_key_parameter(request.url_mut());
        }
        for name in KEY_HEADERS {
            if let Some(value) = request.headers_mut().get_mut(name) {
                value.set_sensitive(true);
            }
        }
        Ok(request)
    }
}

/// Removes the parameter `key`, in which rig writes Gemini's key: logs and proxies see URLs.
fn drop_key_parameter(url: &mut reqwest::Url) {
    let others: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, _)| name != "key")
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    url.set_query(None);
    if !others.is_empty() {
        url.query_pairs_mut().extend_pairs(others);
    }
}

/// An answer whose head has arrived.
struct Answer {
    response: reqwest::Response,
    origin: String,
    idle: Duration,
}

impl Answer {
    /// The next bytes of the answer; `None` at its end. Fails after the idle timeout.
    async fn chunk(&mut self) -> Result<Option<Bytes>> {
        match timeout(self.idle, self.response.chunk()).await {
            Ok(Ok(chunk)) => Ok(chunk),
            Ok(Err(error)) => {
                let error = classify(self.origin.clone(), self.idle, error);
                Err(Error::instance(error))
            }
            Err(_) => {
                let error = TransportError::Idle(self.origin.clone(), self.idle);
                Err(Error::instance(error))
            }
        }
    }

    /// The whole answer, up to [`ANSWER_LIMIT`].
    async fn read_whole(mut self) -> Result<Bytes> {
        let mut body = BytesMut::new();
        while let Some(chunk) = self.chunk().await? {
            if body.len() + chunk.len() > ANSWER_LIMIT {
                return Err(Error::instance(TransportError::TooLarge(self.origin)));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    }

    /// The part of an error's body that can be read within the limits. Failures are ignored,
    /// because the HTTP status alone is enough for an error.
    async fn read_error(&mut self) -> String {
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = self.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() >= ERROR_LIMIT {
                body.truncate(ERROR_LIMIT);
                break;
            }
        }
        String::from_utf8_lossy(&body).into_owned()
    }

    fn head(&self) -> rig_core::http_client::Response<()> {
        let mut head = Response::new(());
        *head.status_mut() = self.response.status();
        *head.headers_mut() = self.response.headers().clone();
        head
    }
}

/// The reason behind an error of reqwest. The URL is removed from it, as it may hold a key.
fn classify(origin: String, idle: Duration, error: reqwest::Error) -> TransportError {
    let error = error.without_url();
    if error.is_connect() {
        TransportError::Connect(origin, error)
    } else if error.is_timeout() {
        TransportError::Idle(origin, idle)
    } else {
        TransportError::Broken(origin, error)
    }
}

impl HttpClientExt for Http {
    fn send<T, U>(
        &self,
        request: Request<T>,
    ) -> impl Future<Output = Result<Response<LazyBody<U>>>> + Send + 'static
    where
        T: Into<Bytes> + Send,
        U: From<Bytes> + Send + 'static,
    {
        let opening = self.clone().open(request.map(Into::into));
        async move {
            let answer = opening.await?;
            let head = answer.head();
            let body: LazyBody<U> = Box::pin(async move { answer.read_whole().await.map(U::from) });
            Ok(head.map(|()| body))
        }
    }

    /// Only transcription needs it, which is not offered.
    fn send_multipart<U>(
        &self,
        _: Request<MultipartForm>,
    ) -> impl Future<Output = Result<Response<LazyBody<U>>>> + Send + 'static
    where
        U: From<Bytes> + Send + 'static,
    {
        std::future::ready(Err(Error::instance(TransportError::Multipart)))
    }

    async fn send_streaming<T>(&self, request: Request<T>) -> Result<StreamingResponse>
    where
        T: Into<Bytes> + Send,
    {
        let answer = self.clone().open(request.map(Into::into)).await?;
        let head = answer.head();
        let chunks = stream::try_unfold(answer, |mut answer| async move {
            Ok(answer.chunk().await?.map(|chunk| (chunk, answer)))
        });
        Ok(head.map(|()| Box::pin(chunks) as _))
    }
}
