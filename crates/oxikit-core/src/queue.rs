//! The chunks of a run on their way to the reader: bounded in number and bytes.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use tokio::task::coop::poll_proceed;

use crate::Payload;

/// So many chunks wait for the reader before the sender has to.
const MAX_CHUNKS: usize = 256;
/// So many bytes of them. One chunk may be larger when it is alone.
const MAX_BYTES: usize = 256 * 1024;

/// The reading side of an [`Emitter`](crate::Emitter). Dropping it tells the
/// sender that nobody reads.
pub struct Chunks(Arc<Queue>);

/// The sending side.
#[derive(Clone)]
pub(crate) struct ChunkSender(Arc<Queue>);

struct Queue {
    /// Whether chunks are written as JSON when they are sent: their bytes can
    /// only be counted then. For readers outside of the process.
    is_for_wire: bool,
    /// Whether chunks go nowhere, and nobody minds.
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
        // Whoever waits for room need not any more.
        let senders = std::mem::take(&mut self.0.lock().senders);
        senders.into_iter().for_each(Waker::wake);
    }

    /// Sends one chunk; waits while the reader is behind.
    pub(crate) async fn send(&self, chunk: Payload) -> Result<(), Closed> {
        let mut chunk = Some(chunk);
        std::future::poll_fn(|cx| {
            // A task that only sends must let others run too.
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
        let has_room = state.chunks.len() < MAX_CHUNKS && state.bytes + bytes <= MAX_BYTES;
        if !has_room && !state.chunks.is_empty() {
            // A sender that is asked again and again, as in a `select!` with a
            // timer, must not pile up wakers while the reader is away.
            if !state.senders.iter().any(|sender| sender.will_wake(cx.waker())) {
                state.senders.push(cx.waker().clone());
            }
            return Poll::Pending;
        }
        state.bytes += bytes;
        state.chunks.extend(chunk.take());
        let reader = state.reader.take();
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
        Poll::Ready(Ok(()))
    }
}

impl Chunks {
    /// The next chunk; `None` when it was [closed](Self::close) and all is read.
    /// Senders that go away do not end it: the end of the work does.
    pub async fn recv(&mut self) -> Option<Payload> {
        std::future::poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// The next chunk, for those who write futures by hand.
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

    /// A chunk that is ready now, without asking to be woken for the next: user
    /// code is polled right after, by the same task, and a chunk it sends must not
    /// wake a task that is awake. Pending only when the task has to let others run.
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

    /// A chunk that is ready now.
    pub fn try_recv(&mut self) -> Option<Payload> {
        let taken = self.0.lock().take();
        let (chunk, senders) = taken?;
        senders.into_iter().for_each(Waker::wake);
        Some(chunk)
    }

    /// Takes no more; what was sent can still be read.
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
        // The state is whole after every statement, so a panic does not spoil it.
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
