//! A store with a fault, for tests of the tests that look for lost writes.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use oxikit_wire::{JsonObject, SessionSnapshot};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::ports::{
    Lease, Owner, Pruned, Retention, SessionPage, SessionQuery, SessionStore, SessionSummary,
    SnapshotNode, SnapshotWrite, StalledWork, StoreError, StoredSnapshot, Term, Update,
};

/// Time between the answer to a write and the write itself.
const DELAY: Duration = Duration::from_millis(20);

/// A [`SessionStore`] that answers a write before the store behind it has written
/// anything. If the process is killed in between, a write is lost that was answered.
///
/// A test that looks for lost writes must find this fault; a test that does not find it
/// proves nothing about other stores. As long as the process lives, callers notice no
/// difference: a call waits until the write before it is finished.
#[derive(Debug)]
pub struct EarlyAnswers {
    store: Arc<dyn SessionStore>,
    /// Held while a write is answered and not finished.
    unfinished: Arc<Mutex<()>>,
}

impl EarlyAnswers {
    /// Adds the fault to a store.
    pub fn new(store: Arc<dyn SessionStore>) -> Self {
        Self { store, unfinished: Arc::default() }
    }

    async fn finish_writes(&self) {
        drop(self.unfinished.lock().await);
    }
}

#[async_trait]
impl SessionStore for EarlyAnswers {
    fn name(&self) -> &'static str {
        self.store.name()
    }

    async fn get(
        &self,
        owner: &Owner,
        snapshot: &str,
    ) -> Result<Option<StoredSnapshot>, StoreError> {
        self.finish_writes().await;
        self.store.get(owner, snapshot).await
    }

    async fn latest(
        &self,
        owner: &Owner,
        session: &str,
    ) -> Result<Option<StoredSnapshot>, StoreError> {
        self.finish_writes().await;
        self.store.latest(owner, session).await
    }

    async fn save(
        &self,
        write: SnapshotWrite<'_>,
        update: Update<'_>,
    ) -> Result<Option<u64>, StoreError> {
        let guard = self.unfinished.clone().lock_owned().await;
        let previous = self.store.get(write.owner, write.snapshot).await?;
        let revision = previous.as_ref().map_or(0, |previous| previous.revision);
        let updated = update(previous.as_ref().map(|previous| &previous.snapshot));
        let Some(snapshot) = updated.map_err(StoreError::Refused)? else { return Ok(None) };
        let late = LateWrite::new(write, snapshot);
        tokio::spawn(late.finish(self.store.clone(), guard));
        Ok(Some(revision + 1))
    }

    async fn changed(
        &self,
        owner: &Owner,
        snapshot: &str,
        revision: u64,
    ) -> Result<(), StoreError> {
        self.finish_writes().await;
        self.store.changed(owner, snapshot, revision).await
    }

    async fn lease(&self, owner: &Owner, session: &str, term: Term) -> Result<Lease, StoreError> {
        self.finish_writes().await;
        self.store.lease(owner, session, term).await
    }

    async fn renew(&self, owner: &Owner, lease: &Lease) -> Result<(), StoreError> {
        self.finish_writes().await;
        self.store.renew(owner, lease).await
    }

    async fn lease_lost(&self, owner: &Owner, lease: &Lease) -> Result<(), StoreError> {
        self.finish_writes().await;
        self.store.lease_lost(owner, lease).await
    }

    async fn release(&self, owner: &Owner, lease: Lease) -> Result<(), StoreError> {
        self.finish_writes().await;
        self.store.release(owner, lease).await
    }

    async fn list(&self, owner: &Owner, query: &SessionQuery) -> Result<SessionPage, StoreError> {
        self.finish_writes().await;
        self.store.list(owner, query).await
    }

    async fn summary(
        &self,
        owner: &Owner,
        session: &str,
    ) -> Result<Option<SessionSummary>, StoreError> {
        self.finish_writes().await;
        self.store.summary(owner, session).await
    }

    async fn tree(&self, owner: &Owner, session: &str) -> Result<Vec<SnapshotNode>, StoreError> {
        self.finish_writes().await;
        self.store.tree(owner, session).await
    }

    async fn delete(&self, owner: &Owner, session: &str) -> Result<bool, StoreError> {
        self.finish_writes().await;
        self.store.delete(owner, session).await
    }

    async fn prune(&self, retention: &Retention) -> Result<Pruned, StoreError> {
        self.finish_writes().await;
        self.store.prune(retention).await
    }

    async fn stalled(&self, agent: &str, limit: usize) -> Result<Vec<StalledWork>, StoreError> {
        self.finish_writes().await;
        self.store.stalled(agent, limit).await
    }
}

/// A write that was answered already: a [`SnapshotWrite`] that borrows nothing.
struct LateWrite {
    owner: Owner,
    agent: String,
    session: String,
    id: String,
    lease: Option<Lease>,
    releases: bool,
    metadata: Option<JsonObject>,
    work: Option<String>,
    snapshot: SessionSnapshot,
}

impl LateWrite {
    fn new(write: SnapshotWrite<'_>, snapshot: SessionSnapshot) -> Self {
        Self {
            owner: write.owner.clone(),
            agent: write.agent.to_owned(),
            session: write.session.to_owned(),
            id: write.snapshot.to_owned(),
            lease: write.lease.cloned(),
            releases: write.releases,
            metadata: write.metadata.cloned(),
            work: write.work.map(str::to_owned),
            snapshot,
        }
    }

    async fn finish(self, store: Arc<dyn SessionStore>, _unfinished: OwnedMutexGuard<()>) {
        tokio::time::sleep(DELAY).await;
        let write = SnapshotWrite {
            lease: self.lease.as_ref(),
            releases: self.releases,
            metadata: self.metadata.as_ref(),
            work: self.work.as_deref(),
            ..SnapshotWrite::new(&self.owner, &self.agent, &self.session, &self.id)
        };
        if let Err(error) = store.save(write, &|_| Ok(Some(self.snapshot.clone()))).await {
            tracing::warn!(%error, "a write failed that was answered already");
        }
    }
}
