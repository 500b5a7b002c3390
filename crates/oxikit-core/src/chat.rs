//! A conversation with an agent, from the side of its client.
//!
//! [`Chat`] is the same for agents of this process ([`LocalAgent`]) and of other
//! servers; an [`AgentTransport`] carries the turns to either. Agents themselves, and the stores
//! of their sessions, are not part of this module.
//!
//! ```
//! # use oxikit_core::{Action, ActionKind, Context, Emitter, Inputs, Registry, Result};
//! # use oxikit_wire::{AgentInit, AgentInput, AgentOutput, AgentStreamChunk, Message};
//! use oxikit_core::chat::LocalAgent;
//!
//! # async fn example(app: Registry) -> Result<()> {
//! let mut chat = LocalAgent::find(&app, "guide").await?.chat();
//! println!("{}", chat.send("Where is the library?").await?.text());
//! println!("{}", chat.send("And when is it open?").await?.text());
//! # Ok(()) }
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
//! # let app = Registry::default();
//! # app.register(Action::builder(ActionKind::Agent, "guide").bidi(
//! #     |_: AgentInit, mut turns: Inputs<AgentInput>, _: Context, _: Emitter<AgentStreamChunk>| async move {
//! #         turns.next().await?;
//! #         let message = Some(Message::model("Over there.").into());
//! #         Ok(AgentOutput { message, ..AgentOutput::default() })
//! #     },
//! # ));
//! # example(app).await }
//! ```

mod detached;
mod local;
mod memory;
mod reply;
mod transport;
mod turn;

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use oxikit_wire::{
    AgentInput, AgentResume, Artifact, GetSnapshotRequest, Message, Part, PartKind,
    SessionSnapshot, SessionState, SnapshotStatus,
};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

pub use detached::DetachedTurn;
pub use local::LocalAgent;
pub use reply::{ChatReply, ToolInterrupt};
pub use transport::{AgentEvent, AgentTransport, Invocation};
pub use turn::ChatTurn;

use crate::{Result, Status, StatusCode};
use detached::by_snapshot;
use memory::{Gathered, Memory};

/// Maximum time that a new turn is retried while the agent is busy. After a turn was dropped,
/// the agent needs a moment to notice; beyond this time its refusal is returned.
const LONGEST_BUSY: Duration = Duration::from_secs(5);
/// Pause before the first retry of a busy agent. It doubles with every retry.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// Maximum number of ancestors that are read to find a snapshot to continue from.
const MAX_ANCESTORS: usize = 100;

/// A conversation with an agent.
///
/// It works the same with agents that keep the session in a store and with agents that receive
/// the whole state with every turn. A turn that fails is an error and changes nothing: the next
/// one continues from the last successful turn. The same holds for a turn that was dropped
/// before its end, and for detached work that was stopped or failed.
///
/// A clone continues independently from the same point, which is how a conversation is branched.
///
/// ```
/// use oxikit_core::chat::{Chat, LocalAgent};
/// # use oxikit_core::{Registry, Result};
///
/// # async fn example(app: Registry) -> Result<()> {
/// let agent = LocalAgent::find(&app, "guide").await?;
/// let mut chat = agent.chat().in_session("visitor-7");
/// chat.send("Where is the library?").await?;
///
/// // Later, in another process that uses the same session store.
/// let mut chat: Chat = agent.load_session("visitor-7").await?;
/// println!("{} messages so far", chat.messages().len());
/// chat.send("And when is it open?").await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Chat {
    transport: Arc<dyn AgentTransport>,
    memory: Memory,
}

impl Chat {
    /// A new conversation. Nothing is sent before the first turn.
    pub fn new(transport: Arc<dyn AgentTransport>) -> Self {
        Self { transport, memory: Memory::default() }
    }

    /// Uses this session: a new one, or one that the agent knows. Nothing is
    /// read before the first turn, so [`messages`](Self::messages) is empty until then.
    #[must_use]
    pub fn in_session(mut self, session_id: impl Into<String>) -> Self {
        self.memory.state.session_id = Some(session_id.into());
        self
    }

    /// Continues from this snapshot. Nothing is read before the first turn; see
    /// [`load_snapshot`](Self::load_snapshot) to read the history first.
    #[must_use]
    pub fn from_snapshot(mut self, snapshot_id: impl Into<String>) -> Self {
        self.memory.snapshot_id = Some(snapshot_id.into());
        self
    }

    /// Continues from this state, with an agent that has no session store. The state is sent with
    /// every turn.
    #[must_use]
    pub fn from_state(mut self, state: SessionState) -> Self {
        self.memory = Memory { state, is_kept_here: true, ..Memory::default() };
        self
    }

    /// Reads a session that the agent keeps, and continues it.
    ///
    /// If its newest snapshot is not a completed one, the chat continues from the nearest
    /// completed ancestor. If it is still pending, the chat waits for nothing: the next turn is
    /// refused until that work has ended or was [aborted](Self::abort).
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if there is no such session, or the error of the transport.
    pub async fn load_session(
        transport: Arc<dyn AgentTransport>,
        session_id: impl Into<String>,
    ) -> Result<Self> {
        let session_id = Some(session_id.into());
        Self::load(transport, GetSnapshotRequest { snapshot_id: None, session_id }).await
    }

    /// Reads a snapshot, and continues from it. A snapshot that is not completed is treated as in
    /// [`load_session`](Self::load_session).
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if there is no such snapshot, or the error of the transport.
    pub async fn load_snapshot(
        transport: Arc<dyn AgentTransport>,
        snapshot_id: impl Into<String>,
    ) -> Result<Self> {
        Self::load(transport, by_snapshot(&snapshot_id.into())).await
    }

    /// Sends a message and waits for the reply. The message is a text, parts, or a whole
    /// [`Message`].
    ///
    /// Dropping the future cancels the turn.
    ///
    /// # Errors
    ///
    /// If the turn fails; see [`ChatTurn::finish`].
    pub async fn send(&mut self, message: impl Into<Message>) -> Result<ChatReply> {
        self.send_stream(message).await?.finish().await
    }

    /// Sends a message and returns the running turn, whose chunks arrive while the agent works.
    ///
    /// ```
    /// # use oxikit_core::{Result, chat::Chat};
    /// # async fn example(mut chat: Chat) -> Result<()> {
    /// let mut turn = chat.send_stream("Tell me a story.").await?;
    /// while let Some(chunk) = turn.next().await {
    ///     print!("{}", chunk?.to_text());
    /// }
    /// let reply = turn.finish().await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub async fn send_stream(&mut self, message: impl Into<Message>) -> Result<ChatTurn<'_>> {
        let message = Some(Arc::new(message.into()));
        self.start(AgentInput { message, ..AgentInput::default() }).await
    }

    /// Answers the interrupted tools, and waits for the reply of the agent.
    ///
    /// ```
    /// # use oxikit_core::{Result, chat::Chat};
    /// # async fn example(mut chat: Chat) -> Result<()> {
    /// let reply = chat.send("Delete the old reports.").await?;
    /// let answers: Vec<_> = reply.interrupts().iter().map(|tool| tool.respond("yes")).collect();
    /// let reply = chat.resume(answers).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`resume_stream`](Self::resume_stream), and if the turn fails.
    pub async fn resume(&mut self, answers: impl IntoIterator<Item = Part>) -> Result<ChatReply> {
        self.resume_stream(answers).await?.finish().await
    }

    /// Answers the interrupted tools and returns the running turn. Pass one part for each
    /// interrupt, made by [`ToolInterrupt::respond`] or [`ToolInterrupt::restart`].
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if there is no answer, or a part is not an answer; else as
    /// [`start`](Self::start).
    pub async fn resume_stream(
        &mut self,
        answers: impl IntoIterator<Item = Part>,
    ) -> Result<ChatTurn<'_>> {
        let mut resume = AgentResume::default();
        for part in answers {
            let list = match &part.kind {
                PartKind::ToolResponse(_) => &mut resume.respond,
                PartKind::ToolRequest(_) => &mut resume.restart,
                _ => {
                    return Err(Status::invalid_argument(
                        "an interrupt is answered by a tool response, or by a tool request to run again",
                    ));
                }
            };
            list.get_or_insert_default().push(part);
        }
        if resume == AgentResume::default() {
            return Err(Status::invalid_argument("there is no answer to resume with"));
        }
        self.start(AgentInput { resume: Some(resume), ..AgentInput::default() }).await
    }

    /// Sends a message that the agent works on in the background, also after this client has gone.
    ///
    /// The next turn continues from the result. Until the work has ended, further turns are
    /// refused.
    ///
    /// ```
    /// # use oxikit_core::{Result, chat::Chat};
    /// # async fn example(mut chat: Chat) -> Result<()> {
    /// let work = chat.detach("Summarise all reports of this year.").await?;
    /// println!("working on it: {}", work.snapshot_id());
    /// work.wait().await?;
    /// chat.refresh().await?;
    /// println!("{} messages", chat.messages().len());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// `FAILED_PRECONDITION` if the agent does not detach turns; else as [`send`](Self::send).
    pub async fn detach(&mut self, message: impl Into<Message>) -> Result<DetachedTurn> {
        let message = Some(Arc::new(message.into()));
        let input = AgentInput { message, detach: Some(true), ..AgentInput::default() };
        let reply = self.start(input).await?.finish().await?;
        let snapshot_id = reply.output().snapshot_id.clone().ok_or_else(|| {
            Status::new(StatusCode::FailedPrecondition, "the agent did not detach the turn")
        })?;
        Ok(DetachedTurn::new(self.transport.clone(), snapshot_id))
    }

    /// Starts a turn with any input. The other methods that begin a turn are built on this one.
    ///
    /// If the turn before was dropped, the agent may not have noticed yet and answer `ABORTED`,
    /// because the session is busy. The turn is then retried for up to five seconds.
    ///
    /// # Errors
    ///
    /// `FAILED_PRECONDITION` while detached work of this chat runs; the error of the transport if
    /// the turn cannot be started. A failure of the turn itself is reported by the [`ChatTurn`].
    pub async fn start(&mut self, input: AgentInput) -> Result<ChatTurn<'_>> {
        if let Some(pending) = self.settle().await? {
            return Err(Status::new(
                StatusCode::FailedPrecondition,
                format!("the detached turn `{pending}` still runs: wait for it, or abort it"),
            ));
        }
        let gathered = Gathered { sent: input.message.clone(), ..Gathered::default() };
        let invocation = self.invoke(input).await?;
        Ok(ChatTurn::new(self, invocation, gathered))
    }

    /// Stops the detached work of this chat. Returns its previous status, or `None` if the chat
    /// has no detached work.
    ///
    /// # Errors
    ///
    /// If the agent cannot be reached, or has no session store.
    pub async fn abort(&mut self) -> Result<Option<SnapshotStatus>> {
        match &self.memory.pending {
            Some(pending) => self.transport.abort(pending).await,
            None => Ok(None),
        }
    }

    /// Reads the session again from an agent that keeps it.
    ///
    /// Afterwards [`messages`](Self::messages) also has the messages between the agent and its
    /// tools, which are not part of a reply, and the result of detached work that has ended.
    ///
    /// # Errors
    ///
    /// If the snapshot cannot be read from the agent.
    pub async fn refresh(&mut self) -> Result<()> {
        let known = self.memory.snapshot_id.clone();
        self.settle().await?;
        if let Some(id) = &self.memory.snapshot_id
            && known.as_ref() == Some(id)
        {
            let snapshot = self.transport.snapshot(by_snapshot(id)).await?;
            let pending = self.memory.pending.take();
            self.memory.adopt(snapshot);
            self.memory.pending = pending;
        }
        Ok(())
    }

    /// The conversation as far as this client has seen it: messages that were sent, and replies.
    pub fn messages(&self) -> &[Arc<Message>] {
        self.memory.state.messages.as_deref().unwrap_or_default()
    }

    /// The custom state of the session as far as this client has seen it; `None` if it has none.
    ///
    /// ```
    /// # use oxikit_core::{Result, chat::Chat};
    /// #[derive(serde::Deserialize)]
    /// struct Cart {
    ///     items: Vec<String>,
    /// }
    ///
    /// # fn example(chat: &Chat) -> Result<()> {
    /// if let Some(cart) = chat.state::<Cart>()? {
    ///     println!("{} items", cart.items.len());
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// `INTERNAL` if the state is not a `T`.
    pub fn state<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        Ok(self.memory.state.custom.as_deref().map(T::deserialize).transpose()?)
    }

    /// The artifacts of the session. A newer artifact replaces the one of the same name.
    pub fn artifacts(&self) -> &[Arc<Artifact>] {
        self.memory.state.artifacts.as_deref().unwrap_or_default()
    }

    /// The id of the session; `None` before the first turn if the agent chooses it.
    pub fn session_id(&self) -> Option<&str> {
        self.memory.state.session_id.as_deref()
    }

    /// The last completed snapshot, from which the next turn continues. `None` with an
    /// agent that has no session store.
    pub fn snapshot_id(&self) -> Option<&str> {
        self.memory.snapshot_id.as_deref()
    }

    /// The tools that wait for an answer: the interrupts of the last message.
    pub fn interrupts(&self) -> Vec<ToolInterrupt> {
        self.messages().last().map(|message| reply::interrupts_of(message)).unwrap_or_default()
    }

    /// Starts an invocation. If the turn before was dropped, the agent may not have noticed yet
    /// and answer that the session is busy. Only then is the request repeated, up to
    /// [`LONGEST_BUSY`]: in all other cases another client uses the session.
    async fn invoke(&mut self, input: AgentInput) -> Result<Invocation> {
        let has_left = std::mem::replace(&mut self.memory.is_open, true);
        let deadline = Instant::now() + LONGEST_BUSY;
        let mut pause = FIRST_PAUSE;
        loop {
            let invoked = self.transport.invoke(self.memory.init(), input.clone()).await;
            let mut invocation = invoked.inspect_err(|status| self.memory.fail(status))?;
            if !has_left {
                return Ok(invocation);
            }
            // The refusal of a busy agent is its first event. Any other first event is put back
            // in front of the stream.
            let first = invocation.next().await;
            let is_busy =
                matches!(&first, Some(Err(status)) if status.code() == StatusCode::Aborted);
            if !is_busy || Instant::now() > deadline {
                return Ok(Box::pin(stream::iter(first).chain(invocation)));
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }

    /// Takes over the result of detached work. Returns the id of its snapshot while it still
    /// runs. Work that failed, was aborted or is unknown by now is forgotten: the chat continues
    /// from the turn before it.
    async fn settle(&mut self) -> Result<Option<&str>> {
        let Some(pending) = &self.memory.pending else { return Ok(None) };
        match self.transport.snapshot(by_snapshot(pending)).await {
            Ok(snapshot) if is_good(&snapshot) => self.memory.adopt(snapshot),
            Ok(snapshot) if snapshot.status == Some(SnapshotStatus::Pending) => {}
            Ok(_) => self.memory.pending = None,
            Err(status) if status.code() == StatusCode::NotFound => self.memory.pending = None,
            Err(status) => return Err(status),
        }
        Ok(self.memory.pending.as_deref())
    }

    /// Reads a snapshot, and then its ancestors until one is completed.
    async fn load(transport: Arc<dyn AgentTransport>, request: GetSnapshotRequest) -> Result<Self> {
        let mut chat = Self::new(transport);
        let mut snapshot = chat.transport.snapshot(request).await?;
        let is_pending = snapshot.status == Some(SnapshotStatus::Pending);
        let pending = is_pending.then(|| snapshot.snapshot_id.clone());
        for _ in 0..MAX_ANCESTORS {
            if is_good(&snapshot) {
                chat.memory.adopt(snapshot);
                break;
            }
            chat.memory.state.session_id = snapshot.session_id.take();
            let Some(parent) = snapshot.parent_id.filter(|id| *id != snapshot.snapshot_id) else {
                break;
            };
            snapshot = match chat.transport.snapshot(by_snapshot(&parent)).await {
                Err(status) if status.code() == StatusCode::NotFound => break,
                parent => parent?,
            };
        }
        chat.memory.pending = pending;
        Ok(chat)
    }
}

/// Whether a turn can continue from this snapshot. Servers that do not report a status only show
/// completed snapshots.
fn is_good(snapshot: &SessionSnapshot) -> bool {
    matches!(snapshot.status, Some(SnapshotStatus::Completed) | None)
}
