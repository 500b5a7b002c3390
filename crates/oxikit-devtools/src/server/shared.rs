//! What the routes work with.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use oxikit_sql::{ProjectStore, TraceStore};
use tokio_util::sync::CancellationToken;

use super::{AppControl, DevServerOptions};
use crate::manager::Runtimes;
use crate::telemetry::OwnProcess;

/// Runtimes that show spans while they run may send the last ones behind the answer.
const LAST_SPANS: Duration = Duration::from_secs(2);

/// Everything behind the doors.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: DevServerOptions,
    pub(crate) runtimes: Runtimes,
    pub(crate) traces: TraceStore,
    pub(crate) project: ProjectStore,
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
        Self { options, runtimes, traces, project, quit, closing, app }
    }

    /// Removes a trace soon, when the last of its spans has come.
    pub(crate) fn forget_trace(&self, trace_id: String) {
        let (traces, closing) = (self.traces.clone(), self.runtimes.closing());
        self.runtimes.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(LAST_SPANS) => {}
                () = closing => {}
            }
            if let Err(error) = traces.delete(&trace_id).await {
                tracing::debug!(%error, "the trace of a look at a session stays");
            }
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
