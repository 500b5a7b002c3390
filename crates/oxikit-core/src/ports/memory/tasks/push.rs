//! One webhook of a task.

use tokio::time::Instant;

use crate::ports::PushTarget;

/// A webhook of a task.
pub(super) struct Push {
    pub(super) target: PushTarget,
    /// All events up to this position are delivered.
    pub(super) delivered: u64,
    pub(super) attempts: u32,
    pub(super) due_at: Instant,
    pub(super) claimed_by: Option<String>,
}

impl Push {
    pub(super) fn new(target: PushTarget, delivered: u64) -> Self {
        Self { target, delivered, attempts: 0, due_at: Instant::now(), claimed_by: None }
    }

    pub(super) fn is_due(&self, position: u64) -> bool {
        self.claimed_by.is_none() && self.delivered < position && self.due_at <= Instant::now()
    }
}
