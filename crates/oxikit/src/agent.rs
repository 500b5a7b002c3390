//! Agents: conversations that are kept.
//!
//! An invocation takes an init and any number of inputs, each of which is a turn;
//! what a turn leaves is kept as a snapshot, by the server in a store or by the
//! client. One message at a time changes a session.

mod builder;
mod clock;
mod companions;
mod conversation;
mod definition;
mod detach;
mod outlet;
mod prompt_turn;
mod recover;
mod resume;
mod session;
mod start;
mod turn;
mod writer;

use std::sync::Arc;

use oxikit_core::ports::SessionStore;
use oxikit_core::{Action, Registry, Result};

pub use builder::AgentBuilder;
use definition::Definition;
pub use session::{Session, SessionExt};
pub use turn::{Turn, TurnReply};
pub use writer::WhileBusy;

/// An agent that was defined. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Agent {
    definition: Arc<Definition>,
    action: Action,
    registry: Registry,
}

impl Agent {
    /// Begins the definition of an agent.
    pub fn builder(name: impl Into<String>) -> AgentBuilder {
        AgentBuilder::new(name)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// The action behind it.
    pub fn action(&self) -> &Action {
        &self.action
    }

    /// Where its sessions are, unless its clients keep them.
    pub fn store(&self) -> Option<&Arc<dyn SessionStore>> {
        self.definition.store.as_ref()
    }

    /// Goes on with detached work that has lost its process, and answers how much
    /// there was. Happens by itself every half minute.
    pub async fn recover(&self) -> Result<usize> {
        recover::recover(&self.definition, &self.action, &self.registry).await
    }
}

impl From<&Agent> for Action {
    fn from(agent: &Agent) -> Self {
        agent.action.clone()
    }
}
