//! One turn, as the code of a custom agent sees it.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use oxikit_core::{Context, Result};
use oxikit_wire::{AgentFinishReason, AgentInput, Artifact, GenerateResponseChunk, Message, Role};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Session, resume};
use crate::{Generate, GenerateExt};

/// One turn of a conversation: what was said, and the session to work on. `S` is
/// the type of the custom state.
///
/// The message of the input has joined the session already.
pub struct Turn<S = Value> {
    pub(super) parts: TurnParts,
    pub(super) state: PhantomData<fn() -> S>,
}

/// What a turn consists of, whatever its state is.
#[derive(Clone)]
pub(super) struct TurnParts {
    pub(super) input: AgentInput,
    pub(super) session: Session,
    pub(super) ctx: Context,
    pub(super) place: TurnPlace,
}

/// Where in the session a turn stands.
#[derive(Debug, Clone, Default)]
pub(super) struct TurnPlace {
    pub(super) snapshot: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) index: usize,
}

impl<S> Turn<S> {
    /// What was sent.
    pub fn input(&self) -> &AgentInput {
        &self.parts.input
    }

    /// The text of the message; empty without one.
    pub fn text(&self) -> String {
        self.parts.input.message.as_ref().map(|message| message.text()).unwrap_or_default()
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.parts.session
    }

    /// The conversation so far, the message of this turn last.
    pub fn messages(&self) -> Vec<Arc<Message>> {
        self.parts.session.messages()
    }

    /// The running action.
    pub fn context(&self) -> &Context {
        &self.parts.ctx
    }

    /// Begins a call of a model.
    pub fn generate(&self) -> Generate {
        self.parts.ctx.generate()
    }

    /// Sends a piece of the answer to whoever reads the stream.
    pub async fn emit(&self, chunk: impl Into<GenerateResponseChunk>) -> Result<()> {
        self.parts.session.tell_chunk(chunk.into()).await
    }

    /// Makes something, or makes it anew.
    pub async fn add_artifact(&self, artifact: impl Into<Arc<Artifact>>) -> Result<()> {
        self.parts.session.add_artifact(artifact).await
    }

    /// The id that the snapshot of this turn will have; none if the client keeps
    /// the state.
    pub fn snapshot_id(&self) -> Option<&str> {
        self.parts.place.snapshot.as_deref()
    }

    /// The snapshot that this turn goes on from.
    pub fn parent_snapshot_id(&self) -> Option<&str> {
        self.parts.place.parent.as_deref()
    }

    /// Counts the turns of this invocation, from 0.
    pub fn index(&self) -> usize {
        self.parts.place.index
    }

    /// Refuses answers to interrupts that nobody asked for. An agent that passes
    /// [`input`](Self::input)`.resume` on by itself calls this first.
    pub fn check_resume(&self) -> Result<()> {
        match &self.parts.input.resume {
            Some(resume) => resume::check(resume, &self.messages()),
            None => Ok(()),
        }
    }

    /// Adds a text of the model to the conversation, and makes it the answer.
    pub fn answer(&self, text: impl Into<String>) -> TurnReply {
        let message = Arc::new(Message::model(text.into()));
        self.parts.session.add_message(message.clone());
        TurnReply { message: Some(message), ..TurnReply::default() }
    }
}

impl<S: Serialize + DeserializeOwned + Default> Turn<S> {
    /// The custom state, or its default if there is none yet.
    pub fn state(&self) -> Result<S> {
        self.parts.session.state()
    }

    /// Changes the custom state; see [`Session::update`].
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

/// What a turn ends with. It is shown to the caller; what the next turn knows is
/// in the session.
#[derive(Debug, Clone, Default)]
pub struct TurnReply {
    /// The answer.
    pub message: Option<Arc<Message>>,
    /// What was made.
    pub artifacts: Vec<Arc<Artifact>>,
    /// Why the turn ended.
    pub finish_reason: Option<AgentFinishReason>,
}

impl TurnReply {
    /// A text of the model, which does not join the conversation; see
    /// [`Turn::answer`].
    pub fn text(text: impl Into<String>) -> Self {
        Self::from(Message::new(Role::Model, vec![text.into().into()]))
    }

    /// With these artifacts.
    #[must_use]
    pub fn with_artifacts(mut self, artifacts: Vec<Arc<Artifact>>) -> Self {
        self.artifacts = artifacts;
        self
    }

    /// With this reason.
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
