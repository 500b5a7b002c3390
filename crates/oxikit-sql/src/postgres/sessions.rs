//! [`SessionStore`] for PostgreSQL: converts ids and owners to columns, and calls the queries of
//! the other modules.

use async_trait::async_trait;
use oxikit_core::ports::{
    Lease, Owner, Pruned, Retention, SessionPage, SessionQuery, SessionStore, SessionSummary,
    SnapshotNode, SnapshotWrite, StalledWork, StoreError, StoredSnapshot, Term, Update,
};
use sqlx::Row;

use super::PostgresStore;
use super::database::failure;
use super::text::column;
use super::watched::Key;
use crate::known::owner_text;
use crate::summary::Facts;

/// The revision of each of these snapshots; 0 if it is not there.
pub(super) const VERSIONS: &str = "
    SELECT wanted.owner, wanted.id, coalesce(revision, 0)
    FROM unnest($1::text[], $2::text[]) AS wanted (owner, id) LEFT JOIN snapshots USING (owner, id)";

/// The fence of each of these leases; 0 if it is free.
pub(super) const FENCES: &str = "
    SELECT wanted.owner, wanted.session, coalesce(fence, 0)
    FROM unnest($1::text[], $2::text[]) AS wanted (owner, session)
    LEFT JOIN leases ON leases.owner = wanted.owner AND leases.session = wanted.session
        AND is_held";

/// Maximum length of an id in bytes. Longer ids do not fit into an index, and are refused.
const MAX_ID_BYTES: usize = 1024;

#[async_trait]
impl SessionStore for PostgresStore {
    fn name(&self) -> &'static str {
        "postgres"
    }

    async fn get(
        &self,
        owner: &Owner,
        snapshot: &str,
    ) -> Result<Option<StoredSnapshot>, StoreError> {
        let known = self.known(&owner_text(owner), &column(snapshot)).await?;
        Ok(known.map(|known| known.stored.clone()))
    }

    async fn latest(
        &self,
        owner: &Owner,
        session: &str,
    ) -> Result<Option<StoredSnapshot>, StoreError> {
        let known = self.known_latest(&owner_text(owner), &column(session)).await?;
        Ok(known.map(|known| known.stored.clone()))
    }

    async fn save(
        &self,
        write: SnapshotWrite<'_>,
        update: Update<'_>,
    ) -> Result<Option<u64>, StoreError> {
        for id in [write.session, write.snapshot] {
            check_id(id)?;
        }
        self.save_snapshot(write, update).await
    }

    async fn changed(
        &self,
        owner: &Owner,
        snapshot: &str,
        revision: u64,
    ) -> Result<(), StoreError> {
        let (owner, id) = (owner_text(owner), column(snapshot).into_owned());
        // Before the row is read: a change between the two is not missed.
        let mut watching = self.0.watched.watch(Key::Snapshot(owner.clone(), id.clone()));
        let look = sqlx::query("SELECT revision FROM snapshots WHERE owner = $1 AND id = $2");
        let row = self.0.database.optional(look.bind(owner).bind(id)).await?;
        let current = row.map_or(Ok(0), |row| row.try_get::<i64, _>(0)).map_err(failure)?;
        if current.cast_unsigned() == revision {
            watching.saw(current);
            watching.changed().await;
        }
        Ok(())
    }

    async fn lease(&self, owner: &Owner, session: &str, term: Term) -> Result<Lease, StoreError> {
        check_id(session)?;
        self.take_lease(owner, session, term).await
    }

    async fn renew(&self, owner: &Owner, lease: &Lease) -> Result<(), StoreError> {
        self.renew_lease(owner, lease).await
    }

    async fn lease_lost(&self, owner: &Owner, lease: &Lease) -> Result<(), StoreError> {
        let (owner, session) = (owner_text(owner), column(&lease.session).into_owned());
        let fence = lease.fence.cast_signed();
        let mut watching = self.0.watched.watch(Key::Lease(owner.clone(), session.clone()));
        loop {
            // No query before the first notification: a thousand turns would send a
            // thousand. The look at all watched rows finds what was changed before.
            watching.saw(fence);
            watching.changed().await;
            let look = sqlx::query(FENCES).bind([&owner]).bind([&session]);
            let row = self.0.database.optional(look).await?;
            let current = row.map_or(Ok(0), |row| row.try_get::<i64, _>(2)).map_err(failure)?;
            if current != fence {
                return Ok(());
            }
        }
    }

    async fn release(&self, owner: &Owner, lease: Lease) -> Result<(), StoreError> {
        self.release_lease(owner, &lease).await
    }

    async fn list(&self, owner: &Owner, query: &SessionQuery) -> Result<SessionPage, StoreError> {
        self.page(&owner_text(owner), query).await
    }

    async fn summary(
        &self,
        owner: &Owner,
        session: &str,
    ) -> Result<Option<SessionSummary>, StoreError> {
        self.summary_of(&owner_text(owner), session).await
    }

    async fn tree(&self, owner: &Owner, session: &str) -> Result<Vec<SnapshotNode>, StoreError> {
        let rows = self.facts(&owner_text(owner), session).await?;
        rows.into_iter().map(Facts::node).collect()
    }

    async fn delete(&self, owner: &Owner, session: &str) -> Result<bool, StoreError> {
        self.drop_session(&owner_text(owner), &column(session)).await
    }

    async fn prune(&self, retention: &Retention) -> Result<Pruned, StoreError> {
        self.drop_what_is_old(retention).await
    }

    async fn stalled(&self, agent: &str, limit: usize) -> Result<Vec<StalledWork>, StoreError> {
        self.lost_work(agent, limit).await
    }
}

/// Refuses ids that cannot be stored.
fn check_id(id: &str) -> Result<(), StoreError> {
    if id.trim().is_empty() {
        return Err(StoreError::Invalid("a blank id"));
    }
    if id.len() > MAX_ID_BYTES {
        return Err(StoreError::Invalid("an id of more than 1,024 bytes"));
    }
    Ok(())
}
