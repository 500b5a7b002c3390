//! Agents: conversations that are kept.
//!
//! An invocation takes an init and any number of inputs, each of which is a turn;
//! what a turn leaves is kept as a snapshot, by the server in a store or by the
//! client. One message at a time changes a session.

mod builder;
mod companions;
mod conversation;
mod definition;
mod detach;
mod prompt_turn;
mod recover;
mod resume;
mod session;
mod start;
mod turn;
mod writer;

use std::sync::Arc;

use oxikit_core::chat::{Chat, LocalAgent};
use oxikit_core::ports::SessionStore;
use oxikit_core::{Action, ActionContext, Registry, Result};

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

    /// Begins a conversation. It has the same shape as one with an agent of another
    /// server.
    ///
    /// ```
    /// # use oxikit::{Agent, prelude::*};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// # let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build();
    /// let agent = ai.define_agent(Agent::builder("guide").system("You know the town."))?;
    /// let mut chat = agent.chat();
    /// println!("{}", chat.send("Where is the library?").await?.text());
    /// println!("{}", chat.send("And when is it open?").await?.text());
    /// assert_eq!(chat.messages().len(), 4);
    /// # Ok(()) }
    /// ```
    pub fn chat(&self) -> Chat {
        self.local().chat()
    }

    /// The same agent for this caller, whose sessions are its own.
    pub fn for_caller(&self, caller: ActionContext) -> LocalAgent {
        self.local().with_context(caller)
    }

    /// Goes on with a session, its messages and state read first.
    pub async fn load_session(&self, session_id: impl Into<String>) -> Result<Chat> {
        self.local().load_session(session_id).await
    }

    /// Goes on from a snapshot, its messages and state read first. If it is not the
    /// latest, this makes a branch and leaves the original as it is.
    pub async fn load_snapshot(&self, snapshot_id: impl Into<String>) -> Result<Chat> {
        self.local().load_snapshot(snapshot_id).await
    }

    fn local(&self) -> LocalAgent {
        LocalAgent::new(&self.registry, self.action.clone())
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
