//! One running of an action.

use std::fmt;
use std::pin::Pin;
use std::task::Poll;

use bytes::Bytes;
use futures_core::Stream;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::execution::Execution;
use crate::{Context, Payload, Result, SpanId, Status, TraceId};

/// So many chunks wait for the reader before the action has to.
pub(crate) const CHUNK_QUEUE: usize = 256;

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
    chunks: Option<mpsc::Receiver<Payload>>,
    /// Made when somebody wants to cancel from elsewhere.
    cancelled: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    outcome: Option<Event>,
    is_over: bool,
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
    pub(crate) fn new(
        execution: Execution<'static, Payload>,
        chunks: mpsc::Receiver<Payload>,
    ) -> Self {
        Self {
            execution,
            chunks: Some(chunks),
            cancelled: None,
            outcome: None,
            is_over: false,
        }
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
        let token = self.execution.context().cancellation().clone();
        self.cancelled
            .get_or_insert_with(|| Box::pin(token.clone().cancelled_owned()));
        Canceller(token)
    }

    /// The next event; `None` after the last.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|cx| self.poll_event(cx)).await
    }

    /// A chunk that is ready now. Lets a writer send what there is as one piece.
    pub fn ready_chunk(&mut self) -> Option<Payload> {
        self.chunks.as_mut()?.try_recv().ok()
    }

    /// The output, passing over the chunks.
    pub async fn output(mut self) -> Result<Payload> {
        // Nobody will read them, so the action need not wait for room.
        self.chunks = None;
        loop {
            match self.next().await {
                Some(Event::Chunk(_)) => {}
                Some(Event::Done(output)) => return Ok(output),
                Some(Event::Failed(status)) => return Err(status),
                None => return Err(Status::cancelled()),
            }
        }
    }

    /// Lets the run go on alone in a task of its own, its chunks unread.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn detach(self) -> tokio::task::JoinHandle<Result<Payload>> {
        tokio::spawn(self.output())
    }

    fn poll_event(&mut self, cx: &mut std::task::Context<'_>) -> Poll<Option<Event>> {
        if let Some(chunk) = self.poll_chunk(cx) {
            return Poll::Ready(Some(Event::Chunk(chunk)));
        }
        if self.outcome.is_none() && !self.is_over {
            self.poll_execution(cx);
            // What was sent during this poll, and what was left at the end.
            if let Some(chunk) = self.poll_chunk(cx) {
                return Poll::Ready(Some(Event::Chunk(chunk)));
            }
        }
        match self.outcome.take() {
            Some(outcome) => {
                self.is_over = true;
                Poll::Ready(Some(outcome))
            }
            None if self.is_over => Poll::Ready(None),
            None => Poll::Pending,
        }
    }

    fn poll_chunk(&mut self, cx: &mut std::task::Context<'_>) -> Option<Payload> {
        match self.chunks.as_mut()?.poll_recv(cx) {
            Poll::Ready(Some(chunk)) => Some(chunk),
            Poll::Ready(None) => {
                self.chunks = None;
                None
            }
            Poll::Pending => None,
        }
    }

    fn poll_execution(&mut self, cx: &mut std::task::Context<'_>) {
        let is_cancelled = self
            .cancelled
            .as_mut()
            .is_some_and(|cancelled| cancelled.as_mut().poll(cx).is_ready());
        let result = if is_cancelled {
            Err(self.execution.cancel().unwrap_or_else(Status::cancelled))
        } else {
            match Pin::new(&mut self.execution).poll(cx) {
                Poll::Ready(result) => result,
                Poll::Pending => return,
            }
        };
        // A task of the user may still hold the sender: the end is the end.
        if let Some(chunks) = &mut self.chunks {
            chunks.close();
        }
        self.outcome = Some(match result {
            Ok(output) => Event::Done(output),
            Err(status) => Event::Failed(status),
        });
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
        f.debug_struct("Run")
            .field("trace_id", &self.trace_id())
            .finish_non_exhaustive()
    }
}

pub(crate) fn show_payload(payload: &Payload) -> Option<Bytes> {
    payload.to_json().ok()
}
