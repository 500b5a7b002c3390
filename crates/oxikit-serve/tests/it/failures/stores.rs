//! Stores that fail.

use async_trait::async_trait;
use oxikit_core::Payload;
use oxikit_core::ports::memory::MemoryStreams;
use oxikit_core::ports::{
    Lease, Owner, Pruned, Retention, SessionPage, SessionQuery, SessionStore, SessionSummary,
    SnapshotNode, SnapshotWrite, StalledWork, StoreError, StoredSnapshot, StreamEnd, StreamPage,
    StreamScope, StreamStore, Term, Update,
};

use super::DEEP;

fn away() -> StoreError {
    StoreError::Unavailable(DEEP.into())
}

/// A store of sessions that does not answer.
#[derive(Debug)]
pub(super) struct NoSessions;

#[async_trait]
impl SessionStore for NoSessions {
    fn name(&self) -> &'static str {
        "away"
    }

    async fn get(&self, _: &Owner, _: &str) -> Result<Option<StoredSnapshot>, StoreError> {
        Err(away())
    }

    async fn latest(&self, _: &Owner, _: &str) -> Result<Option<StoredSnapshot>, StoreError> {
        Err(away())
    }

    async fn save(&self, _: SnapshotWrite<'_>, _: Update<'_>) -> Result<Option<u64>, StoreError> {
        Err(away())
    }

    async fn changed(&self, _: &Owner, _: &str, _: u64) -> Result<(), StoreError> {
        Err(away())
    }

    async fn lease(&self, _: &Owner, _: &str, _: Term) -> Result<Lease, StoreError> {
        Err(away())
    }

    async fn renew(&self, _: &Owner, _: &Lease) -> Result<(), StoreError> {
        Err(away())
    }

    async fn lease_lost(&self, _: &Owner, _: &Lease) -> Result<(), StoreError> {
        Err(away())
    }

    async fn release(&self, _: &Owner, _: Lease) -> Result<(), StoreError> {
        Err(away())
    }

    async fn list(&self, _: &Owner, _: &SessionQuery) -> Result<SessionPage, StoreError> {
        Err(away())
    }

    async fn summary(&self, _: &Owner, _: &str) -> Result<Option<SessionSummary>, StoreError> {
        Err(away())
    }

    async fn tree(&self, _: &Owner, _: &str) -> Result<Vec<SnapshotNode>, StoreError> {
        Err(away())
    }

    async fn delete(&self, _: &Owner, _: &str) -> Result<bool, StoreError> {
        Err(away())
    }

    async fn prune(&self, _: &Retention) -> Result<Pruned, StoreError> {
        Err(away())
    }

    async fn stalled(&self, _: &str, _: usize) -> Result<Vec<StalledWork>, StoreError> {
        Ok(Vec::new())
    }
}

/// The operation that fails in a [`BrokenStreams`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cannot {
    Open,
    Append,
    Finish,
    AppendOrFinish,
    Read,
    Nothing,
}

/// A store of streams with one operation that fails.
#[derive(Debug)]
pub(super) struct BrokenStreams {
    inner: MemoryStreams,
    cannot: Cannot,
}

impl BrokenStreams {
    pub(super) fn new(cannot: Cannot) -> Self {
        Self { inner: MemoryStreams::default(), cannot }
    }

    fn unless(&self, broken: &[Cannot]) -> Result<(), StoreError> {
        if broken.contains(&self.cannot) { Err(away()) } else { Ok(()) }
    }
}

#[async_trait]
impl StreamStore for BrokenStreams {
    async fn open(&self, scope: &StreamScope, id: &str) -> Result<(), StoreError> {
        self.unless(&[Cannot::Open])?;
        self.inner.open(scope, id).await
    }

    async fn append(
        &self,
        id: &str,
        position: u64,
        chunks: Vec<Payload>,
    ) -> Result<u64, StoreError> {
        self.unless(&[Cannot::Append, Cannot::AppendOrFinish])?;
        self.inner.append(id, position, chunks).await
    }

    async fn finish(&self, id: &str, position: u64, end: StreamEnd) -> Result<u64, StoreError> {
        self.unless(&[Cannot::Finish, Cannot::AppendOrFinish])?;
        self.inner.finish(id, position, end).await
    }

    async fn read(
        &self,
        scope: &StreamScope,
        id: &str,
        position: u64,
        limit: usize,
    ) -> Result<StreamPage, StoreError> {
        self.unless(&[Cannot::Read])?;
        self.inner.read(scope, id, position, limit).await
    }

    async fn wait(&self, scope: &StreamScope, id: &str, position: u64) -> Result<(), StoreError> {
        self.inner.wait(scope, id, position).await
    }
}
