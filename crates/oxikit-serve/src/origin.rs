//! The action that a stream belongs to, for the report of its failures.

use oxikit_core::{Action, OutgoingStatus, Registry, Run, Status, TraceId};

/// The action that a stream belongs to.
#[derive(Clone)]
pub(crate) struct Origin {
    registry: Registry,
    action: Action,
    /// Unknown where a stored stream is read again.
    trace_id: Option<TraceId>,
}

impl Origin {
    pub(crate) fn new(registry: &Registry, action: &Action) -> Self {
        Self { registry: registry.clone(), action: action.clone(), trace_id: None }
    }

    pub(crate) fn of_run(registry: &Registry, action: &Action, run: &Run) -> Self {
        Self { trace_id: Some(run.trace_id()), ..Self::new(registry, action) }
    }

    /// Logs the failure, and answers what the caller may read.
    pub(crate) fn report(&self, status: &Status) -> OutgoingStatus {
        self.registry.report_failure(self.action.key(), self.trace_id, status)
    }
}
