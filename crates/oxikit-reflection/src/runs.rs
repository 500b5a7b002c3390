//! The runs that the developer tools have started, in either protocol.
//!
//! A run is known by its trace id, since that is what the tools have when they cancel it. The
//! entry exists from before the trace id is sent until the run is dropped.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use oxikit_core::{
    Action, ActionContext, Call, Canceller, InputSender, Payload, Registry, Result, Run,
    SpanExporter, Status,
};
use oxikit_wire::JsonObject;
use oxikit_wire::rpc::RunActionParams;
use serde_json::Value;

use crate::sessions::AgentsApi;

/// Maximum delay of a response by the export of its trace.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// The application and its runs for the developer tools. Clones share the same state.
#[derive(Clone)]
pub(crate) struct Runs {
    registry: Registry,
    /// Exports spans to the server that the tools read traces from.
    exporter: Arc<dyn SpanExporter>,
    /// The cancellers of active runs by trace id.
    running: Arc<Mutex<HashMap<String, Canceller>>>,
    /// Answers requests about the sessions of agents.
    agents_api: Option<Arc<dyn AgentsApi>>,
}

/// The parameters of a run.
pub(crate) struct RunRequest {
    pub(crate) key: String,
    /// Whether the tools want chunks.
    pub(crate) streams: bool,
    streams_input: bool,
    input: Option<Payload>,
    init: Option<Payload>,
    context: Option<JsonObject>,
    labels: Option<BTreeMap<String, String>>,
}

/// An active run. It can be cancelled by its trace id until this is dropped.
pub(crate) struct Running {
    pub(crate) run: Run,
    /// Sends inputs to the action; `None` unless an input stream was requested and the action
    /// takes one.
    pub(crate) inputs: Option<InputSender>,
    trace_id: String,
    key: String,
    runs: Runs,
}

impl RunRequest {
    /// Takes the parsed parameters. `buffer` is their text, of which the input is a part.
    pub(crate) fn new(buffer: &Bytes, params: RunActionParams<'_>) -> Self {
        Self {
            key: params.key.into_owned(),
            streams: params.stream,
            streams_input: false,
            input: params.input.map(|input| Payload::from_raw(buffer, input)),
            init: params.init.map(|init| Payload::from_raw(buffer, init)),
            context: params.context,
            labels: params.telemetry_labels,
        }
    }

    /// Requests an input stream, if the action takes one.
    pub(crate) fn with_input_stream(mut self) -> Self {
        self.streams_input = true;
        self
    }

    /// The call for an action, and the sender of its inputs if they are streamed.
    fn call_for(self, action: &Action) -> (Option<InputSender>, Call) {
        let (sender, mut call) = if self.streams_input && is_bidi(action) {
            let (sender, call) = Call::streaming();
            (Some(sender), call)
        } else {
            (None, self.input.map_or_else(Call::empty, Call::new))
        };
        if let Some(init) = self.init {
            call = call.with_init(init);
        }
        if let Some(context) = self.context {
            call = call.with_context(ActionContext::from(context));
        }
        if let Some(labels) = self.labels {
            call = call.with_labels(labels.into_iter().map(|(k, v)| (k, Value::from(v))).collect());
        }
        (sender, if self.streams { call.for_wire() } else { call.without_chunks() })
    }
}

/// Whether an action takes a stream of inputs.
fn is_bidi(action: &Action) -> bool {
    let metadata = action.descriptor().metadata.as_ref();
    metadata.and_then(|metadata| metadata.get("bidi")) == Some(&Value::Bool(true))
}

impl Runs {
    pub(crate) fn new(registry: Registry, exporter: Arc<dyn SpanExporter>) -> Self {
        Self { registry, exporter, running: Arc::default(), agents_api: None }
    }

    pub(crate) fn with_agents_api(self, agents_api: Option<Arc<dyn AgentsApi>>) -> Self {
        Self { agents_api, ..self }
    }

    /// Answers requests about sessions, if the application has agents.
    pub(crate) fn agents_api(&self) -> Option<&Arc<dyn AgentsApi>> {
        self.agents_api.as_ref()
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Resolves an action by its key; `NOT_FOUND` if there is none.
    pub(crate) async fn find(&self, key: &str) -> Result<Action> {
        self.registry.resolve_key(key).await
    }

    /// Starts a run. If this fails, no trace was recorded.
    pub(crate) fn start(&self, action: &Action, request: RunRequest) -> Result<Running> {
        let (inputs, call) = request.call_for(action);
        let mut run = action.start(call.in_registry(&self.registry))?;
        let trace_id = run.trace_id().to_string();
        // Before the trace id is sent, so that a cancellation always finds the run.
        self.running().insert(trace_id.clone(), run.canceller());
        let key = action.key().to_owned();
        Ok(Running { run, inputs, trace_id, key, runs: self.clone() })
    }

    /// Cancels the run with this trace id. `NOT_FOUND` if it has ended or was cancelled before.
    pub(crate) fn cancel(&self, trace_id: &str) -> Result<()> {
        let canceller = self.running().remove(trace_id);
        canceller
            .ok_or_else(|| Status::not_found("Action not found or already completed"))
            .map(|canceller| canceller.cancel())
    }

    /// Exports the spans of runs that have ended: the tools read them right after a response.
    pub(crate) async fn flush(&self) {
        // A trace that arrives late is better than a response that does.
        _ = tokio::time::timeout(FLUSH_TIMEOUT, self.exporter.flush()).await;
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, Canceller>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    /// The trace of the run, 32 hexadecimal digits.
    pub(crate) fn trace_id(&self) -> &str {
        &self.trace_id
    }

    /// Logs the error of the run.
    pub(crate) fn log(&self, status: &Status) {
        let trace_id = Some(self.run.trace_id());
        self.runs.registry().report_failure(&self.key, trace_id, status);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.runs.running().remove(&self.trace_id);
    }
}
