//! Enforces the retention: removes one session per transaction, so that other writes can go
//! between.

use std::sync::Arc;

use oxikit_core::ports::{Pruned, Retention};
use rusqlite::{Connection, OptionalExtension, Params};

use super::leases::Leases;
use super::session_row::SessionRow;
use super::{rows, sweep};
use crate::summary;
use oxikit_sqlite::failure::Outcome;
use oxikit_sqlite::now_ms;
use oxikit_sqlite::writer::{Durability, Txn, Writer};
use oxikit_sqlite::{Readers, vacuum};

/// Maximum number of sessions per query. Further ones are found by the next query.
const BATCH: i64 = 500;

/// One run of the pruner, with the parts of the store that it needs.
pub(super) struct Prune {
    pub(super) readers: Arc<Readers>,
    pub(super) writer: Writer,
    pub(super) leases: Arc<Leases>,
}

impl Prune {
    /// Removes everything beyond the limits, and gives free pages back to the file system.
    pub(super) async fn run(&self, retention: &Retention) -> Outcome<Pruned> {
        let mut pruned = Pruned { sessions: self.sessions(retention).await?, snapshots: 0 };
        if let Some(keep) = retention.max_snapshots {
            pruned.snapshots += self.long(keep).await?;
        }
        vacuum(&self.writer).await?;
        Ok(pruned)
    }

    /// Removes sessions beyond the limits, each in a transaction.
    async fn sessions(&self, retention: &Retention) -> Outcome<u64> {
        let Some(limits) = self.limits(retention).await? else { return Ok(0) };
        let sql = "SELECT number, written FROM sessions
             WHERE number > ?1 AND (written_at < ?2 OR written <= ?3) ORDER BY number LIMIT ?4";
        let (mut removed, mut after) = (0, 0);
        loop {
            let found = self.find(sql, (after, limits.0, limits.1, BATCH)).await?;
            let Some((last, _)) = found.last() else { return Ok(removed) };
            after = *last;
            for (number, written) in found {
                removed += u64::from(self.remove(number, written).await?);
            }
        }
    }

    /// The time before which sessions are removed, and the write number up to which they
    /// are; `None` if there is no limit.
    async fn limits(&self, retention: &Retention) -> Outcome<Option<(i64, i64)>> {
        let Retention { max_age, max_sessions, max_bytes, .. } = *retention;
        if max_age.is_none() && max_sessions.is_none() && max_bytes.is_none() {
            return Ok(None);
        }
        // Without a maximum age no session is too old.
        let before = max_age.map_or(i64::MIN, |age| {
            now_ms().saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX))
        });
        let find = move |connection: &Connection| {
            let mut last = i64::MIN;
            if let Some(most) = max_sessions {
                let sql = "SELECT written FROM sessions ORDER BY written DESC LIMIT 1 OFFSET ?1";
                let most = i64::try_from(most).unwrap_or(i64::MAX);
                let found = connection.prepare_cached(sql)?.query_row([most], |row| row.get(0));
                last = last.max(found.optional()?.unwrap_or(i64::MIN));
            }
            if let Some(most) = max_bytes {
                let sql = "SELECT MAX(written) FROM (
                         SELECT written, SUM(bytes) OVER (
                             ORDER BY written DESC ROWS UNBOUNDED PRECEDING
                         ) AS total FROM sessions
                     ) WHERE total > ?1";
                let most = i64::try_from(most).unwrap_or(i64::MAX);
                let found: Option<i64> =
                    connection.prepare_cached(sql)?.query_row([most], |row| row.get(0))?;
                last = last.max(found.unwrap_or(i64::MIN));
            }
            Ok(last)
        };
        Ok(Some((before, self.readers.run(find).await?)))
    }

    /// Removes old snapshots of sessions that have more than `keep`.
    async fn long(&self, keep: usize) -> Outcome<u64> {
        let limit = i64::try_from(keep).unwrap_or(i64::MAX);
        let sql = "SELECT number, snapshots FROM sessions
             WHERE number > ?1 AND snapshots > ?2 ORDER BY number LIMIT ?3";
        let (mut removed, mut after) = (0, 0);
        loop {
            let found = self.find(sql, (after, limit, BATCH)).await?;
            let Some((last, _)) = found.last() else { return Ok(removed) };
            after = *last;
            for (number, _) in found {
                let shorten = move |txn: &Txn<'_>| shorten(txn, number, keep);
                removed += self.writer.run(Durability::Synced, shorten).await?;
            }
        }
    }

    /// The rows that a query finds: two numbers each.
    async fn find(
        &self,
        sql: &'static str,
        values: impl Params + Send + 'static,
    ) -> Outcome<Vec<(i64, i64)>> {
        let find = move |connection: &Connection| {
            let mut select = connection.prepare_cached(sql)?;
            let found = select.query_map(values, |row| Ok((row.get(0)?, row.get(1)?)));
            Ok(found?.collect::<Result<_, _>>()?)
        };
        self.readers.run(find).await
    }

    /// Removes the session, unless it was written since or its lease is held.
    async fn remove(&self, number: i64, written: i64) -> Outcome<bool> {
        let leases = self.leases.clone();
        let remove = move |txn: &Txn<'_>| {
            // Checked again in the transaction: since the query another process may have written
            // the session or taken its lease. Pending work keeps a session, too.
            let sql = "SELECT owner, session FROM sessions WHERE number = ?1 AND written = ?2
                 AND NOT EXISTS (SELECT 1 FROM snapshots WHERE session = ?1 AND work IS NOT NULL)";
            let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            let found: Option<(String, String)> =
                txn.sql(sql)?.query_row((number, written), read).optional()?;
            match found {
                Some((owner, session)) if leases.is_free(txn, &owner, &session)? => {
                    sweep::delete(txn, &owner, &session)
                }
                _ => Ok(false),
            }
        };
        self.writer.run(Durability::Synced, remove).await
    }
}

/// Removes old snapshots of a session, with the messages and documents that only they use.
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
        txn.publish(rows::snapshot_topic(&gone.id));
    }
    session.bytes = sweep::sweep(txn, number)?;
    session.garbage = 0;
    session.summary.recount(&rows::facts(txn.connection(), number)?);
    // The session keeps its place in lists.
    session.write(txn)?;
    Ok(removable.len() as u64)
}
