//! An agent of a server: the [`AgentTransport`] over HTTP.
//!
//! A turn is a streamed call of the agent's action; snapshots and aborts are unary calls of its
//! companion actions. The conversation itself is kept by [`Chat`].

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_trait::async_trait;
use futures_core::Stream;
use oxikit_core::chat::{AgentEvent, AgentTransport, Chat, Invocation};
use oxikit_core::{Result, StatusCode};
use oxikit_wire::{
    AgentAbortRequest, AgentAbortResponse, AgentInit, AgentInput, AgentOutput, AgentStreamChunk,
    GetSnapshotRequest, SessionSnapshot, SnapshotStatus,
};

use crate::{Client, RemoteAction, RemoteStream};

/// An agent of a server that is written with oxikit or with any Genkit. Clones share their
/// connections.
///
/// The same [`Chat`] works with agents of this process, see
/// [`LocalAgent`](oxikit_core::chat::LocalAgent).
///
/// ```no_run
/// use oxikit_client::RemoteAgent;
///
/// # async fn token() -> oxikit_client::Result<String> { Ok("a token".to_owned()) }
/// # async fn example() -> oxikit_client::Result<()> {
/// let guide = RemoteAgent::new("https://agents.example/guide")?
///     .with_headers_from(|| async { Ok([("authorization", token().await?)]) });
/// let mut chat = guide.load_session("monday").await?;
/// let reply = chat.send("Where were we?").await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct RemoteAgent {
    agent: RemoteAction,
    snapshot: RemoteAction,
    abort: RemoteAction,
    headers: Option<HeaderSource>,
}

/// Makes the headers of a request, each time anew.
type HeaderSource =
    Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Result<Headers>> + Send>> + Send + Sync>;
type Headers = Vec<(String, String)>;

impl RemoteAgent {
    /// The agent at this address, with a [`Client`] of its own. Its snapshots are
    /// read at `<url>/getSnapshot`, its detached work is stopped at `<url>/abort`. Nothing is
    /// sent yet.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the URL is not an HTTP address; else as [`Client::new`].
    pub fn new(url: &str) -> Result<Self> {
        Client::new()?.agent(url)
    }

    pub(crate) fn at(agent: RemoteAction) -> Self {
        let (snapshot, abort) = (agent.below("getSnapshot"), agent.below("abort"));
        Self { agent, snapshot, abort, headers: None }
    }

    /// Reads snapshots at this address instead.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the URL is not an HTTP address.
    pub fn with_snapshot_url(mut self, url: &str) -> Result<Self> {
        self.snapshot = self.snapshot.elsewhere(url)?;
        Ok(self)
    }

    /// Stops detached work at this address instead.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the URL is not an HTTP address.
    pub fn with_abort_url(mut self, url: &str) -> Result<Self> {
        self.abort = self.abort.elsewhere(url)?;
        Ok(self)
    }

    /// Sends this header with every request. Its value never appears in errors or debug output.
    /// With an invalid header every request fails.
    #[must_use]
    pub fn with_header(self, name: &str, value: &str) -> Self {
        self.map(|action| action.with_header(name, value))
    }

    /// Calls `source` for further headers before every request, for example for a token that
    /// expires. If it fails, the request fails with its error.
    #[must_use]
    pub fn with_headers_from<F, Fut, Pairs, Name, Text>(mut self, source: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Pairs>> + Send + 'static,
        Pairs: IntoIterator<Item = (Name, Text)>,
        Name: Into<String>,
        Text: Into<String>,
    {
        self.headers = Some(Arc::new(move || {
            let headers = source();
            Box::pin(async move {
                let headers = headers.await?;
                Ok(headers.into_iter().map(|(name, text)| (name.into(), text.into())).collect())
            })
        }));
        self
    }

    /// Maximum time of a turn or another request, in place of the
    /// [client's](crate::ClientBuilder::timeout).
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        self.map(|action| action.with_timeout(timeout))
    }

    /// Begins a new conversation. Nothing is sent before the first turn.
    ///
    /// ```no_run
    /// # async fn example(guide: oxikit_client::RemoteAgent) -> oxikit_client::Result<()> {
    /// let mut chat = guide.chat();
    /// let mut turn = chat.send_stream("Where is the library?").await?;
    /// while let Some(chunk) = turn.next().await {
    ///     print!("{}", chunk?.to_text());
    /// }
    /// let reply = turn.finish().await?;
    /// # Ok(()) }
    /// ```
    pub fn chat(&self) -> Chat {
        Chat::new(self.transport())
    }

    /// Reads a session that the agent keeps, and continues it; see [`Chat::load_session`].
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if there is no such session; else as [`RemoteAction::run`].
    pub async fn load_session(&self, session_id: impl Into<String>) -> Result<Chat> {
        Chat::load_session(self.transport(), session_id).await
    }

    /// Reads a snapshot, and continues from it; see [`Chat::load_snapshot`].
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if there is no such snapshot; else as [`RemoteAction::run`].
    pub async fn load_snapshot(&self, snapshot_id: impl Into<String>) -> Result<Chat> {
        Chat::load_snapshot(self.transport(), snapshot_id).await
    }

    fn transport(&self) -> Arc<dyn AgentTransport> {
        Arc::new(self.clone())
    }

    fn map(self, change: impl Fn(RemoteAction) -> RemoteAction) -> Self {
        Self {
            agent: change(self.agent),
            snapshot: change(self.snapshot),
            abort: change(self.abort),
            headers: self.headers,
        }
    }

    /// The action with the headers of this request.
    async fn ready(&self, action: &RemoteAction) -> Result<RemoteAction> {
        let mut action = action.clone();
        if let Some(source) = &self.headers {
            for (name, value) in source().await? {
                action = action.with_header(&name, &value);
            }
        }
        Ok(action)
    }
}

#[async_trait]
impl AgentTransport for RemoteAgent {
    async fn invoke(&self, init: AgentInit, input: AgentInput) -> Result<Invocation> {
        let agent = self.ready(&self.agent).await?.with_init(init);
        Ok(Box::pin(Turn(agent.stream(&input).await?)))
    }

    async fn snapshot(&self, request: GetSnapshotRequest) -> Result<SessionSnapshot> {
        self.ready(&self.snapshot).await?.run(&request).await
    }

    async fn abort(&self, snapshot_id: &str) -> Result<Option<SnapshotStatus>> {
        let request = AgentAbortRequest { snapshot_id: snapshot_id.to_owned() };
        match self.ready(&self.abort).await?.run::<AgentAbortResponse>(&request).await {
            Ok(answer) => Ok(answer.status),
            // Go servers answer this for an unknown snapshot; others answer without a status.
            Err(status) if status.code() == StatusCode::NotFound => Ok(None),
            Err(status) => Err(status),
        }
    }
}

/// The chunks of a turn and its output as one stream.
struct Turn(RemoteStream<AgentStreamChunk, AgentOutput>);

impl Stream for Turn {
    type Item = Result<AgentEvent>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(match ready!(Pin::new(&mut self.0).poll_next(cx)) {
            Some(Ok(chunk)) => Some(Ok(AgentEvent::Chunk(chunk))),
            Some(Err(status)) if self.0.has_ended() => Some(Err(status)),
            Some(Err(status)) => Some(Ok(AgentEvent::Unreadable(status))),
            // If the turn failed, its error was the item before, and the stream ends here.
            None => {
                self.0.take_output().and_then(Result::ok).map(|output| Ok(AgentEvent::Done(output)))
            }
        })
    }
}

impl fmt::Debug for RemoteAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteAgent")
            .field("agent", &self.agent)
            .field("has_header_source", &self.headers.is_some())
            .finish_non_exhaustive()
    }
}
