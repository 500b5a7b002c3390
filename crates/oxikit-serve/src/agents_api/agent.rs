//! An agent as one caller sees it: found by name, checked against its policy, and called with
//! the caller's context.

use std::sync::Arc;

use axum::http::request::Parts;
use oxikit_core::ports::{Owner, SessionStore, SessionStores};
use oxikit_core::{Action, ActionContext, ActionKind, Call, Registry, Schema, Status, StatusCode};
use oxikit_wire::{
    AgentAbortRequest, AgentAbortResponse, AgentDetails, AgentInit, AgentInput, AgentList,
    AgentOutput, AgentStreamChunk, AgentSummary, GetSnapshotRequest, SessionSnapshot,
};
use serde_json::Value;

use crate::app::App;
use crate::auth::RequestInfo;
use crate::exposed::Expose;
use oxikit_http::Meters;

/// The meters that count requests about this agent. Agents that are not exposed share one set,
/// because every set costs time series in the metrics.
pub(super) fn meters<'a>(app: &'a App, agent: &str) -> Option<&'a Arc<Meters>> {
    let exposed = exposed(app, agent).and_then(|expose| expose.meters.as_ref());
    exposed.or(app.agents.meters.as_ref())
}

/// All agents that the API shows, before any policy.
fn all(app: &App) -> Vec<Action> {
    let mut actions = match app.agents.only_exposed {
        true => app.exposed.iter().map(|expose| expose.action.clone()).collect(),
        false => app.registry.list(),
    };
    actions.retain(|action| action.kind() == ActionKind::Agent);
    actions
}

/// All agents that this caller may call.
pub(super) async fn list(app: &App, head: &Parts, context: &ActionContext) -> AgentList {
    let mut agents = Vec::new();
    for action in all(app) {
        match find_for(app, head, &action, context).await {
            Ok(agent) => agents.push((action.name().to_owned(), agent.summary())),
            // A policy that fails hides the agent, as one that refuses does.
            Err(status) => drop(app.registry.report_failure(action.key(), None, &status)),
        }
    }
    AgentList { agents: agents.into_iter().collect() }
}

/// An agent of the list. One with a context provider of its own is shown to callers
/// that it lets in; others are not counted as callers with a wrong key.
async fn find_for(
    app: &App,
    head: &Parts,
    action: &Action,
    context: &ActionContext,
) -> Result<Agent, Status> {
    let own = exposed(app, action.name()).and_then(|expose| expose.provider.as_ref());
    let context = match own {
        Some(provider) => provider.context(RequestInfo::new(head, action.key())).await?,
        None => context.clone(),
    };
    Agent::find(app, action.name(), context)
}

/// An agent and its caller.
#[derive(Clone)]
pub(crate) struct Agent {
    pub(super) action: Action,
    pub(super) context: ActionContext,
    pub(super) owner: Owner,
    pub(super) is_durable: bool,
    pub(super) registry: Registry,
}

impl Agent {
    /// The agent with this name, if there is one and the caller may call it.
    pub(super) fn find(app: &App, name: &str, context: ActionContext) -> Result<Self, Status> {
        let expose = exposed(app, name);
        if let Some(policy) = expose.and_then(|expose| expose.policy.as_ref()) {
            policy(&context)?;
        }
        let (action, is_durable) = match expose {
            Some(expose) => (expose.action.clone(), expose.is_durable),
            None if app.agents.only_exposed => return Err(missing(name)),
            None => {
                let agent = Self::in_registry(&app.registry, name, context)?;
                return Ok(Self { is_durable: app.agents.is_durable, ..agent });
            }
        };
        let owner = Owner::of(&context);
        Ok(Self { action, context, owner, is_durable, registry: app.registry.clone() })
    }

    /// The agent with this name, whether or not it is exposed.
    pub(crate) fn in_registry(
        registry: &Registry,
        name: &str,
        context: ActionContext,
    ) -> Result<Self, Status> {
        let action = registry.get(&format!("/agent/{name}")).ok_or_else(|| missing(name))?;
        let owner = Owner::of(&context);
        Ok(Self { action, context, owner, is_durable: false, registry: registry.clone() })
    }

    pub(super) fn name(&self) -> &str {
        self.action.name()
    }

    /// Whether the server keeps the agent's sessions.
    pub(super) fn has_store(&self) -> bool {
        has_store(&self.action)
    }

    /// The store of the agent's sessions.
    ///
    /// # Errors
    ///
    /// `FAILED_PRECONDITION` if clients keep the state of this agent; `UNIMPLEMENTED` if its
    /// store is not registered in this process.
    pub(super) fn store(&self) -> Result<Arc<dyn SessionStore>, Status> {
        if !self.has_store() {
            let name = self.name();
            return Err(Status::failed_precondition(format!(
                "agent `{name}` has no session store: its clients keep the state"
            )));
        }
        let store = self.registry.state::<SessionStores>().of(self.name());
        store.ok_or_else(|| {
            let message = format!("the sessions of agent `{}` cannot be listed", self.name());
            Status::public(StatusCode::Unimplemented, message)
        })
    }

    /// A snapshot, as the agent lets clients see it. No span is recorded: a list of
    /// traces shows what was run, and not what was looked at.
    pub(super) async fn snapshot(&self, id: &str) -> Result<SessionSnapshot, Status> {
        let companion = self.companion(ActionKind::AgentSnapshot)?;
        let request = GetSnapshotRequest { snapshot_id: Some(id.to_owned()), session_id: None };
        companion.run(self.call(Call::new(request)).unrecorded()).await?.parse()
    }

    /// Stops the work behind a snapshot.
    pub(super) async fn abort(&self, id: &str) -> Result<AgentAbortResponse, Status> {
        let companion = self.companion(ActionKind::AgentAbort)?;
        let request = AgentAbortRequest { snapshot_id: id.to_owned() };
        companion.run(self.call(Call::new(request))).await?.parse()
    }

    /// A call by this caller.
    pub(super) fn call(&self, call: Call) -> Call {
        call.in_registry(&self.registry).with_context(self.context.clone())
    }

    /// An action that belongs to the agent: it has the same name.
    fn companion(&self, kind: ActionKind) -> Result<Action, Status> {
        self.registry.get(&format!("/{kind}/{}", self.name())).ok_or_else(|| {
            let what = match kind {
                ActionKind::AgentAbort => "stop the work",
                _ => "show snapshots",
            };
            let message = format!("agent `{}` cannot {what}", self.name());
            Status::public(StatusCode::Unimplemented, message)
        })
    }

    fn summary(&self) -> AgentSummary {
        let descriptor = self.action.descriptor();
        AgentSummary {
            name: descriptor.name.clone(),
            description: descriptor.description.clone(),
            has_store: self.has_store(),
            store_type: self.store().ok().map(|store| store.name().to_owned()),
            metadata: descriptor.metadata.clone().unwrap_or_default(),
        }
    }

    pub(super) fn details(&self) -> AgentDetails {
        let AgentSummary { name, description, has_store, store_type, metadata } = self.summary();
        let descriptor = self.action.descriptor();
        AgentDetails {
            name,
            description,
            has_store,
            store_type,
            init_schema: schema_or(descriptor.init_schema.as_ref(), Schema::of::<AgentInit>),
            input_schema: schema_or(descriptor.input_schema.as_ref(), Schema::of::<AgentInput>),
            output_schema: schema_or(descriptor.output_schema.as_ref(), Schema::of::<AgentOutput>),
            stream_schema: schema_or(
                descriptor.stream_schema.as_ref(),
                Schema::of::<AgentStreamChunk>,
            ),
            metadata,
        }
    }
}

/// Whether the server keeps the sessions of this agent.
pub(crate) fn has_store(action: &Action) -> bool {
    let metadata = action.descriptor().metadata.as_ref();
    let agent = metadata.and_then(|metadata| metadata.get("agent"));
    agent.and_then(|agent| agent.get("stateManagement")) == Some(&Value::from("server"))
}

fn missing(name: &str) -> Status {
    Status::not_found(format!("there is no agent `{name}`"))
}

pub(super) fn exposed<'a>(app: &'a App, agent: &str) -> Option<&'a Expose> {
    let is_asked = |expose: &&Expose| {
        expose.action.kind() == ActionKind::Agent && expose.action.name() == agent
    };
    app.exposed.iter().find(is_asked)
}

/// The agent's own schema, or else the schema that is common to all agents.
fn schema_or(own: Option<&Value>, common: fn() -> Schema) -> Value {
    own.cloned().unwrap_or_else(|| common().as_json().clone())
}
