//! An agent to be served over A2A: what it does, and what its card says.

use std::fmt;
use std::sync::Arc;

use axum::http::request::Parts;
use oxikit_core::ports::PushTarget;
use oxikit_core::{Action, ActionContext, Registry, Status};
use oxikit_wire::a2a::{
    AgentCapabilities, AgentExtension, AgentProvider, AgentSkill, CARD_PATH, ErrorKind, PushConfig,
    Version,
};

use super::agent::AgentAction;
use super::executor::{AgentExecutor, Worker};
use super::push::PushNotifications;
use super::refusal::Refusal;
use super::signer::CardSigner;
use crate::agents_api::has_store;
use crate::app::App;
use crate::auth::{ContextProvider, check_scopes};

/// Media type of the text that agents take and answer, unless they say otherwise.
const TEXT: &str = "text/plain";

/// An agent that is served over A2A, in versions 0.3 and 1.0.
///
/// Any oxikit agent is one in a line:
///
/// ```
/// use oxikit::prelude::*;
/// use oxikit_serve::Server;
/// use oxikit_serve::a2a::A2aAgent;
///
/// # fn example(ai: Oxikit, support: Agent) {
/// let server = Server::new(&ai).a2a(A2aAgent::new(&support));
/// # }
/// ```
///
/// Its card is at `/a2a/<name>/.well-known/agent-card.json`, and that of the first agent of a
/// server at `/.well-known/agent-card.json` too.
#[derive(Clone)]
#[must_use = "give it to `Server::a2a`"]
pub struct A2aAgent {
    pub(super) name: String,
    pub(super) title: Option<String>,
    pub(super) description: String,
    pub(super) version: String,
    pub(super) path: String,
    pub(super) source: Source,
    pub(super) provider: Option<AgentProvider>,
    pub(super) documentation_url: Option<String>,
    pub(super) icon_url: Option<String>,
    pub(super) skills: Vec<AgentSkill>,
    pub(super) input_modes: Vec<String>,
    pub(super) output_modes: Vec<String>,
    pub(super) auth: Option<Arc<dyn ContextProvider>>,
    /// Whether requests of version 1.0 must name their version.
    pub(super) is_strict: bool,
    /// Scopes that every caller must have.
    pub(super) scopes: Vec<String>,
    pub(super) extensions: Vec<AgentExtension>,
    pub(super) extended_skills: Vec<AgentSkill>,
}

/// The agent or executor that answers the messages.
#[derive(Clone)]
pub(super) enum Source {
    Action(Action),
    Executor(Arc<dyn AgentExecutor>),
}

impl A2aAgent {
    /// Serves an oxikit agent under its name, with its description.
    pub fn new(agent: impl Into<Action>) -> Self {
        let action = agent.into();
        let name = action.name().to_owned();
        let description = action.descriptor().description.clone();
        Self::of(name, description.unwrap_or_default(), Source::Action(action))
    }

    /// Serves an agent that decides itself which states and artifacts a task has.
    pub fn with_executor(name: impl Into<String>, executor: impl AgentExecutor) -> Self {
        Self::of(name.into(), String::new(), Source::Executor(Arc::new(executor)))
    }

    fn of(name: String, description: String, source: Source) -> Self {
        Self {
            path: format!("a2a/{name}"),
            name,
            title: None,
            description,
            version: "1.0.0".to_owned(),
            source,
            provider: None,
            documentation_url: None,
            icon_url: None,
            skills: Vec::new(),
            input_modes: vec![TEXT.to_owned()],
            output_modes: vec![TEXT.to_owned()],
            auth: None,
            is_strict: false,
            scopes: Vec::new(),
            extensions: Vec::new(),
            extended_skills: Vec::new(),
        }
    }

    /// The name on the card, for people. The name of the agent if it is not called.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// A description of the agent, for people and models that choose an agent.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// The version of the agent, `1.0.0` if it is not called.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// The path of the agent on its server, `a2a/<name>` if it is not called.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into().trim_matches('/').to_owned();
        self
    }

    /// The organisation behind the agent, and its site.
    pub fn provider(mut self, organization: impl Into<String>, url: impl Into<String>) -> Self {
        self.provider = Some(AgentProvider { organization: organization.into(), url: url.into() });
        self
    }

    /// A page that documents the agent.
    pub fn documentation_url(mut self, url: impl Into<String>) -> Self {
        self.documentation_url = Some(url.into());
        self
    }

    /// A picture of the agent.
    pub fn icon_url(mut self, url: impl Into<String>) -> Self {
        self.icon_url = Some(url.into());
        self
    }

    /// Adds something that the agent can do. Without any, the agent as a whole is its one skill.
    pub fn skill(mut self, skill: AgentSkill) -> Self {
        self.skills.push(skill);
        self
    }

    /// Adds a skill that only the card for authenticated callers shows. If it has security
    /// requirements, only callers with the scopes of one of them see it.
    ///
    /// A request does not name the skill that it uses, so that no more than this can be checked
    /// here: the agent itself calls [`TaskTurn::require_scope`](super::TaskTurn::require_scope).
    pub fn extended_skill(mut self, skill: AgentSkill) -> Self {
        self.extended_skills.push(skill);
        self
    }

    /// Declares an extension of the protocol. A client of version 1.0 that does not name a
    /// required one is refused; the agent finds the names in
    /// [`TaskTurn::extensions`](super::TaskTurn::extensions).
    pub fn extension(mut self, extension: AgentExtension) -> Self {
        self.extensions.push(extension);
        self
    }

    /// The media types of messages, `text/plain` if it is not called.
    pub fn input_modes<T: Into<String>>(mut self, modes: impl IntoIterator<Item = T>) -> Self {
        self.input_modes = modes.into_iter().map(Into::into).collect();
        self
    }

    /// The media types of answers, `text/plain` if it is not called.
    pub fn output_modes<T: Into<String>>(mut self, modes: impl IntoIterator<Item = T>) -> Self {
        self.output_modes = modes.into_iter().map(Into::into).collect();
        self
    }

    /// Authenticates callers with this provider in place of
    /// [`Server::auth`](crate::Server::auth). The card declares its security scheme.
    pub fn auth(mut self, provider: impl ContextProvider + 'static) -> Self {
        self.auth = Some(Arc::new(provider));
        self
    }

    /// Refuses callers whose credentials lack this scope with 403; the card lists it. It may be
    /// called several times; a caller needs all of them.
    ///
    /// Scopes are those of the token, in its claim `scope` or `scp`, and those that
    /// [`ApiKey::scopes`](crate::ApiKey::scopes) gives. An agent without authentication that
    /// demands a scope refuses everybody.
    pub fn require_scope(mut self, scope: impl Into<String>) -> Self {
        self.scopes.push(scope.into());
        self
    }

    /// Refuses requests of version 1.0 without the header (or query parameter) `A2A-Version` with
    /// -32009, as the text of the protocol demands. By default the method, or the path, tells the
    /// version.
    pub fn strict_version(mut self) -> Self {
        self.is_strict = true;
        self
    }

    /// The path with a slash before it.
    pub(crate) fn url_path(&self) -> String {
        format!("/{}", self.path)
    }

    /// The paths of the agent, for people; `{…}` stands for ids.
    pub(crate) fn paths(&self) -> impl Iterator<Item = String> {
        let below = ["", CARD_PATH, "/message:send", "/tasks/{id}", "/v1/message:send"];
        below.into_iter().map(|below| format!("/{}{below}", self.path))
    }

    pub(crate) fn has_auth(&self) -> bool {
        self.auth.is_some()
    }
}

impl fmt::Debug for A2aAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("A2aAgent")
            .field("name", &self.name)
            .field("path", &self.path)
            .field("has_auth", &self.auth.is_some())
            .finish_non_exhaustive()
    }
}

/// An agent that is served.
pub(crate) struct Served {
    pub(super) options: A2aAgent,
    pub(super) name: Arc<str>,
    /// The key by which calls and failures are reported, and that context providers receive.
    pub(super) key: Arc<str>,
    pub(super) worker: Arc<Worker>,
    push: Option<Arc<PushNotifications>>,
    /// The address under which clients reach the server, if the application has named it.
    pub(super) public_url: Option<String>,
    /// Signs the card.
    pub(super) signer: Option<Arc<CardSigner>>,
    /// Whether it is the first agent of the server: clients that name none find this one.
    pub(super) is_first: bool,
}

impl Served {
    pub(super) fn new(
        options: A2aAgent,
        registry: &Registry,
        push: Option<Arc<PushNotifications>>,
        public_url: Option<String>,
    ) -> Self {
        let executor = match &options.source {
            Source::Executor(executor) => executor.clone(),
            Source::Action(action) => Arc::new(AgentAction {
                has_store: has_store(action),
                action: action.clone(),
                registry: registry.clone(),
            }),
        };
        let name = options.name.clone();
        let key: Arc<str> = format!("/agent/{name}").into();
        let worker = Worker { executor, key: key.clone(), registry: registry.clone() };
        Self {
            key,
            name: name.into(),
            worker: Arc::new(worker),
            options,
            push,
            public_url,
            signer: None,
            is_first: false,
        }
    }

    pub(super) fn capabilities(&self) -> AgentCapabilities {
        AgentCapabilities {
            streaming: Some(true),
            push_notifications: Some(self.push.is_some()),
            state_transition_history: Some(true),
            extended_agent_card: Some(self.has_extended_card()),
            extensions: self.options.extensions.clone(),
        }
    }

    /// Whether authenticated callers see another card.
    pub(super) fn has_extended_card(&self) -> bool {
        !self.options.extended_skills.is_empty()
    }

    /// Authenticates the caller of a request, and checks its scopes.
    pub(super) async fn caller(&self, app: &App, head: &Parts) -> Result<ActionContext, Status> {
        let caller = app.caller_by(head, self.options.auth.as_ref(), &self.key).await?;
        check_scopes(&caller, &self.options.scopes)?;
        Ok(caller)
    }

    /// Refuses all requests about webhooks if the server calls none.
    pub(super) fn check_push(&self) -> Result<&PushNotifications, Refusal> {
        let push = self.push.as_deref();
        push.ok_or_else(|| Refusal::of(ErrorKind::PushNotificationNotSupported))
    }

    /// Checks a webhook before it is stored.
    pub(super) async fn push_target(
        &self,
        config: PushConfig,
        version: Version,
    ) -> Result<PushTarget, Refusal> {
        self.check_push()?.target(config, version).await
    }
}
