//! One run of an action.
//!
//! A run is polled by its reader; there is no task behind it. The order of events is an invariant:
//! all chunks that were sent before user code returned come before the output, and nothing comes
//! after it.

use std::fmt;
use std::pin::Pin;
use std::task::{Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use tokio_util::sync::CancellationToken;

use crate::execution::Execution;
use crate::queue::Chunks;
use crate::{Context, Payload, Result, SpanId, Status, TraceId};

/// An event of a [`Run`]: any number of chunks, then one of the other two.
#[derive(Debug, Clone)]
pub enum Event {
    /// A chunk that the action has emitted.
    Chunk(Payload),
    /// The output: the run has ended successfully.
    Done(Payload),
    /// The error: the run has ended without an output.
    Failed(Status),
}

/// One run of an action: a stream of [`Event`]s.
///
/// The action only makes progress while the run is polled: there is no task behind a run, so a
/// slow reader slows the action, and dropping the run cancels it. To let the action continue
/// without a reader, [`detach`](Self::detach) the run or move it into a task.
///
/// ```
/// use oxikit_core::{Action, ActionKind, Call, Context, Emitter, Event, Result};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
/// let endless = Action::builder(ActionKind::Flow, "endless").handler(
///     |_: (), _: Context, out: Emitter<u32>| async move {
///         for n in 0.. {
///             out.send(n).await?;
///         }
///         Ok(())
///     },
/// );
/// let mut run = endless.start(Call::empty())?;
/// assert!(matches!(run.next().await, Some(Event::Chunk(_))));
/// drop(run); // The action ends at its next await.
/// # Ok(()) }
/// ```
pub struct Run {
    execution: Execution<'static, Payload>,
    /// `None` once all chunks have been read.
    chunks: Option<Chunks>,
    end: End,
}

/// The progress of a run towards its last event.
enum End {
    /// User code has not returned yet.
    Ahead,
    /// User code has ended; chunks it sent may still have to be read.
    Known(Event),
    /// The last event has been read.
    Over,
}

/// Cancels a [`Run`] that another task reads. Cheap to clone; dropping it changes nothing.
///
/// ```
/// use oxikit_core::{Action, ActionKind, Call, Context, Result, StatusCode};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
/// let wait = Action::builder(ActionKind::Flow, "wait")
///     .handler(|_: (), _: Context| async { Ok(std::future::pending::<()>().await) });
/// let mut run = wait.start(Call::empty())?;
/// let canceller = run.canceller();
/// let reader = tokio::spawn(run.finish());
/// canceller.cancel();
/// assert_eq!(reader.await?.unwrap_err().code(), StatusCode::Cancelled);
/// # Ok(()) }
/// ```
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

    /// The id of the trace of this run, known from the start.
    pub fn trace_id(&self) -> TraceId {
        self.execution.context().trace_id()
    }

    /// The id of the span of this run, known from the start.
    pub fn span_id(&self) -> SpanId {
        self.execution.context().span_id()
    }

    /// The context that the action's code sees.
    pub fn context(&self) -> &Context {
        self.execution.context()
    }

    /// A handle that cancels this run from another task.
    pub fn canceller(&mut self) -> Canceller {
        self.execution.watch_cancellation();
        Canceller(self.execution.context().cancellation().clone())
    }

    /// The next event; `None` after the last. Nothing is lost when the future is dropped, so it
    /// may stand in a `select!`.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|cx| self.poll_event(cx)).await
    }

    /// A chunk that is ready now, without polling the action. A server reads the chunks that
    /// follow an event this way, to send all of them in one write.
    pub fn ready_chunk(&mut self) -> Option<Payload> {
        self.chunks.as_mut()?.try_recv()
    }

    /// Reads the run to its end and returns the output. Chunks that were not read are
    /// skipped.
    ///
    /// # Errors
    ///
    /// The status with which the action failed, or `CANCELLED` if the end was read already.
    pub async fn finish(mut self) -> Result<Payload> {
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

    /// Moves the run into a task of its own, where its chunks are skipped. A run that
    /// was started inside another action is still cancelled with that action,
    /// unless its call is [`independent`](crate::Call::independent). Dropping the handle changes
    /// nothing.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn detach(self) -> tokio::task::JoinHandle<Result<Payload>> {
        tokio::spawn(self.finish())
    }

    /// As [`next`](Self::next), for hand-written futures.
    pub fn poll_event(&mut self, cx: &mut std::task::Context<'_>) -> Poll<Option<Event>> {
        // Queued chunks are read before user code is polled, so that a full queue has room again.
        // A cancelled run skips them: otherwise a task of the user that keeps the queue full could
        // delay the end forever.
        if !self.execution.is_called_off()
            && let Some(chunks) = &mut self.chunks
            && let Some(chunk) = ready!(chunks.poll_ready(cx))
        {
            return Poll::Ready(Some(Event::Chunk(chunk)));
        }
        if matches!(self.end, End::Ahead) {
            match Pin::new(&mut self.execution).poll(cx) {
                Poll::Ready(result) => {
                    // A task of the user may still hold the sender. Closing the queue keeps it
                    // from adding chunks after the end.
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
        // Chunks that were sent during this poll, or that are left at the end.
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
                // The run has no chunks to read, and user code has not returned yet.
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
