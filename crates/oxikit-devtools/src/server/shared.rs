//! What the routes work with.

use std::sync::{Arc, PoisonError, RwLock};

use oxikit_sql::TraceStore;
use tokio_util::sync::CancellationToken;

use super::{AppControl, DevServerOptions};
use crate::manager::Runtimes;

/// Everything behind the doors.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: DevServerOptions,
    pub(crate) runtimes: Runtimes,
    pub(crate) traces: TraceStore,
    /// Somebody has asked the tools to end.
    pub(crate) quit: CancellationToken,
    /// They end.
    pub(crate) closing: CancellationToken,
    app: RwLock<Option<Arc<dyn AppControl>>>,
}

impl Shared {
    pub(crate) fn new(options: DevServerOptions, runtimes: Runtimes, traces: TraceStore) -> Self {
        let app = RwLock::new(options.app.clone());
        let (quit, closing) = (CancellationToken::new(), CancellationToken::new());
        Self { options, runtimes, traces, quit, closing, app }
    }

    pub(crate) fn app(&self) -> Option<Arc<dyn AppControl>> {
        self.app.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_app(&self, app: Arc<dyn AppControl>) {
        *self.app.write().unwrap_or_else(PoisonError::into_inner) = Some(app);
    }
}
