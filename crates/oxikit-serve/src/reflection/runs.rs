//! The runs that the developer tools have started.

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

/// A trace that cannot be sent delays the answer by no more than this.
const FLUSH: Duration = Duration::from_secs(1);

/// The application, and what of it runs for the developer tools.
#[derive(Clone)]
pub(crate) struct Runs {
    registry: Registry,
    /// Where the tools look for traces.
    exporter: Arc<dyn SpanExporter>,
    running: Arc<Mutex<HashMap<String, Canceller>>>,
}

/// What is to be run, read from a request.
pub(crate) struct RunRequest {
    pub(crate) key: String,
    /// Whether chunks are wanted.
    pub(crate) streams: bool,
    streams_input: bool,
    input: Option<Payload>,
    init: Option<Payload>,
    context: Option<JsonObject>,
    labels: Option<BTreeMap<String, String>>,
}

/// A run that can be cancelled by its trace while this is kept.
pub(crate) struct Running {
    pub(crate) run: Run,
    /// Takes the inputs of a run that was asked to take them while it goes on, if
    /// its action does.
    pub(crate) inputs: Option<InputSender>,
    trace_id: String,
    key: String,
    runs: Runs,
}

impl RunRequest {
    /// `buffer` is what the parameters were read from: the input is a part of it.
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

    /// The inputs come while it runs, if the action takes more than one.
    pub(crate) fn with_input_stream(mut self) -> Self {
        self.streams_input = true;
        self
    }

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

fn is_bidi(action: &Action) -> bool {
    let metadata = action.descriptor().metadata.as_ref();
    metadata.and_then(|metadata| metadata.get("bidi")) == Some(&Value::Bool(true))
}

impl Runs {
    pub(crate) fn new(registry: Registry, exporter: Arc<dyn SpanExporter>) -> Self {
        Self { registry, exporter, running: Arc::default() }
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The action of a request; `NOT_FOUND` if there is none.
    pub(crate) async fn find(&self, key: &str) -> Result<Action> {
        self.registry.resolve_key(key).await
    }

    /// Starts a run. What is refused here has left no trace.
    pub(crate) fn start(&self, action: &Action, request: RunRequest) -> Result<Running> {
        let (inputs, call) = request.call_for(action);
        let mut run = action.start(call.in_registry(&self.registry))?;
        let trace_id = run.trace_id().to_string();
        self.running().insert(trace_id.clone(), run.canceller());
        let key = action.key().to_owned();
        Ok(Running { run, inputs, trace_id, key, runs: self.clone() })
    }

    /// Cancels the run with this trace; the second time there is none.
    pub(crate) fn cancel(&self, trace_id: &str) -> Result<()> {
        let canceller = self.running().remove(trace_id);
        canceller
            .ok_or_else(|| Status::not_found("Action not found or already completed"))
            .map(|canceller| canceller.cancel())
    }

    /// Sends the tools the spans of what has ended: they ask for them right after
    /// an answer.
    pub(crate) async fn flush(&self) {
        // Late is better than no answer.
        _ = tokio::time::timeout(FLUSH, self.exporter.flush()).await;
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

    /// Logs how the run has failed. The developer tools show the whole of it too.
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
