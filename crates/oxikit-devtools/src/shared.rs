//! The state that all routes share: the runtimes, the stores and the application. It has no logic of
//! routes; the operations here need more than one of these parts.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use oxikit_core::ports::ProjectStore;
use oxikit_prompts::PromptRoutes;
use oxikit_traces::TraceStore;
use tokio_util::sync::CancellationToken;

use super::feed::{Feed, WatchedProject};
use super::sign_in::SignIn;
use super::{AppControl, DevServerOptions, Doctor};
use oxikit_manager::{RuntimeInfo, Runtimes};
use oxikit_traces::{HiddenTraces, OwnProcess, RuntimeProcess};

/// Time after which a hidden trace is deleted again: spans that arrived before it was hidden are
/// stored by then.
const LAST_SPANS: Duration = Duration::from_secs(2);

/// The state of the server.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: DevServerOptions,
    pub(crate) runtimes: Runtimes,
    pub(crate) traces: TraceStore,
    pub(crate) project: Arc<dyn ProjectStore>,
    pub(crate) prompts: PromptRoutes,
    pub(crate) sign_in: Arc<SignIn>,
    pub(crate) feed: Feed,
    /// The URL of the API without a token.
    pub(crate) base_url: String,
    /// Traces of runs that the tools make only to read something.
    pub(crate) hidden_traces: HiddenTraces,
    /// Cancelled when a client has asked the tools to quit.
    pub(crate) quit: CancellationToken,
    /// Cancelled when the server closes.
    pub(crate) closing: CancellationToken,
    app: RwLock<Option<Arc<dyn AppControl>>>,
    doctor: RwLock<Option<Arc<dyn Doctor>>>,
}

impl Shared {
    pub(crate) fn new(
        options: DevServerOptions,
        runtimes: Runtimes,
        traces: TraceStore,
        project: Arc<dyn ProjectStore>,
        prompts: PromptRoutes,
        (sign_in, base_url): (Arc<SignIn>, String),
        closing: CancellationToken,
    ) -> Self {
        let app = RwLock::new(options.app.clone());
        let feed = Feed::new();
        let project = Arc::new(WatchedProject::new(project, feed.clone()));
        let quit = CancellationToken::new();
        let hidden_traces = HiddenTraces::default();
        Self {
            options,
            runtimes,
            traces,
            project,
            prompts,
            sign_in,
            feed,
            base_url,
            hidden_traces,
            quit,
            closing,
            app,
            doctor: RwLock::default(),
        }
    }

    /// Hides and deletes the trace of a run that the tools made only to read something.
    pub(crate) async fn hide_trace(&self, trace_id: &str) {
        self.hidden_traces.add(trace_id);
        delete(&self.traces, trace_id).await;
        // A span that arrived before may still be on its way into the store, so the trace is
        // deleted a second time.
        let (traces, closing) = (self.traces.clone(), self.runtimes.closing());
        let trace_id = trace_id.to_owned();
        self.runtimes.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(LAST_SPANS) => {}
                () = closing => {}
            }
            delete(&traces, &trace_id).await;
        });
    }

    /// The processes whose spans need no token: the application that the tools have started, and
    /// the runtimes that have registered by WebSocket, for which they needed a token. Runtimes
    /// that were found by their file (V1) are not among them: any program can write one.
    pub(crate) fn own_processes(&self) -> Vec<OwnProcess> {
        let app = self.app().and_then(|app| app.status().pid).map(OwnProcess::Application);
        let runtimes = self.runtimes.list();
        let registered = runtimes.iter().filter(|it| it.reflection_server_url.starts_with("ws"));
        app.into_iter().chain(registered.map(|it| OwnProcess::Runtime(it.pid))).collect()
    }

    /// The processes of all runtimes, by which their traces are found.
    pub(crate) fn runtime_processes(&self) -> Vec<RuntimeProcess> {
        let process = |it: &RuntimeInfo| RuntimeProcess {
            pid: it.pid,
            names: [Some(&it.id), it.name.as_ref()].into_iter().flatten().cloned().collect(),
        };
        self.runtimes.list().iter().map(process).collect()
    }

    /// The application that the tools have started, if any.
    pub(crate) fn app(&self) -> Option<Arc<dyn AppControl>> {
        self.app.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The checks of the project, if the command line has set them.
    pub(crate) fn doctor(&self) -> Option<Arc<dyn Doctor>> {
        self.doctor.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the checks of the project.
    pub(crate) fn set_doctor(&self, doctor: Arc<dyn Doctor>) {
        *self.doctor.write().unwrap_or_else(PoisonError::into_inner) = Some(doctor);
    }

    /// Replaces the application.
    pub(crate) fn set_app(&self, app: Arc<dyn AppControl>) {
        *self.app.write().unwrap_or_else(PoisonError::into_inner) = Some(app);
    }
}

/// Deletes a trace. A failure is only logged: the trace is then visible in the list, which is not a
/// reason to fail the request that caused it.
async fn delete(traces: &TraceStore, trace_id: &str) {
    if let Err(error) = traces.delete(trace_id).await {
        tracing::debug!(%error, "a hidden trace could not be deleted");
    }
}
