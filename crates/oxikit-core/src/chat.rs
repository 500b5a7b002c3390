//! A conversation with an agent, from the side that talks to it.
//!
//! [`Chat`] is the same for agents of this process ([`LocalAgent`]) and of other
//! servers; an [`AgentDoor`] is the way to either.
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
mod door;
mod local;
mod memory;
mod reply;
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
pub use door::{AgentDoor, AgentEvent, Invocation};
pub use local::LocalAgent;
pub use reply::{ChatReply, ToolInterrupt};
pub use turn::ChatTurn;

use crate::{Result, Status, StatusCode};
use detached::by_snapshot;
use memory::{Gathered, Memory};

/// So long may an agent take to notice that we have left a turn.
const LONGEST_BUSY: Duration = Duration::from_secs(5);
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// So many snapshots are looked at for one to go on from.
const MAX_ANCESTORS: usize = 100;

/// A conversation with an agent.
///
/// Whether the agent keeps the session or has it sent along with every turn makes
/// no difference here. A turn that fails is an error and changes nothing: the next
/// one goes on from the last that went well. So it is with a turn that was dropped
/// before its end, and with detached work that was stopped or failed.
#[derive(Debug, Clone)]
pub struct Chat {
    door: Arc<dyn AgentDoor>,
    memory: Memory,
}

impl Chat {
    /// A new conversation.
    pub fn new(door: Arc<dyn AgentDoor>) -> Self {
        Self { door, memory: Memory::default() }
    }

    /// Talks in this session: a new one, or one that the agent knows. Nothing is
    /// read before the first turn.
    #[must_use]
    pub fn in_session(mut self, session_id: impl Into<String>) -> Self {
        self.memory.state.session_id = Some(session_id.into());
        self
    }

    /// Goes on from this snapshot. Nothing is read before the first turn.
    #[must_use]
    pub fn from_snapshot(mut self, snapshot_id: impl Into<String>) -> Self {
        self.memory.snapshot_id = Some(snapshot_id.into());
        self
    }

    /// Goes on from this state, with an agent that keeps none itself.
    #[must_use]
    pub fn from_state(mut self, state: SessionState) -> Self {
        self.memory = Memory { state, is_kept_here: true, ..Memory::default() };
        self
    }

    /// Goes on with a session that the agent keeps, its messages and state read
    /// first; `NOT_FOUND` if there is no such.
    pub async fn load_session(
        door: Arc<dyn AgentDoor>,
        session_id: impl Into<String>,
    ) -> Result<Self> {
        let session_id = Some(session_id.into());
        Self::load(door, GetSnapshotRequest { snapshot_id: None, session_id }).await
    }

    /// Goes on from a snapshot, its messages and state read first; `NOT_FOUND` if
    /// there is no such.
    pub async fn load_snapshot(
        door: Arc<dyn AgentDoor>,
        snapshot_id: impl Into<String>,
    ) -> Result<Self> {
        Self::load(door, by_snapshot(&snapshot_id.into())).await
    }

    /// Says something and waits for the answer: a text, parts, or a message.
    pub async fn send(&mut self, message: impl Into<Message>) -> Result<ChatReply> {
        self.send_stream(message).await?.reply().await
    }

    /// Says something and reads the answer while it is made.
    ///
    /// ```
    /// # use oxikit_core::{Result, chat::Chat};
    /// # async fn example(mut chat: Chat) -> Result<()> {
    /// let mut turn = chat.send_stream("Tell me a story.").await?;
    /// while let Some(chunk) = turn.next().await {
    ///     print!("{}", chunk.to_text());
    /// }
    /// let reply = turn.reply().await?;
    /// # Ok(()) }
    /// ```
    pub async fn send_stream(&mut self, message: impl Into<Message>) -> Result<ChatTurn<'_>> {
        let message = Some(Arc::new(message.into()));
        self.start(AgentInput { message, ..AgentInput::default() }).await
    }

    /// Answers the tools that wait, and waits for the answer of the agent.
    ///
    /// ```
    /// # use oxikit_core::{Result, chat::Chat};
    /// # async fn example(mut chat: Chat) -> Result<()> {
    /// let reply = chat.send("Delete the old reports.").await?;
    /// let answers: Vec<_> = reply.interrupts().iter().map(|tool| tool.respond("yes")).collect();
    /// let reply = chat.resume(answers).await?;
    /// # Ok(()) }
    /// ```
    pub async fn resume(&mut self, answers: impl IntoIterator<Item = Part>) -> Result<ChatReply> {
        self.resume_stream(answers).await?.reply().await
    }

    /// Answers the tools that wait: by what [`ToolInterrupt::respond`] and
    /// [`ToolInterrupt::restart`] make, one for each of them.
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

    /// Says something that the agent works on without us. The next turn takes the
    /// result over, once there is one.
    pub async fn detach(&mut self, message: impl Into<Message>) -> Result<DetachedTurn> {
        let message = Some(Arc::new(message.into()));
        let input = AgentInput { message, detach: Some(true), ..AgentInput::default() };
        let reply = self.start(input).await?.reply().await?;
        let snapshot_id = reply.output().snapshot_id.clone().ok_or_else(|| {
            Status::new(StatusCode::FailedPrecondition, "the agent did not detach the turn")
        })?;
        Ok(DetachedTurn::new(self.door.clone(), snapshot_id))
    }

    /// Starts a turn with any input.
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

    /// Stops the detached work of this chat. Answers its status before; none if
    /// there is none.
    pub async fn abort(&mut self) -> Result<Option<SnapshotStatus>> {
        match &self.memory.pending {
            Some(pending) => self.door.abort(pending).await,
            None => Ok(None),
        }
    }

    /// Reads the session again from an agent that keeps it: what detached work has
    /// done, and messages between the agent and its tools, which turns do not show.
    pub async fn refresh(&mut self) -> Result<()> {
        let known = self.memory.snapshot_id.clone();
        self.settle().await?;
        if let Some(id) = &self.memory.snapshot_id
            && known.as_ref() == Some(id)
        {
            let snapshot = self.door.snapshot(by_snapshot(id)).await?;
            let pending = self.memory.pending.take();
            self.memory.adopt(snapshot);
            self.memory.pending = pending;
        }
        Ok(())
    }

    /// The conversation, as far as this side has seen it.
    pub fn messages(&self) -> &[Arc<Message>] {
        self.memory.state.messages.as_deref().unwrap_or_default()
    }

    /// The custom state, as far as this side has seen it.
    pub fn state<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        Ok(self.memory.state.custom.as_deref().map(T::deserialize).transpose()?)
    }

    /// What the agent has made.
    pub fn artifacts(&self) -> &[Arc<Artifact>] {
        self.memory.state.artifacts.as_deref().unwrap_or_default()
    }

    /// The session, once it is known.
    pub fn session_id(&self) -> Option<&str> {
        self.memory.state.session_id.as_deref()
    }

    /// The last good snapshot, from which the next turn goes on. None with an
    /// agent that keeps no sessions.
    pub fn snapshot_id(&self) -> Option<&str> {
        self.memory.snapshot_id.as_deref()
    }

    /// The tools that wait for an answer.
    pub fn interrupts(&self) -> Vec<ToolInterrupt> {
        self.messages().last().map(|message| reply::interrupts_of(message)).unwrap_or_default()
    }

    /// Starts an invocation. If we have left the turn before, the agent may not
    /// have noticed yet, and says that it is busy: it is asked again for a while.
    async fn invoke(&mut self, input: AgentInput) -> Result<Invocation> {
        let has_left = std::mem::replace(&mut self.memory.is_open, true);
        let deadline = Instant::now() + LONGEST_BUSY;
        let mut pause = FIRST_PAUSE;
        loop {
            let invoked = self.door.invoke(self.memory.init(), input.clone()).await;
            let mut invocation = invoked.inspect_err(|status| self.memory.fail(status))?;
            if !has_left {
                return Ok(invocation);
            }
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

    /// Takes over what became of detached work; answers its snapshot while it is
    /// still at work.
    async fn settle(&mut self) -> Result<Option<&str>> {
        let Some(pending) = &self.memory.pending else { return Ok(None) };
        match self.door.snapshot(by_snapshot(pending)).await {
            Ok(snapshot) if is_good(&snapshot) => self.memory.adopt(snapshot),
            Ok(snapshot) if snapshot.status == Some(SnapshotStatus::Pending) => {}
            Ok(_) => self.memory.pending = None,
            Err(status) if status.code() == StatusCode::NotFound => self.memory.pending = None,
            Err(status) => return Err(status),
        }
        Ok(self.memory.pending.as_deref())
    }

    /// Goes back from a snapshot to the newest that a turn can go on from.
    async fn load(door: Arc<dyn AgentDoor>, request: GetSnapshotRequest) -> Result<Self> {
        let mut chat = Self::new(door);
        let mut snapshot = chat.door.snapshot(request).await?;
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
            snapshot = match chat.door.snapshot(by_snapshot(&parent)).await {
                Err(status) if status.code() == StatusCode::NotFound => break,
                parent => parent?,
            };
        }
        chat.memory.pending = pending;
        Ok(chat)
    }
}

/// Whether a turn can go on from it.
fn is_good(snapshot: &SessionSnapshot) -> bool {
    matches!(snapshot.status, Some(SnapshotStatus::Completed) | None)
}
