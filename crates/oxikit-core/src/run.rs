//! One running of an action.

use std::fmt;
use std::pin::Pin;
use std::task::{Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use tokio_util::sync::CancellationToken;

use crate::execution::Execution;
use crate::queue::Chunks;
use crate::{Context, Payload, Result, SpanId, Status, TraceId};

/// What a [`Run`] yields: any number of chunks, then one of the other two.
#[derive(Debug, Clone)]
pub enum Event {
    /// A piece of the answer.
    Chunk(Payload),
    /// The output; the run has ended well.
    Done(Payload),
    /// Why there is no output; the run has ended.
    Failed(Status),
}

/// One running of an action: a stream of [`Event`]s.
///
/// The work goes on while somebody reads: there is no task behind a run, so a
/// slow reader slows the action, and dropping the run cancels it. To let it go
/// on alone, [`detach`](Self::detach) it or move it into a task.
pub struct Run {
    execution: Execution<'static, Payload>,
    /// `None` once all chunks have been read.
    chunks: Option<Chunks>,
    end: End,
}

/// How near a run is to its end.
enum End {
    /// User code is at work.
    Ahead,
    /// User code has ended; chunks it sent may still have to be read.
    Known(Event),
    /// The last event has been read.
    Over,
}

/// Cancels a [`Run`] from elsewhere.
#[derive(Debug, Clone)]
pub struct Canceller(CancellationToken);

impl Canceller {
    /// Ends the run with `CANCELLED` at its next await, if it has not ended.
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

impl Run {
    pub(crate) fn new(execution: Execution<'static, Payload>, chunks: Option<Chunks>) -> Self {
        Self { execution, chunks, end: End::Ahead }
    }

    /// The trace of this run, known from the start.
    pub fn trace_id(&self) -> TraceId {
        self.execution.context().trace_id()
    }

    /// The span of this run, known from the start.
    pub fn span_id(&self) -> SpanId {
        self.execution.context().span_id()
    }

    /// The context that the action's code sees.
    pub fn context(&self) -> &Context {
        self.execution.context()
    }

    /// A handle that cancels this run from elsewhere.
    pub fn canceller(&mut self) -> Canceller {
        self.execution.watch_cancellation();
        Canceller(self.execution.context().cancellation().clone())
    }

    /// The next event; `None` after the last.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|cx| self.poll_event(cx)).await
    }

    /// A chunk that is ready now. Lets a writer send what there is as one piece.
    pub fn ready_chunk(&mut self) -> Option<Payload> {
        self.chunks.as_mut()?.try_recv()
    }

    /// The output, passing over the chunks.
    pub async fn output(mut self) -> Result<Payload> {
        loop {
            match self.next().await {
                // The receiver must stay: without it, sending a chunk fails.
                Some(Event::Chunk(_)) => {}
                Some(Event::Done(output)) => return Ok(output),
                Some(Event::Failed(status)) => return Err(status),
                None => return Err(Status::cancelled()),
            }
        }
    }

    /// Lets the run go on alone in a task of its own, its chunks unread. One that
    /// was started inside another action is still cancelled with that action,
    /// unless its call is [`independent`](crate::Call::independent).
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn detach(self) -> tokio::task::JoinHandle<Result<Payload>> {
        tokio::spawn(self.output())
    }

    /// The next event, for those who write futures by hand.
    pub fn poll_event(&mut self, cx: &mut std::task::Context<'_>) -> Poll<Option<Event>> {
        // A run that is called off ends even while a task of its own keeps the
        // queue full.
        if !self.execution.is_called_off()
            && let Some(chunks) = &mut self.chunks
            && let Some(chunk) = ready!(chunks.poll_ready(cx))
        {
            return Poll::Ready(Some(Event::Chunk(chunk)));
        }
        if matches!(self.end, End::Ahead) {
            match Pin::new(&mut self.execution).poll(cx) {
                Poll::Ready(result) => {
                    // A task of the user may still hold the sender: the end is
                    // the end.
                    if let Some(chunks) = &mut self.chunks {
                        chunks.close();
                    }
                    self.end = End::Known(match result {
                        Ok(output) => Event::Done(output),
                        Err(status) => Event::Failed(status),
                    });
                }
                Poll::Pending => {}
            }
        }
        // What was sent during this poll, or is left at the end.
        match self.poll_chunk(cx) {
            Poll::Ready(Some(chunk)) => return Poll::Ready(Some(Event::Chunk(chunk))),
            // Also when the task's budget is used up: the end must not overtake
            // the chunks that are still in the queue.
            Poll::Pending => return Poll::Pending,
            Poll::Ready(None) => {}
        }
        match std::mem::replace(&mut self.end, End::Over) {
            End::Known(event) => Poll::Ready(Some(event)),
            End::Over => Poll::Ready(None),
            End::Ahead => {
                // Nobody asked for chunks, and the work is not done.
                self.end = End::Ahead;
                Poll::Pending
            }
        }
    }

    fn poll_chunk(&mut self, cx: &mut std::task::Context<'_>) -> Poll<Option<Payload>> {
        let Some(chunks) = &mut self.chunks else {
            return Poll::Ready(None);
        };
        let polled = chunks.poll_recv(cx);
        if let Poll::Ready(None) = polled {
            self.chunks = None;
        }
        polled
    }
}

impl Stream for Run {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Option<Event>> {
        self.get_mut().poll_event(cx)
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("trace_id", &self.trace_id()).finish_non_exhaustive()
    }
}

pub(crate) fn show_payload(payload: &Payload) -> Option<Bytes> {
    payload.to_json().ok()
}
