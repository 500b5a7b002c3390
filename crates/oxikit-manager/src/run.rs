//! A running action: the handle of its caller, and the state that handle and runtime share.

use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use oxikit_core::StatusCode;
use oxikit_wire::rpc::ErrorData;

use super::chunk_queue::ChunkQueue;
use super::failure::failure;
use super::outcome::{End, RunOutcome};
use super::overflow_budget::OverflowBudget;

/// A running action.
///
/// Up to 256 chunks or 1 MiB are queued. When the queue is full, the runtime is slowed briefly.
/// If the reader stays behind, the run ends with `RESOURCE_EXHAUSTED` after 10 s without a read
/// or after 8 MiB more. Dropping the handle cancels the run.
///
/// The order of messages is fixed: the trace id, any number of chunks, then the outcome. A runtime
/// may omit the trace id or send it only with the outcome.
///
/// ```no_run
/// use oxikit_manager::{RunSpec, Runtimes};
///
/// # async fn example(runtimes: Runtimes) -> Result<(), oxikit_wire::rpc::ErrorData> {
/// let spec = RunSpec::new(r#"{"key":"/flow/tellJoke","input":"tea"}"#).streaming();
/// let mut run = runtimes.run(spec).await?;
/// while let Some(chunk) = run.next_chunk().await {
///     println!("{}", String::from_utf8_lossy(&chunk));
/// }
/// let outcome = run.finish().await?;
/// println!("trace {:?}", outcome.trace_id);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RunHandle(Arc<Run>);

/// The shared state of a run. The handle, the peer and [`Traces`] refer to it.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) queue: ChunkQueue,
    pub(crate) transport: Box<dyn RunTransport>,
    takes_input: AtomicBool,
    /// Whether the runtime was asked to cancel the run.
    is_cancelled: AtomicBool,
    traces: Arc<Traces>,
}

/// The operations of a run that differ between a socket (V2) and HTTP (V1).
///
/// The modules `socket_peer` and `http` implement it. The trait keeps this module independent of
/// both, which start runs and so depend on it.
#[async_trait]
pub(crate) trait RunTransport: fmt::Debug + Send + Sync {
    /// The id of the runtime that executes the run.
    fn runtime_id(&self) -> &str;

    /// The handle of the run was dropped. Cancels the run in the runtime, as soon as its
    /// trace id is known.
    fn abandon(&self, trace_id: Option<Arc<str>>);

    /// Ends the run with `error` without waiting for the runtime, and requests its
    /// cancellation there.
    fn give_up(&self, run: &Run, error: ErrorData);

    /// Asks the runtime to cancel the run. Returns the message of the runtime.
    async fn cancel(&self, trace_id: &str, within: Duration) -> Result<String, ErrorData>;

    /// Sends one input, which is JSON text.
    async fn send_input(&self, chunk: &[u8]) -> Result<(), ErrorData>;

    /// Ends the input stream.
    async fn end_input(&self) -> Result<(), ErrorData>;
}

/// The active runs by trace id.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    runs: Mutex<HashMap<Arc<str>, Arc<Run>>>,
    /// Shared by the queues of all runs.
    budget: Arc<OverflowBudget>,
}

impl RunHandle {
    /// The handle of a run. There must be only one, because dropping it cancels the run.
    pub(crate) fn new(run: Arc<Run>) -> Self {
        Self(run)
    }

    /// Waits for the trace id. Returns `None` if a chunk or the end arrives first; a later call
    /// may return the id.
    ///
    /// With the id, other callers can [cancel](crate::Runtimes::cancel) the run and
    /// [send it inputs](crate::Runtimes::send_input). This method is cancel safe.
    pub async fn trace_id(&mut self) -> Option<Arc<str>> {
        poll_fn(|cx| self.0.queue.poll_trace_id(cx)).await
    }

    /// Waits for the next chunk, which is JSON text; `None` when there are no more. This method
    /// is cancel safe.
    pub async fn next_chunk(&mut self) -> Option<Bytes> {
        poll_fn(|cx| self.0.queue.poll_chunk(cx)).await
    }

    /// Waits for a chunk and appends all queued ones to `taken`. Returns their number, 0 when
    /// there are no more. This method is cancel safe.
    ///
    /// A server that forwards chunks uses it to write all of them at once, which costs one system
    /// call instead of one per chunk.
    ///
    /// ```no_run
    /// # async fn example(mut run: oxikit_manager::RunHandle) {
    /// let mut chunks = Vec::new();
    /// while run.next_chunks(&mut chunks).await > 0 {
    ///     println!("{} chunks", chunks.drain(..).count());
    /// }
    /// # }
    /// ```
    pub async fn next_chunks(&mut self, taken: &mut Vec<Bytes>) -> usize {
        poll_fn(|cx| self.0.queue.poll_chunks(cx, taken)).await
    }

    /// Waits for the end of the run. Unread chunks are dropped.
    ///
    /// # Errors
    ///
    /// The error of the action, or of the manager: `UNAVAILABLE` if the runtime is gone,
    /// `RESOURCE_EXHAUSTED` if the chunks were not read.
    pub async fn finish(self) -> Result<RunOutcome, ErrorData> {
        let end = poll_fn(|cx| self.0.queue.poll_end(cx)).await;
        end.unwrap_or_else(|| {
            Err(failure(StatusCode::Internal, "the end of the run was read before"))
        })
    }

    /// Sends an input, which is JSON text. Waits while the queue to the runtime is full. Returns
    /// when the input is queued; the runtime does not confirm it.
    ///
    /// ```no_run
    /// use oxikit_manager::{RunSpec, Runtimes};
    ///
    /// # async fn example(runtimes: Runtimes) -> Result<(), oxikit_wire::rpc::ErrorData> {
    /// let run = runtimes.run(RunSpec::new(r#"{"key":"/flow/echo"}"#).bidi()).await?;
    /// run.send_input(b"\"one\"").await?;
    /// run.send_input(b"\"two\"").await?;
    /// run.end_input().await?;
    /// run.finish().await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if the run takes no inputs or has ended, `INVALID_ARGUMENT` if `chunk` is not
    /// valid JSON, `UNAVAILABLE` if the runtime is disconnected.
    pub async fn send_input(&self, chunk: &[u8]) -> Result<(), ErrorData> {
        self.0.send_input(chunk).await
    }

    /// Ends the input stream. The action sees the end after all inputs that were sent before, and
    /// may still send chunks.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if the run takes no inputs or has ended, also for a second call;
    /// `UNAVAILABLE` if the runtime is disconnected.
    pub async fn end_input(&self) -> Result<(), ErrorData> {
        self.0.end_input().await
    }
}

impl Drop for RunHandle {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl Run {
    pub(crate) fn new(
        transport: Box<dyn RunTransport>,
        takes_input: bool,
        traces: &Arc<Traces>,
    ) -> Arc<Self> {
        Arc::new(Self {
            queue: ChunkQueue::new(&traces.budget),
            transport,
            takes_input: AtomicBool::new(takes_input),
            is_cancelled: AtomicBool::new(false),
            traces: traces.clone(),
        })
    }

    /// Sets the trace id. From now on the run can be found by it.
    pub(crate) fn started(self: &Arc<Self>, trace_id: &str) {
        let trace_id: Arc<str> = trace_id.into();
        if !self.queue.is_abandoned() && self.queue.set_trace_id(trace_id.clone()) {
            self.traces.add(trace_id, self);
        }
    }

    /// Records that the runtime is asked to cancel the run.
    pub(crate) fn set_cancelled(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the runtime was asked to cancel the run.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// Ends the run. Only the first call has an effect.
    pub(crate) fn end(&self, end: End) {
        self.queue.end(end);
        self.remove_trace();
    }

    /// The handle was dropped: cancels the run in the runtime.
    fn abandon(&self) {
        if self.queue.has_ended() {
            return;
        }
        self.queue.abandon();
        self.remove_trace();
        self.transport.abandon(self.queue.trace_id());
    }

    /// Ends the run without waiting for the runtime, and requests its cancellation there.
    pub(crate) fn give_up(&self, error: ErrorData) {
        self.transport.give_up(self, error);
    }

    /// Sends an input, unless the run has ended or its input stream was ended.
    pub(crate) async fn send_input(&self, chunk: &[u8]) -> Result<(), ErrorData> {
        if !self.takes_input.load(Ordering::Relaxed) || self.queue.has_ended() {
            return Err(no_inputs());
        }
        self.transport.send_input(chunk).await
    }

    /// Ends the input stream. A second call is an error.
    pub(crate) async fn end_input(&self) -> Result<(), ErrorData> {
        // The first caller ends the stream; a second one gets an error.
        if !self.takes_input.swap(false, Ordering::Relaxed) || self.queue.has_ended() {
            return Err(no_inputs());
        }
        self.transport.end_input().await
    }

    /// Removes the run from [`Traces`], if its trace id is known.
    fn remove_trace(&self) {
        if let Some(trace_id) = self.queue.trace_id() {
            self.traces.remove(&trace_id, self);
        }
    }
}

/// The error for an input to a run that takes none.
pub(crate) fn no_inputs() -> ErrorData {
    failure(StatusCode::NotFound, "the run takes no inputs, or its input stream has ended")
}

impl Traces {
    /// The run with this trace id.
    pub(crate) fn get(&self, trace_id: &str) -> Option<Arc<Run>> {
        self.runs().get(trace_id).cloned()
    }

    /// Number of runs with a known trace id.
    pub(crate) fn len(&self) -> usize {
        self.runs().len()
    }

    /// Adds a run. The first run with a trace id keeps it, so no other runtime can take it over.
    fn add(&self, trace_id: Arc<str>, run: &Arc<Run>) {
        self.runs().entry(trace_id).or_insert_with(|| run.clone());
    }

    /// Removes a run, unless the trace id belongs to another one.
    fn remove(&self, trace_id: &str, run: &Run) {
        let mut runs = self.runs();
        // The trace id may belong to another run that was added first.
        if runs.get(trace_id).is_some_and(|known| std::ptr::eq(&**known, run)) {
            runs.remove(trace_id);
        }
    }

    fn runs(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Run>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
