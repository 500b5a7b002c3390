//! The definition of an agent.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use oxikit_core::ports::{SessionStore, StoredSnapshot};
use oxikit_core::{ActionContext, Result, Schema, Status};
use oxikit_wire::{AgentMetadata, JsonObject, SessionState, StateManagement};

use super::prompt_turn::PromptBody;
use super::session::{ChunkTransform, StateTransform};
use super::turn::{TurnParts, TurnReply};
use super::writer::{Busy, WhileBusy};

/// The definition of an agent: its name, body, store and policies.
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) body: Body,
    /// The store of the sessions; `None` if clients keep the state.
    pub(super) store: Option<Arc<dyn SessionStore>>,
    pub(super) state_schema: Option<Schema>,
    pub(super) state_transform: Option<StateTransform>,
    pub(super) chunk_transform: Option<ChunkTransform>,
    pub(super) session_notes: Option<SessionNotes>,
    pub(super) while_busy: WhileBusy,
    pub(super) busy: Busy,
}

/// Makes the metadata of a new session.
pub(super) type SessionNotes = Box<dyn Fn(&ActionContext) -> JsonObject + Send + Sync>;

/// The code that an agent runs in a turn.
pub(super) enum Body {
    Prompt(PromptBody),
    Custom(Box<CustomBody>),
}

type CustomBody = dyn Fn(TurnParts) -> BoxFuture<Result<TurnReply>> + Send + Sync;
pub(super) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl Definition {
    pub(super) async fn run_turn(&self, parts: TurnParts) -> Result<TurnReply> {
        match &self.body {
            Body::Prompt(prompt) => prompt.run(parts).await,
            Body::Custom(custom) => custom(parts).await,
        }
    }

    /// The store, or the error of an agent that has none.
    pub(super) fn store(&self) -> Result<&Arc<dyn SessionStore>> {
        self.store.as_ref().ok_or_else(|| {
            Status::failed_precondition(format!(
                "agent '{}' has no session store: its clients keep the state",
                self.name
            ))
        })
    }

    /// Whether a snapshot belongs to this agent. Official stores do not note the agent, so a
    /// snapshot without one belongs to every agent of the store.
    pub(super) fn owns(&self, stored: &StoredSnapshot) -> bool {
        stored.agent.as_ref().is_none_or(|agent| *agent == self.name)
    }

    /// Rejects a custom state that does not fit the agent's schema.
    pub(super) fn check_state(&self, state: &SessionState) -> Result<()> {
        match (&self.state_schema, &state.custom) {
            (Some(schema), Some(custom)) => schema.validate(custom),
            _ => Ok(()),
        }
    }

    /// The state as clients see it, after the transform.
    pub(super) fn shown(&self, state: SessionState) -> Result<SessionState> {
        match &self.state_transform {
            Some(transform) => transform(state),
            None => Ok(state),
        }
    }

    pub(super) fn metadata(&self) -> AgentMetadata {
        let state_management =
            if self.store.is_some() { StateManagement::Server } else { StateManagement::Client };
        AgentMetadata {
            state_management,
            abortable: self.store.is_some(),
            state_schema: self.state_schema.as_ref().map(|schema| schema.as_json().clone()),
        }
    }
}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Definition")
            .field("name", &self.name)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}
