//! The session stores of the agents of an application.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::SessionStore;

/// The stores of an application's agents, by the agents' names: part of a
/// registry's [state](crate::Registry::state), so that a server can list sessions
/// without knowing what an agent is. Content is read through the agent's companion
/// actions, which decide what a client may see.
#[derive(Debug, Default)]
pub struct SessionStores(RwLock<BTreeMap<String, Arc<dyn SessionStore>>>);

impl SessionStores {
    /// Sets the store of an agent. Called when the agent is defined.
    pub fn set(&self, agent: impl Into<String>, store: Arc<dyn SessionStore>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(agent.into(), store);
    }

    /// The agent's store; `None` if its clients keep the state.
    pub fn of(&self, agent: &str) -> Option<Arc<dyn SessionStore>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(agent).cloned()
    }
}
