//! Removing what need not be kept any longer: a session a transaction, so that
//! others get their turn between.

use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::{Pruned, Retention};
use rusqlite::{Connection, OptionalExtension};

use super::failure::Outcome;
use super::leases::Leases;
use super::readers::Readers;
use super::session_row::{SessionRow, now_ms};
use super::writer::{Promise, Txn, Writer};
use super::{rows, sweep};
use crate::summary;

/// So many sessions are looked for at once.
const BATCH: i64 = 500;
/// So many pages are given back to the system in one transaction.
const VACUUM: &str = "PRAGMA incremental_vacuum(256)";

pub(super) struct Prune {
    pub(super) readers: Arc<Readers>,
    pub(super) writer: Writer,
    pub(super) leases: Arc<Leases>,
}

impl Prune {
    pub(super) async fn run(&self, retention: &Retention) -> Outcome<Pruned> {
        let mut pruned = Pruned::default();
        if let Some(max_age) = retention.max_age {
            pruned.sessions += self.old(max_age).await?;
        }
        if let Some(max_bytes) = retention.max_bytes {
            pruned.sessions += self.large(max_bytes).await?;
        }
        if let Some(keep) = retention.max_snapshots {
            pruned.snapshots += self.long(keep).await?;
        }
        vacuum(&self.writer).await?;
        Ok(pruned)
    }

    async fn old(&self, max_age: Duration) -> Outcome<u64> {
        let age = i64::try_from(max_age.as_millis()).unwrap_or(i64::MAX);
        let limit = now_ms().saturating_sub(age);
        let sql = "SELECT number, written_at FROM sessions
             WHERE number > ?1 AND written_at < ?2 ORDER BY number LIMIT ?3";
        let (mut removed, mut after) = (0, 0);
        loop {
            let found = self.find(sql, after, limit).await?;
            let Some((last, _)) = found.last() else { return Ok(removed) };
            after = *last;
            for (number, _) in found {
                removed += u64::from(self.remove(number, limit).await?);
            }
        }
    }

    /// Those written longest ago go until the rest is small enough.
    async fn large(&self, max_bytes: u64) -> Outcome<u64> {
        let max_bytes = i64::try_from(max_bytes).unwrap_or(i64::MAX);
        let oldest = move |connection: &Connection| {
            let sql = "SELECT COALESCE(SUM(bytes), 0) FROM sessions";
            let total: i64 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
            let mut excess = total - max_bytes;
            let mut oldest = Vec::new();
            let sql = "SELECT number, bytes, written_at FROM sessions ORDER BY written";
            let mut select = connection.prepare_cached(sql)?;
            let mut rows = select.query([])?;
            while let Some(row) = rows.next()?.filter(|_| excess > 0) {
                excess -= row.get::<_, i64>(1)?;
                oldest.push((row.get(0)?, row.get(2)?));
            }
            Ok(oldest)
        };
        let mut removed = 0;
        for (number, written_at) in self.readers.run(oldest).await? {
            // Written since, it is not one of the oldest any more.
            removed += u64::from(self.remove(number, i64::saturating_add(written_at, 1)).await?);
        }
        Ok(removed)
    }

    async fn long(&self, keep: usize) -> Outcome<u64> {
        let limit = i64::try_from(keep).unwrap_or(i64::MAX);
        let sql = "SELECT number, snapshots FROM sessions
             WHERE number > ?1 AND snapshots > ?2 ORDER BY number LIMIT ?3";
        let (mut removed, mut after) = (0, 0);
        loop {
            let found = self.find(sql, after, limit).await?;
            let Some((last, _)) = found.last() else { return Ok(removed) };
            after = *last;
            for (number, _) in found {
                let shorten = move |txn: &Txn<'_>| shorten(txn, number, keep);
                removed += self.writer.run(Promise::Durable, shorten).await?;
            }
        }
    }

    async fn find(&self, sql: &'static str, after: i64, limit: i64) -> Outcome<Vec<(i64, i64)>> {
        let find = move |connection: &Connection| {
            let mut select = connection.prepare_cached(sql)?;
            let found =
                select.query_map((after, limit, BATCH), |row| Ok((row.get(0)?, row.get(1)?)));
            Ok(found?.collect::<Result<_, _>>()?)
        };
        self.readers.run(find).await
    }

    /// Removes the session if it was not written since, and nobody is at work on it.
    async fn remove(&self, number: i64, before: i64) -> Outcome<bool> {
        let leases = self.leases.clone();
        let remove = move |txn: &Txn<'_>| {
            let sql = "SELECT owner, session FROM sessions WHERE number = ?1 AND written_at < ?2";
            let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            let found: Option<(String, String)> =
                txn.sql(sql)?.query_row((number, before), read).optional()?;
            match found {
                Some((owner, session)) if leases.is_free(txn, &owner, &session)? => {
                    sweep::delete(txn, &owner, &session)
                }
                _ => Ok(false),
            }
        };
        self.writer.run(Promise::Durable, remove).await
    }
}

/// Gives the room of what was removed back to the system, a little at a time.
pub(super) async fn vacuum(writer: &Writer) -> Outcome<()> {
    let vacuum = |txn: &Txn<'_>| {
        let connection = txn.connection();
        let mut vacuum = connection.prepare(VACUUM)?;
        let mut rows = vacuum.query([])?;
        while rows.next()?.is_some() {}
        Ok(connection.pragma_query_value(None, "freelist_count", |row| row.get::<_, i64>(0))?)
    };
    let mut left = i64::MAX;
    loop {
        let now = writer.run(Promise::UntilPowerCut, vacuum).await?;
        if now == 0 || now >= left {
            return Ok(());
        }
        left = now;
    }
}

/// Removes old snapshots of a session, and what only they have led to.
fn shorten(txn: &Txn<'_>, number: i64, keep: usize) -> Outcome<u64> {
    let Some(mut session) = SessionRow::find_number(txn.connection(), number)? else {
        return Ok(0);
    };
    let snapshots = rows::facts(txn.connection(), number)?;
    let removable = summary::removable(&snapshots, keep);
    if removable.is_empty() {
        return Ok(0);
    }
    for gone in snapshots.iter().filter(|row| removable.contains(&row.number)) {
        txn.sql("DELETE FROM snapshots WHERE session = ?1 AND number = ?2")?
            .execute((number, gone.number))?;
        txn.ring(&gone.id);
    }
    session.bytes = sweep::sweep(txn, number)?;
    session.garbage = 0;
    session.summary.recount(&rows::facts(txn.connection(), number)?);
    // It keeps its place in lists.
    session.write(txn)?;
    Ok(removable.len() as u64)
}
