//! Agents of this process.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use oxikit_wire::{
    AgentAbortRequest, AgentAbortResponse, AgentInit, AgentInput, GetSnapshotRequest,
    SessionSnapshot, SnapshotStatus,
};

use super::{AgentDoor, AgentEvent, Chat, Invocation};
use crate::{Action, ActionContext, ActionKind, Call, Event, Payload, Registry, Result, Status};

/// An agent of this process, reached by its actions. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LocalAgent {
    agent: Action,
    registry: Registry,
    context: Option<ActionContext>,
}

impl LocalAgent {
    /// The agent with this name; a missing one is `NOT_FOUND`.
    pub async fn find(app: &impl AsRef<Registry>, name: &str) -> Result<Self> {
        let registry = app.as_ref();
        let agent = registry.resolve_key(&format!("/{}/{name}", ActionKind::Agent)).await?;
        Ok(Self::new(app, agent))
    }

    /// The agent behind this action. What belongs to it is found in the registry.
    pub fn new(app: &impl AsRef<Registry>, agent: Action) -> Self {
        Self { agent, registry: app.as_ref().clone(), context: None }
    }

    /// Who talks to it. Without this, the running action's caller does.
    #[must_use]
    pub fn with_context(mut self, context: ActionContext) -> Self {
        self.context = Some(context);
        self
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
impl AgentDoor for LocalAgent {
    async fn invoke(&self, init: AgentInit, input: AgentInput) -> Result<Invocation> {
        let call = self.call(Payload::of(input)).with_init(Payload::of(init));
        let run = self.agent.start(call)?;
        Ok(Box::pin(run.map(|event| match event {
            Event::Chunk(chunk) => Ok(AgentEvent::Chunk(chunk.parse()?)),
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
