//! A runtime that connected by WebSocket (V2), and its unanswered requests.
//!
//! A `SocketPeer` outlives its connection: when the same process reconnects within
//! [`ManagerOptions::reconnect_grace`](super::ManagerOptions::reconnect_grace), confirmed runs
//! continue. The socket itself belongs to `connection`.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use oxikit_core::StatusCode;
use oxikit_wire::rpc::{CancelActionParams, CancelActionResult, ErrorData, frame, method};
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::connection_handle::{Command, ConnectionHandle};
use super::failure::{failure, gone, unconfirmed};
use super::outcome::Answer;
use super::outgoing::{FRAME_SIZE, json_id, new_id, params_text, request_text};
use super::run::{Run, RunHandle, RunTransport, Traces};
use super::shared_listing::SharedListing;
use super::spec::RunSpec;

/// Time after which an abandoned run whose trace id never arrived, and an unanswered
/// cancellation, are removed.
const ABANDONED_TTL: Duration = Duration::from_secs(30);

/// A runtime from its registration until it is removed. It may reconnect and keeps its runs.
#[derive(Debug)]
pub(crate) struct SocketPeer {
    pub(crate) id: String,
    pub(crate) listing: SharedListing,
    max_pending: usize,
    pending: Mutex<HashMap<u128, Pending>>,
    /// Unanswered cancellations. They are sent again after a reconnect: the runtime may not
    /// have read what was written to the lost connection, and cancelling twice is harmless.
    cancels: Mutex<HashMap<u128, Cancel>>,
    connection: Mutex<Option<ConnectionHandle>>,
}

/// A request that has not been answered.
#[derive(Debug)]
enum Pending {
    Run {
        run: Arc<Run>,
        /// The id of the connection over which the run was requested.
        connection: u64,
        /// Since when the run has no caller, although the runtime may continue it.
        abandoned: Option<Instant>,
    },
    Call(oneshot::Sender<Result<Bytes, ErrorData>>),
}

/// A cancellation without a caller that waits for its result.
#[derive(Debug)]
struct Cancel {
    trace_id: Arc<str>,
    since: Instant,
}

impl SocketPeer {
    /// A runtime that has just registered over this connection.
    pub(crate) fn new(id: String, max_pending: usize, connection: ConnectionHandle) -> Arc<Self> {
        Arc::new(Self {
            id,
            listing: SharedListing::default(),
            max_pending,
            pending: Mutex::default(),
            cancels: Mutex::default(),
            connection: Mutex::new(Some(connection)),
        })
    }

    /// The current connection; `None` while the runtime is disconnected.
    pub(crate) fn connection(&self) -> Option<ConnectionHandle> {
        lock(&self.connection).clone()
    }

    /// Sets or removes the current connection.
    pub(crate) fn set_connection(&self, connection: Option<ConnectionHandle>) {
        *lock(&self.connection) = connection;
    }

    /// Number of unanswered requests.
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
        let mut text = String::with_capacity(FRAME_SIZE);
        frame::request(&mut text, &json_id(request), method::RUN_ACTION, |text| {
            spec.write_params(text, true)
        })?;
        let connection = self.connection().ok_or_else(|| gone(&self.id))?;
        let transport = SocketTransport { peer: self.clone(), request };
        let run = Run::new(Box::new(transport), spec.stream_input, traces);
        let pending = Pending::Run { run: run.clone(), connection: connection.id, abandoned: None };
        // Registered before it is sent: the response may arrive before `request` returns.
        self.insert(request, pending)?;
        // From here on, dropping this future cancels the run.
        let handle = RunHandle::new(run);
        if connection.request(text).await.is_err() {
            self.complete(request, Err(gone(&self.id)));
        }
        Ok(handle)
    }

    /// Asks the runtime to cancel the run with this trace. Returns the message of the runtime.
    pub(crate) async fn cancel(
        &self,
        trace_id: &str,
        within: Duration,
    ) -> Result<String, ErrorData> {
        let params = params_text(&CancelActionParams { trace_id: trace_id.to_owned() });
        let text = self.call(method::CANCEL_ACTION, Some(&params), within).await?;
        let result = serde_json::from_slice::<CancelActionResult>(&text);
        Ok(result.map_or_else(|_| "Action cancelled".to_owned(), |result| result.message))
    }

    /// Sends any request except `runAction`. Returns the result as JSON text.
    pub(crate) async fn call(
        &self,
        method: &str,
        params: Option<&str>,
        within: Duration,
    ) -> Result<Bytes, ErrorData> {
        let request = new_id();
        let text = request_text(request, method, params);
        let connection = self.connection().ok_or_else(|| gone(&self.id))?;
        let (sender, answer) = oneshot::channel();
        self.insert(request, Pending::Call(sender))?;
        // Removes the entry on every exit: response, timeout, or a caller that is cancelled.
        let _guard = PendingCallGuard { peer: self, request };
        let exchange = async {
            connection.request(text).await.map_err(|_| gone(&self.id))?;
            answer.await.unwrap_or_else(|_| Err(gone(&self.id)))
        };
        tokio::time::timeout(within, exchange).await.unwrap_or_else(|_| {
            let message = format!("the runtime `{}` did not answer `{method}` in time", self.id);
            Err(failure(StatusCode::DeadlineExceeded, message))
        })
    }

    async fn send_input(&self, request: u128, chunk: &[u8]) -> Result<(), ErrorData> {
        let chunk: &RawValue = serde_json::from_slice(chunk).map_err(|error| {
            failure(StatusCode::InvalidArgument, format!("an input must be JSON: {error}"))
        })?;
        let mut text = String::with_capacity(FRAME_SIZE + chunk.get().len());
        let Ok(()) = frame::notification(&mut text, method::SEND_INPUT_STREAM_CHUNK, |text| {
            frame::chunk_params(text, &json_id(request), |text| {
                text.push_str(chunk.get());
                Ok::<_, Infallible>(())
            })
        });
        self.notify(text).await
    }

    async fn end_input(&self, request: u128) -> Result<(), ErrorData> {
        let mut text = String::with_capacity(FRAME_SIZE);
        let Ok(()) = frame::notification(&mut text, method::END_INPUT_STREAM, |text| {
            frame::end_input_params(text, &json_id(request));
            Ok::<_, Infallible>(())
        });
        self.notify(text).await
    }

    /// Queues a notification for the current connection.
    async fn notify(&self, text: String) -> Result<(), ErrorData> {
        let connection = self.connection().ok_or_else(|| gone(&self.id))?;
        connection.request(text).await.map_err(|_| gone(&self.id))
    }

    /// Removes a run without a caller and cancels it in the runtime. Without its trace id it
    /// cannot be cancelled; then it is kept, and `run_started` cancels it.
    pub(crate) fn abandon(&self, request: u128, trace_id: Option<Arc<str>>) {
        let mut pending = lock(&self.pending);
        match trace_id {
            Some(trace_id) => {
                pending.remove(&request);
                drop(pending);
                self.send_cancel(trace_id);
            }
            None => {
                if let Some(Pending::Run { abandoned, .. }) = pending.get_mut(&request) {
                    *abandoned = Some(Instant::now());
                }
            }
        }
    }

    /// Sends a cancellation without waiting for its result. It is sent again if the connection
    /// ends before the runtime has answered.
    fn send_cancel(&self, trace_id: Arc<str>) {
        let (request, since) = (new_id(), Instant::now());
        let mut cancels = lock(&self.cancels);
        // Beyond the limit a cancellation is not kept, and so is sent only once.
        if cancels.len() < self.max_pending {
            cancels.insert(request, Cancel { trace_id: trace_id.clone(), since });
        }
        drop(cancels);
        if let Some(connection) = self.connection() {
            connection.send_command(Command::Cancel { request, trace_id });
        }
    }

    /// Continues over a new connection, and sends unanswered cancellations again.
    pub(crate) fn reconnected(&self, connection: ConnectionHandle) {
        self.set_connection(Some(connection));
        // `send_cancel` adds them again under new request ids; a late response to an old id is
        // ignored.
        let unanswered = std::mem::take(&mut *lock(&self.cancels));
        for cancel in unanswered.into_values() {
            self.send_cancel(cancel.trace_id);
        }
    }

    /// Fails the unconfirmed runs of a lost connection. It is unknown whether the runtime has
    /// read those requests: sending them again could execute an action twice. If the runtime
    /// reconnects and sends the trace id of such a run, the run is cancelled.
    pub(crate) fn connection_ended(&self, connection: u64) {
        self.fail_unconfirmed(connection, &unconfirmed(&self.id));
    }

    /// Whether a caller waits for a run.
    pub(crate) fn has_runs(&self) -> bool {
        self.any_run(|_| true)
    }

    /// Whether a caller waits for a run that the runtime has not confirmed.
    pub(crate) fn has_unconfirmed(&self) -> bool {
        self.any_run(|run| !run.queue.is_confirmed())
    }

    /// Whether a run with a caller satisfies the condition.
    fn any_run(&self, condition: impl Fn(&Run) -> bool) -> bool {
        let is_selected = |pending: &Pending| match pending {
            Pending::Run { run, abandoned: None, .. } => condition(run),
            _ => false,
        };
        lock(&self.pending).values().any(is_selected)
    }

    /// Fails the unconfirmed runs that were requested over this connection.
    pub(crate) fn fail_unconfirmed(&self, connection: u64, error: &ErrorData) {
        let mut unconfirmed_runs = Vec::new();
        for entry in lock(&self.pending).values_mut() {
            if let Pending::Run { run, connection: own, abandoned } = entry
                && *own == connection
                && !run.queue.is_confirmed()
            {
                // The entry stays, so that `run_started` can cancel the run if the runtime has
                // read the request after all. `sweep` removes it otherwise.
                abandoned.get_or_insert_with(Instant::now);
                unconfirmed_runs.push(run.clone());
            }
        }
        // Outside the lock: ending a run wakes its reader.
        for run in unconfirmed_runs {
            run.end(Err(error.clone()));
        }
    }

    /// The run with this request id.
    pub(crate) fn run(&self, request: u128) -> Option<Arc<Run>> {
        match lock(&self.pending).get(&request) {
            Some(Pending::Run { run, .. }) => Some(run.clone()),
            _ => None,
        }
    }

    /// Records the trace id of a run, or cancels the run if it has no caller any more.
    pub(crate) fn run_started(&self, request: u128, trace_id: &str) {
        let Some(run) = self.run(request) else { return };
        if run.queue.is_over() {
            return self.abandon(request, Some(trace_id.into()));
        }
        run.started(trace_id);
        // The caller may have dropped its handle meanwhile, when the trace id was not yet known.
        if run.queue.is_abandoned() {
            self.abandon(request, Some(trace_id.into()));
        }
    }

    /// Completes a request. Returns whether there was one with this id.
    pub(crate) fn complete(&self, request: u128, answer: Result<Answer<'_>, ErrorData>) -> bool {
        let Some(pending) = lock(&self.pending).remove(&request) else {
            // Not a run or a call; it may be the response to a cancellation.
            return lock(&self.cancels).remove(&request).is_some();
        };
        match pending {
            Pending::Run { run, .. } => {
                let trace_id = run.queue.trace_id();
                run.end(answer.and_then(|answer| answer.outcome(trace_id)));
            }
            // The caller may have been cancelled in the meantime.
            Pending::Call(sender) => _ = sender.send(answer.map(|answer| answer.bytes())),
        }
        true
    }

    /// Fails all requests, because the runtime was removed.
    pub(crate) fn fail_all(&self, error: &ErrorData) {
        let pending = std::mem::take(&mut *lock(&self.pending));
        for (_, pending) in pending {
            match pending {
                Pending::Run { run, .. } => run.end(Err(error.clone())),
                Pending::Call(sender) => _ = sender.send(Err(error.clone())),
            }
        }
    }

    /// Ends a run with this error, and requests its cancellation if the trace id is known.
    pub(crate) fn give_up(&self, run: &Run, request: u128, error: ErrorData) {
        lock(&self.pending).remove(&request);
        if let Some(trace_id) = run.queue.trace_id() {
            self.send_cancel(trace_id);
        }
        run.end(Err(error));
    }

    /// Removes abandoned runs and unanswered cancellations after [`ABANDONED_TTL`].
    pub(crate) fn sweep(&self) {
        let is_kept = |pending: &mut Pending| match pending {
            Pending::Run { abandoned: Some(since), .. } => since.elapsed() < ABANDONED_TTL,
            _ => true,
        };
        lock(&self.pending).retain(|_, pending| is_kept(pending));
        lock(&self.cancels).retain(|_, cancel| cancel.since.elapsed() < ABANDONED_TTL);
    }

    /// Registers a request, unless `max_pending` are unanswered.
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

/// A run over a socket: one request of the runtime's connection.
#[derive(Debug)]
struct SocketTransport {
    peer: Arc<SocketPeer>,
    request: u128,
}

#[async_trait]
impl RunTransport for SocketTransport {
    fn runtime_id(&self) -> &str {
        &self.peer.id
    }

    fn abandon(&self, trace_id: Option<Arc<str>>) {
        self.peer.abandon(self.request, trace_id);
    }

    fn give_up(&self, run: &Run, error: ErrorData) {
        self.peer.give_up(run, self.request, error);
    }

    async fn cancel(&self, trace_id: &str, within: Duration) -> Result<String, ErrorData> {
        self.peer.cancel(trace_id, within).await
    }

    async fn send_input(&self, chunk: &[u8]) -> Result<(), ErrorData> {
        self.peer.send_input(self.request, chunk).await
    }

    async fn end_input(&self) -> Result<(), ErrorData> {
        self.peer.end_input(self.request).await
    }
}

/// Removes an unanswered call when its caller is cancelled or times out.
struct PendingCallGuard<'a> {
    peer: &'a SocketPeer,
    request: u128,
}

impl Drop for PendingCallGuard<'_> {
    fn drop(&mut self) {
        lock(&self.peer.pending).remove(&self.request);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
