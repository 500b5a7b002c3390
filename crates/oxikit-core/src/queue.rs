//! The queue between the code of an action, which sends chunks, and the reader of its run.
//!
//! The queue is bounded in number and bytes. A full queue is the backpressure: the sender waits,
//! and with it the code of the action, until the reader has taken a chunk. This is not a general
//! channel; it also knows whether the run has ended or its reader is gone (closed), and whether
//! chunks are no longer needed (retired).

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use tokio::task::coop::poll_proceed;

use crate::Payload;

/// Maximum number of queued chunks. The sender waits while the queue is full.
const MAX_CHUNKS: usize = 256;
/// Maximum number of queued bytes. A larger chunk is accepted when the queue is empty.
const MAX_BYTES: usize = 256 * 1024;

/// The reading side of an [`Emitter`](crate::Emitter). Dropping it closes the queue, so that
/// sending fails.
///
/// The queue holds at most 256 chunks and 256 KiB; senders wait while it is full. Readers of a
/// [`Run`](crate::Run) get its chunks as events instead.
///
/// ```
/// use oxikit_core::{Emitter, Result};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
/// let (out, mut chunks) = Emitter::<u32>::channel();
/// out.send(1).await?;
/// chunks.close();
/// assert!(out.send(2).await.is_err());
/// // A chunk that was sent before can still be read.
/// assert_eq!(chunks.recv().await.unwrap().parse::<u32>()?, 1);
/// assert!(chunks.recv().await.is_none());
/// # Ok(()) }
/// ```
pub struct Chunks(Arc<Queue>);

/// The sending side.
#[derive(Clone)]
pub(crate) struct ChunkSender(Arc<Queue>);

struct Queue {
    /// Whether chunks are written as JSON when they are sent, for readers outside of the process.
    /// Only then are their bytes known.
    is_for_wire: bool,
    /// Whether chunks are discarded without an error for the code that sends them.
    is_retired: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    chunks: VecDeque<Payload>,
    bytes: usize,
    is_closed: bool,
    reader: Option<Waker>,
    /// Senders that wait for room.
    senders: Vec<Waker>,
}

/// The reader has gone, or the run has ended.
pub(crate) struct Closed;

pub(crate) fn channel(is_for_wire: bool) -> (ChunkSender, Chunks) {
    let is_retired = AtomicBool::new(false);
    let queue = Arc::new(Queue { is_for_wire, is_retired, state: Mutex::default() });
    (ChunkSender(queue.clone()), Chunks(queue))
}

impl ChunkSender {
    pub(crate) fn is_for_wire(&self) -> bool {
        self.0.is_for_wire
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.0.is_retired.load(Ordering::Relaxed)
    }

    pub(crate) fn retire(&self) {
        self.0.is_retired.store(true, Ordering::Relaxed);
        // Senders that wait for room must see the flag: without a reader, no other wake-up comes.
        let senders = std::mem::take(&mut self.0.lock().senders);
        senders.into_iter().for_each(Waker::wake);
    }

    /// Sends one chunk; waits while the queue is full.
    pub(crate) async fn send(&self, chunk: Payload) -> Result<(), Closed> {
        let mut chunk = Some(chunk);
        std::future::poll_fn(|cx| {
            // Uses tokio's cooperative budget: a task that only sends must let others run too.
            let budget = ready!(poll_proceed(cx));
            let sent = self.poll_send(cx, &mut chunk);
            if sent.is_ready() {
                budget.made_progress();
            }
            sent
        })
        .await
    }

    fn poll_send(&self, cx: &Context<'_>, chunk: &mut Option<Payload>) -> Poll<Result<(), Closed>> {
        let mut state = self.0.lock();
        if state.is_closed || self.is_retired() {
            return Poll::Ready(Err(Closed));
        }
        let bytes = chunk.as_ref().map_or(0, Payload::weight);
        // An empty queue accepts a chunk of any size; otherwise a chunk larger than `MAX_BYTES`
        // would wait forever.
        let has_room = state.chunks.len() < MAX_CHUNKS && state.bytes + bytes <= MAX_BYTES;
        if !has_room && !state.chunks.is_empty() {
            // A sender that is polled again and again, as in a `select!` with a
            // timer, must not add a waker each time while the reader takes no chunks.
            if !state.senders.iter().any(|sender| sender.will_wake(cx.waker())) {
                state.senders.push(cx.waker().clone());
            }
            return Poll::Pending;
        }
        state.bytes += bytes;
        state.chunks.extend(chunk.take());
        let reader = state.reader.take();
        // Wakers are called after the lock is released, as they may run other code at once.
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
        Poll::Ready(Ok(()))
    }
}

impl Chunks {
    /// The next chunk; `None` when the queue was [closed](Self::close) and all chunks are read.
    /// It does not end when all emitters are dropped: the end of the work closes the queue.
    pub async fn recv(&mut self) -> Option<Payload> {
        std::future::poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// As [`recv`](Self::recv), for hand-written futures.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<Payload>> {
        let budget = ready!(poll_proceed(cx));
        let mut state = self.0.lock();
        let polled = match state.take() {
            Some((chunk, senders)) => {
                drop(state);
                senders.into_iter().for_each(Waker::wake);
                Poll::Ready(Some(chunk))
            }
            None if state.is_closed => Poll::Ready(None),
            None => {
                if !state.reader.as_ref().is_some_and(|reader| reader.will_wake(cx.waker())) {
                    state.reader = Some(cx.waker().clone());
                }
                return Poll::Pending;
            }
        };
        budget.made_progress();
        polled
    }

    /// A chunk that is ready now, without registering a waker for the next. The same task polls
    /// user code right after, and a chunk that this code sends must not wake the task that is
    /// running anyway. `Pending` only when the task has used up its budget.
    pub(crate) fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Option<Payload>> {
        let budget = ready!(poll_proceed(cx));
        let mut state = self.0.lock();
        state.reader = None;
        let taken = state.take();
        drop(state);
        let Some((chunk, senders)) = taken else { return Poll::Ready(None) };
        senders.into_iter().for_each(Waker::wake);
        budget.made_progress();
        Poll::Ready(Some(chunk))
    }

    /// A chunk that is ready now; `None` if the queue is empty.
    pub fn try_recv(&mut self) -> Option<Payload> {
        let taken = self.0.lock().take();
        let (chunk, senders) = taken?;
        senders.into_iter().for_each(Waker::wake);
        Some(chunk)
    }

    /// Accepts no further chunks: sending fails with `CANCELLED`. Queued chunks can still be read.
    pub fn close(&mut self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        let senders = std::mem::take(&mut state.senders);
        drop(state);
        senders.into_iter().for_each(Waker::wake);
    }
}

impl State {
    /// The oldest chunk, and the senders that may have room now.
    fn take(&mut self) -> Option<(Payload, Vec<Waker>)> {
        let chunk = self.chunks.pop_front()?;
        self.bytes -= chunk.weight();
        Some((chunk, std::mem::take(&mut self.senders)))
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent after every statement, so it is usable after a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        self.close();
        let unread = std::mem::take(&mut self.0.lock().chunks);
        drop(unread);
    }
}

impl fmt::Debug for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunks").field("waiting", &self.0.lock().chunks.len()).finish()
    }
}
