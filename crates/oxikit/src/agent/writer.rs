//! One writer a session: the lease, and what is written with it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use oxikit_core::ports::{Lease, Owner, SessionStore, SnapshotWrite, StoreError, Term};
use oxikit_core::{Result, Status, StatusCode};
use oxikit_wire::{JsonObject, SessionSnapshot, SessionState, SnapshotStatus};
use tokio::sync::OwnedMutexGuard;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// What happens to a message while another one of the same session is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhileBusy {
    /// It is refused with `ABORTED`, unless the other one ends within half a second:
    /// a client that calls a turn off may go on at once.
    #[default]
    Reject,
    /// It waits for its turn, at most so long; then it is refused.
    Queue(Duration),
    /// The other one is stopped with `ABORTED`, and nothing of it is kept.
    Interrupt,
}

/// A writer that does not renew its lease for so long has lost it.
const TTL: Duration = Duration::from_secs(30);
const RENEWAL: Duration = Duration::from_secs(10);
/// A turn that takes longer listens whether another process takes its session over.
const LISTENS_AFTER: Duration = Duration::from_millis(200);
/// The pause before it listens again when the store did not answer.
const LISTENS_AGAIN: Duration = Duration::from_secs(1);
/// It takes a moment until a server knows that a client has left, and has stopped.
const GRACE: Duration = Duration::from_millis(500);
/// How long a lease is tried to be given back while the store is away.
const RELEASE_PATIENCE: Duration = Duration::from_secs(600);
/// How often a waiting message looks whether another process has ended.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// Who works on what in this process, so that neighbours need not ask the store.
#[derive(Debug, Default)]
pub(super) struct Busy(Mutex<HashMap<Key, Session>>);

type Key = (Owner, String);

#[derive(Debug, Default)]
struct Session {
    /// Stops the work.
    stop: CancellationToken,
    /// Messages wait here in the order they came.
    line: Arc<tokio::sync::Mutex<()>>,
    /// How many work or wait.
    writers: usize,
}

impl Busy {
    fn enter(&self, key: &Key) -> Arc<tokio::sync::Mutex<()>> {
        let mut sessions = self.lock();
        let session = sessions.entry(key.clone()).or_default();
        session.writers += 1;
        session.line.clone()
    }

    /// Notes who works now, and tells the one before to stop.
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
    place_in_line: Option<OwnedMutexGuard<()>>,
    is_entered: bool,
}

/// How a snapshot is written, beside its content.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Write<'a> {
    /// Whether this is the writer's last one.
    pub(super) is_last: bool,
    pub(super) metadata: Option<&'a JsonObject>,
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
        Self { agent, store, key, lease: None, stop, place_in_line: None, is_entered: false }
    }

    pub(super) fn store(&self) -> &Arc<dyn SessionStore> {
        &self.store
    }

    pub(super) fn owner(&self) -> &Owner {
        &self.key.0
    }

    /// Takes the session, or waits for it, or takes it away, as the agent says.
    pub(super) async fn take(&mut self) -> Result<()> {
        if self.lease.is_some() {
            return Ok(());
        }
        let line = self.agent.busy.enter(&self.key);
        self.is_entered = true;
        let lease = match self.agent.while_busy {
            WhileBusy::Reject => self.wait(Instant::now() + GRACE).await?,
            WhileBusy::Interrupt => self.ask(true).await?,
            WhileBusy::Queue(longest) => {
                let until = Instant::now() + longest;
                let place = tokio::time::timeout_at(until, line.lock_owned());
                self.place_in_line = Some(place.await.map_err(|_| busy(&self.key.1))?);
                self.wait(until).await?
            }
        };
        self.agent.busy.replace(&self.key, &self.stop);
        self.lease = Some(lease);
        Ok(())
    }

    /// Takes the session if nobody has it, whatever the agent says; says whether
    /// it did.
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

    /// Asks until the other one has ended.
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

    /// Keeps the lease; ends only when it is lost, and says so.
    pub(super) async fn keep(&self) -> Status {
        let Some(lease) = &self.lease else { return std::future::pending().await };
        let mut lost = std::pin::pin!(self.lost(lease));
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return taken_over(&self.key.1),
                () = &mut lost => return taken_over(&self.key.1),
                () = sleep(RENEWAL) => {}
            }
            // A store that does not answer may answer later; the lease is checked
            // again with the write.
            if let Err(StoreError::Fenced(_)) = self.store.renew(self.owner(), lease).await {
                return taken_over(&self.key.1);
            }
        }
    }

    /// Waits until another process has taken the lease.
    async fn lost(&self, lease: &Lease) {
        sleep(LISTENS_AFTER).await;
        while self.store.lease_lost(self.owner(), lease).await.is_err() {
            sleep(LISTENS_AGAIN).await;
        }
    }

    /// Writes a snapshot with this state, unless somebody has aborted it; says
    /// whether it did. One that is there already keeps its place in the tree.
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

    /// Lets others have the session, if the last write has not done so. The caller does
    /// not wait for a store that is away.
    pub(super) async fn give_back(&mut self) {
        if let Some(lease) = self.lease.take() {
            let given = tokio::spawn(release(self.store.clone(), self.key.0.clone(), lease));
            _ = tokio::time::timeout(GRACE, given).await;
        }
    }
}

/// Gives the lease back, also if the store is away for a while: until then nobody else can
/// have the session, as this process lives.
async fn release(store: Arc<dyn SessionStore>, owner: Owner, lease: Lease) {
    let until = Instant::now() + RELEASE_PATIENCE;
    let mut pause = Duration::from_millis(50);
    while let Err(error) = store.release(&owner, lease.clone()).await {
        if Instant::now() > until {
            tracing::error!(%error, session = lease.session, "the lease stays until it runs out");
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
            // Those in line go on when the session is free.
            let place_in_line = self.place_in_line.take();
            runtime.spawn(async move {
                release(store, owner, lease).await;
                drop(place_in_line);
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
