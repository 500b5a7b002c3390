//! Sessions that are gone with the process.

use async_trait::async_trait;
use oxikit_wire::{AgentFinishReason, JsonObject, SessionSnapshot, SnapshotStatus};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex};

use serde::Serialize;
use tokio::sync::watch;
use tokio::time::Instant;

use super::lock;
use crate::ports::delta::json_size;
use crate::ports::{
    Lease, MAX_ARTIFACT_BYTES, MAX_SESSION_BYTES, MAX_SNAPSHOT_BYTES, Owner, Pruned, Retention,
    SessionPage, SessionQuery, SessionStore, SessionSummary, SnapshotNode, SnapshotWrite,
    StalledWork, StoreError, StoredSnapshot, Term, Update,
};

/// From so many leases on, those that have run out are forgotten.
const MAX_LEASES: usize = 10_000;

/// A [`SessionStore`] inside of the process.
#[derive(Default)]
pub struct MemorySessions(Mutex<Tables>);

#[derive(Default)]
struct Tables {
    sessions: HashMap<Key, Session>,
    /// The session of each snapshot.
    snapshots: HashMap<Key, String>,
    leases: HashMap<Key, Held>,
    /// Numbers every write and every lease.
    clock: u64,
    /// Tells those who wait that something was written.
    written: watch::Sender<u64>,
}

type Key = (Owner, String);

struct Session {
    agent: String,
    /// In the order of their first writing.
    rows: Vec<Row>,
    metadata: Option<JsonObject>,
    /// When it was last written.
    written: u64,
    written_at: Instant,
}

struct Row {
    stored: StoredSnapshot,
    work: Option<String>,
    sizes: Sizes,
}

/// Bytes as JSON; pieces by their address.
struct Sizes {
    own: usize,
    /// With the messages.
    whole: usize,
    messages: HashMap<usize, usize>,
    artifacts: HashMap<usize, usize>,
}

struct Held {
    fence: u64,
    until: Instant,
}

impl Tables {
    fn row(&self, owner: &Owner, snapshot: &str) -> Option<&Row> {
        let session = self.snapshots.get(&key(owner, snapshot))?;
        let rows = &self.sessions.get(&key(owner, session))?.rows;
        rows.iter().find(|row| row.stored.snapshot.snapshot_id == snapshot)
    }

    fn revision(&self, owner: &Owner, snapshot: &str) -> u64 {
        self.row(owner, snapshot).map_or(0, |row| row.stored.revision)
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn check_fence(&self, owner: &Owner, lease: &Lease) -> Result<(), StoreError> {
        match self.leases.get(&key(owner, &lease.session)) {
            Some(held) if held.fence == lease.fence => Ok(()),
            _ => Err(StoreError::Fenced(lease.session.clone())),
        }
    }

    fn remove(&mut self, owner: &Owner, session: &str) -> bool {
        self.leases.remove(&key(owner, session));
        let removed = self.sessions.remove(&key(owner, session));
        for row in removed.iter().flat_map(|session| &session.rows) {
            self.snapshots.remove(&key(owner, &row.stored.snapshot.snapshot_id));
        }
        removed.is_some()
    }

    fn save(
        &mut self,
        write: SnapshotWrite<'_>,
        update: Update<'_>,
    ) -> Result<Option<u64>, StoreError> {
        let SnapshotWrite { owner, agent, session, snapshot: id, lease, .. } = write;
        check_id(session)?;
        if let Some(lease) = lease {
            self.check_fence(owner, lease)?;
        }
        let full = |why| StoreError::Full(id.to_owned(), why);
        if self.snapshots.get(&key(owner, id)).is_some_and(|other| other != session) {
            return Err(StoreError::Exists(id.to_owned()));
        }
        let former = self.row(owner, id).map(|row| &row.stored);
        let updated = update(former.map(|stored| &stored.snapshot)).map_err(StoreError::Refused)?;
        let Some(mut snapshot) = updated else { return Ok(None) };
        session.clone_into(snapshot.session_id.get_or_insert_default());
        if let Some(state) = &mut snapshot.state {
            session.clone_into(state.session_id.get_or_insert_default());
        }
        id.clone_into(&mut snapshot.snapshot_id);
        let damaged = |error| StoreError::Damaged(id.to_owned(), Box::new(error));
        let sizes = sizes(&snapshot).map_err(damaged)?;
        if sizes.artifacts.iter().any(|(_, bytes)| *bytes > MAX_ARTIFACT_BYTES) {
            return Err(full("an artifact is too large"));
        }
        if sizes.whole > MAX_SNAPSHOT_BYTES {
            return Err(full("the snapshot is too large"));
        }
        let revision = former.map_or(0, |stored| stored.revision) + 1;
        let now = self.tick();
        let new = || Session {
            agent: agent.to_owned(),
            rows: Vec::new(),
            metadata: None,
            written: now,
            written_at: Instant::now(),
        };
        let stored = self.sessions.entry(key(owner, session)).or_insert_with(new);
        let others = stored.rows.iter().filter(|row| row.stored.snapshot.snapshot_id != id);
        if total(others.map(|row| &row.sizes).chain([&sizes])) > MAX_SESSION_BYTES {
            return Err(full("the session's history is too large"));
        }
        let agent = Some(stored.agent.clone());
        let work = write.work.map(ToOwned::to_owned);
        let row = Row { stored: StoredSnapshot { revision, agent, snapshot }, work, sizes };
        match stored.rows.iter_mut().find(|row| row.stored.snapshot.snapshot_id == id) {
            Some(former) => *former = row,
            None => stored.rows.push(row),
        }
        stored.written = now;
        stored.written_at = Instant::now();
        if let Some(metadata) = write.metadata {
            stored.metadata = Some(metadata.clone());
        }
        self.snapshots.insert(key(owner, id), session.to_owned());
        if write.releases {
            self.leases.remove(&key(owner, session));
        }
        self.written.send_replace(now);
        Ok(Some(revision))
    }
}

impl Session {
    fn latest(&self) -> Option<&StoredSnapshot> {
        let snapshots = || self.rows.iter().map(|row| &row.stored.snapshot);
        let parents: HashSet<&str> = snapshots()
            .filter(|snapshot| snapshot.parent_id.as_ref() != Some(&snapshot.snapshot_id))
            .filter_map(|snapshot| snapshot.parent_id.as_deref())
            .collect();
        let is_leaf = |row: &&Row| !parents.contains(row.stored.snapshot.snapshot_id.as_str());
        let leaves = self.rows.iter().filter(is_leaf);
        // Of equals the last one is taken. A cycle has no leaf: then any may be.
        let newest = leaves.max_by_key(|row| row.stored.snapshot.created_at.as_str());
        newest.or(self.rows.last()).map(|row| &row.stored)
    }

    /// Drops all but the newest, those pending and the ends of branches.
    fn prune(&mut self, most: usize) -> Vec<String> {
        let excess = self.rows.len().saturating_sub(most);
        let snapshots = || self.rows.iter().map(|row| &row.stored.snapshot);
        let parents: HashSet<String> =
            snapshots().filter_map(|row| row.parent_id.clone()).collect();
        let is_gone = |row: &SessionSnapshot| {
            parents.contains(&row.snapshot_id) && row.status != Some(SnapshotStatus::Pending)
        };
        let gone = snapshots().take(excess).filter(|row| is_gone(row));
        let gone: Vec<String> = gone.map(|row| row.snapshot_id.clone()).collect();
        self.rows.retain(|row| !gone.contains(&row.stored.snapshot.snapshot_id));
        gone
    }

    fn summary(&self, session: &str) -> Option<SessionSummary> {
        let latest = &self.latest()?.snapshot;
        let all = || self.rows.iter().map(|row| &row.stored.snapshot);
        let completed = all()
            .filter(|snapshot| snapshot.status == Some(SnapshotStatus::Completed))
            .max_by_key(|snapshot| snapshot.created_at.as_str());
        let state = completed.and_then(|snapshot| snapshot.state.as_ref());
        Some(SessionSummary {
            session: session.to_owned(),
            agent: self.agent.clone(),
            created_at: all().map(|snapshot| &snapshot.created_at).min()?.clone(),
            updated_at: latest.updated_at.as_ref().unwrap_or(&latest.created_at).clone(),
            latest: latest.snapshot_id.clone(),
            status: latest.status,
            finish_reason: latest.finish_reason,
            heartbeat_at: latest.heartbeat_at.clone(),
            snapshots: self.rows.len(),
            messages: state.and_then(|state| state.messages.as_ref()).map_or(0, Vec::len),
            has_artifacts: state
                .and_then(|state| state.artifacts.as_ref())
                .is_some_and(|artifacts| !artifacts.is_empty()),
            metadata: self.metadata.clone(),
        })
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
        Ok(lock(&self.0).row(owner, snapshot).map(|row| row.stored.clone()))
    }

    async fn latest(
        &self,
        owner: &Owner,
        session: &str,
    ) -> Result<Option<StoredSnapshot>, StoreError> {
        let tables = lock(&self.0);
        Ok(tables.sessions.get(&key(owner, session)).and_then(Session::latest).cloned())
    }

    async fn save(
        &self,
        write: SnapshotWrite<'_>,
        update: Update<'_>,
    ) -> Result<Option<u64>, StoreError> {
        lock(&self.0).save(write, update)
    }

    async fn changed(
        &self,
        owner: &Owner,
        snapshot: &str,
        revision: u64,
    ) -> Result<(), StoreError> {
        let mut written = lock(&self.0).written.subscribe();
        while lock(&self.0).revision(owner, snapshot) == revision {
            // The sender lives as long as the store.
            _ = written.changed().await;
        }
        Ok(())
    }

    async fn lease(&self, owner: &Owner, session: &str, term: Term) -> Result<Lease, StoreError> {
        check_id(session)?;
        let mut tables = lock(&self.0);
        let now = Instant::now();
        let held = tables.leases.get(&key(owner, session));
        if !term.by_force && held.is_some_and(|held| held.until > now) {
            return Err(StoreError::Conflict(session.to_owned()));
        }
        if tables.leases.len() >= MAX_LEASES {
            // Whoever had one of them is fenced: too much, but safe.
            tables.leases.retain(|_, held| held.until > now);
        }
        let fence = tables.tick();
        tables.leases.insert(key(owner, session), Held { fence, until: now + term.ttl });
        Ok(Lease { session: session.to_owned(), fence, ttl: term.ttl })
    }

    async fn renew(&self, owner: &Owner, lease: &Lease) -> Result<(), StoreError> {
        let mut tables = lock(&self.0);
        tables.check_fence(owner, lease)?;
        let held = Held { fence: lease.fence, until: Instant::now() + lease.ttl };
        tables.leases.insert(key(owner, &lease.session), held);
        Ok(())
    }

    async fn release(&self, owner: &Owner, lease: Lease) -> Result<(), StoreError> {
        let mut tables = lock(&self.0);
        if tables.check_fence(owner, &lease).is_ok() {
            tables.leases.remove(&key(owner, &lease.session));
        }
        Ok(())
    }

    async fn list(&self, owner: &Owner, query: &SessionQuery) -> Result<SessionPage, StoreError> {
        let before = match &query.after {
            Some(token) => {
                token.parse().map_err(|_| StoreError::Invalid("the continuation token"))?
            }
            None => u64::MAX,
        };
        let tables = lock(&self.0);
        let mut found: Vec<_> = tables
            .sessions
            .iter()
            .filter(|((of, _), session)| of == owner && session.written < before)
            .filter(|(_, session)| query.agent.as_ref().is_none_or(|agent| *agent == session.agent))
            .filter(|(_, session)| {
                let latest = session.latest().map(|stored| &stored.snapshot);
                query.is_active.is_none_or(|wanted| latest.is_some_and(is_active) == wanted)
            })
            .collect();
        found.sort_by_key(|(_, session)| std::cmp::Reverse(session.written));
        let has_more = found.len() > query.limit;
        found.truncate(query.limit);
        let next = found.last().filter(|_| has_more).map(|(_, last)| last.written.to_string());
        let sessions = found.iter().filter_map(|((_, id), session)| session.summary(id)).collect();
        Ok(SessionPage { sessions, next })
    }

    async fn delete(&self, owner: &Owner, session: &str) -> Result<bool, StoreError> {
        let mut tables = lock(&self.0);
        let was_there = tables.remove(owner, session);
        let now = tables.tick();
        tables.written.send_replace(now);
        Ok(was_there)
    }

    async fn tree(&self, owner: &Owner, session: &str) -> Result<Vec<SnapshotNode>, StoreError> {
        let tables = lock(&self.0);
        let rows = tables.sessions.get(&key(owner, session)).map(|session| &session.rows);
        Ok(rows.into_iter().flatten().map(|row| node(&row.stored.snapshot)).collect())
    }

    async fn prune(&self, retention: &Retention) -> Result<Pruned, StoreError> {
        let mut tables = lock(&self.0);
        let mut gone: Vec<Key> = Vec::new();
        if let Some(age) = retention.max_age {
            let is_old = |session: &Session| session.written_at.elapsed() >= age;
            let old = tables.sessions.iter().filter(|(_, session)| is_old(session));
            gone.extend(old.map(|(key, _)| key.clone()));
        }
        if let Some(most) = retention.max_bytes {
            let bytes = |session: &Session| total(session.rows.iter().map(|row| &row.sizes)) as u64;
            let mut all: Vec<_> =
                tables.sessions.iter().filter(|(key, _)| !gone.contains(key)).collect();
            all.sort_by_key(|(_, session)| session.written);
            let mut sum: u64 = all.iter().map(|(_, session)| bytes(session)).sum();
            for (key, session) in all {
                if sum > most {
                    sum -= bytes(session);
                    gone.push(key.clone());
                }
            }
        }
        let mut pruned = Pruned { sessions: gone.len() as u64, snapshots: 0 };
        for (owner, session) in gone {
            tables.remove(&owner, &session);
        }
        let Tables { sessions, snapshots, .. } = &mut *tables;
        for ((owner, _), session) in sessions {
            for id in session.prune(retention.max_snapshots.unwrap_or(usize::MAX)) {
                snapshots.remove(&key(owner, &id));
                pruned.snapshots += 1;
            }
        }
        let now = tables.tick();
        tables.written.send_replace(now);
        Ok(pruned)
    }

    async fn stalled(&self, agent: &str, limit: usize) -> Result<Vec<StalledWork>, StoreError> {
        let tables = lock(&self.0);
        let now = Instant::now();
        let is_free = |key: &Key| tables.leases.get(key).is_none_or(|held| held.until <= now);
        let sessions = tables.sessions.iter().filter(|(_, session)| session.agent == agent);
        let rows = sessions
            .filter(|(key, _)| is_free(key))
            .flat_map(|(key, session)| session.rows.iter().map(move |row| (key, row)));
        let stalled = rows.filter_map(|((owner, session), row)| {
            Some(StalledWork {
                owner: owner.clone(),
                session: session.clone(),
                snapshot: row.stored.snapshot.snapshot_id.clone(),
                work: row.work.clone()?,
            })
        });
        Ok(stalled.take(limit).collect())
    }
}

fn node(snapshot: &SessionSnapshot) -> SnapshotNode {
    let messages = snapshot.state.as_ref().and_then(|state| state.messages.as_ref());
    SnapshotNode {
        snapshot: snapshot.snapshot_id.clone(),
        parent: snapshot.parent_id.clone(),
        created_at: snapshot.created_at.clone(),
        status: snapshot.status,
        finish_reason: snapshot.finish_reason,
        messages: messages.map_or(0, Vec::len),
    }
}

fn check_id(session: &str) -> Result<(), StoreError> {
    if session.trim().is_empty() {
        return Err(StoreError::Invalid("a blank session id"));
    }
    Ok(())
}

fn sizes(snapshot: &SessionSnapshot) -> serde_json::Result<Sizes> {
    let mut own = snapshot.clone();
    let state = own.state.get_or_insert_default();
    let artifacts = state.artifacts.take();
    let whole = json_size(&own)?;
    let messages = own.state.get_or_insert_default().messages.take();
    Ok(Sizes {
        whole,
        own: json_size(&own)?,
        messages: pieces(&messages.unwrap_or_default())?,
        artifacts: pieces(&artifacts.unwrap_or_default())?,
    })
}

fn pieces<T: Serialize>(pieces: &[Arc<T>]) -> serde_json::Result<HashMap<usize, usize>> {
    pieces.iter().map(|piece| Ok((Arc::as_ptr(piece).addr(), json_size(piece)?))).collect()
}

fn total<'a>(rows: impl Iterator<Item = &'a Sizes>) -> usize {
    let mut pieces = HashMap::new();
    let mut own = 0;
    for row in rows {
        own += row.own;
        pieces.extend(row.messages.iter().chain(&row.artifacts));
    }
    own + pieces.values().sum::<usize>()
}

fn key(owner: &Owner, id: &str) -> Key {
    (owner.clone(), id.to_owned())
}

fn is_active(snapshot: &SessionSnapshot) -> bool {
    snapshot.status == Some(SnapshotStatus::Pending)
        || snapshot.finish_reason == Some(AgentFinishReason::Interrupted)
}

impl fmt::Debug for MemorySessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemorySessions").field("sessions", &lock(&self.0).sessions.len()).finish()
    }
}
