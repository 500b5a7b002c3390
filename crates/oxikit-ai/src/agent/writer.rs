//! One writer per session: the lease, and the snapshots that are written with it.
//!
//! Two mechanisms keep writers apart. Within the process, [`Busy`] queues messages of a session and
//! stops the one that is replaced. Between processes, the lease in the store decides: a writer
//! renews it every [`RENEWAL`], and another process may take it after [`TTL`] without a renewal.
//! Losing the lease is noticed early (by [`Writer::keep`]) to stop useless work, but correctness does
//! not depend on it: the store compares the fence of the lease with every write and refuses a
//! writer that has lost it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use oxikit_core::ports::{Lease, Owner, SessionStore, SnapshotWrite, StoreError, Term};
use oxikit_core::{Result, Status, StatusCode};
use oxikit_wire::{JsonObject, SessionSnapshot, SessionState, SnapshotStatus};
use tokio::sync::OwnedMutexGuard;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// The policy for a message that arrives while its session is busy with another one, in this
/// process or in another one that shares the store. Set by
/// [`AgentBuilder::while_busy`](crate::AgentBuilder::while_busy).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhileBusy {
    /// The message is rejected with `ABORTED`, unless the other one ends within half a second.
    /// That time lets a client that cancels a turn send the next one at once.
    #[default]
    Reject,
    /// The message waits until the other one ends, at most for this time; then it is rejected
    /// with `ABORTED`. Messages of one process are handled in the order of their arrival.
    Queue(Duration),
    /// The other message is stopped with `ABORTED`, and its changes are not stored.
    Interrupt,
}

/// Time to live of a lease. Without a renewal for this time, another process may take it.
const TTL: Duration = Duration::from_secs(30);
/// Interval of renewals: two may fail before the lease expires.
const RENEWAL: Duration = Duration::from_secs(10);
/// Time after which a turn subscribes to the loss of its lease. Shorter turns save the subscription.
const WATCH_AFTER: Duration = Duration::from_millis(200);
/// Pause before the next subscription when the store did not answer.
const WATCH_RETRY: Duration = Duration::from_secs(1);
/// Time that a new message waits for a busy session: a server needs a moment to notice that a
/// client has left, and to stop its turn.
const GRACE: Duration = Duration::from_millis(500);
/// Maximum time of retries to release a lease while the store does not answer.
const RELEASE_PATIENCE: Duration = Duration::from_secs(600);
/// Longest pause between two attempts of a waiting message to take the lease.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// The sessions that this process works on. Messages of the same process are coordinated here,
/// without requests to the store.
#[derive(Debug, Default)]
pub(super) struct Busy(Mutex<HashMap<Key, Session>>);

type Key = (Owner, String);

#[derive(Debug, Default)]
struct Session {
    /// Stops the work.
    stop: CancellationToken,
    /// The queue of waiting messages: a fair lock, taken in the order of arrival.
    queue: Arc<tokio::sync::Mutex<()>>,
    /// Number of messages that run or wait. The entry is removed at zero.
    writers: usize,
}

impl Busy {
    fn enter(&self, key: &Key) -> Arc<tokio::sync::Mutex<()>> {
        let mut sessions = self.lock();
        let session = sessions.entry(key.clone()).or_default();
        session.writers += 1;
        session.queue.clone()
    }

    /// Makes this the running message and stops the previous one.
    fn replace(&self, key: &Key, stop: &CancellationToken) {
        if let Some(session) = self.lock().get_mut(key) {
            std::mem::replace(&mut session.stop, stop.clone()).cancel();
        }
    }

    fn leave(&self, key: &Key) {
        let mut sessions = self.lock();
        if let Some(session) = sessions.get_mut(key) {
            session.writers -= 1;
            if session.writers == 0 {
                sessions.remove(key);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the snapshots of one session.
#[derive(Debug)]
pub(super) struct Writer {
    agent: Arc<super::Definition>,
    store: Arc<dyn SessionStore>,
    key: Key,
    lease: Option<Lease>,
    /// Fires when another message takes the session over.
    stop: CancellationToken,
    queue_guard: Option<OwnedMutexGuard<()>>,
    is_entered: bool,
}

/// The options of a write, beside the content of the snapshot.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Write<'a> {
    /// Whether this is the writer's last write. The store then releases the lease in the same
    /// transaction, which saves a request.
    pub(super) is_last: bool,
    /// The metadata of a new session; `None` leaves it as it is.
    pub(super) metadata: Option<&'a JsonObject>,
    /// The detached work to resume after a crash, as JSON; `None` if there is none.
    pub(super) work: Option<&'a str>,
}

impl Writer {
    pub(super) fn new(
        agent: Arc<super::Definition>,
        store: Arc<dyn SessionStore>,
        owner: Owner,
        session: String,
    ) -> Self {
        let (stop, key) = (CancellationToken::new(), (owner, session));
        Self { agent, store, key, lease: None, stop, queue_guard: None, is_entered: false }
    }

    pub(super) fn store(&self) -> &Arc<dyn SessionStore> {
        &self.store
    }

    pub(super) fn owner(&self) -> &Owner {
        &self.key.0
    }

    /// Takes the lease of the session as [`WhileBusy`] says: waits for it, or takes it by force.
    pub(super) async fn take(&mut self) -> Result<()> {
        if self.lease.is_some() {
            return Ok(());
        }
        // Entered before the lease is taken, so that the entry with its queue is not removed
        // between two waiting messages. `drop` leaves again, also if the lease is not obtained.
        let queue = self.agent.busy.enter(&self.key);
        self.is_entered = true;
        let lease = match self.agent.while_busy {
            WhileBusy::Reject => self.wait(Instant::now() + GRACE).await?,
            WhileBusy::Interrupt => self.ask(true).await?,
            WhileBusy::Queue(longest) => {
                let until = Instant::now() + longest;
                let place = tokio::time::timeout_at(until, queue.lock_owned());
                self.queue_guard = Some(place.await.map_err(|_| busy(&self.key.1))?);
                self.wait(until).await?
            }
        };
        self.agent.busy.replace(&self.key, &self.stop);
        self.lease = Some(lease);
        Ok(())
    }

    /// Takes the lease only if it is free, whatever [`WhileBusy`] says. Returns whether it did.
    pub(super) async fn take_if_free(&mut self) -> Result<bool> {
        let (owner, session) = &self.key;
        match self.store.lease(owner, session, Term::of(TTL)).await {
            Ok(lease) => self.lease = Some(lease),
            Err(StoreError::Conflict(_)) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        self.agent.busy.enter(&self.key);
        self.is_entered = true;
        self.agent.busy.replace(&self.key, &self.stop);
        Ok(true)
    }

    async fn ask(&self, by_force: bool) -> Result<Lease> {
        let (owner, session) = &self.key;
        self.store.lease(owner, session, Term { ttl: TTL, by_force }).await.map_err(|error| {
            match error {
                StoreError::Conflict(_) => busy(session),
                error => error.into(),
            }
        })
    }

    /// Retries with growing pauses until the lease is free or the time is over.
    async fn wait(&self, until: Instant) -> Result<Lease> {
        let mut pause = Duration::from_millis(5);
        loop {
            match self.ask(false).await {
                Err(status) if status.code() == StatusCode::Aborted && Instant::now() < until => {}
                answer => return answer,
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Renews the lease until it is lost; returns the status to end the turn with.
    pub(super) async fn keep(&self) -> Status {
        let Some(lease) = &self.lease else { return std::future::pending().await };
        let mut lost = std::pin::pin!(self.lost(lease));
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return taken_over(&self.key.1),
                () = &mut lost => return taken_over(&self.key.1),
                () = sleep(RENEWAL) => {}
            }
            // Other errors are not fatal: the store may answer later, and the fence is checked
            // again with the write.
            if let Err(StoreError::Fenced(_)) = self.store.renew(self.owner(), lease).await {
                return taken_over(&self.key.1);
            }
        }
    }

    /// Waits until another process has taken the lease.
    async fn lost(&self, lease: &Lease) {
        sleep(WATCH_AFTER).await;
        while self.store.lease_lost(self.owner(), lease).await.is_err() {
            sleep(WATCH_RETRY).await;
        }
    }

    /// Writes a snapshot with this state, unless it was aborted; returns
    /// whether it was written. One that is there already keeps its place in the tree.
    pub(super) async fn save(
        &mut self,
        snapshot: &SessionSnapshot,
        state: &(dyn Fn() -> SessionState + Send + Sync),
        write: Write<'_>,
    ) -> Result<bool> {
        let (owner, session) = &self.key;
        let write_row = SnapshotWrite {
            owner,
            agent: &self.agent.name,
            session,
            snapshot: &snapshot.snapshot_id,
            lease: self.lease.as_ref(),
            releases: write.is_last && self.lease.is_some(),
            metadata: write.metadata,
            work: write.work,
        };
        let update = |current: Option<&SessionSnapshot>| {
            let mut new = snapshot.clone();
            if let Some(current) = current {
                // The caller was answered that the work is aborted, so its result must not appear.
                if current.status == Some(SnapshotStatus::Aborted) {
                    return Ok(None);
                }
                new.parent_id.clone_from(&current.parent_id);
                new.created_at.clone_from(&current.created_at);
            }
            new.state = Some(state());
            Ok(Some(new))
        };
        let saved = self.store.save(write_row, &update).await;
        let saved = saved.map_err(|error| match error {
            StoreError::Fenced(_) => taken_over(session),
            error => error.into(),
        })?;
        if write.is_last && saved.is_some() {
            self.lease = None;
        }
        Ok(saved.is_some())
    }

    /// Releases the lease, if the last write has not done so. It waits at most [`GRACE`] for a
    /// store that does not answer; the release goes on in its own task.
    pub(super) async fn give_back(&mut self) {
        if let Some(lease) = self.lease.take() {
            let given = tokio::spawn(release(self.store.clone(), self.key.0.clone(), lease));
            _ = tokio::time::timeout(GRACE, given).await;
        }
    }
}

/// Releases the lease, with retries while the store does not answer: the
/// file store does not let others take the lease of a process that is alive.
async fn release(store: Arc<dyn SessionStore>, owner: Owner, lease: Lease) {
    let until = Instant::now() + RELEASE_PATIENCE;
    let mut pause = Duration::from_millis(50);
    while let Err(error) = store.release(&owner, lease.clone()).await {
        if Instant::now() > until {
            tracing::error!(%error, session = lease.session, "the lease could not be released and stays until it expires");
            return;
        }
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(1));
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Some(lease) = self.lease.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let (store, owner) = (self.store.clone(), self.key.0.clone());
            // The guard moves into the task: the next message in the queue starts only after the
            // lease is released. It would find the session busy otherwise.
            let queue_guard = self.queue_guard.take();
            runtime.spawn(async move {
                release(store, owner, lease).await;
                drop(queue_guard);
            });
        }
        if self.is_entered {
            self.agent.busy.leave(&self.key);
        }
    }
}

fn busy(session: &str) -> Status {
    let message = format!("another message of session '{session}' is being worked on");
    Status::public(StatusCode::Aborted, message)
}

fn taken_over(session: &str) -> Status {
    let message = format!("another message has taken over session '{session}'");
    Status::public(StatusCode::Aborted, message)
}
