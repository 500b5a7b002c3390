//! Where tasks are stored.

use std::sync::Arc;

use oxikit_core::ports::TaskStore;
use tokio_util::sync::CancellationToken;

/// The store of tasks, which writers and readers of tasks share.
pub(super) struct Storage {
    pub(super) store: Arc<dyn TaskStore>,
    /// Cancelled when a write that failed is not made again any more.
    pub(super) cut: CancellationToken,
}
