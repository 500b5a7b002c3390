//! The agents of a server, and the work that goes on beside requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oxikit_core::Registry;
use oxikit_core::ports::memory::MemoryTasks;
use oxikit_core::ports::{TaskRetention, TaskStore};
use oxikit_http::Shutdown;

use super::agent_options::{A2aAgent, Served};
use super::push::{self, PushNotifications};
use super::runner::Runner;
use super::signer::CardSigner;
use super::upkeep::Upkeep;

/// The agents of a server, and what works on their tasks.
pub(crate) struct A2a {
    pub(super) agents: Vec<Arc<Served>>,
    pub(super) runner: Arc<Runner>,
    retention: TaskRetention,
    push: Option<Arc<PushNotifications>>,
    /// Whether the regular work has begun.
    is_started: AtomicBool,
}

/// The settings of a server for its A2A agents.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) agents: Vec<A2aAgent>,
    pub(crate) tasks: Option<Arc<dyn TaskStore>>,
    pub(crate) retention: TaskRetention,
    pub(crate) push: Option<PushNotifications>,
    /// The address under which clients reach the server, if the application has named it.
    pub(crate) public_url: Option<String>,
    pub(crate) signer: Option<Arc<CardSigner>>,
}

impl A2a {
    /// `None` if no agent is served.
    pub(crate) fn new(options: Options, registry: &Registry, shutdown: &Shutdown) -> Option<Self> {
        let Options { agents, tasks, retention, push, public_url, signer } = options;
        if agents.is_empty() {
            return None;
        }
        let store = tasks.unwrap_or_else(|| Arc::new(MemoryTasks::default()));
        let push = push.map(Arc::new);
        let served = |(place, agent)| {
            let mut served = Served::new(agent, registry, push.clone(), public_url.clone());
            served.signer = signer.clone();
            served.is_first = place == 0;
            Arc::new(served)
        };
        let agents = agents.into_iter().enumerate().map(served).collect();
        let runner = Arc::new(Runner::new(store, shutdown.clone()));
        let is_started = AtomicBool::new(false);
        Some(Self { agents, runner, retention, push, is_started })
    }

    /// Begins the regular work, once. It needs a Tokio runtime: routes that are made outside of
    /// one begin it with their first request.
    pub(crate) fn start(&self) {
        // Read before it is written: every request comes here.
        if self.is_started.load(Ordering::Relaxed) {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if !self.is_started.swap(true, Ordering::Relaxed) {
            let upkeep = Upkeep { runner: self.runner.clone(), retention: self.retention };
            runtime.spawn(upkeep.run());
            if let Some(push) = &self.push {
                runtime.spawn(push::run(self.runner.clone(), push.clone()));
            }
        }
    }
}
