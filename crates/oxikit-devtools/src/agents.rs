//! The agents API for agents of any runtime. Turns use the actions that every Genkit runtime has;
//! lists of sessions, forks and deletions use requests that only runtimes of oxikit answer.
//!
//! | operation | runtimes of oxikit | other runtimes |
//! | --- | --- | --- |
//! | turn | run of `/agent/NAME` | the same |
//! | snapshot, abort | run of `/agent-snapshot/NAME`, `/agent-abort/NAME` | the same |
//! | list of sessions | `listSessions` | sessions in stored traces, see [`observed`] |
//! | one session | `getSession` | the snapshots of its newest branch, see [`observed`] |
//! | fork, delete | `forkSession`, `deleteSession` | an error that says what to do instead |

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

use super::shared::Shared;
use oxikit_http::api::json as answer;
use oxikit_http::api::{Path, RuntimeQuery, exact_object};
use oxikit_http::api::{Query, non_empty};
use oxikit_http::{HttpError, HttpResult};
use oxikit_manager::{RunHandle, RunOutcome, RunSpec, block_in_place_if_large};
pub(crate) use sessions::{
    ForkBody, SessionPage, SessionsQuery, abort, delete_session, fork, list_sessions, session,
};
pub(crate) use snapshots::{SnapshotQuery, snapshot};
pub(crate) use turns::execute;

/// The beginning of the keys of agents.
const AGENTS: &str = "/agent/";
/// Maximum number of bytes of an agent's output that is parsed: twice the maximum of a snapshot.
/// Larger outputs are an error.
const MAX_READ: usize = 16 << 20;

/// Which runtime is called, and with which context.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct AgentQuery {
    /// The id of a runtime. The default is the current one.
    runtime: Option<String>,
    /// The context of the run, such as the identity of the user: a JSON object as text.
    context: Option<String>,
}

/// `GET /api/agents[?runtime=]`: the agents of a runtime by name.
///
/// # Errors
///
/// 404 for an unknown runtime, 503 if none is connected.
pub(crate) async fn list(
    State(shared): State<Arc<Shared>>,
    Query(RuntimeQuery { runtime }): Query<RuntimeQuery>,
) -> HttpResult {
    let list = shared.runtimes.list_actions(runtime.as_deref()).await?;
    let agents = list.read_all(AGENTS)?.into_values();
    let agents = agents.map(|action| (action.name.clone(), summary(action)));
    answer(&AgentList { agents: agents.collect() })
}

/// `GET /api/agents/{agent}[?runtime=]`: one agent with its schemas. A schema that the runtime does
/// not send is shown as `{}`, which accepts anything.
///
/// # Errors
///
/// 404 for an unknown agent or runtime, 503 if no runtime is connected.
pub(crate) async fn details(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    Query(asked): Query<AgentQuery>,
) -> HttpResult {
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
    /// The context of its runs.
    context: Option<JsonObject>,
    action: ActionDescriptor,
}

impl Agent {
    /// Finds the agent with this name on the runtime of the query.
    async fn find(shared: Arc<Shared>, name: &str, asked: AgentQuery) -> Result<Self, HttpError> {
        let AgentQuery { runtime, context } = asked;
        let context = non_empty(context).map(|text| exact_object(text.as_bytes())).transpose()?;
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

    /// Runs a companion action of the agent: one of another type with the same name.
    async fn companion<T: DeserializeOwned>(&self, kind: &str, input: Value) -> Result<T, Status> {
        let run = self.start_companion(kind, input).await?;
        read(run.finish().await)
    }

    /// Reads a snapshot by the agent's own action. The run leaves no trace: reading a session must
    /// not change the list of the user's runs.
    async fn snapshot(&self, input: Value) -> Result<SessionSnapshot, Status> {
        let mut run = self.start_companion("agent-snapshot", input).await?;
        let trace_id = run.trace_id().await;
        // As early as possible, so that few of its spans are stored before.
        if let Some(trace_id) = &trace_id {
            self.shared.hidden_traces.add(trace_id);
        }
        let outcome = run.finish().await;
        let reported = outcome.as_ref().ok().and_then(|outcome| outcome.trace_id.clone());
        if let Some(trace_id) = trace_id.or(reported) {
            self.shared.hide_trace(&trace_id).await;
        }
        read(outcome)
    }

    /// Starts a run of a companion action.
    async fn start_companion(&self, kind: &str, input: Value) -> Result<RunHandle, Status> {
        let key = format!("/{kind}/{}", self.name());
        let spec = self.spec(json!({"key": key, "input": input}));
        self.shared.runtimes.run(spec).await.map_err(status_of)
    }
}

/// Parses the output of a run; a missing one is `null`.
fn read<T: DeserializeOwned>(outcome: Result<RunOutcome, ErrorData>) -> Result<T, Status> {
    let result = outcome.map_err(status_of)?.result;
    read_output(result.as_deref().unwrap_or(b"null"))
}

/// Parses the output of an agent.
fn read_output<T: DeserializeOwned>(result: &[u8]) -> Result<T, Status> {
    if result.len() > MAX_READ {
        return Err(Status::resource_exhausted(format!(
            "the agent answered with {} bytes, of which no more than {MAX_READ} are read",
            result.len()
        )));
    }
    Ok(block_in_place_if_large(result.len(), || serde_json::from_slice(result))?)
}

/// The entry of a list. The kind of the store is known only to the application itself.
fn summary(action: ActionDescriptor) -> AgentSummary {
    AgentSummary {
        has_store: has_store(&action),
        name: action.name,
        description: action.description,
        store_type: None,
        metadata: action.metadata.unwrap_or_default(),
    }
}

/// Whether the runtime stores the sessions of this agent. Otherwise its clients keep the state.
fn has_store(action: &ActionDescriptor) -> bool {
    let agent = action.metadata.as_ref().and_then(|metadata| metadata.get("agent"));
    agent.is_some_and(|agent| agent["stateManagement"] == "server")
}

/// The error of a runtime as a status whose message is passed on to the client.
fn status_of(error: ErrorData) -> Status {
    let code = error.code.and_then(StatusCode::from_grpc).unwrap_or(StatusCode::Unknown);
    Status::public(code, error.message.unwrap_or_else(|| code.standard_message().to_owned()))
}
