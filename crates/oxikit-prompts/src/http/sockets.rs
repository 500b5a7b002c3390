//! The open WebSockets of a server: their number, their memory, and their end.

use std::sync::Arc;

use oxikit_http::websocket::{PartialMessages, PartialShare};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::RouteOptions;

/// The open sockets and streams.
#[derive(Debug)]
pub(crate) struct Sockets {
    slots: Arc<Semaphore>,
    max: usize,
    memory: Arc<PartialMessages>,
    tasks: TaskTracker,
    closing: CancellationToken,
}

/// The place of one open socket. Dropping it frees the place.
#[derive(Debug)]
pub(crate) struct Slot(
    #[expect(dead_code, reason = "held until it is dropped")] OwnedSemaphorePermit,
);

impl Sockets {
    pub(crate) fn new(options: &RouteOptions) -> Self {
        let max = options.max_sockets.min(Semaphore::MAX_PERMITS);
        Self {
            slots: Arc::new(Semaphore::new(max)),
            max,
            memory: PartialMessages::new(options.max_partial_messages),
            tasks: TaskTracker::new(),
            closing: options.closing.child_token(),
        }
    }

    /// A place for one more socket; `None` if all are taken or the server shuts down.
    pub(crate) fn take_slot(&self) -> Option<Slot> {
        let slot = self.slots.clone().try_acquire_owned().ok()?;
        (!self.closing.is_cancelled()).then_some(Slot(slot))
    }

    /// Number of open sockets.
    pub(crate) fn open(&self) -> usize {
        self.max - self.slots.available_permits()
    }

    /// The share of one socket in the memory for incomplete messages.
    pub(crate) fn share(&self) -> PartialShare {
        self.memory.share()
    }

    /// Cancelled when all sockets and streams have to end. Each call makes a token of its own: a token
    /// takes a lock whenever it is polled, which the sockets would share.
    pub(crate) fn closing(&self) -> CancellationToken {
        self.closing.child_token()
    }

    /// Runs the task of a socket or a stream.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(work);
    }

    /// Asks all sockets and streams to end.
    pub(crate) fn begin_close(&self) {
        self.closing.cancel();
        self.tasks.close();
    }

    /// Waits until all have ended. A socket takes at most two seconds for its last frame.
    pub(crate) async fn closed(&self) {
        self.tasks.wait().await;
    }
}
