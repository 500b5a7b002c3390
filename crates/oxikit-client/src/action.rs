//! An action of a server, as its caller sees it.
//!
//! This module makes requests and reads outputs. The repetition of requests is in `exchange`, the
//! reading of streams in `stream`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use oxikit_core::{Payload, Result, Status, StatusCode};
use oxikit_wire::action_http::ActionCall;
use reqwest::Url;
use reqwest::header::HeaderMap;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use tokio::time::Instant;

use crate::client::{Client, set_header};
use crate::event::{fitting, output_of};
use crate::exchange::{Ask, Exchange};
use crate::failure::{Fault, Place};
use crate::stream::{Reader, RemoteStream};

/// An action of a server: a flow, or any other action that the server offers. Clones share their
/// connections.
///
/// ```no_run
/// use oxikit_client::RemoteAction;
///
/// # async fn example() -> oxikit_client::Result<()> {
/// let sum = RemoteAction::new("http://127.0.0.1:3400/sum")?.with_header("authorization", "key");
/// let total: u32 = sum.run(&[1, 2, 3]).await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct RemoteAction {
    client: Client,
    url: Url,
    headers: HeaderMap,
    init: Option<Arc<RawValue>>,
    timeout: Option<Duration>,
    /// The first invalid setting. Every call reports it: a call without its header, such as an
    /// authorization, would be worse.
    fault: Option<Status>,
}

impl RemoteAction {
    /// The action at this address, with a [`Client`] of its own. Nothing is sent yet. To call
    /// several actions of a server, use [`Client::action`].
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the URL is not an HTTP address; else as [`Client::new`].
    pub fn new(url: &str) -> Result<Self> {
        Client::new()?.action(url)
    }

    pub(crate) fn at(client: Client, url: &str) -> Result<Self> {
        let url = parse_url(url)?;
        Ok(Self { client, url, headers: HeaderMap::new(), init: None, timeout: None, fault: None })
    }

    /// The action at this address plus `/name`, with the same settings.
    pub(crate) fn below(&self, name: &str) -> Self {
        let mut below = self.clone();
        let mut path = below.url.path_segments_mut().expect("HTTP addresses have a path");
        path.pop_if_empty().push(name);
        drop(path);
        below
    }

    /// The action at another address, with the same settings.
    pub(crate) fn elsewhere(&self, url: &str) -> Result<Self> {
        Ok(Self { url: parse_url(url)?, ..self.clone() })
    }

    /// Sends this header with every call, in place of the client's header of the same name. Its
    /// value never appears in errors or debug output. With an invalid header every call fails.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        if let Err(status) = set_header(&mut self.headers, name, value) {
            self.fault.get_or_insert(status);
        }
        self
    }

    /// Sends this init beside the input, for bidirectional actions such as agents. If it
    /// cannot be written as JSON, every call fails.
    ///
    /// ```
    /// use serde_json::json;
    ///
    /// # fn main() -> oxikit_client::Result<()> {
    /// let agent = oxikit_client::RemoteAction::new("http://127.0.0.1:3400/guide")?
    ///     .with_init(json!({ "sessionId": "visitor-7" }));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn with_init(mut self, init: impl Serialize) -> Self {
        match to_raw_value(&init) {
            Ok(init) => self.init = Some(init.into()),
            Err(error) => drop(self.fault.get_or_insert(unwritable("init", error))),
        }
        self
    }

    /// Maximum time of a whole call, in place of the [client's](crate::ClientBuilder::timeout).
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Runs the action and waits for its output. With an input of `()`, none is sent.
    ///
    /// The request is repeated only if no connection to the server could be made.
    /// Dropping the future closes the connection, and the server cancels the action.
    ///
    /// ```no_run
    /// # async fn example(greet: oxikit_client::RemoteAction) -> oxikit_client::Result<()> {
    /// let text: String = greet.run("Ada").await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// The status that the server reports. `UNAVAILABLE` if the server cannot be reached or the
    /// connection breaks, `DEADLINE_EXCEEDED` after the timeout, `INTERNAL` if the output is
    /// not an `Out`, `RESOURCE_EXHAUSTED` if the answer is too large, `INVALID_ARGUMENT` if the
    /// input cannot be written as JSON or a header is invalid.
    pub async fn run<Out>(&self, input: &(impl Serialize + ?Sized)) -> Result<Out>
    where
        Out: DeserializeOwned + 'static,
    {
        let body = self.body(input)?;
        fitting("output", self.run_json(body).await?)
    }

    /// Runs the action and reads its chunks while it runs. With an input of `()`, none is sent.
    ///
    /// The request is repeated only if no connection to the server could be made. A
    /// durable stream whose connection breaks is continued after the last chunk that was read.
    ///
    /// ```no_run
    /// # async fn example(greet: oxikit_client::RemoteAction) -> oxikit_client::Result<()> {
    /// let mut stream = greet.stream::<String, String>("Ada").await?;
    /// while let Some(word) = stream.next().await {
    ///     println!("{}", word?);
    /// }
    /// let text = stream.finish().await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), up to the start of the answer. A later failure is reported by the
    /// [`RemoteStream`].
    pub async fn stream<Chunk, Out>(
        &self,
        input: &(impl Serialize + ?Sized),
    ) -> Result<RemoteStream<Chunk, Out>> {
        let body = self.body(input)?;
        let exchange = self.exchange()?;
        let answer = exchange.call(Ask::Stream(body)).await.map_err(Fault::into_status)?;
        let id = answer.stream_id();
        Ok(RemoteStream::new(Reader::new(exchange, id, 0, Some((answer, 0))), 0))
    }

    /// Reads a durable stream from its start.
    ///
    /// Call this only for an action that has returned a [stream id](RemoteStream::stream_id): any
    /// other action takes the request for a call without input, and runs.
    ///
    /// ```no_run
    /// # async fn example(report: oxikit_client::RemoteAction) -> oxikit_client::Result<()> {
    /// let stream = report.stream::<String, String>("May").await?;
    /// if let Some(id) = stream.stream_id() {
    ///     // Later, or in another process.
    ///     let text = report.resume::<String, String>(id).await?.finish().await?;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if the server does not know the stream, or not any more; else as
    /// [`stream`](Self::stream).
    pub async fn resume<Chunk, Out>(&self, stream_id: &str) -> Result<RemoteStream<Chunk, Out>> {
        self.resume_from(stream_id, 0).await
    }

    /// Reads a durable stream after this number of [chunks](RemoteStream::position). If the
    /// server can only begin at the start, the first chunks are received and skipped.
    ///
    /// ```no_run
    /// # async fn example(report: oxikit_client::RemoteAction) -> oxikit_client::Result<()> {
    /// let mut stream = report.stream::<String, String>("May").await?;
    /// stream.next().await;
    /// let (id, position) = (stream.stream_id().map(str::to_owned), stream.position());
    /// drop(stream);
    /// if let Some(id) = id {
    ///     // Continues with the second chunk.
    ///     let stream = report.resume_from::<String, String>(&id, position).await?;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`resume`](Self::resume).
    pub async fn resume_from<Chunk, Out>(
        &self,
        stream_id: &str,
        position: u64,
    ) -> Result<RemoteStream<Chunk, Out>> {
        if let Some(status) = &self.fault {
            return Err(status.clone());
        }
        let exchange = self.exchange()?;
        let mut reader = Reader::new(exchange, Some(stream_id.to_owned()), position, None);
        reader.connect().await?;
        Ok(RemoteStream::new(reader, position))
    }

    async fn run_json(&self, body: Bytes) -> Result<Payload> {
        let exchange = self.exchange()?;
        let answer = exchange.call(Ask::Output(body)).await.map_err(Fault::into_status)?;
        let body = exchange.read_whole(answer).await?;
        let body = match std::str::from_utf8(&body) {
            Ok(_) => body,
            Err(_) => String::from_utf8_lossy(&body).into_owned().into(),
        };
        output_of(&body)
            .unwrap_or_else(|| Err(exchange.garbage("an answer that is not `{\"result\": …}`")))
    }

    fn exchange(&self) -> Result<Exchange> {
        if let Some(status) = &self.fault {
            return Err(status.clone());
        }
        let mut headers = self.client.settings.headers.clone();
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
        let timeout = self.timeout.or(self.client.settings.timeout);
        Ok(Exchange {
            client: self.client.clone(),
            outgoing: None,
            url: self.url.clone(),
            headers,
            deadline: timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
        })
    }

    /// The body of a request: `{"data": …, "init": …}`.
    fn body<In: Serialize + ?Sized>(&self, input: &In) -> Result<Bytes> {
        // Only `()` and similar types have no size and are written as `null`. They are left out of
        // the body, because many schemas refuse a `null`.
        let is_unit = size_of_val(input) == 0
            && serde_json::to_string(input).is_ok_and(|text| text == "null");
        let body = ActionCall { data: (!is_unit).then_some(input), init: self.init.as_deref() };
        let body = serde_json::to_vec(&body).map_err(|error| unwritable("input", error))?;
        Ok(body.into())
    }
}

impl fmt::Debug for RemoteAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteAction")
            .field("url", &Place(&self.url).to_string())
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

pub(crate) fn parse_url(url: &str) -> Result<Url> {
    // The address may hold a password, so it is not repeated.
    let refuse = |why: &str| Status::new(StatusCode::InvalidArgument, why);
    let url = Url::parse(url).map_err(|error| refuse("the URL is not valid").caused_by(error))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refuse("the URL must begin with `http://` or `https://`"));
    }
    Ok(url)
}

pub(crate) fn unwritable(what: &str, error: serde_json::Error) -> Status {
    let message = format!("the {what} cannot be written as JSON: {error}");
    Status::new(StatusCode::InvalidArgument, message).caused_by(error)
}
