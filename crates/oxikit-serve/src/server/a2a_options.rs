//! The options of a server that are about its A2A agents.

use std::sync::Arc;

use oxikit_core::ports::{TaskRetention, TaskStore};

use super::Server;
use crate::a2a::A2aAgent;
#[cfg(feature = "jwt")]
use crate::a2a::CardSigner;
#[cfg(feature = "a2a-push")]
use crate::a2a::PushNotifications;

impl Server {
    /// Serves this agent over A2A too, so that other agents can call it; see [`a2a`](crate::a2a).
    ///
    /// The first one is also found by its card at the root, `/.well-known/agent-card.json`.
    pub fn a2a(mut self, agent: impl Into<A2aAgent>) -> Self {
        self.a2a.agents.push(agent.into());
        self
    }

    /// Keeps the tasks of A2A agents in this store. Without one they are kept in memory, and are
    /// gone with the process.
    pub fn task_store(mut self, store: Arc<dyn TaskStore>) -> Self {
        self.a2a.tasks = Some(store);
        self
    }

    /// Removes old tasks of A2A agents from the store. Without it all are kept, as far as the
    /// store has no limits of its own.
    pub fn task_retention(mut self, retention: TaskRetention) -> Self {
        self.a2a.retention = retention;
        self
    }

    /// The address under which clients reach this server, such as `https://agents.example`: the
    /// cards of A2A agents name it. Without it they name the host of the request.
    pub fn public_url(mut self, url: impl Into<String>) -> Self {
        self.a2a.public_url = Some(url.into().trim_end_matches('/').to_owned());
        self
    }

    /// Lets clients of A2A agents register webhooks, which are called when a task changes; the
    /// cards say so. Without it all registrations are refused.
    ///
    /// The webhooks of all tasks in the store are called, also of tasks that other servers with
    /// the same store have made. Such servers need the same options.
    ///
    /// ```no_run
    /// # use oxikit::prelude::*;
    /// # use oxikit_serve::Server;
    /// use oxikit_serve::a2a::{A2aAgent, PushNotifications};
    ///
    /// # fn example(ai: Oxikit, support: Agent) -> Result<()> {
    /// let server = Server::new(&ai)
    ///     .a2a(A2aAgent::new(&support))
    ///     .push_notifications(PushNotifications::new()?);
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "a2a-push")]
    pub fn push_notifications(mut self, push: PushNotifications) -> Self {
        self.a2a.push = Some(push);
        self
    }

    /// Signs the cards of all A2A agents, so that clients can check who has made them.
    ///
    /// ```no_run
    /// # use oxikit::prelude::*;
    /// # use oxikit_serve::{Algorithm, Server};
    /// use oxikit_serve::a2a::{A2aAgent, CardSigner};
    ///
    /// # fn example(ai: Oxikit, support: Agent, pem: &str) -> Result<()> {
    /// let server = Server::new(&ai)
    ///     .a2a(A2aAgent::new(&support))
    ///     .public_url("https://agents.example")
    ///     .sign_cards(CardSigner::new(Algorithm::Es256, pem, "key-1")?);
    /// # Ok(()) }
    /// ```
    ///
    /// With [`public_url`](Self::public_url) a card is signed once. Without it a card names the
    /// host of the request, and so does what is signed.
    #[cfg(feature = "jwt")]
    pub fn sign_cards(mut self, signer: CardSigner) -> Self {
        self.a2a.signer = Some(Arc::new(signer));
        self
    }
}
