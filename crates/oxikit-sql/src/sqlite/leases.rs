//! Leases: the exclusive right to write a session.
//!
//! A lease has a *fence*, a number that grows with every lease of the file, and a *beat*, which
//! its holder increments to renew it. Every write checks the fence in its own transaction, so a
//! holder that lost its lease without noticing cannot write ([`Failure::Fenced`]).
//!
//! A lease is free if it was released, if the process of its holder has ended (see
//! [`instance`](super::instance)), or if its beat did not change for its time to live. That
//! time is measured by the waiting store with its own monotonic clock, from the moment when it
//! first saw the beat: clocks of processes are never compared.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use oxikit_core::ports::{Term, Topic};
use rusqlite::{Connection, OptionalExtension, Row};

use super::instance::Instance;
use oxikit_sqlite::failure::{Failure, Outcome};
use oxikit_sqlite::writer::{Durability, Txn, Writer};

/// Maximum number of observed leases. Beyond it all observations are dropped, and the time to
/// live of each is measured from the beginning.
const MAX_SEEN: usize = 10_000;

/// The leases of a file, as observed by this store.
#[derive(Debug)]
pub(super) struct Leases {
    instance: Instance,
    seen: Mutex<HashMap<(String, String), Seen>>,
}

/// The time since when a lease has had this fence and beat.
#[derive(Debug)]
struct Seen {
    fence: i64,
    beat: i64,
    since: Instant,
}

/// A lease as it is stored.
#[derive(Debug)]
pub(super) struct Held {
    fence: i64,
    beat: i64,
    /// The id of the store that holds it.
    holder: String,
    /// Time without a new beat after which it has expired.
    ttl: Duration,
}

impl Held {
    /// Reads the columns `fence`, `beat`, `holder`, `ttl_ms`, beginning with `first`.
    pub(super) fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        let ttl: i64 = row.get(first + 3)?;
        Ok(Self {
            fence: row.get(first)?,
            beat: row.get(first + 1)?,
            holder: row.get(first + 2)?,
            ttl: Duration::from_millis(ttl.unsigned_abs()),
        })
    }
}

impl Leases {
    /// No lease is observed yet.
    pub(super) fn new(instance: Instance) -> Self {
        Self { instance, seen: Mutex::default() }
    }

    /// Takes the lease and returns its fence. Fails with [`Failure::Conflict`] if it is held,
    /// unless the term says that it is taken by force.
    pub(super) fn take(
        &self,
        txn: &Txn<'_>,
        owner: &str,
        session: &str,
        term: Term,
    ) -> Outcome<i64> {
        if !term.by_force && !self.is_free(txn, owner, session)? {
            return Err(Failure::Conflict);
        }
        // The clock of the file only grows, also after a release: a fence is never used twice.
        let fence = txn.next()?;
        let ttl = i64::try_from(term.ttl.as_millis()).unwrap_or(i64::MAX);
        txn.sql(
            "INSERT INTO leases (owner, session, fence, beat, holder, ttl_ms)
             VALUES (?1, ?2, ?3, 0, ?4, ?5)
             ON CONFLICT DO UPDATE SET fence = ?3, beat = 0, holder = ?4, ttl_ms = ?5",
        )?
        .execute((owner, session, fence, self.instance.id(), ttl))?;
        self.see(owner, session, fence, 0);
        txn.publish(lease_topic(owner, session));
        Ok(fence)
    }

    /// Increments the beat. Fails with [`Failure::Fenced`] if another writer has the lease.
    pub(super) fn renew(
        &self,
        txn: &Txn<'_>,
        owner: &str,
        session: &str,
        fence: i64,
    ) -> Outcome<()> {
        let mut renew = txn.sql(
            "UPDATE leases SET beat = beat + 1 WHERE owner = ?1 AND session = ?2 AND fence = ?3
             RETURNING beat",
        )?;
        let beat = renew.query_row((owner, session, fence), |row| row.get(0)).optional()?;
        self.see(owner, session, fence, beat.ok_or(Failure::Fenced)?);
        Ok(())
    }

    /// Whether the session's lease can be taken.
    pub(super) fn is_free(&self, txn: &Txn<'_>, owner: &str, session: &str) -> Outcome<bool> {
        let held = held(txn.connection(), owner, session)?;
        Ok(held.is_none_or(|held| self.is_over(owner, session, &held)))
    }

    /// Whether the holder has ended, or did not renew the lease for its time to live as
    /// measured here. The first call for a beat only begins the measurement.
    pub(super) fn is_over(&self, owner: &str, session: &str, held: &Held) -> bool {
        // Without this check a restarted process would wait for its own lease of before the
        // crash.
        if self.instance.is_gone(&held.holder) {
            return true;
        }
        let key = (owner.to_owned(), session.to_owned());
        match self.lock().get(&key) {
            Some(seen) if seen.fence == held.fence && seen.beat == held.beat => {
                return seen.since.elapsed() >= held.ttl;
            }
            _ => {}
        }
        self.see(owner, session, held.fence, held.beat);
        false
    }

    /// Drops the observation of a lease that was released.
    pub(super) fn forget(&self, owner: &str, session: &str) {
        self.lock().remove(&(owner.to_owned(), session.to_owned()));
    }

    /// Begins to measure how long the lease has this fence and beat.
    fn see(&self, owner: &str, session: &str, fence: i64, beat: i64) {
        let mut seen = self.lock();
        if seen.len() >= MAX_SEEN {
            seen.clear();
        }
        let since = Instant::now();
        seen.insert((owner.to_owned(), session.to_owned()), Seen { fence, beat, since });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, String), Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The topic that is published when another writer gets the lease, or the session is deleted.
pub(super) fn lease_topic(owner: &str, session: &str) -> Topic {
    Topic::of(&["lease", owner, session])
}

/// The stored lease of a session; `None` if it was released.
fn held(connection: &Connection, owner: &str, session: &str) -> Outcome<Option<Held>> {
    let sql = "SELECT fence, beat, holder, ttl_ms FROM leases WHERE owner = ?1 AND session = ?2";
    let mut select = connection.prepare_cached(sql)?;
    Ok(select.query_row((owner, session), |row| Held::read(row, 0)).optional()?)
}

/// An attempt to take a lease. If its caller is cancelled before the answer, the drop queues
/// a release: otherwise the lease would be held, and no caller would know of it.
pub(super) struct Attempted<'a> {
    writer: &'a Writer,
    owner: String,
    session: String,
    /// The fence; 0 until the lease is taken.
    pub(super) fence: Arc<AtomicI64>,
    /// Whether the caller knows if it has the lease.
    pub(super) is_answered: bool,
}

impl<'a> Attempted<'a> {
    /// An attempt that was not answered yet.
    pub(super) fn new(writer: &'a Writer, owner: String, session: &str) -> Self {
        let (session, fence) = (session.to_owned(), Arc::default());
        Self { writer, owner, session, fence, is_answered: false }
    }
}

impl Drop for Attempted<'_> {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        let (owner, session) = (std::mem::take(&mut self.owner), std::mem::take(&mut self.session));
        let fence = self.fence.clone();
        // The queue keeps the order: the attempt is executed before, and has set the fence.
        let release_it = move |txn: &Txn<'_>| release(txn, &owner, &session, fence.load(Relaxed));
        self.writer.enqueue(Durability::Unsynced, release_it);
    }
}

/// Fails with [`Failure::Fenced`] unless this is the current lease of the session.
pub(super) fn check(
    connection: &Connection,
    owner: &str,
    session: &str,
    fence: i64,
) -> Outcome<()> {
    match held(connection, owner, session)? {
        Some(held) if held.fence == fence => Ok(()),
        _ => Err(Failure::Fenced),
    }
}

/// Releases the lease with this fence, if it is still the current one.
pub(super) fn release(txn: &Txn<'_>, owner: &str, session: &str, fence: i64) -> Outcome<()> {
    txn.sql("DELETE FROM leases WHERE owner = ?1 AND session = ?2 AND fence = ?3")?
        .execute((owner, session, fence))?;
    Ok(())
}
