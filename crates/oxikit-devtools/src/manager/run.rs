//! A running action, as its caller sees it.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use oxikit_core::StatusCode;
use oxikit_wire::rpc::ErrorData;
use tokio_util::sync::CancellationToken;

use super::backlog::Backlog;
use super::failure::failure;
use super::http::HttpPeer;
use super::mailbox::{End, Mailbox};
use super::peer::Peer;

/// The good end of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RunOutcome {
    /// The output as JSON text; none of an action that has none.
    pub result: Option<Bytes>,
    /// The trace, 32 hexadecimal digits, if the runtime has told it.
    pub trace_id: Option<Arc<str>>,
}

/// A running action.
///
/// Up to 256 chunks or 1 MiB wait here. The runtime is slowed for a moment when there
/// are more; then the run is not waited for any more, and ends with `RESOURCE_EXHAUSTED`
/// if nothing is taken for 10 s or 8 MiB more have come. Dropping the handle cancels it.
#[derive(Debug)]
pub struct RunHandle(Arc<Run>);

/// One run, known to its handle, to its runtime and by its trace.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) mailbox: Mailbox,
    pub(crate) link: Link,
    takes_input: AtomicBool,
    /// Its runtime was asked to stop it.
    is_cancelled: AtomicBool,
    traces: Arc<Traces>,
}

/// How a run is reached while it goes on.
#[derive(Debug)]
pub(crate) enum Link {
    /// Over the socket of its runtime, as this request.
    Socket { peer: Arc<Peer>, request: u128 },
    /// By the answer to its request, which a task reads until it is stopped.
    Http { peer: Arc<HttpPeer>, stop: CancellationToken },
}

/// The runs that can be addressed by their traces.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    runs: Mutex<HashMap<Arc<str>, Arc<Run>>>,
    /// What all runs hold beyond their shares.
    backlog: Arc<Backlog>,
}

impl RunHandle {
    pub(crate) fn new(run: Arc<Run>) -> Self {
        Self(run)
    }

    /// The trace, as soon as the runtime has told it. `None` if a chunk or the end
    /// came before, and from then on unless it comes later.
    pub async fn trace_id(&mut self) -> Option<Arc<str>> {
        poll_fn(|cx| self.0.mailbox.poll_trace_id(cx)).await
    }

    /// The next chunk as JSON text; `None` when there are no more. It is cancel
    /// safe.
    pub async fn next_chunk(&mut self) -> Option<Bytes> {
        poll_fn(|cx| self.0.mailbox.poll_chunk(cx)).await
    }

    /// Waits for a chunk and takes all that are there; 0 when there are no more. It
    /// is cancel safe.
    pub async fn next_chunks(&mut self, taken: &mut Vec<Bytes>) -> usize {
        poll_fn(|cx| self.0.mailbox.poll_chunks(cx, taken)).await
    }

    /// How it ended. Chunks that were not taken are dropped.
    pub async fn finish(self) -> Result<RunOutcome, ErrorData> {
        let end = poll_fn(|cx| self.0.mailbox.poll_end(cx)).await;
        end.unwrap_or_else(|| Err(failure(StatusCode::Internal, "the end was read before")))
    }

    /// Sends an input, JSON text on one line or many. Waits while the runtime does
    /// not take what was sent before.
    pub async fn send_input(&self, chunk: &[u8]) -> Result<(), ErrorData> {
        self.0.send_input(chunk).await
    }

    /// There are no more inputs.
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
    pub(crate) fn new(link: Link, takes_input: bool, traces: &Arc<Traces>) -> Arc<Self> {
        Arc::new(Self {
            mailbox: Mailbox::new(&traces.backlog),
            link,
            takes_input: AtomicBool::new(takes_input),
            is_cancelled: AtomicBool::new(false),
            traces: traces.clone(),
        })
    }

    /// The trace is known: from now on the run can be addressed by it.
    pub(crate) fn started(self: &Arc<Self>, trace_id: &str) {
        let trace_id: Arc<str> = trace_id.into();
        if !self.mailbox.is_abandoned() && self.mailbox.set_trace_id(trace_id.clone()) {
            self.traces.add(trace_id, self);
        }
    }

    /// Its runtime is about to be asked to stop it.
    pub(crate) fn set_cancelled(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// Ends it; the first end counts.
    pub(crate) fn end(&self, end: End) {
        self.mailbox.end(end);
        self.forget();
    }

    /// Nobody reads any more: the runtime is told to stop.
    fn abandon(&self) {
        if self.mailbox.has_ended() {
            return;
        }
        self.mailbox.abandon();
        self.forget();
        match &self.link {
            Link::Socket { peer, request } => peer.abandon(*request, self.mailbox.trace_id()),
            Link::Http { stop, .. } => stop.cancel(),
        }
    }

    /// Ends it without its runtime, which is told to stop if it can be.
    pub(crate) fn give_up(&self, error: ErrorData) {
        match &self.link {
            Link::Socket { peer, request } => peer.give_up(self, *request, error),
            Link::Http { stop, .. } => {
                self.end(Err(error));
                stop.cancel();
            }
        }
    }

    pub(crate) async fn send_input(&self, chunk: &[u8]) -> Result<(), ErrorData> {
        if !self.takes_input.load(Ordering::Relaxed) || self.mailbox.has_ended() {
            return Err(no_inputs());
        }
        match &self.link {
            Link::Socket { peer, request } => peer.send_input(*request, chunk).await,
            Link::Http { .. } => Err(no_inputs()),
        }
    }

    pub(crate) async fn end_input(&self) -> Result<(), ErrorData> {
        if !self.takes_input.swap(false, Ordering::Relaxed) || self.mailbox.has_ended() {
            return Err(no_inputs());
        }
        match &self.link {
            Link::Socket { peer, request } => peer.end_input(*request).await,
            Link::Http { .. } => Err(no_inputs()),
        }
    }

    fn forget(&self) {
        if let Some(trace_id) = self.mailbox.trace_id() {
            self.traces.remove(&trace_id, self);
        }
    }
}

fn no_inputs() -> ErrorData {
    failure(StatusCode::NotFound, "this run takes no inputs, or not any more")
}

impl Traces {
    pub(crate) fn get(&self, trace_id: &str) -> Option<Arc<Run>> {
        self.runs().get(trace_id).cloned()
    }

    pub(crate) fn len(&self) -> usize {
        self.runs().len()
    }

    /// The first run with a trace keeps it: another runtime must not take it over.
    fn add(&self, trace_id: Arc<str>, run: &Arc<Run>) {
        self.runs().entry(trace_id).or_insert_with(|| run.clone());
    }

    fn remove(&self, trace_id: &str, run: &Run) {
        let mut runs = self.runs();
        if runs.get(trace_id).is_some_and(|known| std::ptr::eq(&**known, run)) {
            runs.remove(trace_id);
        }
    }

    fn runs(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Run>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
