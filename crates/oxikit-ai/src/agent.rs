//! Agents: conversations whose state is kept between calls.
//!
//! An invocation takes an init, which names the session, and any number of inputs, each of
//! which is a turn. The state after a turn is kept as a snapshot, by the server in a store or
//! by the client. Snapshots form a tree: a turn never changes its parent, so a session can be
//! continued from any of them.
//!
//! Only one message at a time changes a session, in all processes that share the store; see
//! `writer`. Work that was detached from its caller is written down and resumed by another
//! process after a crash; see `detach` and `recover`.

mod begun;
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
mod work;
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

/// An agent that was defined by [`Oxikit::define_agent`](crate::Oxikit::define_agent). Cheap to
/// clone.
///
/// It can be called in three ways: by [`chat`](Self::chat) in the same process, by a server of
/// `oxikit-serve` over HTTP, and by the developer tools. All of them run the same
/// [`action`](Self::action).
#[derive(Debug, Clone)]
pub struct Agent {
    definition: Arc<Definition>,
    action: Action,
    registry: Registry,
}

impl Agent {
    /// Begins the definition of an agent, which [`Oxikit::define_agent`](crate::Oxikit::define_agent)
    /// completes. The name is part of its key, `/agent/<name>`, and of its path on a server.
    pub fn builder(name: impl Into<String>) -> AgentBuilder {
        AgentBuilder::new(name)
    }

    /// The name by which it was defined.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// The action behind it: bidirectional, with an init, inputs and chunks.
    pub fn action(&self) -> &Action {
        &self.action
    }

    /// The store of its sessions; `None` if its clients keep the state.
    pub fn store(&self) -> Option<&Arc<dyn SessionStore>> {
        self.definition.store.as_ref()
    }

    /// Begins a conversation. It has the same shape as one with an agent of another
    /// server.
    ///
    /// ```
    /// # use oxikit::{Agent, prelude::*};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// # let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
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

    /// The same agent for this caller. A caller can only read and continue its own sessions;
    /// without a caller, sessions belong to callers without a login.
    ///
    /// ```
    /// # use oxikit::{Agent, ActionContext, prelude::*};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// # let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    /// # let agent = ai.define_agent(Agent::builder("guide"))?;
    /// let ada = ActionContext::default().with("auth", json!({ "uid": "ada" }));
    /// let mut chat = agent.for_caller(ada).chat();
    /// chat.send("Hello").await?;
    /// # Ok(()) }
    /// ```
    pub fn for_caller(&self, caller: ActionContext) -> LocalAgent {
        self.local().with_context(caller)
    }

    /// Goes on with a session, its messages and state read first.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if there is no such session, `FAILED_PRECONDITION` if the agent has no
    /// session store.
    pub async fn load_session(&self, session_id: impl Into<String>) -> Result<Chat> {
        self.local().load_session(session_id).await
    }

    /// Goes on from a snapshot, its messages and state read first. If it is not the
    /// latest, this makes a branch and leaves the original as it is.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if there is no such snapshot, `FAILED_PRECONDITION` if the agent has no
    /// session store.
    pub async fn load_snapshot(&self, snapshot_id: impl Into<String>) -> Result<Chat> {
        self.local().load_snapshot(snapshot_id).await
    }

    fn local(&self) -> LocalAgent {
        LocalAgent::new(&self.registry, self.action.clone())
    }

    /// Resumes detached work whose process has ended, and returns the number of works that were
    /// found. An agent with a store does this by itself every 30 seconds; tests and programs
    /// that must not wait call it.
    ///
    /// # Errors
    ///
    /// `FAILED_PRECONDITION` if the agent has no session store, `UNAVAILABLE` if the store
    /// cannot be reached.
    pub async fn recover(&self) -> Result<usize> {
        recover::recover(&self.definition, &self.action, &self.registry).await
    }
}

impl From<&Agent> for Action {
    fn from(agent: &Agent) -> Self {
        agent.action.clone()
    }
}
