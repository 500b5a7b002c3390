//! A runtime that has dialled in: what it was asked and has not answered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use oxikit_core::StatusCode;
use oxikit_wire::rpc::ErrorData;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::Instant;
use uuid::Uuid;

use super::failure::{failure, gone, unconfirmed};
use super::line::{Line, Order};
use super::listing_share::Listing;
use super::run::{Link, Run, RunHandle, Traces};
use super::spec::RunSpec;

/// A run that nobody reads and that never named its trace is forgotten after this.
const FORGET_AFTER: Duration = Duration::from_secs(30);

/// A runtime, from its registration until it is gone: it may come back over
/// another connection, with its runs.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) id: String,
    pub(crate) listing: Listing,
    max_pending: usize,
    pending: Mutex<HashMap<u128, Pending>>,
    /// Cancels that were not answered. They are sent again to a runtime that comes
    /// back: what was written to a connection that broke may not have been read.
    cancels: Mutex<HashMap<u128, Cancel>>,
    line: Mutex<Option<Line>>,
}

/// What waits for an answer.
#[derive(Debug)]
enum Pending {
    Run {
        run: Arc<Run>,
        /// Over which it was asked for.
        connection: u64,
        /// Since when nobody waits for it, although its runtime may go on with it.
        abandoned: Option<Instant>,
    },
    Call(oneshot::Sender<Result<Bytes, ErrorData>>),
}

/// A cancel that was sent for a caller who has left.
#[derive(Debug)]
struct Cancel {
    trace_id: Arc<str>,
    since: Instant,
}

impl Peer {
    pub(crate) fn new(id: String, max_pending: usize, line: Line) -> Arc<Self> {
        let (pending, cancels, line) = (Mutex::default(), Mutex::default(), Some(line));
        let (listing, line) = (Listing::default(), Mutex::new(line));
        Arc::new(Self { id, listing, max_pending, pending, cancels, line })
    }

    /// The connection it is reached by, if there is one.
    pub(crate) fn line(&self) -> Option<Line> {
        lock(&self.line).clone()
    }

    pub(crate) fn set_line(&self, line: Option<Line>) {
        *lock(&self.line) = line;
    }

    /// How many requests wait for an answer.
    pub(crate) fn pending(&self) -> usize {
        lock(&self.pending).len()
    }

    /// Starts a run.
    pub(crate) async fn start(
        self: &Arc<Self>,
        spec: &RunSpec,
        traces: &Arc<Traces>,
    ) -> Result<RunHandle, ErrorData> {
        let request = new_id();
        let mut text = request_head(request, "runAction");
        spec.write_params(&mut text, true)?;
        text.push('}');
        let line = self.line().ok_or_else(|| gone(&self.id))?;
        let run = Run::new(Link::Socket { peer: self.clone(), request }, spec.stream_input, traces);
        let connection = line.connection;
        self.insert(request, Pending::Run { run: run.clone(), connection, abandoned: None })?;
        // From here on the run ends when the caller goes away.
        let handle = RunHandle::new(run);
        if line.request(text).await.is_err() {
            self.answered(request, Err(gone(&self.id)));
        }
        Ok(handle)
    }

    /// Asks for something that takes no time; the result as JSON text.
    pub(crate) async fn call(
        &self,
        method: &str,
        params: Option<&str>,
        within: Duration,
    ) -> Result<Bytes, ErrorData> {
        let request = new_id();
        let mut text = request_head(request, method);
        match params {
            Some(params) => text.push_str(params),
            None => text.truncate(text.len() - r#","params":"#.len()),
        }
        text.push('}');
        let line = self.line().ok_or_else(|| gone(&self.id))?;
        let (sender, answer) = oneshot::channel();
        self.insert(request, Pending::Call(sender))?;
        let _guard = Forget { peer: self, request };
        let exchange = async {
            line.request(text).await.map_err(|_| gone(&self.id))?;
            answer.await.unwrap_or_else(|_| Err(gone(&self.id)))
        };
        tokio::time::timeout(within, exchange).await.unwrap_or_else(|_| {
            let message = format!("the runtime `{}` did not answer `{method}` in time", self.id);
            Err(failure(StatusCode::DeadlineExceeded, message))
        })
    }

    pub(crate) async fn send_input(&self, request: u128, chunk: &[u8]) -> Result<(), ErrorData> {
        let chunk: &RawValue = serde_json::from_slice(chunk).map_err(|error| {
            failure(StatusCode::InvalidArgument, format!("an input must be JSON: {error}"))
        })?;
        let chunk = chunk.get();
        self.notify(format!(
            r#"{{"jsonrpc":"2.0","method":"sendInputStreamChunk","params":{{"requestId":"{request}","chunk":{chunk}}}}}"#
        ))
        .await
    }

    pub(crate) async fn end_input(&self, request: u128) -> Result<(), ErrorData> {
        self.notify(format!(
            r#"{{"jsonrpc":"2.0","method":"endInputStream","params":{{"requestId":"{request}"}}}}"#
        ))
        .await
    }

    async fn notify(&self, text: String) -> Result<(), ErrorData> {
        let line = self.line().ok_or_else(|| gone(&self.id))?;
        line.request(text).await.map_err(|_| gone(&self.id))
    }

    /// Nobody waits for this run any more. Without its trace it cannot be
    /// cancelled: that is done when the trace comes.
    pub(crate) fn abandon(&self, request: u128, trace_id: Option<Arc<str>>) {
        let mut pending = lock(&self.pending);
        match trace_id {
            Some(trace_id) => {
                pending.remove(&request);
                drop(pending);
                self.order_cancel(trace_id);
            }
            None => {
                if let Some(Pending::Run { abandoned, .. }) = pending.get_mut(&request) {
                    *abandoned = Some(Instant::now());
                }
            }
        }
    }

    /// Cancels the run with this trace. Nobody waits for the answer, but it is asked
    /// again if the connection ends before there is one.
    fn order_cancel(&self, trace_id: Arc<str>) {
        let (request, since) = (new_id(), Instant::now());
        let mut cancels = lock(&self.cancels);
        // Beyond it a cancel is asked once.
        if cancels.len() < self.max_pending {
            cancels.insert(request, Cancel { trace_id: trace_id.clone(), since });
        }
        drop(cancels);
        if let Some(line) = self.line() {
            line.order(Order::Cancel { request, trace_id });
        }
    }

    /// It is back, over this connection.
    pub(crate) fn come_back(&self, line: Line) {
        self.set_line(Some(line));
        let unanswered = std::mem::take(&mut *lock(&self.cancels));
        for cancel in unanswered.into_values() {
            self.order_cancel(cancel.trace_id);
        }
    }

    /// A connection has ended. Of runs that were asked for over it, and of which
    /// nothing was heard, it is not known whether the runtime has read the request.
    /// To ask again could run them twice, so their callers are told; should the
    /// runtime come back and name the trace of one, it is cancelled.
    pub(crate) fn connection_ended(&self, connection: u64) {
        self.fail_unconfirmed(connection, &unconfirmed(&self.id));
    }

    /// Whether a run waits for it.
    pub(crate) fn has_runs(&self) -> bool {
        self.any_run(|_| true)
    }

    /// Whether a run waits of which it has said nothing.
    pub(crate) fn has_unconfirmed(&self) -> bool {
        self.any_run(|run| !run.mailbox.has_begun())
    }

    fn any_run(&self, is_so: impl Fn(&Run) -> bool) -> bool {
        let is_meant = |pending: &Pending| match pending {
            Pending::Run { run, abandoned: None, .. } => is_so(run),
            _ => false,
        };
        lock(&self.pending).values().any(is_meant)
    }

    /// Tells the callers of runs that were asked for over this connection and of which
    /// nothing was heard.
    pub(crate) fn fail_unconfirmed(&self, connection: u64, error: &ErrorData) {
        let mut unsure = Vec::new();
        for entry in lock(&self.pending).values_mut() {
            if let Pending::Run { run, connection: own, abandoned } = entry
                && *own == connection
                && !run.mailbox.has_begun()
            {
                abandoned.get_or_insert_with(Instant::now);
                unsure.push(run.clone());
            }
        }
        for run in unsure {
            run.end(Err(error.clone()));
        }
    }

    /// The run with this request.
    pub(crate) fn run(&self, request: u128) -> Option<Arc<Run>> {
        match lock(&self.pending).get(&request) {
            Some(Pending::Run { run, .. }) => Some(run.clone()),
            _ => None,
        }
    }

    /// The trace of a run is known.
    pub(crate) fn run_started(&self, request: u128, trace_id: &str) {
        let Some(run) = self.run(request) else { return };
        if run.mailbox.is_over() {
            return self.abandon(request, Some(trace_id.into()));
        }
        run.started(trace_id);
        // Its caller may have left meanwhile, and did not know the trace.
        if run.mailbox.is_abandoned() {
            self.abandon(request, Some(trace_id.into()));
        }
    }

    /// A request was answered.
    pub(crate) fn answered(&self, request: u128, answer: Result<Answer<'_>, ErrorData>) -> bool {
        let Some(pending) = lock(&self.pending).remove(&request) else {
            return lock(&self.cancels).remove(&request).is_some();
        };
        match pending {
            Pending::Run { run, .. } => run.end(answer.and_then(|answer| answer.outcome(&run))),
            // The caller may have left in the meantime.
            Pending::Call(sender) => _ = sender.send(answer.map(|answer| answer.bytes())),
        }
        true
    }

    /// It will not come back: everything that waits is told.
    pub(crate) fn fail_all(&self, error: &ErrorData) {
        let pending = std::mem::take(&mut *lock(&self.pending));
        for (_, pending) in pending {
            match pending {
                Pending::Run { run, .. } => run.end(Err(error.clone())),
                Pending::Call(sender) => _ = sender.send(Err(error.clone())),
            }
        }
    }

    /// Ends one run without its runtime, which is told to cancel it.
    pub(crate) fn give_up(&self, run: &Run, request: u128, error: ErrorData) {
        lock(&self.pending).remove(&request);
        if let Some(trace_id) = run.mailbox.trace_id() {
            self.order_cancel(trace_id);
        }
        run.end(Err(error));
    }

    /// Forgets runs that nobody reads and that say nothing.
    pub(crate) fn sweep(&self) {
        let is_kept = |pending: &mut Pending| match pending {
            Pending::Run { abandoned: Some(since), .. } => since.elapsed() < FORGET_AFTER,
            _ => true,
        };
        lock(&self.pending).retain(|_, pending| is_kept(pending));
        lock(&self.cancels).retain(|_, cancel| cancel.since.elapsed() < FORGET_AFTER);
    }

    fn insert(&self, request: u128, entry: Pending) -> Result<(), ErrorData> {
        let mut pending = lock(&self.pending);
        if pending.len() >= self.max_pending {
            return Err(failure(
                StatusCode::ResourceExhausted,
                format!("the runtime `{}` has too many calls to answer; try again later", self.id),
            ));
        }
        pending.insert(request, entry);
        Ok(())
    }
}

/// A good answer: a part of the frame that it came in.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) frame: &'a Bytes,
    pub(crate) result: &'a RawValue,
}

/// Removes a call that nobody waits for any more.
struct Forget<'a> {
    peer: &'a Peer,
    request: u128,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        lock(&self.peer.pending).remove(&self.request);
    }
}

/// Cannot be guessed. It is written in digits: some runtimes make a number of it.
fn new_id() -> u128 {
    Uuid::new_v4().as_u128()
}

fn request_head(request: u128, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"{request}","method":"{method}","params":"#)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
