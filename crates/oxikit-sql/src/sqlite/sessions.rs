//! The port of sessions: what is read outside of a transaction, and what is handed
//! to the writer.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use async_trait::async_trait;
use oxikit_core::ports::{
    Lease, Owner, Pruned, Retention, SessionPage, SessionQuery, SessionStore, SessionSummary,
    SnapshotNode, SnapshotWrite, StalledWork, StoreError, StoredSnapshot, Term, Update,
};
use oxikit_wire::SessionSnapshot;
use rusqlite::Connection;

use super::failure::{Failure, Outcome};
use super::leases::Attempted;
use super::prune::Prune;
use super::readers::at_once;
use super::rows::Found;
use super::save::{Save, Saved, Version};
use super::session_row::SessionRow;
use super::writer::{Promise, Txn};
use super::{SqliteStore, leases, list, rows, sweep};
use crate::draft::Draft;
use crate::known::{Known, Place, owner_text};

/// So often a write is prepared again because another writer was faster.
const ATTEMPTS: usize = 16;

impl SqliteStore {
    /// Finds a row and reads it, unless the cache has it as it is.
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

    async fn load_snapshot(&self, owner: &str, id: &str) -> Result<Option<Arc<Known>>, StoreError> {
        let snapshot = id.to_owned();
        let find =
            move |connection: &Connection, owner: &str| rows::find(connection, owner, &snapshot);
        self.load(id, owner, find).await
    }

    /// The row that a write will see: as the cache has it at first, which the
    /// transaction checks; after that, as it is stored.
    async fn former(
        &self,
        owner: &str,
        id: &str,
        is_first: bool,
    ) -> Result<Option<Arc<Known>>, StoreError> {
        if is_first { Ok(self.0.cache.get(owner, id)) } else { self.load_snapshot(owner, id).await }
    }

    /// What the new row is compared with: its former self, or the snapshot that the
    /// turn went on from.
    async fn base(
        &self,
        owner: &str,
        snapshot: &SessionSnapshot,
        former: Option<&Arc<Known>>,
        is_first: bool,
    ) -> Result<Option<Arc<Known>>, StoreError> {
        if let Some(former) = former.filter(|former| former.content.has_state) {
            return Ok(Some(former.clone()));
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

    /// One attempt of a write; `Stale` if it was prepared on what is no more.
    async fn try_save(
        &self,
        write: SnapshotWrite<'_>,
        update: Update<'_>,
        is_first: bool,
    ) -> Result<Attempt, StoreError> {
        let owner = owner_text(write.owner);
        let former = self.former(&owner, write.snapshot, is_first).await?;
        let seen = former.as_ref().map(|known| &known.stored.snapshot);
        let mut snapshot = match update(seen) {
            Ok(Some(snapshot)) => snapshot,
            // What it has seen may be old.
            Ok(None) | Err(_) if is_first => return Ok(Attempt::Stale),
            Ok(None) => {
                self.check_untouched(&owner, &write, former.as_deref()).await?;
                return Ok(Attempt::Skipped);
            }
            Err(status) => return Err(StoreError::Refused(status)),
        };
        set_ids(&mut snapshot, &write);
        let base = self.base(&owner, &snapshot, former.as_ref(), is_first).await?;
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
            former: former.as_deref().map(version),
            base: base.as_deref().map(version),
            owner: owner.clone(),
        };
        match self.writer().run(Promise::Durable, move |txn: &Txn<'_>| save.execute(txn)).await {
            Ok(saved) => Ok(Attempt::Written(self.remember(&owner, &write, snapshot, saved))),
            Err(Failure::Stale) => Ok(Attempt::Stale),
            Err(Failure::Fenced) => Err(Failure::Fenced.about(write.session)),
            Err(failure) => Err(failure.about(write.snapshot)),
        }
    }

    /// A write that changes nothing still needs its lease, and its id.
    async fn check_untouched(
        &self,
        owner: &str,
        write: &SnapshotWrite<'_>,
        former: Option<&Known>,
    ) -> Result<(), StoreError> {
        let of = former.and_then(|former| former.stored.snapshot.session_id.as_deref());
        if of.is_some_and(|session| session != write.session) {
            return Err(StoreError::Exists(write.snapshot.to_owned()));
        }
        let Some(fence) = write.lease.map(fence) else { return Ok(()) };
        let (of, session) = (owner.to_owned(), write.session.to_owned());
        let check = move |connection: &Connection| leases::check(connection, &of, &session, fence);
        self.readers().run(check).await.map_err(|failure| failure.about(write.session))
    }

    /// Keeps what was written for the next turn; its parent has served.
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

/// What became of an attempt to write.
enum Attempt {
    Written(u64),
    Skipped,
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
        let listener = self.bells().listen(snapshot);
        loop {
            let heard = listener.heard();
            let (owner, id) = (owner_text(owner), snapshot.to_owned());
            let find = move |connection: &Connection| rows::find(connection, &owner, &id);
            let found = self.readers().run(find).await;
            let found = found.map_err(|failure| failure.about(snapshot))?;
            if found.map_or(0, |found| found.revision.unsigned_abs()) != revision {
                return Ok(());
            }
            heard.await;
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
        let fence = self.writer().run(Promise::UntilPowerCut, take).await;
        attempt.is_answered = !matches!(fence, Err(Failure::Silent));
        let fence = fence.map_err(|failure| failure.about(session))?.unsigned_abs();
        Ok(Lease { session: session.to_owned(), fence, ttl: term.ttl })
    }

    async fn renew(&self, owner: &Owner, lease: &Lease) -> Result<(), StoreError> {
        let (owner, session, fence) = (owner_text(owner), lease.session.clone(), fence(lease));
        let leases = self.0.leases.clone();
        let renew = move |txn: &Txn<'_>| leases.renew(txn, &owner, &session, fence);
        let renewed = self.writer().run(Promise::UntilPowerCut, renew).await;
        renewed.map_err(|failure| failure.about(&lease.session))
    }

    async fn lease_lost(&self, owner: &Owner, lease: &Lease) -> Result<(), StoreError> {
        let (owner, fence) = (owner_text(owner), fence(lease));
        let listener = self.bells().listen(&leases::bell_of(&owner, &lease.session));
        loop {
            let heard = listener.heard();
            let (owner, session) = (owner.clone(), lease.session.clone());
            let check =
                move |connection: &Connection| leases::check(connection, &owner, &session, fence);
            match self.readers().run(check).await {
                Err(Failure::Fenced) => return Ok(()),
                checked => checked.map_err(|failure| failure.about(&lease.session))?,
            }
            heard.await;
        }
    }

    async fn release(&self, owner: &Owner, lease: Lease) -> Result<(), StoreError> {
        let (owner, session, fence) = (owner_text(owner), lease.session.clone(), fence(&lease));
        self.0.leases.forget(&owner, &session);
        let release = move |txn: &Txn<'_>| leases::release(txn, &owner, &session, fence);
        let released = self.writer().run(Promise::UntilPowerCut, release).await;
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
        let deleted = self.writer().run(Promise::Durable, delete).await;
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

fn version(known: &Known) -> Version {
    let revision = i64::try_from(known.stored.revision).unwrap_or(i64::MAX);
    let Place { session, number } = known.place;
    (Place { session, number }, revision)
}

fn fence(lease: &Lease) -> i64 {
    i64::try_from(lease.fence).unwrap_or(i64::MAX)
}

fn text(id: &str, value: &impl serde::Serialize) -> Result<String, StoreError> {
    let damaged = |error| StoreError::Damaged(id.to_owned(), Box::new(error));
    serde_json::to_string(value).map_err(damaged)
}

fn set_ids(snapshot: &mut SessionSnapshot, write: &SnapshotWrite<'_>) {
    write.snapshot.clone_into(&mut snapshot.snapshot_id);
    write.session.clone_into(snapshot.session_id.get_or_insert_default());
    if let Some(state) = &mut snapshot.state {
        write.session.clone_into(state.session_id.get_or_insert_default());
    }
}

fn check_id(session: &str) -> Result<(), StoreError> {
    match session.trim() {
        "" => Err(StoreError::Invalid("a blank session id")),
        _ => Ok(()),
    }
}
