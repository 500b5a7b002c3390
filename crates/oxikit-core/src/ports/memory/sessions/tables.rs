//! All sessions, by owner, with the indexes for lists, pruning and unfinished work.
//!
//! One mutex guards all of it ([`super::MemorySessions`]), so every function here is one
//! transaction.

mod leases;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::time::Instant;

use self::leases::Held;
use super::MemorySessionOptions;
use super::session::{Draft, Session};
use crate::ports::{
    Owner, Pruned, Retention, SessionPage, SessionQuery, SnapshotWrite, StalledWork, StoreError,
    Update,
};

#[derive(Default)]
pub(super) struct Tables {
    owners: HashMap<Owner, Space>,
    options: MemorySessionOptions,
    /// The number of the newest write or lease. Revisions and fences come from this one counter,
    /// so they only grow, also after a session was deleted.
    clock: u64,
    /// Bytes of all sessions.
    bytes: usize,
    leases: usize,
    /// Number of leases at which expired leases are removed next.
    sweep_at: usize,
}

/// The data of one owner. It is removed when it is empty.
#[derive(Default)]
struct Space {
    sessions: HashMap<Arc<str>, Session>,
    /// The session of each snapshot.
    snapshots: HashMap<Arc<str>, Arc<str>>,
    /// Sessions by the revision of their last write: the order of lists and of pruning.
    written: BTreeMap<u64, Arc<str>>,
    leases: HashMap<Arc<str>, Held>,
    /// The data to restart unfinished work, by snapshot.
    work: HashMap<Arc<str>, Box<str>>,
}

impl Tables {
    pub(super) fn new(options: MemorySessionOptions) -> Self {
        Self { options, ..Self::default() }
    }

    pub(super) fn session(&self, owner: &Owner, session: &str) -> Option<&Session> {
        self.owners.get(owner)?.sessions.get(session)
    }

    /// The session that has this snapshot.
    pub(super) fn session_of(&self, owner: &Owner, snapshot: &str) -> Option<&Session> {
        let space = self.owners.get(owner)?;
        space.sessions.get(space.snapshots.get(snapshot)?)
    }

    pub(super) fn revision(&self, owner: &Owner, snapshot: &str) -> u64 {
        self.session_of(owner, snapshot).map_or(0, |session| session.revision(snapshot))
    }

    /// The number of sessions, and their bytes.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.owners.values().map(|space| space.sessions.len()).sum(), self.bytes)
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Writes a snapshot as [`SessionStore::save`](crate::ports::SessionStore::save) describes.
    pub(super) fn save(
        &mut self,
        write: SnapshotWrite<'_>,
        update: Update<'_>,
    ) -> Result<Option<u64>, StoreError> {
        // Everything that can fail is in the draft. From here on the write is complete.
        let Some((new, draft)) = self.draft(&write, update)? else { return Ok(None) };
        let revision = self.tick();
        let space = owned(&mut self.owners, write.owner);
        let session = match new {
            Some(new) => space.sessions.entry(new.id.clone()).or_insert(new),
            None => space.sessions.get_mut(write.session).expect("the draft was made of it"),
        };
        let known = space.snapshots.get_key_value(write.snapshot).map(|(row, _)| row.clone());
        let row = known.unwrap_or_else(|| {
            let row: Arc<str> = write.snapshot.into();
            space.snapshots.insert(row.clone(), session.id.clone());
            row
        });
        match write.work {
            Some(work) => _ = space.work.insert(row.clone(), work.into()),
            None => _ = space.work.remove(&row),
        }
        space.written.remove(&session.written);
        space.written.insert(revision, session.id.clone());
        let before = session.bytes();
        session.write(row, draft, write.metadata, revision);
        self.bytes = self.bytes - before + session.bytes();
        if write.releases && space.leases.remove(write.session).is_some() {
            self.leases -= 1;
        }
        Ok(Some(revision))
    }

    /// Checks the lease and the ids, runs `update`, and prepares the write. The session is
    /// returned too if it is new. Nothing is changed yet.
    fn draft(
        &self,
        write: &SnapshotWrite<'_>,
        update: Update<'_>,
    ) -> Result<Option<(Option<Session>, Draft)>, StoreError> {
        let SnapshotWrite { owner, agent, session: id, snapshot: name, work, metadata, .. } =
            *write;
        check_id(id)?;
        if let Some(lease) = write.lease {
            self.check_fence(owner, id, lease)?;
        }
        let space = self.owners.get(owner);
        if space.and_then(|space| space.snapshots.get(name)).is_some_and(|other| **other != *id) {
            return Err(StoreError::Exists(name.to_owned()));
        }
        let session = space.and_then(|space| space.sessions.get(id));
        let previous = session.and_then(|session| session.get(name));
        let updated = update(previous.as_ref()).map_err(StoreError::Refused)?;
        let Some(mut snapshot) = updated else { return Ok(None) };
        name.clone_into(&mut snapshot.snapshot_id);
        id.clone_into(snapshot.session_id.get_or_insert_default());
        if let Some(state) = &mut snapshot.state {
            id.clone_into(state.session_id.get_or_insert_default());
        }
        let new = session.is_none().then(|| Session::new(id.into(), agent, &snapshot.created_at));
        let target = session.or(new.as_ref()).expect("it is there or new");
        let draft = target.draft(snapshot, work, metadata)?;
        if draft.bytes_after(self.bytes) > self.options.max_bytes {
            let why = "the store is full, sessions must be deleted or pruned";
            return Err(StoreError::Full(name.to_owned(), why));
        }
        Ok(Some((new, draft)))
    }

    /// Takes something out of an owner's space, and removes the space if it is empty then.
    fn forget<T>(
        &mut self,
        owner: &Owner,
        take: impl FnOnce(&mut Space) -> Option<T>,
    ) -> Option<T> {
        let space = self.owners.get_mut(owner)?;
        let taken = take(space);
        if space.is_empty() {
            self.owners.remove(owner);
        }
        taken
    }

    /// Removes the session; returns its snapshots, or `None` if it does not exist.
    pub(super) fn remove(&mut self, owner: &Owner, session: &str) -> Option<Vec<Arc<str>>> {
        let space = self.owners.get_mut(owner)?;
        if space.leases.remove(session).is_some() {
            self.leases -= 1;
        }
        let removed = self.forget(owner, |space| {
            let removed = space.sessions.remove(session)?;
            space.written.remove(&removed.written);
            for snapshot in removed.ids() {
                space.snapshots.remove(snapshot);
                space.work.remove(snapshot);
            }
            Some(removed)
        })?;
        self.bytes -= removed.bytes();
        Some(removed.ids().cloned().collect())
    }

    /// A page of sessions, those written last first. The token of a page is the revision of its
    /// last session: a session that is written meanwhile moves before the token, so that the
    /// others are neither repeated nor skipped.
    pub(super) fn list(
        &self,
        owner: &Owner,
        query: &SessionQuery,
    ) -> Result<SessionPage, StoreError> {
        let before = match &query.after {
            Some(token) => {
                token.parse().map_err(|_| StoreError::Invalid("the continuation token"))?
            }
            None => u64::MAX,
        };
        let Some(space) = self.owners.get(owner) else { return Ok(SessionPage::default()) };
        let is_wanted = |session: &&Session| {
            query.agent.as_ref().is_none_or(|agent| *agent == session.agent)
                && query.is_active.is_none_or(|wanted| session.is_active() == wanted)
        };
        let written = space.written.range(..before).rev();
        let mut found = written.filter_map(|(_, id)| space.sessions.get(id)).filter(is_wanted);
        let page: Vec<&Session> = found.by_ref().take(query.limit).collect();
        let has_more = found.next().is_some();
        let next = page.last().filter(|_| has_more).map(|last| last.written.to_string());
        let sessions = page.into_iter().filter_map(Session::summary).collect();
        Ok(SessionPage { sessions, next })
    }

    /// Prunes all sessions. Returns the counts, and the removed snapshots for notifications.
    pub(super) fn prune(&mut self, retention: &Retention) -> (Pruned, Vec<(Owner, Arc<str>)>) {
        let mut pruned = Pruned::default();
        let mut gone = Vec::new();
        for (owner, session) in self.to_remove(retention) {
            let snapshots = self.remove(&owner, &session).unwrap_or_default();
            gone.extend(snapshots.into_iter().map(|snapshot| (owner.clone(), snapshot)));
            pruned.sessions += 1;
        }
        let Some(most) = retention.max_snapshots else { return (pruned, gone) };
        for (owner, space) in &mut self.owners {
            for session in space.sessions.values_mut() {
                let before = session.bytes();
                for snapshot in session.prune(most) {
                    space.snapshots.remove(&snapshot);
                    space.work.remove(&snapshot);
                    gone.push((owner.clone(), snapshot));
                    pruned.snapshots += 1;
                }
                self.bytes = self.bytes - before + session.bytes();
            }
        }
        (pruned, gone)
    }

    /// The sessions that exceed a limit and are not in use.
    fn to_remove(&self, retention: &Retention) -> Vec<(Owner, Arc<str>)> {
        let Retention { max_age, max_sessions, max_bytes, .. } = *retention;
        if max_age.is_none() && max_sessions.is_none() && max_bytes.is_none() {
            return Vec::new();
        }
        let mut sessions: Vec<_> = (self.owners.iter())
            .flat_map(|(owner, space)| {
                space.sessions.values().map(move |session| (owner, space, session))
            })
            .collect();
        // Newest first: what comes after a limit is reached is removed.
        sessions.sort_by_key(|(_, _, session)| Reverse(session.written));
        let (now, mut bytes) = (Instant::now(), 0);
        let mut to_remove = Vec::new();
        for (place, (owner, space, session)) in sessions.into_iter().enumerate() {
            bytes += session.bytes() as u64;
            let is_beyond = max_age.is_some_and(|age| session.written_at.elapsed() >= age)
                || max_sessions.is_some_and(|most| place >= most)
                || max_bytes.is_some_and(|most| bytes > most);
            if is_beyond && !space.is_in_use(session, now) {
                to_remove.push((owner.clone(), session.id.clone()));
            }
        }
        to_remove
    }

    /// Unfinished work of an agent in sessions without a lease, of all owners.
    pub(super) fn stalled(&self, agent: &str, limit: usize) -> Vec<StalledWork> {
        let now = Instant::now();
        let is_free =
            |space: &Space, id: &str| space.leases.get(id).is_none_or(|held| held.is_free(now));
        let work = |(owner, space): (&Owner, &Space)| {
            let work = space.work.iter().filter_map(|(snapshot, work)| {
                let session = space.snapshots.get(snapshot)?;
                let is_agents = space.sessions.get(session)?.agent == agent;
                (is_agents && is_free(space, session)).then(|| StalledWork {
                    owner: owner.clone(),
                    session: session.to_string(),
                    snapshot: snapshot.to_string(),
                    work: work.to_string(),
                })
            });
            work.take(limit).collect::<Vec<_>>()
        };
        self.owners.iter().flat_map(work).take(limit).collect()
    }
}

impl Space {
    fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.leases.is_empty()
    }

    /// Whether the session has a lease or unfinished work.
    fn is_in_use(&self, session: &Session, now: Instant) -> bool {
        self.leases.get(&session.id).is_some_and(|held| !held.is_free(now))
            || (!self.work.is_empty() && session.ids().any(|id| self.work.contains_key(id)))
    }
}

/// The owner's space, made if there is none; the owner is cloned only then.
fn owned<'a>(owners: &'a mut HashMap<Owner, Space>, owner: &Owner) -> &'a mut Space {
    if !owners.contains_key(owner) {
        owners.insert(owner.clone(), Space::default());
    }
    owners.get_mut(owner).expect("it was made if it was not there")
}

fn check_id(session: &str) -> Result<(), StoreError> {
    if session.trim().is_empty() {
        return Err(StoreError::Invalid("a blank session id"));
    }
    Ok(())
}
