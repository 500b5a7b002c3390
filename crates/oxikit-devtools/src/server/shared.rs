//! What the routes work with.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use oxikit_sql::{ProjectStore, TraceStore};
use tokio_util::sync::CancellationToken;

use super::{AppControl, DevServerOptions};
use crate::manager::Runtimes;
use crate::telemetry::{Looks, OwnProcess};

/// A span that came before its trace was known as a look is stored by then.
const LAST_SPANS: Duration = Duration::from_secs(2);

/// Everything behind the doors.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: DevServerOptions,
    pub(crate) runtimes: Runtimes,
    pub(crate) traces: TraceStore,
    pub(crate) project: ProjectStore,
    /// Traces of runs that only look at something.
    pub(crate) looks: Looks,
    /// Somebody has asked the tools to end.
    pub(crate) quit: CancellationToken,
    /// They end.
    pub(crate) closing: CancellationToken,
    app: RwLock<Option<Arc<dyn AppControl>>>,
}

impl Shared {
    pub(crate) fn new(
        options: DevServerOptions,
        runtimes: Runtimes,
        traces: TraceStore,
        project: ProjectStore,
    ) -> Self {
        let app = RwLock::new(options.app.clone());
        let (quit, closing) = (CancellationToken::new(), CancellationToken::new());
        let looks = Looks::default();
        Self { options, runtimes, traces, project, looks, quit, closing, app }
    }

    /// Removes the trace of a run that was only a look. Spans that come later are not
    /// taken.
    pub(crate) async fn forget_trace(&self, trace_id: &str) {
        self.looks.add(trace_id);
        delete(&self.traces, trace_id).await;
        // A span may have been on its way into the store.
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

    /// The application that was started, and the runtimes that have registered: they had
    /// to know a token for that. A file of a runtime proves nothing.
    pub(crate) fn own_processes(&self) -> Vec<OwnProcess> {
        let app = self.app().and_then(|app| app.status().pid).map(OwnProcess::Application);
        let runtimes = self.runtimes.list();
        let registered = runtimes.iter().filter(|it| it.reflection_server_url.starts_with("ws"));
        app.into_iter().chain(registered.map(|it| OwnProcess::Runtime(it.pid))).collect()
    }

    pub(crate) fn app(&self) -> Option<Arc<dyn AppControl>> {
        self.app.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_app(&self, app: Arc<dyn AppControl>) {
        *self.app.write().unwrap_or_else(PoisonError::into_inner) = Some(app);
    }
}

async fn delete(traces: &TraceStore, trace_id: &str) {
    if let Err(error) = traces.delete(trace_id).await {
        tracing::debug!(%error, "the trace of a look at a session stays");
    }
}
