//! The state that outlives a connection: the running actions and the outbox.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use oxikit_core::Payload;
use oxikit_telemetry::GenkitExporter;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::frames::RequestId;
use super::inputs::InputQueue;
use super::manager_identity::ManagerIdentity;
use super::outbox::{Epoch, Outbox};
use crate::identity::Identity;
use crate::runs::Runs;

/// Time for which shutdown waits for tasks. A task that does not yield is left running.
const END_TIMEOUT: Duration = Duration::from_millis(100);

/// The state that outlives a connection.
pub(super) struct Session {
    pub(super) identity: Identity,
    pub(super) runs: Runs,
    pub(super) outbox: Outbox,
    telemetry: Option<GenkitExporter>,
    tasks: TaskTracker,
    ending: CancellationToken,
    requests: Mutex<Requests>,
}

/// The runs that the manager has requested.
#[derive(Default)]
struct Requests {
    running: HashMap<RequestId, Request>,
    manager: ManagerIdentity,
    /// The number of the last request, over all managers.
    last: u64,
}

/// A run in progress.
struct Request {
    number: u64,
    connection: u64,
    inputs: Option<InputQueue>,
}

/// Keeps a run registered under its request id until it is dropped.
pub(super) struct RunGuard {
    session: Arc<Session>,
    id: RequestId,
    number: u64,
}

impl Session {
    pub(super) fn new(
        identity: Identity,
        runs: Runs,
        telemetry: Option<GenkitExporter>,
        ending: CancellationToken,
    ) -> Arc<Self> {
        let (outbox, tasks, requests) = (Outbox::new(), TaskTracker::new(), Mutex::default());
        Arc::new(Self { identity, runs, outbox, telemetry, tasks, ending, requests })
    }

    /// Sets the URL for spans that the manager has sent, unless the environment sets one.
    pub(super) fn set_telemetry_server(&self, url: &str) {
        if let Some(telemetry) = &self.telemetry
            && let Err(status) = telemetry.set_server(url)
        {
            let reason = status.message();
            tracing::warn!(reason, "the manager sent an invalid URL of a telemetry server");
        }
    }

    /// Spawns the task of a request. It is cancelled at shutdown.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let ending = self.ending.clone();
        self.tasks.spawn(async move { ending.run_until_cancelled_owned(work).await });
    }

    /// Records the `managerId` of a new connection; official managers send none. Resumes the
    /// outbox if that identifies the manager. Otherwise its first request must show whether it
    /// is the same as before.
    pub(super) fn manager_registered(&self, name: Option<&str>) {
        let mut requests = self.requests();
        // The lock is held over both steps: no request may see the new manager with the old epoch.
        let is_other = requests.manager.registered(name);
        if is_other {
            self.forget(&mut requests, "another manager has connected");
        }
        drop(requests);
        if is_other || name.is_some() {
            self.outbox.resume();
        }
    }

    /// Records a request of this connection. Returns the epoch that it belongs to, which is a
    /// new one if the request proves that the manager is another one.
    pub(super) fn request_received(
        &self,
        id: &RequestId,
        connection: u64,
        is_first: bool,
    ) -> Epoch {
        let mut requests = self.requests();
        let has_restarted = requests.manager.request_received(id, is_first);
        // A manager does not reuse the id of an unanswered request, so another one must have sent
        // the first.
        let is_taken = !requests.manager.is_named()
            && requests.running.get(id).is_some_and(|request| request.connection != connection);
        if has_restarted || is_taken {
            self.forget(&mut requests, "another manager has connected");
            requests.manager.restart_with(id);
        }
        drop(requests);
        // The first request has identified the manager, one way or the other.
        if is_first {
            self.outbox.resume();
        }
        self.outbox.epoch()
    }

    /// Drops the results for a manager that did not reconnect in time.
    pub(super) fn forget_manager(&self) {
        let mut requests = self.requests();
        self.forget(&mut requests, "the manager did not reconnect");
        requests.manager = ManagerIdentity::default();
    }

    /// Starts a new epoch: forgets the runs of the previous manager and drops its frames.
    fn forget(&self, requests: &mut Requests, reason: &'static str) {
        let running = std::mem::take(&mut requests.running).len();
        let frames = self.outbox.start_epoch();
        if running > 0 || frames > 0 {
            tracing::info!(running, frames, reason, "dropped the results for the previous manager");
        }
    }

    /// Registers a run under its request id, with the queue for its inputs.
    pub(super) fn register_run(
        self: &Arc<Self>,
        id: RequestId,
        connection: u64,
        inputs: Option<InputQueue>,
    ) -> RunGuard {
        let mut requests = self.requests();
        requests.last += 1;
        let number = requests.last;
        requests.running.insert(id.clone(), Request { number, connection, inputs });
        RunGuard { session: self.clone(), id, number }
    }

    /// Queues an input. Returns whether a run with this id takes inputs.
    pub(super) fn push_input(&self, id: &RequestId, input: Payload, bytes: usize) -> bool {
        let mut requests = self.requests();
        let Some(request) = requests.running.get_mut(id) else { return false };
        let Some(inputs) = &request.inputs else { return false };
        // The queue has overflowed or the action reads no more: dropping it ends the stream.
        if !inputs.push(input, bytes) {
            request.inputs = None;
        }
        true
    }

    /// Ends the input stream of a run. Returns whether there is such a run.
    pub(super) fn end_inputs(&self, id: &RequestId) -> bool {
        let mut requests = self.requests();
        let Some(request) = requests.running.get_mut(id) else { return false };
        request.inputs = None;
        true
    }

    /// Ends all input streams, because the connection has ended. The runs continue.
    pub(super) fn end_all_inputs(&self) {
        for request in self.requests().running.values_mut() {
            request.inputs = None;
        }
    }

    /// Waits until the cancelled tasks have ended.
    pub(super) async fn end(&self) {
        self.tasks.close();
        _ = tokio::time::timeout(END_TIMEOUT, self.tasks.wait()).await;
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        let mut requests = self.session.requests();
        // A run of another manager may have replaced this one under the same id.
        if requests.running.get(&self.id).is_some_and(|request| request.number == self.number) {
            requests.running.remove(&self.id);
        }
    }
}
