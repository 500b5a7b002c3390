//! Where the chunks of an invocation go.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oxikit_core::{Emitter, Result};
use oxikit_wire::AgentStreamChunk;

/// What a client sees of a chunk; `None` drops it.
pub(super) type ChunkTransform =
    Arc<dyn Fn(AgentStreamChunk) -> Result<Option<AgentStreamChunk>> + Send + Sync>;

/// The way out for chunks, until the work is detached.
pub(super) struct Outlet {
    emitter: Emitter<AgentStreamChunk>,
    transform: Option<ChunkTransform>,
    is_closed: AtomicBool,
}

impl Outlet {
    pub(super) fn new(
        emitter: Emitter<AgentStreamChunk>,
        transform: Option<ChunkTransform>,
    ) -> Self {
        Self { emitter, transform, is_closed: AtomicBool::new(false) }
    }

    /// Whether anybody reads.
    pub(super) fn is_wanted(&self) -> bool {
        self.emitter.is_wanted() && !self.is_closed.load(Ordering::Relaxed)
    }

    /// From now on nobody reads.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    pub(super) async fn send(&self, chunk: AgentStreamChunk) -> Result<()> {
        if !self.is_wanted() {
            return Ok(());
        }
        let chunk = match &self.transform {
            Some(transform) => transform(chunk)?,
            None => Some(chunk),
        };
        let Some(chunk) = chunk else { return Ok(()) };
        match self.emitter.send(chunk).await {
            // The reader was told that the work is detached and has gone.
            Err(_) if !self.is_wanted() => Ok(()),
            sent => sent,
        }
    }
}

impl fmt::Debug for Outlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outlet").field("is_wanted", &self.is_wanted()).finish()
    }
}
