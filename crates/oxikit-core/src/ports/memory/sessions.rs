//! The sessions of agents in memory.
//!
//! The cost of a turn depends on what is new in it, apart from a comparison of each message's
//! pointer. For this, messages are in segments that snapshots share, sizes are updated as pieces
//! are added and removed, and leaves, order of writing and unfinished work have indexes of their
//! own.

mod history;
mod pieces;
mod session;
mod tables;

use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;

use self::tables::Tables;
use super::lock;
use crate::ports::{
    Lease, LocalNotifier, Notifier, Owner, Pruned, Pruner, Retention, SessionPage, SessionQuery,
    SessionStore, SessionSummary, SnapshotNode, SnapshotWrite, StalledWork, StoreError,
    StoredSnapshot, Term, Topic, Update,
};

/// Limits of [`MemorySessions`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MemorySessionOptions {
    /// Maximum bytes of all sessions together, as JSON. Writes beyond it fail with
    /// [`Full`](StoreError::Full) until sessions are deleted or pruned.
    pub max_bytes: usize,
    /// Number of leases from which on expired leases are removed. Leases in use are never
    /// removed.
    pub max_leases: usize,
    /// The limits of the background pruning; without limits everything is kept.
    pub retention: Retention,
    /// Notifies readers of changes; a [`LocalNotifier`] unless another one is given.
    pub notifier: Arc<dyn Notifier>,
}

impl Default for MemorySessionOptions {
    fn default() -> Self {
        Self {
            max_bytes: 1024 * 1024 * 1024,
            max_leases: 10_000,
            retention: Retention::default(),
            notifier: Arc::new(LocalNotifier::default()),
        }
    }
}

impl MemorySessionOptions {
    /// Removes sessions and snapshots beyond these limits, in the background.
    #[must_use]
    pub fn with_retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }

    /// Notifies readers by this notifier.
    #[must_use]
    pub fn with_notifier(mut self, notifier: Arc<dyn Notifier>) -> Self {
        self.notifier = notifier;
        self
    }
}

/// A [`SessionStore`] inside of the process.
///
/// It keeps no more than [its limits](MemorySessionOptions) and those of the port
/// allow. The bytes are counted as JSON; in memory they take more.
///
/// ```
/// use std::time::Duration;
///
/// use oxikit_core::ports::Retention;
/// use oxikit_core::ports::memory::{MemorySessionOptions, MemorySessions};
///
/// let hour = Retention { max_age: Some(Duration::from_secs(3600)), ..Retention::default() };
/// let store = MemorySessions::new(MemorySessionOptions::default().with_retention(hour));
/// ```
pub struct MemorySessions {
    tables: Arc<Mutex<Tables>>,
    notifier: Arc<dyn Notifier>,
    _pruner: Option<Pruner>,
}

impl MemorySessions {
    /// A store with these limits. With a retention, a thread prunes it until it is dropped.
    pub fn new(options: MemorySessionOptions) -> Self {
        let (retention, notifier) = (options.retention, options.notifier.clone());
        let tables = Arc::new(Mutex::new(Tables::new(options)));
        let (weak, of_pruner) = (Arc::downgrade(&tables), notifier.clone());
        let store = move || {
            let (tables, notifier) = (weak.upgrade()?, of_pruner.clone());
            let store = Self { tables, notifier, _pruner: None };
            Some(Arc::new(store) as Arc<dyn SessionStore>)
        };
        let pruner = Pruner::start(retention, store).unwrap_or_else(|error| {
            tracing::error!(%error, "the pruning of sessions in memory was not started");
            None
        });
        Self { tables, notifier, _pruner: pruner }
    }
}

impl Default for MemorySessions {
    fn default() -> Self {
        Self::new(MemorySessionOptions::default())
    }
}

fn snapshot_topic(owner: &Owner, snapshot: &str) -> Topic {
    topic("snapshot", owner, snapshot)
}

fn lease_topic(owner: &Owner, session: &str) -> Topic {
    topic("lease", owner, session)
}

fn topic(kind: &str, owner: &Owner, id: &str) -> Topic {
    let [tenant, principal] =
        [&owner.tenant, &owner.principal].map(|name| name.as_deref().unwrap_or_default());
    Topic::of(&[kind, tenant, principal, id])
}

#[async_trait]
impl SessionStore for MemorySessions {
    fn name(&self) -> &'static str {
        "memory"
    }

    async fn get(
        &self,
        owner: &Owner,
        snapshot: &str,
    ) -> Result<Option<StoredSnapshot>, StoreError> {
        let tables = lock(&self.tables);
        Ok(tables.session_of(owner, snapshot).and_then(|session| session.stored(snapshot)))
    }

    async fn latest(
        &self,
        owner: &Owner,
        session: &str,
    ) -> Result<Option<StoredSnapshot>, StoreError> {
        let tables = lock(&self.tables);
        let session = tables.session(owner, session);
        Ok(session.and_then(|session| session.stored(session.latest()?)))
    }

    async fn save(
        &self,
        write: SnapshotWrite<'_>,
        update: Update<'_>,
    ) -> Result<Option<u64>, StoreError> {
        let saved = lock(&self.tables).save(write, update);
        if matches!(saved, Ok(Some(_))) {
            self.notifier.publish(snapshot_topic(write.owner, write.snapshot));
        }
        saved
    }

    async fn changed(
        &self,
        owner: &Owner,
        snapshot: &str,
        revision: u64,
    ) -> Result<(), StoreError> {
        let mut subscription = self.notifier.subscribe(snapshot_topic(owner, snapshot));
        loop {
            if lock(&self.tables).revision(owner, snapshot) != revision {
                return Ok(());
            }
            subscription.next().await;
        }
    }

    async fn lease(&self, owner: &Owner, session: &str, term: Term) -> Result<Lease, StoreError> {
        let lease = lock(&self.tables).lease(owner, session, term);
        if lease.is_ok() {
            self.notifier.publish(lease_topic(owner, session));
        }
        lease
    }

    async fn renew(&self, owner: &Owner, lease: &Lease) -> Result<(), StoreError> {
        lock(&self.tables).renew(owner, lease)
    }

    async fn lease_lost(&self, owner: &Owner, lease: &Lease) -> Result<(), StoreError> {
        let mut subscription = self.notifier.subscribe(lease_topic(owner, &lease.session));
        loop {
            if lock(&self.tables).check_fence(owner, &lease.session, lease).is_err() {
                return Ok(());
            }
            subscription.next().await;
        }
    }

    async fn release(&self, owner: &Owner, lease: Lease) -> Result<(), StoreError> {
        lock(&self.tables).release(owner, &lease);
        Ok(())
    }

    async fn list(&self, owner: &Owner, query: &SessionQuery) -> Result<SessionPage, StoreError> {
        lock(&self.tables).list(owner, query)
    }

    async fn summary(
        &self,
        owner: &Owner,
        session: &str,
    ) -> Result<Option<SessionSummary>, StoreError> {
        let tables = lock(&self.tables);
        Ok(tables.session(owner, session).and_then(session::Session::summary))
    }

    async fn tree(&self, owner: &Owner, session: &str) -> Result<Vec<SnapshotNode>, StoreError> {
        let tables = lock(&self.tables);
        Ok(tables.session(owner, session).map(session::Session::tree).unwrap_or_default())
    }

    async fn delete(&self, owner: &Owner, session: &str) -> Result<bool, StoreError> {
        let removed = lock(&self.tables).remove(owner, session);
        for snapshot in removed.iter().flatten() {
            self.notifier.publish(snapshot_topic(owner, snapshot));
        }
        self.notifier.publish(lease_topic(owner, session));
        Ok(removed.is_some())
    }

    async fn prune(&self, retention: &Retention) -> Result<Pruned, StoreError> {
        let (pruned, gone) = lock(&self.tables).prune(retention);
        for (owner, snapshot) in gone {
            self.notifier.publish(snapshot_topic(&owner, &snapshot));
        }
        Ok(pruned)
    }

    async fn stalled(&self, agent: &str, limit: usize) -> Result<Vec<StalledWork>, StoreError> {
        Ok(lock(&self.tables).stalled(agent, limit))
    }
}

impl fmt::Debug for MemorySessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sessions, bytes) = lock(&self.tables).counts();
        f.debug_struct("MemorySessions")
            .field("sessions", &sessions)
            .field("bytes", &bytes)
            .finish()
    }
}
