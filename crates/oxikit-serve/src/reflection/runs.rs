//! The runs that the developer tools have started.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use oxikit_core::{
    ActionContext, Call, Canceller, InputSender, Payload, Registry, Result, Run, Status,
};
use oxikit_wire::rpc::RunActionParams;
use serde_json::Value;

/// A trace that cannot be sent delays the answer by no more than this.
const FLUSH: Duration = Duration::from_secs(1);

/// The application, and what of it runs for the developer tools.
#[derive(Clone)]
pub(crate) struct Runs {
    registry: Registry,
    running: Arc<Mutex<HashMap<String, Canceller>>>,
}

/// What is to be run, read from a request.
pub(crate) struct RunRequest {
    pub(crate) key: String,
    pub(crate) streams: bool,
    call: Call,
}

/// A run that can be cancelled by its trace while this is kept.
pub(crate) struct Running {
    pub(crate) run: Run,
    trace_id: String,
    runs: Runs,
}

impl RunRequest {
    /// `buffer` is what the parameters were read from: the input is a part of it.
    /// With the sender, inputs can be given while it runs.
    pub(crate) fn new(buffer: &Bytes, params: RunActionParams<'_>) -> (Self, Option<InputSender>) {
        let (sender, mut call) = match params.input {
            _ if params.stream_input => {
                let (sender, call) = Call::streaming();
                (Some(sender), call)
            }
            Some(input) => (None, Call::new(Payload::from_raw(buffer, input))),
            None => (None, Call::empty()),
        };
        if let Some(init) = params.init {
            call = call.with_init(Payload::from_raw(buffer, init));
        }
        if let Some(context) = params.context {
            call = call.with_context(ActionContext::from(context));
        }
        if let Some(labels) = params.telemetry_labels {
            call = call.with_labels(labels.into_iter().map(|(k, v)| (k, Value::from(v))).collect());
        }
        let call = if params.stream { call.for_wire() } else { call.without_chunks() };
        let request = Self { key: params.key.into_owned(), streams: params.stream, call };
        (request, sender)
    }
}

impl Runs {
    pub(crate) fn new(registry: Registry) -> Self {
        Self { registry, running: Arc::default() }
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Starts a run. What is refused here has left no trace.
    pub(crate) async fn start(&self, request: RunRequest) -> Result<Running> {
        let action = self.registry.resolve_key(&request.key).await?;
        let mut run = action.start(request.call.in_registry(&self.registry))?;
        let trace_id = run.trace_id().to_string();
        self.running().insert(trace_id.clone(), run.canceller());
        Ok(Running { run, trace_id, runs: self.clone() })
    }

    /// Cancels the run with this trace; the second time there is none.
    pub(crate) fn cancel(&self, trace_id: &str) -> Result<()> {
        let canceller = self.running().remove(trace_id);
        canceller
            .ok_or_else(|| Status::not_found("Action not found or already completed"))
            .map(|canceller| canceller.cancel())
    }

    /// Sends the spans of what has ended: the tools ask for them right after an
    /// answer.
    pub(crate) async fn flush(&self) {
        if let Some(exporter) = self.registry.exporter() {
            // Late is better than no answer.
            _ = tokio::time::timeout(FLUSH, exporter.flush()).await;
        }
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
}

impl Drop for Running {
    fn drop(&mut self) {
        self.runs.running().remove(&self.trace_id);
    }
}
