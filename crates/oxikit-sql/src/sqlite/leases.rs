//! The right to write a session.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use oxikit_core::ports::Term;
use rusqlite::{Connection, OptionalExtension, Row};

use super::failure::{Failure, Outcome};
use super::instance::Instance;
use super::writer::{Promise, Txn, Writer};

/// From so many on, those that were seen are forgotten; whoever waits for one of
/// them begins to count again.
const MAX_SEEN: usize = 10_000;

/// Leases as this store sees them.
#[derive(Debug)]
pub(super) struct Leases {
    instance: Instance,
    seen: Mutex<HashMap<(String, String), Seen>>,
}

/// When a lease was first seen as it is.
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
    holder: String,
    ttl: Duration,
}

impl Held {
    /// Of the columns `fence`, `beat`, `holder`, `ttl_ms` from this one on.
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
    pub(super) fn new(instance: Instance) -> Self {
        Self { instance, seen: Mutex::default() }
    }

    /// Takes the lease and answers its number.
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
        let fence = txn.next()?;
        let ttl = i64::try_from(term.ttl.as_millis()).unwrap_or(i64::MAX);
        txn.sql(
            "INSERT INTO leases (owner, session, fence, beat, holder, ttl_ms)
             VALUES (?1, ?2, ?3, 0, ?4, ?5)
             ON CONFLICT DO UPDATE SET fence = ?3, beat = 0, holder = ?4, ttl_ms = ?5",
        )?
        .execute((owner, session, fence, self.instance.id(), ttl))?;
        self.see(owner, session, fence, 0);
        txn.ring(&bell_of(owner, session));
        Ok(fence)
    }

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

    /// Whether nobody has the session's lease.
    pub(super) fn is_free(&self, txn: &Txn<'_>, owner: &str, session: &str) -> Outcome<bool> {
        let held = held(txn.connection(), owner, session)?;
        Ok(held.is_none_or(|held| self.is_over(owner, session, &held)))
    }

    /// Whether the holder is gone, or has not renewed it for its time, as measured
    /// here.
    pub(super) fn is_over(&self, owner: &str, session: &str, held: &Held) -> bool {
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

    /// A lease that was given back need not be watched.
    pub(super) fn forget(&self, owner: &str, session: &str) {
        self.lock().remove(&(owner.to_owned(), session.to_owned()));
    }

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

/// The id that is rung when another writer gets the lease. No snapshot has one with this
/// character.
pub(super) fn bell_of(owner: &str, session: &str) -> String {
    format!("lease\0{owner}\0{session}")
}

fn held(connection: &Connection, owner: &str, session: &str) -> Outcome<Option<Held>> {
    let sql = "SELECT fence, beat, holder, ttl_ms FROM leases WHERE owner = ?1 AND session = ?2";
    let mut select = connection.prepare_cached(sql)?;
    Ok(select.query_row((owner, session), |row| Held::read(row, 0)).optional()?)
}

/// An attempt to take a lease. If its caller leaves before it is answered, the lease is
/// given back as soon as the writer comes to it: nobody would know of it.
pub(super) struct Attempted<'a> {
    writer: &'a Writer,
    owner: String,
    session: String,
    /// 0 until it is taken.
    pub(super) fence: Arc<AtomicI64>,
    pub(super) is_answered: bool,
}

impl<'a> Attempted<'a> {
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
        // It comes after the attempt, whose number it reads.
        let give_back = move |txn: &Txn<'_>| release(txn, &owner, &session, fence.load(Relaxed));
        self.writer.leave(Promise::UntilPowerCut, give_back);
    }
}

/// Fails unless the lease is still the session's.
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

/// Gives the lease with this number back.
pub(super) fn release(txn: &Txn<'_>, owner: &str, session: &str, fence: i64) -> Outcome<()> {
    txn.sql("DELETE FROM leases WHERE owner = ?1 AND session = ?2 AND fence = ?3")?
        .execute((owner, session, fence))?;
    Ok(())
}
