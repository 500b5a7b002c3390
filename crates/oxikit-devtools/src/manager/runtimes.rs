//! All runtimes, and what they can be asked.

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
use super::failure::{failure, gone, silent};
use super::line::Line;
use super::listing::ActionList;
use super::peer::Peer;
use super::run::{Run, RunHandle, Traces};
use super::session_request::SessionRequest;
use super::spec::RunSpec;
use super::target::Target;
use super::unfinished::{Share, Unfinished};
pub(crate) use discovery::STAND_IN;
pub use info::{ManagerCounts, Preferred, RuntimeInfo};
pub(crate) use process::{Process, is_alive};

/// All runtimes of a project. Clones are the same.
#[derive(Debug, Clone)]
pub struct Runtimes(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Tells runtimes that come back whether we are still the same manager.
    id: String,
    options: ManagerOptions,
    state: Mutex<State>,
    traces: Arc<Traces>,
    list: watch::Sender<Arc<[RuntimeInfo]>>,
    seats: Arc<Semaphore>,
    unfinished: Arc<Unfinished>,
    connections: AtomicU64,
    tasks: TaskTracker,
    closing: CancellationToken,
}

#[derive(Debug)]
struct State {
    entries: HashMap<String, Entry>,
    /// What is asked when nobody is named.
    default: Option<Target>,
    preferred: Option<Preferred>,
    registered: u64,
    telemetry_url: Option<String>,
    absence: Option<Absence>,
}

/// Says why no runtime is there; see [`Runtimes::explain_absence`].
#[derive(Clone)]
struct Absence(Arc<dyn Fn() -> Option<String> + Send + Sync>);

impl fmt::Debug for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Absence")
    }
}

#[derive(Debug)]
struct Entry {
    info: RuntimeInfo,
    target: Target,
    /// The order of registrations; a runtime that comes back keeps its place.
    number: u64,
    /// Whether it is the application that the manager has started.
    is_own: bool,
    /// Since when it has no connection.
    away_since: Option<Instant>,
}

/// Whether a connection gets the id it wants.
pub(crate) enum Claim {
    Granted(Arc<Peer>),
    /// The id is in use by this connection.
    Taken(Line),
}

impl Runtimes {
    /// Without any runtime yet.
    pub fn new(options: ManagerOptions) -> Self {
        let state = State {
            entries: HashMap::new(),
            default: None,
            preferred: None,
            registered: 0,
            telemetry_url: options.telemetry_url.clone(),
            absence: None,
        };
        Self(Arc::new(Inner {
            id: Uuid::new_v4().simple().to_string(),
            seats: Arc::new(Semaphore::new(options.max_sockets)),
            unfinished: Unfinished::new(options.max_unfinished),
            options,
            state: Mutex::new(state),
            traces: Arc::default(),
            list: watch::Sender::new(Arc::from([])),
            connections: AtomicU64::new(0),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
        }))
    }

    /// The runtimes that can be asked, oldest first.
    pub fn list(&self) -> Arc<[RuntimeInfo]> {
        self.0.list.borrow().clone()
    }

    /// The list, whenever it changes.
    pub fn watch(&self) -> watch::Receiver<Arc<[RuntimeInfo]>> {
        self.0.list.subscribe()
    }

    /// The runtime that is asked when nobody is named: the preferred one, else the
    /// one that registered last.
    pub fn current(&self) -> Option<RuntimeInfo> {
        let state = self.state();
        let id = state.default.as_ref()?.id();
        state.entries.get(id).map(|entry| entry.info.clone())
    }

    /// Prefers the application that the manager has started to whoever comes.
    pub fn set_preferred(&self, preferred: Option<Preferred>) {
        let mut state = self.state();
        for entry in state.entries.values_mut() {
            entry.is_own = preferred.as_ref().is_some_and(|preferred| preferred.is(&entry.info));
        }
        state.preferred = preferred;
        self.publish(state);
    }

    /// From now on this says why no runtime is connected, as far as it knows.
    pub(crate) fn explain_absence(&self, why: impl Fn() -> Option<String> + Send + Sync + 'static) {
        self.state().absence = Some(Absence(Arc::new(why)));
    }

    /// What to tell a caller when no runtime is connected.
    pub(crate) fn absence(&self) -> String {
        // Asked without the lock: the answer may come from anywhere.
        let absence = self.state().absence.clone();
        let why = absence.and_then(|absence| (absence.0)());
        let why = why.unwrap_or_else(|| "start the application with `oxikit start`".to_owned());
        format!("no runtime is connected: {why}")
    }

    /// Tells all runtimes where spans and logs go from now on.
    pub fn set_telemetry_url(&self, url: Option<String>) {
        let mut state = self.state();
        state.telemetry_url = url;
        let configuration = state.configuration();
        for entry in state.entries.values() {
            entry.target.configure(&configuration);
        }
    }

    /// The actions of a runtime, of the default one if none is named. Who asks while
    /// somebody else does gets the same list.
    pub async fn list_actions(&self, runtime: Option<&str>) -> Result<Arc<ActionList>, ErrorData> {
        self.target(runtime)?.list_actions(&self.0.options).await
    }

    /// The values of a kind, `defaultModel` or `middleware`.
    pub async fn list_values(
        &self,
        runtime: Option<&str>,
        kind: &str,
    ) -> Result<JsonObject, ErrorData> {
        self.target(runtime)?.list_values(kind, &self.0.options).await
    }

    /// Asks about sessions of agents; the answer as JSON text. A runtime that knows no
    /// such requests, or cannot do it, is `UNIMPLEMENTED`.
    pub(crate) async fn ask_sessions(
        &self,
        runtime: Option<&str>,
        request: &SessionRequest,
    ) -> Result<Bytes, ErrorData> {
        self.target(runtime)?.ask_sessions(request, &self.0.options).await
    }

    /// Starts a run.
    pub async fn run(&self, spec: RunSpec) -> Result<RunHandle, ErrorData> {
        let target = self.target(spec.runtime.as_deref())?;
        if let Target::Socket(peer) = &target {
            self.wake(peer).await?;
        }
        target.start(&spec, &self.0.traces).await
    }

    /// Asks a runtime that is shown as silent for a sign of life first: what it is not
    /// sent, it cannot run when its caller has long been told.
    async fn wake(&self, peer: &Peer) -> Result<(), ErrorData> {
        let Some(pid) = self.silent_process(&peer.id) else { return Ok(()) };
        let mut process = Process::of(pid);
        process.look();
        let line = peer.line().ok_or_else(|| gone(&peer.id))?;
        if line.answers(self.0.options.sign_of_life).await || process.is_at_work() {
            return Ok(());
        }
        Err(silent(&peer.id))
    }

    /// Cancels the run with this trace; answers what its runtime says.
    ///
    /// A run that was started here ends at once even if its runtime does not
    /// answer. Others are asked of the runtime that is named, or the default one.
    pub async fn cancel(&self, trace_id: &str, runtime: Option<&str>) -> Result<String, ErrorData> {
        let run = self.0.traces.get(trace_id);
        let target = match &run {
            Some(run) => Target::of(run),
            None => self.target(runtime)?,
        };
        let run = match run {
            Some(run) if self.is_silent(target.id()) => return Ok(cancel_without_runtime(&run)),
            run => run,
        };
        if let Some(run) = &run {
            run.set_cancelled();
        }
        match (target.cancel(trace_id, &self.0.options).await, run) {
            (Err(error), Some(run)) if is_out_of_reach(&error) => Ok(cancel_without_runtime(&run)),
            (answer, _) => answer,
        }
    }

    /// Sends an input, JSON text, to the run with this trace.
    pub async fn send_input(&self, trace_id: &str, chunk: &[u8]) -> Result<(), ErrorData> {
        let run = self.0.traces.get(trace_id).ok_or_else(no_stream)?;
        run.send_input(chunk).await
    }

    /// Tells the run with this trace that there are no more inputs.
    pub async fn end_input(&self, trace_id: &str) -> Result<(), ErrorData> {
        let run = self.0.traces.get(trace_id).ok_or_else(no_stream)?;
        run.end_input().await
    }

    /// How much there is at the moment.
    pub fn counts(&self) -> ManagerCounts {
        let state = self.state();
        ManagerCounts {
            sockets: self.0.options.max_sockets - self.0.seats.available_permits(),
            runtimes: state.entries.len(),
            pending: state.entries.values().map(|entry| entry.target.pending()).sum(),
            traces: self.0.traces.len(),
        }
    }

    /// Ends all connections and runs, and waits until they are closed.
    pub async fn shutdown(&self) {
        self.0.closing.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    pub(crate) fn options(&self) -> &ManagerOptions {
        &self.0.options
    }

    /// Ready when everything has to end.
    pub(crate) fn closing(&self) -> WaitForCancellationFutureOwned {
        self.0.closing.clone().cancelled_owned()
    }

    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.tasks.spawn(task);
    }

    pub(crate) fn tasks(&self) -> TaskTracker {
        self.0.tasks.clone()
    }

    /// A place for a socket, if there is one left.
    pub(crate) fn take_seat(&self) -> Option<OwnedSemaphorePermit> {
        self.0.seats.clone().try_acquire_owned().ok()
    }

    /// What one socket holds of unfinished messages.
    pub(crate) fn share(&self) -> Share {
        self.0.unfinished.share()
    }

    pub(crate) fn next_connection(&self) -> u64 {
        self.0.connections.fetch_add(1, Ordering::Relaxed)
    }

    /// What runtimes are told of their settings.
    pub(crate) fn configuration(&self) -> ConfigureParams {
        self.state().configuration()
    }

    /// What runtimes are told when they register.
    pub(crate) fn welcome(&self) -> RegisterResult {
        RegisterResult {
            telemetry_server_url: self.state().telemetry_url.clone(),
            manager_id: Some(self.0.id.clone()),
        }
    }
}

/// Ends a run whose runtime says nothing; it is told, should it wake up.
fn cancel_without_runtime(run: &Run) -> String {
    let message = "Action was cancelled without its runtime, which does not answer";
    run.give_up(failure(StatusCode::Cancelled, message));
    "Action cancelled".to_owned()
}

/// Whether a runtime did not answer, rather than answer that it failed.
fn is_out_of_reach(error: &ErrorData) -> bool {
    let codes = [StatusCode::DeadlineExceeded, StatusCode::Unavailable];
    codes.iter().any(|code| error.code == Some(code.grpc()))
}

fn no_stream() -> ErrorData {
    failure(StatusCode::NotFound, "Stream not found")
}
