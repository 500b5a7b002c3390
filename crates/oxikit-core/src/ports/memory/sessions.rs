//! Sessions that are gone with the process.
//!
//! A turn costs what is new in it, apart from a look at each message's pointer:
//! messages lie in segments that snapshots share, sizes are counted as pieces come
//! and go, and leaves, order of writing and open work have indexes of their own.

mod bells;
mod history;
mod pieces;
mod session;
mod tables;

use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;

use self::bells::Bells;
use self::tables::Tables;
use super::lock;
use crate::ports::{
    Lease, Owner, Pruned, Pruner, Retention, SessionPage, SessionQuery, SessionStore,
    SessionSummary, SnapshotNode, SnapshotWrite, StalledWork, StoreError, StoredSnapshot, Term,
    Update,
};

/// Limits of [`MemorySessions`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MemorySessionOptions {
    /// So many bytes of all sessions together, as JSON. What comes on top is
    /// [`Full`](StoreError::Full), until sessions are deleted or pruned.
    pub max_bytes: usize,
    /// From so many leases on, those that have run out are forgotten.
    pub max_leases: usize,
    /// What is removed in the background; everything is kept where nothing is said.
    pub retention: Retention,
}

impl Default for MemorySessionOptions {
    fn default() -> Self {
        let retention = Retention::default();
        Self { max_bytes: 1024 * 1024 * 1024, max_leases: 10_000, retention }
    }
}

impl MemorySessionOptions {
    /// Removes in the background what need not be kept.
    #[must_use]
    pub fn with_retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }
}

/// A [`SessionStore`] inside of the process.
///
/// It keeps no more than [its limits](MemorySessionOptions) and those of the port
/// allow. The bytes are counted as JSON; in memory they take more.
#[derive(Default)]
pub struct MemorySessions {
    tables: Arc<Mutex<Tables>>,
    bells: Arc<Bells>,
    _pruner: Option<Pruner>,
}

impl MemorySessions {
    /// A store with these limits.
    pub fn new(options: MemorySessionOptions) -> Self {
        let retention = options.retention;
        let tables = Arc::new(Mutex::new(Tables::new(options)));
        let bells = Arc::<Bells>::default();
        let (weak, rung) = (Arc::downgrade(&tables), bells.clone());
        let store = move || {
            let store = Self { tables: weak.upgrade()?, bells: rung.clone(), _pruner: None };
            Some(Arc::new(store) as Arc<dyn SessionStore>)
        };
        let pruner = Pruner::start(retention, store).unwrap_or_else(|error| {
            tracing::error!(%error, "sessions in memory are not pruned: no thread");
            None
        });
        Self { tables, bells, _pruner: pruner }
    }
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
            self.bells.ring(write.owner, write.snapshot);
        }
        saved
    }

    async fn changed(
        &self,
        owner: &Owner,
        snapshot: &str,
        revision: u64,
    ) -> Result<(), StoreError> {
        loop {
            // Whatever is written after this line is heard.
            let rung = self.bells.hear(owner, snapshot);
            if lock(&self.tables).revision(owner, snapshot) != revision {
                return Ok(());
            }
            rung.await;
        }
    }

    async fn lease(&self, owner: &Owner, session: &str, term: Term) -> Result<Lease, StoreError> {
        let lease = lock(&self.tables).lease(owner, session, term);
        if lease.is_ok() {
            self.bells.ring(owner, session);
        }
        lease
    }

    async fn renew(&self, owner: &Owner, lease: &Lease) -> Result<(), StoreError> {
        lock(&self.tables).renew(owner, lease)
    }

    async fn lease_lost(&self, owner: &Owner, lease: &Lease) -> Result<(), StoreError> {
        loop {
            let rung = self.bells.hear(owner, &lease.session);
            if lock(&self.tables).check_fence(owner, &lease.session, lease).is_err() {
                return Ok(());
            }
            rung.await;
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
            self.bells.ring(owner, snapshot);
        }
        self.bells.ring(owner, session);
        Ok(removed.is_some())
    }

    async fn prune(&self, retention: &Retention) -> Result<Pruned, StoreError> {
        let (pruned, gone) = lock(&self.tables).prune(retention);
        for (owner, snapshot) in gone {
            self.bells.ring(&owner, &snapshot);
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
