//! What a run has yielded and its reader has not taken yet.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use oxikit_wire::rpc::ErrorData;

use super::RunOutcome;

/// A reader may be behind by so many chunks.
const MAX_CHUNKS: usize = 256;
/// A reader may be behind by so many bytes; a larger chunk waits alone.
const MAX_BYTES: usize = 1 << 20;

/// How a run ended.
pub(crate) type End = Result<RunOutcome, ErrorData>;

/// A bounded queue with an end, between the connection and one reader.
///
/// When it is full, whoever writes waits: [`poll_room`](Self::poll_room).
#[derive(Debug, Default)]
pub(crate) struct Mailbox(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    chunks: VecDeque<Bytes>,
    bytes: usize,
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
    /// Puts a chunk in, or gives it back where there is no room. What nobody
    /// will read is dropped.
    pub(crate) fn offer(&self, chunk: Bytes) -> Result<(), Bytes> {
        let mut state = self.state();
        state.has_begun = true;
        if state.has_ended || state.is_abandoned {
            return Ok(());
        }
        if !state.has_room() {
            return Err(chunk);
        }
        state.bytes += chunk.len();
        state.chunks.push_back(chunk);
        wake(state, |state| &mut state.reader);
        Ok(())
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
        state.chunks = VecDeque::new();
        state.bytes = 0;
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
        state.bytes -= chunk.len();
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
        state.bytes = 0;
        wake(state, |state| &mut state.writer);
        Poll::Ready(count)
    }

    /// The end, once; what was not read before it is dropped.
    pub(crate) fn poll_end(&self, cx: &mut Context<'_>) -> Poll<Option<End>> {
        let mut state = self.state();
        state.chunks.clear();
        state.bytes = 0;
        if state.has_ended {
            return Poll::Ready(state.end.take());
        }
        state.reader = Some(cx.waker().clone());
        wake(state, |state| &mut state.writer);
        Poll::Pending
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
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

/// Wakes the other side after the lock is given back.
fn wake(mut state: MutexGuard<'_, State>, side: impl Fn(&mut State) -> &mut Option<Waker>) {
    let waker = side(&mut state).take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}
