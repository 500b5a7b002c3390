//! [`SessionStore`] for SQLite: reads and prepares outside of the transaction, and hands the
//! write to the writer.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use async_trait::async_trait;
use oxikit_core::ports::{
    Lease, Owner, Pruned, Retention, SessionPage, SessionQuery, SessionStore, SessionSummary,
    SnapshotNode, SnapshotWrite, StalledWork, StoreError, StoredSnapshot, Term, Update,
};
use oxikit_wire::SessionSnapshot;
use rusqlite::Connection;

use super::leases::Attempted;
use super::prune::Prune;
use super::rows::Found;
use super::save::{Save, Saved, Version};
use super::session_row::SessionRow;
use super::{SqliteStore, leases, list, rows, sweep};
use crate::draft::Draft;
use crate::known::{Known, Place, owner_text};
use oxikit_sqlite::at_once;
use oxikit_sqlite::failure::{Failure, Outcome};
use oxikit_sqlite::writer::{Durability, Txn};

/// Maximum number of attempts of a write. Each failed one means that another writer was
/// faster; after the last one the write fails as a conflict.
const ATTEMPTS: usize = 16;

impl SqliteStore {
    /// Finds a row and reads it, unless the cache has the same revision.
    async fn load(
        &self,
        id: &str,
        owner: &str,
        find: impl FnOnce(&Connection, &str) -> Outcome<Option<Found>> + Send + 'static,
    ) -> Result<Option<Arc<Known>>, StoreError> {
        let cache = self.0.cache.clone();
        let of = owner.to_owned();
        let read = move |connection: &Connection| {
            at_once(connection, || {
                let Some(found) = find(connection, &of)? else { return Ok(None) };
                let known = cache.get(&of, &found.id);
                // The texts are parsed outside of the read, so that a reader is not blocked by
                // it.
                match known.filter(|known| version(known) == (found.place, found.revision)) {
                    Some(known) => Ok(Some(Ok(known))),
                    None => Ok(Some(Err((rows::load(connection, found.place)?, found.place)))),
                }
            })
        };
        let read = self.readers().run(read).await.map_err(|failure| failure.about(id))?;
        match read {
            None => Ok(None),
            Some(Ok(known)) => Ok(Some(known)),
            Some(Err((row, place))) => {
                let known = Arc::new(row.decode(place)?);
                self.0.cache.put(owner, &known);
                Ok(Some(known))
            }
        }
    }

    /// The snapshot with this id; `None` if there is none.
    async fn load_snapshot(&self, owner: &str, id: &str) -> Result<Option<Arc<Known>>, StoreError> {
        let snapshot = id.to_owned();
        let find =
            move |connection: &Connection, owner: &str| rows::find(connection, owner, &snapshot);
        self.load(id, owner, find).await
    }

    /// The snapshot that the write replaces. The first attempt takes it from the cache, without a
    /// query, because the transaction checks its revision; later ones read it.
    async fn previous(
        &self,
        owner: &str,
        id: &str,
        is_first: bool,
    ) -> Result<Option<Arc<Known>>, StoreError> {
        if is_first { Ok(self.0.cache.get(owner, id)) } else { self.load_snapshot(owner, id).await }
    }

    /// The row that the new one is compared with: its previous revision, or the snapshot
    /// that the turn continued from.
    async fn base(
        &self,
        owner: &str,
        snapshot: &SessionSnapshot,
        previous: Option<&Arc<Known>>,
        is_first: bool,
    ) -> Result<Option<Arc<Known>>, StoreError> {
        if let Some(previous) = previous.filter(|previous| previous.content.has_state) {
            return Ok(Some(previous.clone()));
        }
        let Some(parent) = snapshot.parent_id.as_deref() else { return Ok(None) };
        let cached = if is_first { self.0.cache.get(owner, parent) } else { None };
        let parent = match cached {
            Some(parent) => Some(parent),
            None => self.load_snapshot(owner, parent).await?,
        };
        let is_of_session =
            |parent: &Arc<Known>| parent.stored.snapshot.session_id == snapshot.session_id;
        Ok(parent.filter(is_of_session))
    }

    /// One attempt of a write; `Stale` if the rows have changed since it was prepared.
    async fn try_save(
        &self,
        write: SnapshotWrite<'_>,
        update: Update<'_>,
        is_first: bool,
    ) -> Result<Attempt, StoreError> {
        let owner = owner_text(write.owner);
        let previous = self.previous(&owner, write.snapshot, is_first).await?;
        let seen = previous.as_ref().map(|known| &known.stored.snapshot);
        let mut snapshot = match update(seen) {
            Ok(Some(snapshot)) => snapshot,
            // The first attempt may have seen an outdated row of the cache.
            Ok(None) | Err(_) if is_first => return Ok(Attempt::Stale),
            Ok(None) => {
                self.check_untouched(&owner, &write, previous.as_deref()).await?;
                return Ok(Attempt::Skipped);
            }
            Err(status) => return Err(StoreError::Refused(status)),
        };
        set_ids(&mut snapshot, &write);
        let base = self.base(&owner, &snapshot, previous.as_ref(), is_first).await?;
        let draft = Draft::new(&snapshot, base.as_deref())?;
        let save = Save {
            agent: write.agent.to_owned(),
            session: write.session.to_owned(),
            snapshot: write.snapshot.to_owned(),
            fence: write.lease.map(fence),
            releases: write.releases,
            metadata: write.metadata.map(|notes| text(write.session, notes)).transpose()?,
            work: write.work.map(ToOwned::to_owned),
            draft,
            previous: previous.as_deref().map(version),
            base: base.as_deref().map(version),
            owner: owner.clone(),
        };
        // The caller is answered after the commit is on the disk.
        match self.writer().run(Durability::Synced, move |txn: &Txn<'_>| save.execute(txn)).await {
            Ok(saved) => Ok(Attempt::Written(self.remember(&owner, &write, snapshot, saved))),
            Err(Failure::Stale) => Ok(Attempt::Stale),
            Err(Failure::Fenced) => Err(Failure::Fenced.about(write.session)),
            Err(failure) => Err(failure.about(write.snapshot)),
        }
    }

    /// Checks that a write which changes nothing has a valid lease, and the id of a snapshot of
    /// its own session.
    async fn check_untouched(
        &self,
        owner: &str,
        write: &SnapshotWrite<'_>,
        previous: Option<&Known>,
    ) -> Result<(), StoreError> {
        let of = previous.and_then(|previous| previous.stored.snapshot.session_id.as_deref());
        if of.is_some_and(|session| session != write.session) {
            return Err(StoreError::Exists(write.snapshot.to_owned()));
        }
        let Some(fence) = write.lease.map(fence) else { return Ok(()) };
        let (of, session) = (owner.to_owned(), write.session.to_owned());
        let check = move |connection: &Connection| leases::check(connection, &of, &session, fence);
        self.readers().run(check).await.map_err(|failure| failure.about(write.session))
    }

    /// Caches the written snapshot for the next turn, and evicts its parent.
    fn remember(
        &self,
        owner: &str,
        write: &SnapshotWrite<'_>,
        snapshot: SessionSnapshot,
        saved: Saved,
    ) -> u64 {
        let Saved { place, revision, agent, content } = saved;
        let revision = revision.unsigned_abs();
        if let Some(parent) = &snapshot.parent_id {
            self.0.cache.forget(owner, parent);
        }
        let stored = StoredSnapshot { revision, agent: Some(agent), snapshot };
        self.0.cache.put(owner, &Arc::new(Known { place, stored, content }));
        if write.releases {
            self.0.leases.forget(owner, write.session);
        }
        revision
    }
}

/// The result of an attempt to write.
enum Attempt {
    /// Written, with this revision.
    Written(u64),
    /// The caller's update wants no change.
    Skipped,
    /// Other rows than those that the write was prepared for: it has to begin again.
    Stale,
}

#[async_trait]
impl SessionStore for SqliteStore {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    async fn get(
        &self,
        owner: &Owner,
        snapshot: &str,
    ) -> Result<Option<StoredSnapshot>, StoreError> {
        let known = self.load_snapshot(&owner_text(owner), snapshot).await?;
        Ok(known.map(|known| known.stored.clone()))
    }

    async fn latest(
        &self,
        owner: &Owner,
        session: &str,
    ) -> Result<Option<StoredSnapshot>, StoreError> {
        let of = session.to_owned();
        let find =
            move |connection: &Connection, owner: &str| rows::find_latest(connection, owner, &of);
        let known = self.load(session, &owner_text(owner), find).await?;
        Ok(known.map(|known| known.stored.clone()))
    }

    async fn save(
        &self,
        write: SnapshotWrite<'_>,
        update: Update<'_>,
    ) -> Result<Option<u64>, StoreError> {
        check_id(write.session)?;
        for attempt in 0..ATTEMPTS {
            match self.try_save(write, update, attempt == 0).await? {
                Attempt::Written(revision) => return Ok(Some(revision)),
                Attempt::Skipped => return Ok(None),
                Attempt::Stale => {}
            }
        }
        Err(StoreError::Conflict(write.snapshot.to_owned()))
    }

    async fn changed(
        &self,
        owner: &Owner,
        snapshot: &str,
        revision: u64,
    ) -> Result<(), StoreError> {
        let mut subscription = self.subscribe(rows::snapshot_topic(snapshot));
        loop {
            let (owner, id) = (owner_text(owner), snapshot.to_owned());
            let find = move |connection: &Connection| rows::find(connection, &owner, &id);
            let found = self.readers().run(find).await;
            let found = found.map_err(|failure| failure.about(snapshot))?;
            if found.map_or(0, |found| found.revision.unsigned_abs()) != revision {
                return Ok(());
            }
            subscription.next().await;
        }
    }

    async fn lease(&self, owner: &Owner, session: &str, term: Term) -> Result<Lease, StoreError> {
        check_id(session)?;
        let mut attempt = Attempted::new(self.writer(), owner_text(owner), session);
        let (owner, of, leases) = (owner_text(owner), session.to_owned(), self.0.leases.clone());
        let taken = attempt.fence.clone();
        let take = move |txn: &Txn<'_>| {
            let fence = leases.take(txn, &owner, &of, term)?;
            taken.store(fence, Relaxed);
            Ok(fence)
        };
        // A lease need not survive a power cut: its holder ends with the same one.
        let fence = self.writer().run(Durability::Unsynced, take).await;
        // After a timeout the job may still be executed. The drop of `attempt` then releases the
        // lease.
        attempt.is_answered = !matches!(fence, Err(Failure::Timeout));
        let fence = fence.map_err(|failure| failure.about(session))?.unsigned_abs();
        Ok(Lease { session: session.to_owned(), fence, ttl: term.ttl })
    }

    async fn renew(&self, owner: &Owner, lease: &Lease) -> Result<(), StoreError> {
        let (owner, session, fence) = (owner_text(owner), lease.session.clone(), fence(lease));
        let leases = self.0.leases.clone();
        let renew = move |txn: &Txn<'_>| leases.renew(txn, &owner, &session, fence);
        let renewed = self.writer().run(Durability::Unsynced, renew).await;
        renewed.map_err(|failure| failure.about(&lease.session))
    }

    async fn lease_lost(&self, owner: &Owner, lease: &Lease) -> Result<(), StoreError> {
        let (owner, fence) = (owner_text(owner), fence(lease));
        let mut subscription = self.subscribe(leases::lease_topic(&owner, &lease.session));
        loop {
            let (owner, session) = (owner.clone(), lease.session.clone());
            let check =
                move |connection: &Connection| leases::check(connection, &owner, &session, fence);
            match self.readers().run(check).await {
                Err(Failure::Fenced) => return Ok(()),
                checked => checked.map_err(|failure| failure.about(&lease.session))?,
            }
            subscription.next().await;
        }
    }

    async fn release(&self, owner: &Owner, lease: Lease) -> Result<(), StoreError> {
        let (owner, session, fence) = (owner_text(owner), lease.session.clone(), fence(&lease));
        self.0.leases.forget(&owner, &session);
        let release = move |txn: &Txn<'_>| leases::release(txn, &owner, &session, fence);
        let released = self.writer().run(Durability::Unsynced, release).await;
        released.map_err(|failure| failure.about(&lease.session))
    }

    async fn list(&self, owner: &Owner, query: &SessionQuery) -> Result<SessionPage, StoreError> {
        let before = list::position(query)?;
        let (owner, wanted) = (owner_text(owner), query.clone());
        let read = move |connection: &Connection| {
            at_once(connection, || list::read(connection, &owner, &wanted, before))
        };
        let rows = self.readers().run(read).await.map_err(|failure| failure.about("the list"))?;
        list::page(rows, query)
    }

    async fn summary(
        &self,
        owner: &Owner,
        session: &str,
    ) -> Result<Option<SessionSummary>, StoreError> {
        let (owner, of) = (owner_text(owner), session.to_owned());
        let read = move |connection: &Connection| SessionRow::find(connection, &owner, &of);
        let row = self.readers().run(read).await.map_err(|failure| failure.about(session))?;
        row.map(|row| row.summary.shown(row.session)).transpose()
    }

    async fn tree(&self, owner: &Owner, session: &str) -> Result<Vec<SnapshotNode>, StoreError> {
        let (owner, of) = (owner_text(owner), session.to_owned());
        let read = move |connection: &Connection| {
            at_once(connection, || match SessionRow::find(connection, &owner, &of)? {
                Some(row) => rows::facts(connection, row.number),
                None => Ok(Vec::new()),
            })
        };
        let facts = self.readers().run(read).await.map_err(|failure| failure.about(session))?;
        facts.into_iter().map(|facts| facts.node()).collect()
    }

    async fn delete(&self, owner: &Owner, session: &str) -> Result<bool, StoreError> {
        let (owner, of) = (owner_text(owner), session.to_owned());
        let delete = move |txn: &Txn<'_>| sweep::delete(txn, &owner, &of);
        let deleted = self.writer().run(Durability::Synced, delete).await;
        deleted.map_err(|failure| failure.about(session))
    }

    async fn prune(&self, retention: &Retention) -> Result<Pruned, StoreError> {
        let (readers, writer) = (self.readers().clone(), self.writer().clone());
        let prune = Prune { readers, writer, leases: self.0.leases.clone() };
        prune.run(retention).await.map_err(|failure| failure.about("the prune"))
    }

    async fn stalled(&self, agent: &str, limit: usize) -> Result<Vec<StalledWork>, StoreError> {
        let (of, leases) = (agent.to_owned(), self.0.leases.clone());
        let find = move |connection: &Connection| list::stalled(connection, &leases, &of, limit);
        let stalled = self.readers().run(find).await.map_err(|failure| failure.about(agent))?;
        stalled.into_iter().map(list::with_owner).collect()
    }
}

/// The row and the revision that a write was prepared for.
fn version(known: &Known) -> Version {
    let revision = i64::try_from(known.stored.revision).unwrap_or(i64::MAX);
    let Place { session, number } = known.place;
    (Place { session, number }, revision)
}

/// The fence of a lease as its column has it.
fn fence(lease: &Lease) -> i64 {
    i64::try_from(lease.fence).unwrap_or(i64::MAX)
}

/// A value as JSON text; `id` is for the error.
fn text(id: &str, value: &impl serde::Serialize) -> Result<String, StoreError> {
    let damaged = |error| StoreError::Damaged(id.to_owned(), Box::new(error));
    serde_json::to_string(value).map_err(damaged)
}

/// Overwrites the ids in the snapshot with those of the write: a caller's closure cannot store a
/// snapshot under another id or in another session.
fn set_ids(snapshot: &mut SessionSnapshot, write: &SnapshotWrite<'_>) {
    write.snapshot.clone_into(&mut snapshot.snapshot_id);
    write.session.clone_into(snapshot.session_id.get_or_insert_default());
    if let Some(state) = &mut snapshot.state {
        write.session.clone_into(state.session_id.get_or_insert_default());
    }
}

/// Refuses a blank id.
fn check_id(session: &str) -> Result<(), StoreError> {
    match session.trim() {
        "" => Err(StoreError::Invalid("a blank session id")),
        _ => Ok(()),
    }
}
