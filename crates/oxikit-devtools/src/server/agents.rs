//! Agents of any runtime, in the shape of the REST API for agents. Turns are done with
//! the actions that every Genkit runtime has; what needs a store is asked of runtimes
//! that know such requests.

mod observed;
mod sessions;
mod snapshots;
mod turns;

use std::sync::Arc;

use axum::extract::State;
use oxikit_core::{Status, StatusCode};
use oxikit_wire::rpc::ErrorData;
use oxikit_wire::{
    ActionDescriptor, AgentDetails, AgentList, AgentSummary, JsonObject, SessionSnapshot,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::query::{Query, given};
use super::reply::{Answer, Failure, json as answer};
use super::request::{Path, RuntimeQuery, exact_object};
use super::shared::Shared;
use crate::manager::{RunHandle, RunOutcome, RunSpec, apart};
pub(crate) use sessions::{
    ForkBody, SessionPage, SessionsQuery, abort, delete_session, fork, list_sessions, session,
};
pub(crate) use snapshots::{SnapshotQuery, snapshot};
pub(crate) use turns::execute;

/// What the keys of agents begin with.
const AGENTS: &str = "/agent/";
/// What an agent answers is read, not only passed on, up to this size: it is that of a
/// snapshot, twice.
const MAX_READ: usize = 16 << 20;

/// Which runtime is asked, and for whom.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct AgentQuery {
    /// The id of a runtime; without it the current one is asked.
    runtime: Option<String>,
    /// The context of the run, such as who the user is: a JSON object as text.
    context: Option<String>,
}

/// `GET /api/agents[?runtime=]`.
pub(crate) async fn list(
    State(shared): State<Arc<Shared>>,
    Query(RuntimeQuery { runtime }): Query<RuntimeQuery>,
) -> Answer {
    let list = shared.runtimes.list_actions(runtime.as_deref()).await?;
    let agents = list.read_all(AGENTS)?.into_values();
    let agents = agents.map(|action| (action.name.clone(), summary(action)));
    answer(&AgentList { agents: agents.collect() })
}

/// `GET /api/agents/{agent}[?runtime=]`.
pub(crate) async fn details(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    Query(asked): Query<AgentQuery>,
) -> Answer {
    let action = Agent::find(shared, &name, asked).await?.action;
    let schema = |schema: &Option<Value>| schema.clone().unwrap_or_else(|| json!({}));
    let (init_schema, input_schema) = (schema(&action.init_schema), schema(&action.input_schema));
    let output_schema = schema(&action.output_schema);
    let stream_schema = schema(&action.stream_schema);
    let AgentSummary { name, description, has_store, store_type, metadata } = summary(action);
    answer(&AgentDetails {
        name,
        description,
        has_store,
        store_type,
        init_schema,
        input_schema,
        output_schema,
        stream_schema,
        metadata,
    })
}

/// An agent of a runtime.
struct Agent {
    shared: Arc<Shared>,
    runtime: Option<String>,
    /// The context, as for a run.
    context: Option<JsonObject>,
    action: ActionDescriptor,
}

impl Agent {
    /// The agent with this name, of the runtime that the query names, for the caller
    /// whose context it has.
    async fn find(shared: Arc<Shared>, name: &str, asked: AgentQuery) -> Result<Self, Failure> {
        let AgentQuery { runtime, context } = asked;
        let context = given(context).map(|text| exact_object(text.as_bytes())).transpose()?;
        let list = shared.runtimes.list_actions(runtime.as_deref()).await?;
        let action = list.read(&format!("{AGENTS}{name}"))?;
        let missing = || Status::not_found(format!("there is no agent `{name}`"));
        Ok(Self { shared, runtime, context, action: action.ok_or_else(missing)? })
    }

    fn name(&self) -> &str {
        &self.action.name
    }

    fn has_store(&self) -> bool {
        has_store(&self.action)
    }

    /// A run with these parameters, on the agent's runtime.
    fn spec(&self, mut params: Value) -> RunSpec {
        if let Some(context) = &self.context {
            params["context"] = context.clone().into();
        }
        let spec = RunSpec::new(params.to_string());
        match &self.runtime {
            Some(runtime) => spec.on(runtime),
            None => spec,
        }
    }

    /// Runs an action that belongs to the agent: it has the same name.
    async fn companion<T: DeserializeOwned>(&self, kind: &str, input: Value) -> Result<T, Status> {
        let run = self.start_companion(kind, input).await?;
        read(run.finish().await)
    }

    /// A snapshot, as the agent shows it. Whoever only looks leaves no trace.
    async fn snapshot(&self, input: Value) -> Result<SessionSnapshot, Status> {
        let mut run = self.start_companion("agent-snapshot", input).await?;
        let trace_id = run.trace_id().await;
        // From here on its spans are not taken.
        if let Some(trace_id) = &trace_id {
            self.shared.looks.add(trace_id);
        }
        let outcome = run.finish().await;
        let told = outcome.as_ref().ok().and_then(|outcome| outcome.trace_id.clone());
        if let Some(trace_id) = trace_id.or(told) {
            self.shared.forget_trace(&trace_id).await;
        }
        read(outcome)
    }

    async fn start_companion(&self, kind: &str, input: Value) -> Result<RunHandle, Status> {
        let key = format!("/{kind}/{}", self.name());
        let spec = self.spec(json!({"key": key, "input": input}));
        self.shared.runtimes.run(spec).await.map_err(told)
    }
}

fn read<T: DeserializeOwned>(outcome: Result<RunOutcome, ErrorData>) -> Result<T, Status> {
    let result = outcome.map_err(told)?.result;
    read_output(result.as_deref().unwrap_or(b"null"))
}

/// Reads what an agent answered.
fn read_output<T: DeserializeOwned>(result: &[u8]) -> Result<T, Status> {
    if result.len() > MAX_READ {
        return Err(Status::resource_exhausted(format!(
            "the agent answered with {} bytes, of which no more than {MAX_READ} are read",
            result.len()
        )));
    }
    Ok(apart(result.len(), || serde_json::from_slice(result))?)
}

fn summary(action: ActionDescriptor) -> AgentSummary {
    AgentSummary {
        has_store: has_store(&action),
        name: action.name,
        description: action.description,
        store_type: None,
        metadata: action.metadata.unwrap_or_default(),
    }
}

fn has_store(action: &ActionDescriptor) -> bool {
    let agent = action.metadata.as_ref().and_then(|metadata| metadata.get("agent"));
    agent.is_some_and(|agent| agent["stateManagement"] == "server")
}

/// What a runtime says went wrong, to be told on.
fn told(error: ErrorData) -> Status {
    let code = error.code.and_then(StatusCode::from_grpc).unwrap_or(StatusCode::Unknown);
    Status::public(code, error.message.unwrap_or_else(|| code.standard_message().to_owned()))
}
