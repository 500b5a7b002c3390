//! What need not be kept any longer.

use std::time::Duration;

use oxikit_core::ports::{Pruned, Retention, StoreError};
use sqlx::postgres::PgRow;
use sqlx::{Acquire, Row};

use super::PostgresStore;
use super::bell::Key;
use super::database::{failure, within};
use super::read::{Found, columns};
use super::text::column;
use crate::summary::{Facts, Summary, removable};

/// So many sessions are looked for with one query.
const BATCH: i64 = 100;

const OLD: &str = "
    SELECT owner, id, version, bytes FROM sessions
    WHERE written_at < now() - make_interval(secs => $1) ORDER BY written_at LIMIT $2";

const OLDEST: &str = "
    SELECT owner, id, version, bytes FROM sessions ORDER BY written LIMIT $1";

const LONG: &str = "
    SELECT number FROM sessions WHERE snapshots > $1 AND number > $2 ORDER BY number LIMIT $3";

/// Leases that were given back and belong to no session.
const UNUSED: &str = "
    DELETE FROM leases WHERE NOT is_held AND NOT EXISTS (
        SELECT FROM sessions WHERE sessions.owner = leases.owner AND id = leases.session
    )";

const ROWS: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM snapshots n JOIN sessions s ON s.number = n.session
    WHERE n.session = $1 ORDER BY n.number"
);

impl PostgresStore {
    /// Removes a session, if it has not changed since it was `seen`.
    pub(super) async fn drop_session(
        &self,
        owner: &str,
        id: &str,
        seen: Option<i64>,
    ) -> Result<bool, StoreError> {
        let delete = sqlx::query("SELECT * FROM drop_session($1, $2, $3)");
        let rows = self.0.database.all(delete.bind(owner).bind(id).bind(seen)).await?;
        let mut was_there = false;
        for row in rows {
            was_there = row.try_get("was_there").map_err(failure)?;
            if let Some(id) = row.try_get("snapshot").map_err(failure)? {
                self.0.bell.ring(Key::Snapshot(owner.to_owned(), id).topic());
            }
        }
        Ok(was_there)
    }

    pub(super) async fn drop_what_is_old(
        &self,
        retention: &Retention,
    ) -> Result<Pruned, StoreError> {
        let mut pruned = Pruned::default();
        if let Some(age) = retention.max_age {
            pruned.sessions += self.drop_older(age).await?;
        }
        if let Some(bytes) = retention.max_bytes {
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
            pruned.sessions += self.make_room(bytes).await?;
        }
        if let Some(keep) = retention.max_snapshots {
            pruned.snapshots += self.shorten(keep).await?;
        }
        self.0.database.execute(sqlx::query(UNUSED)).await?;
        Ok(pruned)
    }

    /// Removes sessions that have not been written for so long.
    async fn drop_older(&self, age: Duration) -> Result<u64, StoreError> {
        let mut dropped = 0;
        loop {
            let old = sqlx::query(OLD).bind(age.as_secs_f64()).bind(BATCH);
            let rows = self.0.database.all(old).await?;
            for row in &rows {
                dropped += u64::from(self.drop_row(row).await?.is_some());
            }
            if (rows.len() as i64) < BATCH {
                return Ok(dropped);
            }
        }
    }

    /// Removes the sessions written longest ago, until the others have at most so
    /// many bytes.
    async fn make_room(&self, bytes: i64) -> Result<u64, StoreError> {
        let total = sqlx::query("SELECT coalesce(sum(bytes), 0)::bigint FROM sessions");
        let total = self.0.database.optional(total).await?;
        let total = total.map_or(Ok(0), |row| row.try_get::<i64, _>(0)).map_err(failure)?;
        let (mut excess, mut dropped) = (total - bytes, 0);
        while excess > 0 {
            let rows = self.0.database.all(sqlx::query(OLDEST).bind(BATCH)).await?;
            if rows.is_empty() {
                break;
            }
            for row in &rows {
                if excess <= 0 {
                    break;
                }
                if let Some(bytes) = self.drop_row(row).await? {
                    excess -= bytes;
                    dropped += 1;
                }
            }
        }
        Ok(dropped)
    }

    /// Removes the session of a row; answers its bytes if it is gone.
    async fn drop_row(&self, row: &PgRow) -> Result<Option<i64>, StoreError> {
        let owner: String = row.try_get("owner").map_err(failure)?;
        let id: String = row.try_get("id").map_err(failure)?;
        let seen = row.try_get("version").map_err(failure)?;
        let is_gone = self.drop_session(&owner, &id, Some(seen)).await?;
        Ok(is_gone.then_some(row.try_get("bytes").map_err(failure)?))
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
        let gone = removable(&rows, keep);
        if !gone.is_empty() {
            rows.retain(|row| !gone.contains(&row.number));
            let mut summary = Summary::default();
            summary.recount(&rows);
            let drop = sqlx::query("SELECT drop_snapshots($1, $2)").bind(session).bind(&gone);
            within(deadline, drop.execute(&mut *transaction)).await?;
            let update = sqlx::query(
                "UPDATE sessions SET snapshots = $2, orphans = $3, latest = $4, completed = $5,
                    created_at = $6
                 WHERE number = $1",
            );
            let update = update.bind(session).bind(summary.snapshots).bind(summary.orphans);
            let update = update.bind(summary.latest.number);
            let update = update.bind(summary.completed.as_ref().map(|facts| facts.number));
            let update = update.bind(column(&summary.created_at));
            within(deadline, update.execute(&mut *transaction)).await?;
        }
        within(deadline, transaction.commit()).await?;
        busy.done();
        Ok(gone.len() as u64)
    }
}
