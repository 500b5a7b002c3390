//! An agent of a server, as whoever talks to it sees it.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_trait::async_trait;
use futures_core::Stream;
use oxikit_core::chat::{AgentDoor, AgentEvent, Chat, Invocation};
use oxikit_core::{Result, StatusCode};
use oxikit_wire::{
    AgentAbortRequest, AgentAbortResponse, AgentInit, AgentInput, AgentOutput, AgentStreamChunk,
    GetSnapshotRequest, SessionSnapshot, SnapshotStatus,
};

use crate::{Client, RemoteAction, RemoteStream};

/// An agent of a server, written with oxikit or any Genkit. Clones share their
/// connections.
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

/// Makes the headers of a request.
type HeaderSource =
    Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Result<Headers>> + Send>> + Send + Sync>;
type Headers = Vec<(String, String)>;

impl RemoteAgent {
    /// The agent at this address, by a [`Client`] of its own. Its snapshots are
    /// read at `<url>/getSnapshot`, its detached work is stopped at `<url>/abort`.
    pub fn new(url: &str) -> Result<Self> {
        Client::new()?.agent(url)
    }

    pub(crate) fn at(agent: RemoteAction) -> Self {
        let (snapshot, abort) = (agent.below("getSnapshot"), agent.below("abort"));
        Self { agent, snapshot, abort, headers: None }
    }

    /// Reads snapshots at this address instead.
    pub fn with_snapshot_url(mut self, url: &str) -> Result<Self> {
        self.snapshot = self.snapshot.elsewhere(url)?;
        Ok(self)
    }

    /// Stops detached work at this address instead.
    pub fn with_abort_url(mut self, url: &str) -> Result<Self> {
        self.abort = self.abort.elsewhere(url)?;
        Ok(self)
    }

    /// Sends this header with every request; its value is shown nowhere. If it is
    /// not legal, every request fails.
    #[must_use]
    pub fn with_header(self, name: &str, value: &str) -> Self {
        self.map(|action| action.with_header(name, value))
    }

    /// Asks for more headers before every request, such as a token that expires.
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

    /// The longest time that a turn, or another request, may take.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        self.map(|action| action.with_timeout(timeout))
    }

    /// Begins a conversation.
    pub fn chat(&self) -> Chat {
        Chat::new(self.door())
    }

    /// Goes on with a session, its messages and state read first.
    pub async fn load_session(&self, session_id: impl Into<String>) -> Result<Chat> {
        Chat::load_session(self.door(), session_id).await
    }

    /// Goes on from a snapshot, its messages and state read first.
    pub async fn load_snapshot(&self, snapshot_id: impl Into<String>) -> Result<Chat> {
        Chat::load_snapshot(self.door(), snapshot_id).await
    }

    fn door(&self) -> Arc<dyn AgentDoor> {
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
impl AgentDoor for RemoteAgent {
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
            // So says Go; others answer without a status.
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
            Some(chunk) => Some(Ok(AgentEvent::Chunk(chunk))),
            None => self.0.take_output().map(|output| output.map(AgentEvent::Done)),
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
