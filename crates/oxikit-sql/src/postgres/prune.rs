//! Enforces the retention: removes sessions and snapshots beyond its limits.
//!
//! Any process may prune at any time. A session is removed only if it has the version that was
//! read and its lease is free, which the database checks in the transaction of the removal: a
//! session in use is never removed.

use oxikit_core::ports::{Pruned, Retention, StoreError};
use sqlx::postgres::PgRow;
use sqlx::{Acquire, Row};

use super::PostgresStore;
use super::database::{failure, within};
use super::read::{Found, columns};
use super::watched::Key;
use crate::summary::{Facts, Summary, removable};

/// Maximum number of sessions per query. Further ones are found by the next query.
const BATCH: i64 = 100;

/// Sessions that are too old or too many, and the lease of each.
const DOOMED: &str = "
    SELECT s.number, s.owner, s.id, s.version, l.fence, l.beat, l.ttl_ms
    FROM sessions s
    LEFT JOIN leases l ON l.owner = s.owner AND l.session = s.id AND l.is_held
    WHERE s.number > $1
        AND (s.written_at < now() - make_interval(secs => $2) OR s.written <= $3)
    ORDER BY s.number LIMIT $4";

/// The write number up to which sessions are too many: that of the first one behind the newest
/// `$1`.
const TOO_MANY: &str = "SELECT written FROM sessions ORDER BY written DESC LIMIT 1 OFFSET $1";

/// The write number up to which sessions are too large: that of the newest one that, together
/// with all written after it, has more than `$1` bytes.
const TOO_MUCH: &str = "
    SELECT max(written) FROM (
        SELECT written, sum(bytes) OVER (ORDER BY written DESC) AS total FROM sessions
    ) AS sums WHERE total > $1";

/// Sessions with too many snapshots.
const LONG: &str = "
    SELECT number FROM sessions WHERE snapshots > $1 AND number > $2 ORDER BY number LIMIT $3";

/// Leases that were given back and belong to no session.
const UNUSED: &str = "
    DELETE FROM leases WHERE NOT is_held AND NOT EXISTS (
        SELECT FROM sessions WHERE sessions.owner = leases.owner AND id = leases.session
    )";

/// All snapshots of a session, by its number.
const ROWS: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM snapshots n JOIN sessions s ON s.number = n.session
    WHERE n.session = $1 ORDER BY n.number"
);

impl PostgresStore {
    /// Removes a session, also one that is in use.
    pub(super) async fn drop_session(&self, owner: &str, id: &str) -> Result<bool, StoreError> {
        let delete = sqlx::query("SELECT * FROM drop_session($1, $2, NULL)");
        let rows = self.0.database.all(delete.bind(owner).bind(id)).await?;
        self.publish(&Key::Lease(owner.to_owned(), id.to_owned()));
        self.publish_removal(owner, rows)
    }

    /// Notifies the readers of snapshots of a removed session. Returns whether it existed.
    fn publish_removal(&self, owner: &str, rows: Vec<PgRow>) -> Result<bool, StoreError> {
        let mut was_there = false;
        for row in rows {
            was_there = row.try_get("was_there").map_err(failure)?;
            if let Some(id) = row.try_get("snapshot").map_err(failure)? {
                self.publish(&Key::Snapshot(owner.to_owned(), id));
            }
        }
        Ok(was_there)
    }

    /// Removes everything beyond the limits, and leases that belong to no session. Returns how
    /// much.
    pub(super) async fn drop_what_is_old(
        &self,
        retention: &Retention,
    ) -> Result<Pruned, StoreError> {
        let mut pruned = Pruned { sessions: self.drop_doomed(retention).await?, snapshots: 0 };
        if let Some(keep) = retention.max_snapshots {
            pruned.snapshots += self.shorten(keep).await?;
        }
        self.0.database.execute(sqlx::query(UNUSED)).await?;
        Ok(pruned)
    }

    /// Removes sessions beyond the limits, one per transaction, so that other writes can go
    /// between.
    async fn drop_doomed(&self, retention: &Retention) -> Result<u64, StoreError> {
        let Retention { max_age, max_sessions, max_bytes, .. } = *retention;
        let limit =
            |limit: Option<u64>| limit.map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
        // Both limits give a write number. Sessions up to the larger of the two are removed.
        let mut last = i64::MIN;
        let limits =
            [(TOO_MANY, limit(max_sessions.map(|most| most as u64))), (TOO_MUCH, limit(max_bytes))];
        for (sql, limit) in limits {
            let Some(limit) = limit else { continue };
            let row = self.0.database.optional(sqlx::query(sql).bind(limit)).await?;
            let written = row.map_or(Ok(None), |row| row.try_get::<Option<i64>, _>(0));
            last = last.max(written.map_err(failure)?.unwrap_or(i64::MIN));
        }
        if max_age.is_none() && last == i64::MIN {
            return Ok(0);
        }
        let age = max_age.map(|age| age.as_secs_f64());
        let (mut dropped, mut after) = (0, 0_i64);
        loop {
            let doomed = sqlx::query(DOOMED).bind(after).bind(age).bind(last).bind(BATCH);
            let rows = self.0.database.all(doomed).await?;
            for row in &rows {
                after = row.try_get("number").map_err(failure)?;
                dropped += u64::from(self.drop_row(row).await?);
            }
            if (rows.len() as i64) < BATCH {
                return Ok(dropped);
            }
        }
    }

    /// Removes the session of a row unless it is in use. Returns whether it was removed.
    async fn drop_row(&self, row: &PgRow) -> Result<bool, StoreError> {
        let owner: String = row.try_get("owner").map_err(failure)?;
        let id: String = row.try_get("id").map_err(failure)?;
        let seen: i64 = row.try_get("version").map_err(failure)?;
        let fence: Option<i64> = row.try_get("fence").map_err(failure)?;
        let expired = match fence {
            Some(fence) => {
                let state = (fence, row.try_get("beat").map_err(failure)?);
                let ttl_ms = row.try_get("ttl_ms").map_err(failure)?;
                let is_over = self.0.observed.note(&owner, &id, state, ttl_ms);
                is_over.then_some(fence)
            }
            None => None,
        };
        let prune = sqlx::query("SELECT * FROM prune_session($1, $2, $3, $4)");
        let prune = prune.bind(&owner).bind(&id).bind(seen).bind(expired);
        self.publish_removal(&owner, self.0.database.all(prune).await?)
    }

    /// Removes snapshots of sessions that have more than `keep`.
    async fn shorten(&self, keep: usize) -> Result<u64, StoreError> {
        let (mut dropped, mut last) = (0, 0_i64);
        let many = i64::try_from(keep).unwrap_or(i64::MAX);
        loop {
            let rows = sqlx::query(LONG).bind(many).bind(last).bind(BATCH);
            let rows = self.0.database.all(rows).await?;
            for row in &rows {
                last = row.try_get(0).map_err(failure)?;
                dropped += self.shorten_session(last, keep).await?;
            }
            if (rows.len() as i64) < BATCH {
                return Ok(dropped);
            }
        }
    }

    /// Removes old snapshots of one session, in a transaction that locks its row. The summary is
    /// counted again from the rows that are left; the session keeps its place in lists.
    async fn shorten_session(&self, session: i64, keep: usize) -> Result<u64, StoreError> {
        let mut busy = self.0.database.acquire().await?;
        let deadline = busy.deadline;
        let mut transaction = within(deadline, busy.connection()?.begin()).await?;
        let lock = sqlx::query("SELECT FROM sessions WHERE number = $1 FOR UPDATE").bind(session);
        within(deadline, lock.execute(&mut *transaction)).await?;
        let rows = sqlx::query(ROWS).bind(session).fetch_all(&mut *transaction);
        let rows = within(deadline, rows).await?;
        let rows = rows.iter().map(|row| Ok(Found::new(row)?.facts()));
        let mut rows = rows.collect::<Result<Vec<Facts>, _>>().map_err(failure)?;
        // The row is locked, so no writer can add a child to a snapshot that is removed.
        let gone = removable(&rows, keep);
        if !gone.is_empty() {
            rows.retain(|row| !gone.contains(&row.number));
            let mut summary = Summary::default();
            summary.recount(&rows);
            let drop = sqlx::query("SELECT drop_snapshots($1, $2)").bind(session).bind(&gone);
            within(deadline, drop.execute(&mut *transaction)).await?;
            let update = sqlx::query(
                "UPDATE sessions SET snapshots = $2, orphans = $3, latest = $4, completed = $5,
                    is_active = $6
                 WHERE number = $1",
            );
            let update = update.bind(session).bind(summary.snapshots).bind(summary.orphans);
            let update = update.bind(summary.latest.number);
            let update = update.bind(summary.completed.as_ref().map(|facts| facts.number));
            let update = update.bind(summary.is_active());
            within(deadline, update.execute(&mut *transaction)).await?;
        }
        within(deadline, transaction.commit()).await?;
        busy.done();
        Ok(gone.len() as u64)
    }
}
