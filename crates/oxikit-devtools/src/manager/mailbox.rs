//! What a run has yielded and its reader has not taken yet.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use oxikit_wire::rpc::ErrorData;
use tokio::time::Instant;

use super::RunOutcome;
use super::backlog::Backlog;

/// A reader may be behind by so many chunks.
const MAX_CHUNKS: usize = 256;
/// A reader may be behind by so many bytes; a larger chunk waits alone.
const MAX_BYTES: usize = 1 << 20;

/// What a chunk costs beside its text.
const OVERHEAD: usize = 128;

/// How a run ended.
pub(crate) type End = Result<RunOutcome, ErrorData>;

/// A bounded queue with an end, between the connection and one reader.
///
/// When it is full, whoever writes may wait: [`poll_room`](Self::poll_room). Who cannot
/// wait for long lets the reader [fall behind](Self::fall_behind): then the queue takes a
/// little more, until the reader takes something or too much is there.
#[derive(Debug)]
pub(crate) struct Mailbox {
    state: Mutex<State>,
    backlog: Arc<Backlog>,
}

/// What became of a chunk.
#[derive(Debug)]
pub(crate) enum Offered {
    /// It is there, or nobody will read it.
    Taken,
    /// There is no room for it now.
    Full(Bytes),
    /// The reader is behind, and there is no room for more.
    Overflowed,
}

#[derive(Debug, Default)]
struct State {
    chunks: VecDeque<Bytes>,
    bytes: usize,
    /// What of it is held beyond the share of one run.
    extra: usize,
    /// Since when the reader has taken nothing although the queue was full.
    behind_since: Option<Instant>,
    trace_id: Option<Arc<str>>,
    end: Option<End>,
    /// Whether the runtime has said anything of the run.
    has_begun: bool,
    has_ended: bool,
    is_abandoned: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Mailbox {
    /// Empty; what it holds beyond its share is counted in the backlog of all.
    pub(crate) fn new(backlog: &Arc<Backlog>) -> Self {
        Self { state: Mutex::default(), backlog: backlog.clone() }
    }

    /// Puts a chunk in, or gives it back where there is no room. What nobody
    /// will read is dropped.
    pub(crate) fn offer(&self, chunk: Bytes) -> Offered {
        let mut state = self.state();
        state.has_begun = true;
        if state.has_ended || state.is_abandoned {
            return Offered::Taken;
        }
        if !state.has_room() {
            if state.behind_since.is_none() {
                return Offered::Full(chunk);
            }
            if !state.take_extra(cost(&chunk), &self.backlog) {
                return Offered::Overflowed;
            }
        }
        state.push(chunk);
        wake(state, |state| &mut state.reader);
        Offered::Taken
    }

    /// The reader is too slow to be waited for: from now on chunks are put in without a
    /// wait, as long as there is room in the backlog, this one first. `false` if there
    /// is none.
    pub(crate) fn fall_behind(&self, chunk: Bytes) -> bool {
        let mut state = self.state();
        if !state.has_room() {
            state.behind_since.get_or_insert_with(Instant::now);
        }
        drop(state);
        !matches!(self.offer(chunk), Offered::Overflowed)
    }

    /// Since when the reader has taken nothing although there is too much.
    pub(crate) fn behind_since(&self) -> Option<Instant> {
        self.state().behind_since
    }

    /// Drops what was not read.
    pub(crate) fn drop_unread(&self) {
        self.state().clear(&self.backlog);
    }

    /// Ready when a chunk can be put in.
    pub(crate) fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.has_room() || state.has_ended || state.is_abandoned {
            return Poll::Ready(());
        }
        state.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    /// The trace is known. `false` if it was before.
    pub(crate) fn set_trace_id(&self, trace_id: Arc<str>) -> bool {
        let mut state = self.state();
        if state.trace_id.is_some() {
            return false;
        }
        state.trace_id = Some(trace_id);
        state.has_begun = true;
        wake(state, |state| &mut state.reader);
        true
    }

    /// The trace, if it is known.
    pub(crate) fn trace_id(&self) -> Option<Arc<str>> {
        self.state().trace_id.clone()
    }

    /// Ends it; the first end counts. Chunks that are there can still be read.
    pub(crate) fn end(&self, end: End) {
        let mut state = self.state();
        if state.has_ended {
            return;
        }
        state.has_ended = true;
        state.end = Some(end);
        let writer = state.writer.take();
        wake(state, |state| &mut state.reader);
        if let Some(writer) = writer {
            writer.wake();
        }
    }

    /// Whether the runtime has said anything of the run: then it has read the request.
    pub(crate) fn has_begun(&self) -> bool {
        self.state().has_begun
    }

    /// Whether the end is there.
    pub(crate) fn has_ended(&self) -> bool {
        self.state().has_ended
    }

    /// Nobody reads any more.
    pub(crate) fn abandon(&self) {
        let mut state = self.state();
        state.is_abandoned = true;
        state.clear(&self.backlog);
        wake(state, |state| &mut state.writer);
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.state().is_abandoned
    }

    /// Whether nobody waits for anything of it any more.
    pub(crate) fn is_over(&self) -> bool {
        let state = self.state();
        state.is_abandoned || state.has_ended
    }

    /// The trace as soon as it is known; `None` once something else has come.
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
        state.taken(cost(&chunk), &self.backlog);
        wake(state, |state| &mut state.writer);
        Poll::Ready(Some(chunk))
    }

    /// All chunks that are there; none at the end.
    pub(crate) fn poll_chunks(&self, cx: &mut Context<'_>, taken: &mut Vec<Bytes>) -> Poll<usize> {
        let mut state = self.state();
        if state.chunks.is_empty() {
            return state.poll_no_chunk(cx).map(|_| 0);
        }
        let count = state.chunks.len();
        taken.extend(state.chunks.drain(..));
        state.clear(&self.backlog);
        wake(state, |state| &mut state.writer);
        Poll::Ready(count)
    }

    /// The end, once; what was not read before it is dropped.
    pub(crate) fn poll_end(&self, cx: &mut Context<'_>) -> Poll<Option<End>> {
        let mut state = self.state();
        state.clear(&self.backlog);
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

impl Drop for Mailbox {
    fn drop(&mut self) {
        self.drop_unread();
    }
}

impl State {
    fn push(&mut self, chunk: Bytes) {
        self.bytes += cost(&chunk);
        self.chunks.push_back(chunk);
    }

    fn take_extra(&mut self, bytes: usize, backlog: &Backlog) -> bool {
        let is_taken = backlog.take(bytes, self.extra);
        if is_taken {
            self.extra += bytes;
        }
        is_taken
    }

    /// A chunk of this cost was taken out.
    fn taken(&mut self, bytes: usize, backlog: &Backlog) {
        self.bytes -= bytes;
        let extra = self.extra.min(bytes);
        self.extra -= extra;
        backlog.give_back(extra);
        if self.has_room() {
            self.behind_since = None;
        }
    }

    /// Nothing is left in it.
    fn clear(&mut self, backlog: &Backlog) {
        self.chunks = VecDeque::new();
        backlog.give_back(std::mem::take(&mut self.extra));
        self.bytes = 0;
        self.behind_since = None;
    }

    fn has_room(&self) -> bool {
        self.chunks.is_empty() || (self.chunks.len() < MAX_CHUNKS && self.bytes < MAX_BYTES)
    }

    fn poll_no_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        self.reader = Some(cx.waker().clone());
        Poll::Pending
    }
}

fn cost(chunk: &Bytes) -> usize {
    chunk.len() + OVERHEAD
}

/// Wakes the other side after the lock is given back.
fn wake(mut state: MutexGuard<'_, State>, side: impl Fn(&mut State) -> &mut Option<Waker>) {
    let waker = side(&mut state).take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}
