//! [`Runtimes`]: the entry point of this crate. Its submodules keep the table of runtimes
//! (`registry`), find runtimes by their files (`discovery`) and watch processes (`process`).

mod discovery;
mod info;
mod process;
mod registry;

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use oxikit_core::StatusCode;
use oxikit_wire::JsonObject;
use oxikit_wire::rpc::{ConfigureParams, ErrorData, RegisterResult};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::ManagerOptions;
use super::connection_handle::ConnectionHandle;
use super::failure::{failure, gone, silent};
use super::listing::ActionList;
use super::run::{Run, RunHandle, Traces};
use super::session_request::SessionRequest;
use super::socket_peer::SocketPeer;
use super::spec::RunSpec;
use super::target::Target;
pub use discovery::CONNECTED_FILE_PREFIX;
pub use info::{ManagerCounts, Preferred, RuntimeInfo};
use oxikit_http::websocket::{PartialMessages, PartialShare};
pub(crate) use process::Process;
pub use process::is_alive;

/// The runtimes of a project, and the operations on them. Clones share the same state.
///
/// Methods that take `runtime: Option<&str>` use the runtime with this id, or the
/// [default one](Self::current) for `None`.
///
/// ```
/// use oxikit_manager::{ManagerOptions, Runtimes};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let runtimes = Runtimes::new(ManagerOptions::default());
/// assert!(runtimes.list().is_empty());
/// assert!(runtimes.list_actions(None).await.is_err(), "no runtime is connected");
/// runtimes.shutdown().await;
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Runtimes(Arc<Inner>);

/// The shared state behind the clones of [`Runtimes`].
#[derive(Debug)]
struct Inner {
    /// Sent in the response to `register`. A runtime that reconnects sees by it whether this is
    /// still the same manager.
    id: String,
    options: ManagerOptions,
    state: Mutex<State>,
    traces: Arc<Traces>,
    list: watch::Sender<Arc<[RuntimeInfo]>>,
    slots: Arc<Semaphore>,
    unfinished: Arc<PartialMessages>,
    connections: AtomicU64,
    tasks: TaskTracker,
    closing: CancellationToken,
}

/// The table of runtimes. The lock is never held over an `.await`.
#[derive(Debug)]
struct State {
    entries: HashMap<String, Entry>,
    /// The runtime that is used when a caller names none.
    default: Option<Target>,
    preferred: Option<Preferred>,
    registered: u64,
    telemetry_url: Option<String>,
    no_runtime_hint: Option<NoRuntimeHint>,
}

/// Explains why no runtime is connected; see [`Runtimes::set_no_runtime_hint`].
#[derive(Clone)]
struct NoRuntimeHint(Arc<dyn Fn() -> Option<String> + Send + Sync>);

impl fmt::Debug for NoRuntimeHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NoRuntimeHint")
    }
}

/// A runtime in the table, connected or within its time to reconnect.
#[derive(Debug)]
struct Entry {
    info: RuntimeInfo,
    target: Target,
    /// The order of registrations. A runtime that reconnects keeps its number.
    number: u64,
    /// Whether it is the preferred runtime.
    is_own: bool,
    /// Since when it is disconnected.
    disconnected_since: Option<Instant>,
}

/// The result of claiming a runtime id for a connection.
pub(crate) enum Claim {
    /// The connection has the id.
    Granted(Arc<SocketPeer>),
    /// Another connection has the id.
    Taken(ConnectionHandle),
}

impl Runtimes {
    /// A manager without any runtime. Runtimes are added by [`socket_route`](crate::socket_route)
    /// and by [`discover`](Self::discover); neither is started here.
    pub fn new(options: ManagerOptions) -> Self {
        let state = State {
            entries: HashMap::new(),
            default: None,
            preferred: None,
            registered: 0,
            telemetry_url: options.telemetry_url.clone(),
            no_runtime_hint: None,
        };
        Self(Arc::new(Inner {
            id: Uuid::new_v4().simple().to_string(),
            slots: Arc::new(Semaphore::new(options.max_sockets)),
            unfinished: PartialMessages::new(options.max_unfinished),
            options,
            state: Mutex::new(state),
            traces: Arc::default(),
            list: watch::Sender::new(Arc::from([])),
            connections: AtomicU64::new(0),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
        }))
    }

    /// The connected runtimes, oldest first. A runtime that lost its connection is not listed. If it
    /// reconnects within [`ManagerOptions::reconnect_grace`], it keeps its place and its runs.
    pub fn list(&self) -> Arc<[RuntimeInfo]> {
        self.0.list.borrow().clone()
    }

    /// A receiver that always has the current list. Changes in quick succession are combined: a slow
    /// receiver sees only the newest list.
    ///
    /// ```no_run
    /// # async fn example(runtimes: oxikit_manager::Runtimes) {
    /// let mut changes = runtimes.watch();
    /// while changes.changed().await.is_ok() {
    ///     println!("{} runtimes", changes.borrow_and_update().len());
    /// }
    /// # }
    /// ```
    pub fn watch(&self) -> watch::Receiver<Arc<[RuntimeInfo]>> {
        self.0.list.subscribe()
    }

    /// The default runtime: the preferred one, else the one that registered last.
    pub fn current(&self) -> Option<RuntimeInfo> {
        let state = self.state();
        let id = state.default.as_ref()?.id();
        state.entries.get(id).map(|entry| entry.info.clone())
    }

    /// Sets which runtime is the default one, such as the application that this manager started.
    /// While the preferred runtime is not connected, and for `None`, the newest one is the default.
    ///
    /// ```
    /// use oxikit_manager::{ManagerOptions, Preferred, Runtimes};
    ///
    /// let runtimes = Runtimes::new(ManagerOptions::default());
    /// runtimes.set_preferred(Some(Preferred::Process(std::process::id())));
    /// assert_eq!(runtimes.current(), None, "it has not connected yet");
    /// ```
    pub fn set_preferred(&self, preferred: Option<Preferred>) {
        let mut state = self.state();
        for entry in state.entries.values_mut() {
            entry.is_own = preferred.as_ref().is_some_and(|preferred| preferred.is(&entry.info));
        }
        state.preferred = preferred;
        self.publish(state);
    }

    /// Sets a function that explains why no runtime is connected, for error messages. It
    /// returns `None` if it does not know. The function may be called from any thread and must not
    /// block.
    ///
    /// ```
    /// use oxikit_manager::{ManagerOptions, Runtimes};
    ///
    /// let runtimes = Runtimes::new(ManagerOptions::default());
    /// runtimes.set_no_runtime_hint(|| Some("the application has ended".to_owned()));
    /// let message = runtimes.no_runtime_message();
    /// assert_eq!(message, "no runtime is connected: the application has ended");
    /// ```
    pub fn set_no_runtime_hint(&self, why: impl Fn() -> Option<String> + Send + Sync + 'static) {
        self.state().no_runtime_hint = Some(NoRuntimeHint(Arc::new(why)));
    }

    /// The error message for callers while no runtime is connected.
    pub fn no_runtime_message(&self) -> String {
        // Called without the lock: the function is foreign code and may call this manager.
        let no_runtime_hint = self.state().no_runtime_hint.clone();
        let why = no_runtime_hint.and_then(|no_runtime_hint| (no_runtime_hint.0)());
        let why = why.unwrap_or_else(|| "start the application with `oxikit start`".to_owned());
        format!("no runtime is connected: {why}")
    }

    /// Sends all runtimes, now and when they register, the URL for their spans and logs.
    pub fn set_telemetry_url(&self, url: Option<String>) {
        let mut state = self.state();
        state.telemetry_url = url;
        let configuration = state.configuration();
        for entry in state.entries.values() {
            entry.target.configure(&configuration);
        }
    }

    /// Lists the actions of a runtime. Concurrent callers share one request; its response is not
    /// cached for later ones, because an application may define actions at any time.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if there is no runtime with this id, `UNAVAILABLE` if it is not connected,
    /// `DEADLINE_EXCEEDED` if it does not answer in time, `RESOURCE_EXHAUSTED` if the list is
    /// too large.
    pub async fn list_actions(&self, runtime: Option<&str>) -> Result<Arc<ActionList>, ErrorData> {
        self.target(runtime)?.list_actions(&self.0.options).await
    }

    /// Lists the values of a kind, `defaultModel` or `middleware`.
    ///
    /// # Errors
    ///
    /// As [`list_actions`](Self::list_actions), and `INVALID_ARGUMENT` for another kind.
    pub async fn list_values(
        &self,
        runtime: Option<&str>,
        kind: &str,
    ) -> Result<JsonObject, ErrorData> {
        self.target(runtime)?.list_values(kind, &self.0.options).await
    }

    /// Sends a request about the sessions of agents. Returns the response as JSON text.
    ///
    /// # Errors
    ///
    /// `UNIMPLEMENTED` if the runtime does not support such requests, `NOT_FOUND` if there is no
    /// such runtime, agent or session, `UNAVAILABLE` if the runtime is not connected.
    pub async fn ask_sessions(
        &self,
        runtime: Option<&str>,
        request: &SessionRequest,
    ) -> Result<Bytes, ErrorData> {
        self.target(runtime)?.ask_sessions(request, &self.0.options).await
    }

    /// Starts a run. Returns as soon as the request is queued for the runtime, before the action has
    /// begun.
    ///
    /// A runtime that is shown as silent is pinged first, so that the caller gets an error instead of
    /// a run that might be executed much later.
    ///
    /// # Errors
    ///
    /// If the run was not sent: `NOT_FOUND` or `UNAVAILABLE` without a runtime,
    /// `INVALID_ARGUMENT` if the parameters are not a JSON object, `RESOURCE_EXHAUSTED` if the
    /// runtime has too many unanswered requests. Later errors come from
    /// [`RunHandle::finish`].
    pub async fn run(&self, spec: RunSpec) -> Result<RunHandle, ErrorData> {
        let target = self.target(spec.runtime.as_deref())?;
        if let Target::Socket(peer) = &target {
            self.ensure_responsive(peer).await?;
        }
        target.start(&spec, &self.0.traces).await
    }

    /// Pings a runtime that is shown as silent before a run is sent to it. A run that is not
    /// sent cannot be executed later, when its caller has already received an error.
    async fn ensure_responsive(&self, peer: &SocketPeer) -> Result<(), ErrorData> {
        let Some(pid) = self.silent_process(&peer.id) else { return Ok(()) };
        let mut process = Process::of(pid);
        process.record_cpu_time();
        let connection = peer.connection().ok_or_else(|| gone(&peer.id))?;
        if connection.responds_within(self.0.options.silence_timeout).await || process.is_busy() {
            return Ok(());
        }
        Err(silent(&peer.id))
    }

    /// Cancels the run with this trace id. Returns the message of the runtime.
    ///
    /// A run that this manager started ends even if its runtime does not answer. For other runs
    /// the request is sent to `runtime`.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if the runtime has no such run, or if there is no such runtime.
    pub async fn cancel(&self, trace_id: &str, runtime: Option<&str>) -> Result<String, ErrorData> {
        let Some(run) = self.0.traces.get(trace_id) else {
            return self.target(runtime)?.cancel(trace_id, &self.0.options).await;
        };
        // A silent runtime would only delay the caller until `cancel_timeout`.
        if self.is_silent(run.transport.runtime_id()) {
            return Ok(cancel_without_runtime(&run));
        }
        // Set before the request is sent: the run may end before the response arrives, and its end
        // must be reported as a cancellation.
        run.set_cancelled();
        match run.transport.cancel(trace_id, self.0.options.cancel_timeout).await {
            Err(error) if is_unanswered(&error) => Ok(cancel_without_runtime(&run)),
            answer => answer,
        }
    }

    /// Sends an input, which is JSON text, to the run with this trace id.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if there is no such run or it takes no inputs, `INVALID_ARGUMENT` if `chunk`
    /// is not valid JSON, `UNAVAILABLE` if the runtime is disconnected.
    pub async fn send_input(&self, trace_id: &str, chunk: &[u8]) -> Result<(), ErrorData> {
        let run = self.0.traces.get(trace_id).ok_or_else(unknown_run)?;
        run.send_input(chunk).await
    }

    /// Ends the input stream of the run with this trace id.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if there is no such run or it takes no inputs, `UNAVAILABLE` if the runtime
    /// is disconnected.
    pub async fn end_input(&self, trace_id: &str) -> Result<(), ErrorData> {
        let run = self.0.traces.get(trace_id).ok_or_else(unknown_run)?;
        run.end_input().await
    }

    /// Numbers of open sockets, runtimes, requests and runs. After all callers have left, `pending`
    /// and `traces` return to 0; tests use it to find runs that were not released.
    pub fn counts(&self) -> ManagerCounts {
        let state = self.state();
        ManagerCounts {
            sockets: self.0.options.max_sockets - self.0.slots.available_permits(),
            runtimes: state.entries.len(),
            pending: state.entries.values().map(|entry| entry.target.pending()).sum(),
            traces: self.0.traces.len(),
        }
    }

    /// Closes all connections, ends all runs, and waits until the background tasks have ended. No
    /// runtime is accepted afterwards.
    pub async fn shutdown(&self) {
        // Connections and discovery watch `closing`. `wait` returns only after `close`.
        self.0.closing.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// The settings that this manager was made with.
    pub fn options(&self) -> &ManagerOptions {
        &self.0.options
    }

    /// A future that is ready when [`shutdown`](Self::shutdown) was called.
    pub fn closing(&self) -> WaitForCancellationFutureOwned {
        // A token of its own: a connection polls it for each message, and it takes a lock.
        self.0.closing.child_token().cancelled_owned()
    }

    /// Spawns a task for which [`shutdown`](Self::shutdown) waits. The task must end when
    /// [`closing`](Self::closing) is ready.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.tasks.spawn(task);
    }

    /// The tracker of background tasks, for peers that spawn their own.
    pub(crate) fn tasks(&self) -> TaskTracker {
        self.0.tasks.clone()
    }

    /// A permit for one socket; `None` if `max_sockets` are open.
    pub(crate) fn take_slot(&self) -> Option<OwnedSemaphorePermit> {
        self.0.slots.clone().try_acquire_owned().ok()
    }

    /// The share of one socket in the memory for incomplete messages; see
    /// [`ManagerOptions::max_unfinished`].
    pub fn share(&self) -> PartialShare {
        self.0.unfinished.share()
    }

    /// The id for a new connection.
    pub(crate) fn next_connection(&self) -> u64 {
        self.0.connections.fetch_add(1, Ordering::Relaxed)
    }

    /// The parameters of `configure`.
    pub(crate) fn configuration(&self) -> ConfigureParams {
        self.state().configuration()
    }

    /// The response to `register`.
    pub(crate) fn register_result(&self) -> RegisterResult {
        RegisterResult {
            telemetry_server_url: self.state().telemetry_url.clone(),
            manager_id: Some(self.0.id.clone()),
        }
    }
}

/// Ends a run whose runtime does not respond. The cancellation is queued for the runtime.
fn cancel_without_runtime(run: &Run) -> String {
    let message = "Action was cancelled without its runtime, which does not answer";
    run.give_up(failure(StatusCode::Cancelled, message));
    "Action cancelled".to_owned()
}

/// Whether the runtime did not answer at all, rather than answered with an error.
fn is_unanswered(error: &ErrorData) -> bool {
    let codes = [StatusCode::DeadlineExceeded, StatusCode::Unavailable];
    codes.iter().any(|code| error.code == Some(code.grpc()))
}

/// The error for an input to an unknown run.
fn unknown_run() -> ErrorData {
    failure(StatusCode::NotFound, "Stream not found")
}
