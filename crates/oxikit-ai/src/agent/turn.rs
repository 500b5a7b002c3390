//! A turn, as the code of a custom agent sees it: its input, the session, and the reply.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use oxikit_core::{Context, Result};
use oxikit_wire::{
    AgentFinishReason, AgentInput, Artifact, GenerateResponseChunk, Message, Part, Role,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Session, resume};
use crate::{Generate, GenerateExt, Reply};

/// A turn of a conversation: the input, and the session to work on. `S` is the type of the
/// custom state. [`AgentBuilder::turn`](crate::AgentBuilder::turn) has an example.
///
/// The message of the input is already the last message of the session.
pub struct Turn<S = Value> {
    pub(super) parts: TurnParts,
    pub(super) state: PhantomData<fn() -> S>,
}

/// The parts of a turn that do not depend on the type of its state.
#[derive(Clone)]
pub(super) struct TurnParts {
    pub(super) input: AgentInput,
    pub(super) session: Session,
    pub(super) ctx: Context,
    pub(super) place: TurnPlace,
}

/// The position of a turn in the session's tree of snapshots.
#[derive(Debug, Clone, Default)]
pub(super) struct TurnPlace {
    /// The id that the turn's snapshot will have; `None` if the client keeps the state.
    pub(super) snapshot: Option<String>,
    /// The snapshot that the turn continues; `None` in a new session.
    pub(super) parent: Option<String>,
    /// Number of the turn in its invocation, from 0.
    pub(super) index: usize,
}

impl<S> Turn<S> {
    /// The input of the turn: a message, answers to interrupts, or both.
    pub fn input(&self) -> &AgentInput {
        &self.parts.input
    }

    /// The text of the message; empty without one.
    pub fn text(&self) -> String {
        self.parts.input.message.as_ref().map(|message| message.text()).unwrap_or_default()
    }

    /// The value of the message's first data part; `None` if it has none or if the value is not a
    /// `T`.
    pub fn data<T: DeserializeOwned>(&self) -> Option<T> {
        let message = self.parts.input.message.as_ref()?;
        T::deserialize(message.content.iter().find_map(Part::as_data)?).ok()
    }

    /// The session, to read and change its messages, state and artifacts.
    pub fn session(&self) -> &Session {
        &self.parts.session
    }

    /// The conversation so far, the message of this turn last.
    pub fn messages(&self) -> Vec<Arc<Message>> {
        self.parts.session.messages()
    }

    /// The context of the running action: the caller, cancellation, and tracing.
    pub fn context(&self) -> &Context {
        &self.parts.ctx
    }

    /// Begins a call of a model. It does not know the conversation: pass
    /// [`messages`](Self::messages) to it, and [`emit`](Self::emit) its chunks if the reader
    /// shall see them.
    pub fn generate(&self) -> Generate {
        self.parts.ctx.generate()
    }

    /// Sends a piece of the answer to the reader of the stream.
    ///
    /// # Errors
    ///
    /// `CANCELLED` if the reader of the stream has gone.
    pub async fn emit(&self, chunk: impl Into<GenerateResponseChunk>) -> Result<()> {
        self.parts.session.send_chunk(chunk.into()).await
    }

    /// Tells the reader of the stream what the agent is doing, in a line for people. It is not part
    /// of the answer and is not stored. Clients of A2A get it as a status `working` with this text.
    ///
    /// # Errors
    ///
    /// `CANCELLED` if the reader of the stream has gone.
    pub async fn progress(&self, text: impl Into<String>) -> Result<()> {
        self.emit(GenerateResponseChunk::from(vec![Part::progress(text)])).await
    }

    /// Runs a call of a model, and sends the pieces of its answer to the reader of the stream.
    /// The answer is not added to the conversation.
    ///
    /// ```
    /// use oxikit::prelude::*;
    /// use oxikit::{Agent, Turn};
    ///
    /// # fn main() -> Result<()> {
    /// let ai = Oxikit::builder().build()?;
    /// ai.define_agent(Agent::builder("poet").turn(|turn: Turn| async move {
    ///     turn.progress("writing").await?;
    ///     let poem = turn.generate().system("Answer in rhymes.").prompt(turn.text());
    ///     let poem = turn.stream(poem).await?;
    ///     Ok(turn.answer(poem.text()))
    /// }))?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// The status with which the call failed; `CANCELLED` if the reader of the stream has gone.
    pub async fn stream<T: Send + 'static>(&self, call: Generate<T>) -> Result<Reply<T>> {
        let mut stream = call.stream();
        while let Some(chunk) = stream.next().await {
            self.emit(chunk?).await?;
        }
        stream.finish().await
    }

    /// Adds an artifact, or replaces the one of the same name; see [`Session::add_artifact`].
    ///
    /// # Errors
    ///
    /// `CANCELLED` if the reader of the stream has gone.
    pub async fn add_artifact(&self, artifact: impl Into<Arc<Artifact>>) -> Result<()> {
        self.parts.session.add_artifact(artifact).await
    }

    /// The id that the snapshot of this turn will have; none if the client keeps
    /// the state.
    pub fn snapshot_id(&self) -> Option<&str> {
        self.parts.place.snapshot.as_deref()
    }

    /// The id of the snapshot that this turn continues; `None` in a new session.
    pub fn parent_snapshot_id(&self) -> Option<&str> {
        self.parts.place.parent.as_deref()
    }

    /// The number of the turn in this invocation, from 0. It is not the number of the turn in
    /// the session.
    pub fn index(&self) -> usize {
        self.parts.place.index
    }

    /// Checks that the answers to interrupts belong to tool requests of the last model message.
    /// An agent that passes [`input`](Self::input)`.resume` on by itself calls this first:
    /// otherwise a client could answer a request that the model never made.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if an answer belongs to no tool request of the last message.
    pub fn check_resume(&self) -> Result<()> {
        match &self.parts.input.resume {
            Some(resume) => resume::check(resume, &self.messages()),
            None => Ok(()),
        }
    }

    /// Adds a text of the model to the conversation, and returns it as the reply.
    pub fn answer(&self, text: impl Into<String>) -> TurnReply {
        let message = Arc::new(Message::model(text.into()));
        self.parts.session.add_message(message.clone());
        TurnReply { message: Some(message), ..TurnReply::default() }
    }

    /// Asks the caller a question: adds it to the conversation and ends the turn. The answer is the
    /// message of the next turn. The finish reason is `interrupted`, so that a task of A2A becomes
    /// `input-required`.
    pub fn ask(&self, question: impl Into<String>) -> TurnReply {
        self.answer(question).because(AgentFinishReason::Interrupted)
    }
}

impl<S: Serialize + DeserializeOwned + Default> Turn<S> {
    /// The custom state, or its default if there is none yet.
    ///
    /// # Errors
    ///
    /// `INTERNAL` if the state is not an `S`.
    pub fn state(&self) -> Result<S> {
        self.parts.session.state()
    }

    /// Changes the custom state; see [`Session::update`].
    ///
    /// # Errors
    ///
    /// As [`Session::update`].
    pub async fn update<R>(&self, change: impl FnOnce(&mut S) -> R) -> Result<R> {
        self.parts.session.update(change).await
    }
}

impl<S> fmt::Debug for Turn<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn")
            .field("session", &self.parts.session)
            .field("place", &self.parts.place)
            .finish_non_exhaustive()
    }
}

/// The reply of a turn. It is only sent to the caller; the next turn starts from the session.
///
/// ```
/// use oxikit::prelude::*;
/// use oxikit::wire::AgentFinishReason;
/// use oxikit::{Agent, Turn, TurnReply};
///
/// # fn main() -> Result<()> {
/// let ai = Oxikit::builder().build()?;
/// ai.define_agent(Agent::builder("polite").turn(|turn: Turn| async move {
///     if turn.text().is_empty() {
///         return Ok(TurnReply::text("Please write something.").because(AgentFinishReason::Stop));
///     }
///     Ok(turn.answer(format!("You wrote: {}", turn.text())))
/// }))?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default)]
pub struct TurnReply {
    /// The model's message that the caller gets; `None` for a turn without one.
    pub message: Option<Arc<Message>>,
    /// The artifacts of the turn.
    pub artifacts: Vec<Arc<Artifact>>,
    /// The reason why the turn ended; `None` is sent as no reason.
    pub finish_reason: Option<AgentFinishReason>,
}

impl TurnReply {
    /// A reply with a text of the model. The text is not added to the conversation, unlike that
    /// of [`Turn::answer`].
    pub fn text(text: impl Into<String>) -> Self {
        Self::from(Message::new(Role::Model, vec![text.into().into()]))
    }

    /// The reply with these artifacts in place of its own.
    #[must_use]
    pub fn with_artifacts(mut self, artifacts: Vec<Arc<Artifact>>) -> Self {
        self.artifacts = artifacts;
        self
    }

    /// The reply with this finish reason.
    #[must_use]
    pub fn because(mut self, reason: AgentFinishReason) -> Self {
        self.finish_reason = Some(reason);
        self
    }
}

impl From<Message> for TurnReply {
    fn from(message: Message) -> Self {
        Self { message: Some(Arc::new(message)), ..Self::default() }
    }
}
