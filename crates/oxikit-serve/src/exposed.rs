//! The actions that a server exposes, with their paths, authentication and policies.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use oxikit_core::{Action, ActionContext, ActionKind, Registry, Result};

use crate::auth::{ContextProvider, Policy};
use oxikit_http::{Meters, Metrics};

/// An action to be served. Made from an action or a flow.
///
/// With an agent come the actions that belong to it: its snapshots are read at
/// `<path>/getSnapshot`, and its detached work is stopped at `<path>/abort`, by callers that
/// may call the agent.
///
/// ```
/// use oxikit::prelude::*;
/// use oxikit_serve::{Expose, Server};
///
/// let ai = Oxikit::builder().build()?;
/// let report = ai.define_flow("report", |_: ()| async { Ok("all is well") });
/// let report = Expose::new(&report).path("admin/report").policy(|context| {
///     match context.auth().and_then(|auth| auth["role"].as_str()) {
///         Some("admin") => Ok(()),
///         _ => Err(Status::permission_denied("only administrators may read the report")),
///     }
/// });
/// let server = Server::new(&ai).expose(report);
/// # Ok::<(), Status>(())
/// ```
#[derive(Clone)]
#[must_use = "give it to `Server::expose`"]
pub struct Expose {
    pub(crate) action: Action,
    pub(crate) path: String,
    /// Authenticates callers in place of the server's provider.
    pub(crate) provider: Option<Arc<dyn ContextProvider>>,
    pub(crate) policy: Option<Policy>,
    pub(crate) is_durable: bool,
    /// The agent that the action belongs to: the same callers may call both.
    pub(crate) agent: Option<Action>,
    /// Set when the server starts.
    pub(crate) meters: Option<Arc<Meters>>,
}

impl Expose {
    /// Serves the action under its name, without its kind: the flow `greet` at `/greet`. Two
    /// actions at the same path are not an error; the later one is served.
    pub fn new(action: impl Into<Action>) -> Self {
        let action = action.into();
        let path = action.name().to_owned();
        Self {
            action,
            path,
            provider: None,
            policy: None,
            is_durable: false,
            agent: None,
            meters: None,
        }
    }

    /// Serves it under another path, below [`Server::path_prefix`](crate::Server::path_prefix).
    /// Slashes at its ends do not matter; slashes within are allowed.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into().trim_matches('/').to_owned();
        self
    }

    /// Authenticates callers with this provider in place of
    /// [`Server::auth`](crate::Server::auth), so that the action has a key of its own:
    ///
    /// ```
    /// use oxikit::prelude::*;
    /// use oxikit_serve::{ApiKey, Expose, Server};
    ///
    /// let ai = Oxikit::builder().build()?;
    /// let greet = ai.define_flow("greet", |name: String| async move { Ok(name) });
    /// let report = ai.define_flow("report", |_: ()| async { Ok("all is well") });
    /// let server = Server::new(&ai)
    ///     .auth(ApiKey::new("a-key-of-all-clients"))
    ///     .expose(&greet)
    ///     .expose(Expose::new(&report).auth(ApiKey::new("a-key-of-the-operators")));
    /// # Ok::<(), Status>(())
    /// ```
    ///
    /// A key of the server is not good for this action then, nor this one for the
    /// pages of the server. [`policy`](Self::policy) is asked after it.
    pub fn auth(mut self, provider: impl ContextProvider + 'static) -> Self {
        self.provider = Some(Arc::new(provider));
        self
    }

    /// Calls this before every call of the action. Its error is answered as an HTTP error.
    pub fn policy(
        mut self,
        policy: impl Fn(&ActionContext) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.policy = Some(Arc::new(policy));
        self
    }

    /// Stores streams, so that runs continue without their reader and streams can be read
    /// again by `x-genkit-stream-id`. It needs a store, by
    /// [`Server::stream_store`](crate::Server::stream_store); without one it does nothing.
    pub fn durable(mut self) -> Self {
        self.is_durable = true;
        self
    }

    /// The key that context providers receive.
    pub(crate) fn guarded_key(&self) -> &str {
        self.agent.as_ref().unwrap_or(&self.action).key()
    }

    /// The path with the prefix of the server.
    pub(crate) fn path_below(&self, prefix: &str) -> String {
        match prefix {
            "" => format!("/{}", self.path),
            prefix => format!("/{prefix}/{}", self.path),
        }
    }

    /// The scope of its streams. It contains the path: one action at two paths has two
    /// policies, and a stream of one must not be readable at the other.
    pub(crate) fn source(&self) -> String {
        format!("{} at {}", self.action.key(), self.path)
    }

    /// The companion action of this kind that belongs to this agent, at a path below the agent's
    /// and with the same provider and policy; `None` if the agent has none, such as an agent
    /// whose sessions are kept by its clients.
    fn companion(&self, registry: &Registry, kind: ActionKind, path: &str) -> Option<Self> {
        let action = registry.get(&format!("/{kind}/{}", self.action.name()))?;
        Some(Self {
            action,
            path: format!("{}/{path}", self.path),
            agent: Some(self.action.clone()),
            is_durable: false,
            ..self.clone()
        })
    }
}

impl<T: Into<Action>> From<T> for Expose {
    fn from(action: T) -> Self {
        Self::new(action)
    }
}

impl fmt::Debug for Expose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expose")
            .field("action", &self.action)
            .field("path", &self.path)
            .field("has_auth", &self.provider.is_some())
            .field("has_policy", &self.policy.is_some())
            .field("is_durable", &self.is_durable)
            .finish()
    }
}

/// Maximum number of paths that are logged at the start.
const MAX_LISTED: usize = 20;

/// The companion actions of an agent, and the paths that official clients expect.
const COMPANIONS: [(ActionKind, &str); 2] =
    [(ActionKind::AgentSnapshot, "getSnapshot"), (ActionKind::AgentAbort, "abort")];

/// All served actions by path.
#[derive(Debug, Default)]
pub(crate) struct Exposed(HashMap<String, Expose>);

impl Exposed {
    /// The actions that were exposed by name, or else all flows and agents.
    pub(crate) fn new(named: Vec<Expose>, registry: &Registry, is_durable: bool) -> Self {
        let all = || {
            let mut actions = registry.list();
            actions.retain(|action| matches!(action.kind(), ActionKind::Flow | ActionKind::Agent));
            actions.into_iter().map(Expose::new).collect()
        };
        let exposed = if named.is_empty() { all() } else { named };
        let companions: Vec<_> = exposed
            .iter()
            .filter(|expose| expose.action.kind() == ActionKind::Agent)
            .flat_map(|agent| COMPANIONS.map(|(kind, path)| agent.companion(registry, kind, path)))
            .flatten()
            .collect();
        // Actions exposed by name come last, so that they replace companions at the same path.
        let named = exposed.into_iter().map(|mut expose| {
            expose.is_durable |= is_durable;
            expose
        });
        let by_path = companions.into_iter().chain(named);
        Self(by_path.map(|expose| (expose.path.clone(), expose)).collect())
    }

    /// Makes the meters of every action.
    pub(crate) fn measure(&mut self, metrics: &Metrics) {
        for expose in self.0.values_mut() {
            expose.meters = Some(metrics.of_action(expose.action.key()));
        }
    }

    pub(crate) fn get(&self, path: &str) -> Option<&Expose> {
        self.0.get(path)
    }

    /// The paths of flows and agents, for the log line at the start. Companions of agents are
    /// left out, and only [`MAX_LISTED`] paths are named.
    pub(crate) fn summary(&self, prefix: &str) -> String {
        let own = self.iter().filter(|expose| expose.agent.is_none());
        let mut paths: Vec<_> = own.map(|expose| expose.path_below(prefix)).collect();
        if paths.is_empty() {
            return "nothing yet, as no flow and no agent is defined".to_owned();
        }
        paths.sort();
        let more = paths.len().saturating_sub(MAX_LISTED);
        paths.truncate(MAX_LISTED);
        if more > 0 {
            paths.push(format!("and {more} more"));
        }
        paths.join(", ")
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Expose> {
        self.0.values()
    }
}
