//! The bounded queue of chunks between a connection and the reader of one run.
//!
//! It also holds the trace id and the end of the run. It does not decide what happens to a
//! run whose reader is slow: `connection` and `http` do.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use tokio::time::Instant;

use super::outcome::End;
use super::overflow_budget::OverflowBudget;

/// Maximum number of unread chunks. A full queue makes the writer wait.
const MAX_CHUNKS: usize = 256;
/// Maximum number of unread bytes. A chunk that is larger is accepted by an empty queue.
const MAX_BYTES: usize = 1 << 20;

/// Bytes that are charged for each chunk beside its text.
const OVERHEAD: usize = 128;

/// A bounded queue of chunks that ends with the outcome of the run.
///
/// When the queue is full, the writer may wait for [`poll_capacity`](Self::poll_capacity). A
/// writer that cannot wait calls [`push_overflow`](Self::push_overflow): from then on the queue
/// accepts chunks at the cost of the shared [`OverflowBudget`], until the reader has caught up
/// or the budget is exhausted.
#[derive(Debug)]
pub(crate) struct ChunkQueue {
    state: Mutex<State>,
    budget: Arc<OverflowBudget>,
}

/// The result of [`ChunkQueue::offer`].
#[derive(Debug)]
pub(crate) enum Offer {
    /// The chunk was queued, or dropped because the run has no reader any more.
    Accepted,
    /// The queue is full; the chunk is returned.
    Full(Bytes),
    /// The queue and the overflow budget are full; the chunk was dropped.
    Overflowed,
}

/// The content of the queue. `bytes` is the sum of the costs of `chunks`, and
/// `overflow` is the part of it that is charged to the budget.
#[derive(Debug, Default)]
struct State {
    chunks: VecDeque<Bytes>,
    bytes: usize,
    /// The part of `bytes` that is charged to the overflow budget.
    overflow: usize,
    /// Since when the full queue has not had capacity. Set by `push_overflow` only.
    slow_since: Option<Instant>,
    trace_id: Option<Arc<str>>,
    end: Option<End>,
    /// Whether the runtime has sent the trace id or a chunk of the run.
    is_confirmed: bool,
    has_ended: bool,
    is_abandoned: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl ChunkQueue {
    /// An empty queue that charges overflow to this budget.
    pub(crate) fn new(budget: &Arc<OverflowBudget>) -> Self {
        Self { state: Mutex::default(), budget: budget.clone() }
    }

    /// Queues a chunk, or returns it if the queue is full. Drops it if the run has ended or
    /// its handle was dropped.
    pub(crate) fn offer(&self, chunk: Bytes) -> Offer {
        let mut state = self.state();
        state.is_confirmed = true;
        if state.has_ended || state.is_abandoned {
            return Offer::Accepted;
        }
        if !state.has_capacity() {
            if state.slow_since.is_none() {
                return Offer::Full(chunk);
            }
            if !state.reserve_overflow(cost(&chunk), &self.budget) {
                return Offer::Overflowed;
            }
        }
        state.push(chunk);
        wake(state, |state| &mut state.reader);
        Offer::Accepted
    }

    /// Queues a chunk although the queue is full, and charges it to the overflow budget. Later
    /// calls of `offer` do the same until the reader has caught up. Returns `false` if the
    /// budget is exhausted.
    pub(crate) fn push_overflow(&self, chunk: Bytes) -> bool {
        let mut state = self.state();
        if !state.has_capacity() {
            state.slow_since.get_or_insert_with(Instant::now);
        }
        drop(state);
        !matches!(self.offer(chunk), Offer::Overflowed)
    }

    /// Since when the reader is too slow; `None` once it has caught up.
    pub(crate) fn slow_since(&self) -> Option<Instant> {
        self.state().slow_since
    }

    /// Drops all unread chunks.
    pub(crate) fn drop_unread(&self) {
        self.state().clear(&self.budget);
    }

    /// Ready when `offer` does not return [`Offer::Full`].
    pub(crate) fn poll_capacity(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.has_capacity() || state.has_ended || state.is_abandoned {
            return Poll::Ready(());
        }
        state.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Sets the trace id. Returns `false` if there was one.
    pub(crate) fn set_trace_id(&self, trace_id: Arc<str>) -> bool {
        let mut state = self.state();
        if state.trace_id.is_some() {
            return false;
        }
        state.trace_id = Some(trace_id);
        state.is_confirmed = true;
        wake(state, |state| &mut state.reader);
        true
    }

    /// The trace id, if the runtime has sent it.
    pub(crate) fn trace_id(&self) -> Option<Arc<str>> {
        self.state().trace_id.clone()
    }

    /// Ends the run. Only the first call has an effect. Queued chunks can still be read.
    pub(crate) fn end(&self, end: End) {
        let mut state = self.state();
        if state.has_ended {
            return;
        }
        // `has_ended` stays when `poll_end` takes the end, so a second end cannot be set.
        state.has_ended = true;
        state.end = Some(end);
        // Both sides may wait: the reader for a chunk or the end, the writer for capacity.
        let writer = state.writer.take();
        wake(state, |state| &mut state.reader);
        if let Some(writer) = writer {
            writer.wake();
        }
    }

    /// Whether the runtime has sent anything about the run, which proves that it has read the
    /// request.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.state().is_confirmed
    }

    /// Whether the run has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.state().has_ended
    }

    /// Records that the handle was dropped, and drops all chunks.
    pub(crate) fn abandon(&self) {
        let mut state = self.state();
        state.is_abandoned = true;
        state.clear(&self.budget);
        wake(state, |state| &mut state.writer);
    }

    /// Whether the handle of the run was dropped.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.state().is_abandoned
    }

    /// Whether the run has ended or its handle was dropped.
    pub(crate) fn is_over(&self) -> bool {
        let state = self.state();
        state.is_abandoned || state.has_ended
    }

    /// The trace id as soon as it is known; `None` if a chunk or the end arrives first.
    pub(crate) fn poll_trace_id(&self, cx: &mut Context<'_>) -> Poll<Option<Arc<str>>> {
        let mut state = self.state();
        if state.trace_id.is_some() || state.has_ended || !state.chunks.is_empty() {
            return Poll::Ready(state.trace_id.clone());
        }
        state.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    /// The next chunk; `None` at the end.
    pub(crate) fn poll_chunk(&self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut state = self.state();
        let Some(chunk) = state.chunks.pop_front() else { return state.poll_no_chunk(cx) };
        state.taken(cost(&chunk), &self.budget);
        wake(state, |state| &mut state.writer);
        Poll::Ready(Some(chunk))
    }

    /// Moves all queued chunks to `taken`; 0 at the end.
    pub(crate) fn poll_chunks(&self, cx: &mut Context<'_>, taken: &mut Vec<Bytes>) -> Poll<usize> {
        let mut state = self.state();
        if state.chunks.is_empty() {
            return state.poll_no_chunk(cx).map(|_| 0);
        }
        let count = state.chunks.len();
        taken.extend(state.chunks.drain(..));
        state.clear(&self.budget);
        wake(state, |state| &mut state.writer);
        Poll::Ready(count)
    }

    /// The end of the run, once. Drops all unread chunks.
    pub(crate) fn poll_end(&self, cx: &mut Context<'_>) -> Poll<Option<End>> {
        let mut state = self.state();
        state.clear(&self.budget);
        if state.has_ended {
            return Poll::Ready(state.end.take());
        }
        state.reader = Some(cx.waker().clone());
        wake(state, |state| &mut state.writer);
        Poll::Pending
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ChunkQueue {
    fn drop(&mut self) {
        self.drop_unread();
    }
}

impl State {
    fn push(&mut self, chunk: Bytes) {
        self.bytes += cost(&chunk);
        self.chunks.push_back(chunk);
    }

    /// Charges a chunk to the budget. Returns `false`, and charges nothing, if the budget is
    /// exhausted.
    fn reserve_overflow(&mut self, bytes: usize, budget: &OverflowBudget) -> bool {
        let is_taken = budget.try_reserve(bytes, self.overflow);
        if is_taken {
            self.overflow += bytes;
        }
        is_taken
    }

    /// Accounts for a chunk of this cost that the reader has taken.
    fn taken(&mut self, bytes: usize, budget: &OverflowBudget) {
        self.bytes -= bytes;
        // Overflow is released first, so the shared budget recovers as soon as possible.
        let overflow = self.overflow.min(bytes);
        self.overflow -= overflow;
        budget.release(overflow);
        if self.has_capacity() {
            self.slow_since = None;
        }
    }

    /// Drops all chunks and releases their overflow.
    fn clear(&mut self, budget: &OverflowBudget) {
        self.chunks = VecDeque::new();
        budget.release(std::mem::take(&mut self.overflow));
        self.bytes = 0;
        self.slow_since = None;
    }

    /// Whether another chunk may be queued without overflow.
    fn has_capacity(&self) -> bool {
        // An empty queue accepts a chunk of any size. Otherwise one above `MAX_BYTES` could never
        // be delivered.
        self.chunks.is_empty() || (self.chunks.len() < MAX_CHUNKS && self.bytes < MAX_BYTES)
    }

    /// The result of polling an empty queue: the end, or a wait for the next change.
    fn poll_no_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        self.reader = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// The bytes that a chunk is charged with.
fn cost(chunk: &Bytes) -> usize {
    chunk.len() + OVERHEAD
}

/// Releases the lock and then wakes the other side, which would wait for the lock otherwise.
fn wake(mut state: MutexGuard<'_, State>, side: impl Fn(&mut State) -> &mut Option<Waker>) {
    let waker = side(&mut state).take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}
