//! Agents of this process as the other side of a [`Chat`].
//!
//! The transport calls the actions that an agent registers: the agent itself, and its companions
//! for snapshots and aborts, which exist only if it has a session store.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use oxikit_wire::{
    AgentAbortRequest, AgentAbortResponse, AgentInit, AgentInput, GetSnapshotRequest,
    SessionSnapshot, SnapshotStatus,
};

use super::{AgentEvent, AgentTransport, Chat, Invocation};
use crate::{Action, ActionContext, ActionKind, Call, Event, Payload, Registry, Result, Status};

/// An agent of this process, called through its actions. Cheap to clone.
///
/// ```
/// use oxikit_core::chat::LocalAgent;
/// use oxikit_core::{ActionContext, Registry, Result};
/// use serde_json::json;
///
/// # async fn example(app: Registry) -> Result<()> {
/// let caller = ActionContext::default().with("auth", json!({ "uid": "ada" }));
/// let agent = LocalAgent::find(&app, "guide").await?.with_context(caller);
/// let mut chat = agent.chat();
/// println!("{}", chat.send("Good morning!").await?.text());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct LocalAgent {
    agent: Action,
    registry: Registry,
    context: Option<ActionContext>,
}

impl LocalAgent {
    /// Finds the agent with this name, such as `guide` for `/agent/guide`.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if there is no such agent.
    pub async fn find(app: &impl AsRef<Registry>, name: &str) -> Result<Self> {
        let registry = app.as_ref();
        let agent = registry.resolve_key(&format!("/{}/{name}", ActionKind::Agent)).await?;
        Ok(Self::new(app, agent))
    }

    /// The agent behind this action. Its companion actions for snapshots and aborts are looked up
    /// in the registry when they are needed.
    pub fn new(app: &impl AsRef<Registry>, agent: Action) -> Self {
        Self { agent, registry: app.as_ref().clone(), context: None }
    }

    /// Sets the caller of the agent. The default is the caller of the running action.
    #[must_use]
    pub fn with_context(mut self, context: ActionContext) -> Self {
        self.context = Some(context);
        self
    }

    /// Begins a new conversation.
    pub fn chat(&self) -> Chat {
        Chat::new(self.transport())
    }

    /// Reads a session and continues it; see [`Chat::load_session`].
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if there is no such session, `FAILED_PRECONDITION` if the agent has no
    /// session store.
    pub async fn load_session(&self, session_id: impl Into<String>) -> Result<Chat> {
        Chat::load_session(self.transport(), session_id).await
    }

    /// Reads a snapshot and continues from it; see [`Chat::load_snapshot`].
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if there is no such snapshot, `FAILED_PRECONDITION` if the agent has no
    /// session store.
    pub async fn load_snapshot(&self, snapshot_id: impl Into<String>) -> Result<Chat> {
        Chat::load_snapshot(self.transport(), snapshot_id).await
    }

    fn transport(&self) -> Arc<dyn AgentTransport> {
        Arc::new(self.clone())
    }

    fn call(&self, input: Payload) -> Call {
        let call = Call::new(input).in_registry(&self.registry);
        match &self.context {
            Some(context) => call.with_context(context.clone()),
            None => call,
        }
    }

    /// Runs an action that has the agent's name and another kind.
    async fn run_companion(&self, kind: ActionKind, input: Payload) -> Result<Payload> {
        let name = self.agent.name();
        let companion = self.registry.get(&format!("/{kind}/{name}")).ok_or_else(|| {
            Status::failed_precondition(format!(
                "the agent `{name}` has no `{kind}`: give it a session store"
            ))
        })?;
        companion.run(self.call(input)).await
    }
}

#[async_trait]
impl AgentTransport for LocalAgent {
    async fn invoke(&self, init: AgentInit, input: AgentInput) -> Result<Invocation> {
        let call = self.call(Payload::of(input)).with_init(Payload::of(init));
        let run = self.agent.start(call)?;
        Ok(Box::pin(run.map(|event| match event {
            Event::Chunk(chunk) => {
                Ok(chunk.parse().map_or_else(AgentEvent::Unreadable, AgentEvent::Chunk))
            }
            Event::Done(output) => Ok(AgentEvent::Done(output.parse()?)),
            Event::Failed(status) => Err(status),
        })))
    }

    async fn snapshot(&self, request: GetSnapshotRequest) -> Result<SessionSnapshot> {
        self.run_companion(ActionKind::AgentSnapshot, Payload::of(request)).await?.parse()
    }

    async fn abort(&self, snapshot_id: &str) -> Result<Option<SnapshotStatus>> {
        let request = AgentAbortRequest { snapshot_id: snapshot_id.to_owned() };
        let answer = self.run_companion(ActionKind::AgentAbort, Payload::of(request)).await?;
        Ok(answer.parse::<AgentAbortResponse>()?.status)
    }
}
