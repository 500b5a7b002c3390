//! What outlives a connection: the runs of a manager, and what it is still owed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use oxikit_core::Payload;
use oxikit_telemetry::GenkitExporter;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::asker::Asker;
use super::frames::RequestId;
use super::inputs::InputQueue;
use super::outbox::{Epoch, Outbox};
use crate::reflection::identity::Identity;
use crate::reflection::runs::Runs;

/// Work that does not end at its next await is left behind after this.
const LAST_WAIT: Duration = Duration::from_millis(100);

/// What outlives a connection.
pub(super) struct Session {
    pub(super) identity: Identity,
    pub(super) runs: Runs,
    pub(super) outbox: Outbox,
    telemetry: Option<GenkitExporter>,
    tasks: TaskTracker,
    ending: CancellationToken,
    requests: Mutex<Requests>,
}

/// The runs that a manager has asked for.
#[derive(Default)]
struct Requests {
    running: HashMap<RequestId, Request>,
    asker: Asker,
    /// Numbers the requests of all managers.
    last: u64,
}

struct Request {
    number: u64,
    connection: u64,
    inputs: Option<InputQueue>,
}

/// A run that is known by its id while this is kept.
pub(super) struct Known {
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

    /// The manager tells where spans go. What the environment says comes first.
    pub(super) fn set_telemetry_server(&self, url: &str) {
        if let Some(telemetry) = &self.telemetry
            && let Err(status) = telemetry.set_server(url)
        {
            let reason = status.message();
            tracing::warn!(reason, "the manager named a telemetry server that cannot be used");
        }
    }

    /// Serves a request until its end, or ours.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let ending = self.ending.clone();
        self.tasks.spawn(async move { ending.run_until_cancelled_owned(work).await });
    }

    /// The manager of a new connection has said who it is, or `None` if it does not
    /// say so, as official ones. What is left for it is sent, unless its first request
    /// has to tell whether it is the one from before.
    pub(super) fn introduce(&self, manager: Option<&str>) {
        let mut requests = self.requests();
        let is_other = requests.asker.introduce(manager);
        if is_other {
            self.forget(&mut requests, "another manager has come");
        }
        drop(requests);
        if is_other || manager.is_some() {
            self.outbox.release();
        }
    }

    /// A request has come over this connection. Answers which manager asks: an old
    /// result must never answer the request of another one.
    pub(super) fn meet(&self, id: &RequestId, connection: u64, is_first: bool) -> Epoch {
        let mut requests = self.requests();
        let counts_anew = requests.asker.asks(id, is_first);
        // Nobody gives an id again that is not answered yet.
        let is_taken = !requests.asker.is_named()
            && requests.running.get(id).is_some_and(|request| request.connection != connection);
        if counts_anew || is_taken {
            self.forget(&mut requests, "another manager has come");
            requests.asker.begin_with(id);
        }
        drop(requests);
        if is_first {
            self.outbox.release();
        }
        self.outbox.epoch()
    }

    /// There has been no manager for so long that the next one is another.
    pub(super) fn give_up_manager(&self) {
        let mut requests = self.requests();
        self.forget(&mut requests, "the manager has not come back");
        requests.asker = Asker::default();
    }

    fn forget(&self, requests: &mut Requests, reason: &'static str) {
        let running = std::mem::take(&mut requests.running).len();
        let frames = self.outbox.forget();
        if running > 0 || frames > 0 {
            tracing::info!(running, frames, reason, "results for the former manager are dropped");
        }
    }

    /// Makes a run known by its id, with the inputs that will come for it.
    pub(super) fn begin(
        self: &Arc<Self>,
        id: RequestId,
        connection: u64,
        inputs: Option<InputQueue>,
    ) -> Known {
        let mut requests = self.requests();
        requests.last += 1;
        let number = requests.last;
        requests.running.insert(id.clone(), Request { number, connection, inputs });
        Known { session: self.clone(), id, number }
    }

    /// An input for this run. Says whether there is one that takes any.
    pub(super) fn push_input(&self, id: &RequestId, input: Payload, bytes: usize) -> bool {
        let mut requests = self.requests();
        let Some(request) = requests.running.get_mut(id) else { return false };
        let Some(inputs) = &request.inputs else { return false };
        if !inputs.push(input, bytes) {
            request.inputs = None;
        }
        true
    }

    /// There are no more inputs for this run. Says whether there is such a run.
    pub(super) fn end_inputs(&self, id: &RequestId) -> bool {
        let mut requests = self.requests();
        let Some(request) = requests.running.get_mut(id) else { return false };
        request.inputs = None;
        true
    }

    /// The connection has ended, and with it all inputs. Runs go on.
    pub(super) fn end_all_inputs(&self) {
        for request in self.requests().running.values_mut() {
            request.inputs = None;
        }
    }

    /// Waits until all work has ended; it was told to.
    pub(super) async fn end(&self) {
        self.tasks.close();
        _ = tokio::time::timeout(LAST_WAIT, self.tasks.wait()).await;
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        let mut requests = self.session.requests();
        // Another manager may have given the same id.
        if requests.running.get(&self.id).is_some_and(|request| request.number == self.number) {
            requests.running.remove(&self.id);
        }
    }
}
