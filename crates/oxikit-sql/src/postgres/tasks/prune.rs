//! Removes tasks that need not be kept.

use oxikit_core::ports::{StoreError, TaskRetention};
use sqlx::Row;

use super::task_key;
use crate::postgres::PostgresStore;
use crate::postgres::database::{Statement, failure};
use crate::postgres::text::original;

/// Ended tasks that were not written for this many seconds. A few at a time, so that a
/// statement ends in time.
const ENDED: &str = "
    DELETE FROM tasks WHERE phase = 2 AND number IN (
        SELECT number FROM tasks
        WHERE phase = 2 AND written_at <= now() - make_interval(secs => $1) AND NOT EXISTS (
            SELECT FROM task_pushes WHERE task = tasks.number AND is_pending
        )
        LIMIT 100 FOR UPDATE SKIP LOCKED
    ) RETURNING id";

/// Tasks that have waited for their client for this many seconds.
const WAITING: &str = "
    DELETE FROM tasks WHERE phase = 1 AND number IN (
        SELECT number FROM tasks
        WHERE phase = 1 AND written_at <= now() - make_interval(secs => $1) AND NOT EXISTS (
            SELECT FROM task_pushes WHERE task = tasks.number AND is_pending
        )
        LIMIT 100 FOR UPDATE SKIP LOCKED
    ) RETURNING id";

/// Of more than this many ended tasks, those that ended first.
const EXCESS: &str = "
    DELETE FROM tasks WHERE number IN (
        SELECT number FROM tasks
        WHERE phase = 2 AND NOT EXISTS (
            SELECT FROM task_pushes WHERE task = tasks.number AND is_pending
        )
        ORDER BY changed
        LIMIT least(100, greatest(0, (SELECT count(*) FROM tasks WHERE phase = 2) - $1))
        FOR UPDATE SKIP LOCKED
    ) RETURNING id";

/// The longest age in seconds, about 3000 years.
const MAX_AGE: f64 = 1e11;

impl PostgresStore {
    pub(super) async fn prune_tasks(&self, retention: &TaskRetention) -> Result<u64, StoreError> {
        let mut pruned = 0;
        for (sql, age) in [(ENDED, retention.ended), (WAITING, retention.waiting)] {
            if let Some(age) = age {
                let age = age.as_secs_f64().min(MAX_AGE);
                pruned += self.remove_tasks(|| sqlx::query(sql).bind(age)).await?;
            }
        }
        if let Some(max) = retention.max_ended {
            let max = i64::try_from(max).unwrap_or(i64::MAX);
            pruned += self.remove_tasks(|| sqlx::query(EXCESS).bind(max)).await?;
        }
        Ok(pruned)
    }

    /// Repeats a statement until it removes nothing more.
    async fn remove_tasks(
        &self,
        statement: impl Fn() -> Statement<'static>,
    ) -> Result<u64, StoreError> {
        let mut removed = 0;
        loop {
            let rows = self.0.database.all(statement()).await?;
            if rows.is_empty() {
                return Ok(removed);
            }
            removed += rows.len() as u64;
            for row in rows {
                let id: String = row.try_get(0).map_err(failure)?;
                self.publish(&task_key(&original(id)));
            }
        }
    }
}
