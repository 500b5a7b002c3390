//! Webhooks of tasks, and who delivers to them.
//!
//! Whether a webhook has something to deliver depends on the position of its task. A statement
//! that compares the two therefore changes the version of the task: it waits for a step that is
//! being written, and a step that was read before begins again.

use std::time::Duration;

use oxikit_core::ports::{DuePush, MAX_PUSH_TARGETS, PushTarget, StoreError, TaskScope};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::known::scope_text;
use crate::postgres::PostgresStore;
use crate::postgres::database::failure;
use crate::postgres::text::{column, original};
use crate::postgres::watched::Key;
use crate::tasks::{column_number, decode, encode};

/// The longest pause in seconds, about 30 years: PostgreSQL has no later times than a few
/// hundred thousand years.
const MAX_PAUSE: f64 = 1e9;

pub(in crate::postgres) const HAS_DUE: &str = "SELECT EXISTS (
    SELECT FROM task_pushes WHERE is_pending AND claimed_by IS NULL AND due_at <= now())";

const CLAIM: &str = "
    WITH due AS (
        SELECT task, id FROM task_pushes
        WHERE is_pending AND claimed_by IS NULL AND due_at <= now()
        ORDER BY due_at, number LIMIT $2 FOR UPDATE SKIP LOCKED
    ), claimed AS (
        UPDATE task_pushes SET claimed_by = $1 FROM due
        WHERE task_pushes.task = due.task AND task_pushes.id = due.id
        RETURNING task_pushes.*
    )
    SELECT tasks.id, scope, body, delivered, attempts
    FROM claimed JOIN tasks ON tasks.number = claimed.task
    ORDER BY due_at, claimed.number";

/// A webhook that was registered anew since the claim has another position.
const RELEASE: &str = "
    WITH task AS (
        UPDATE tasks SET version = version + 1 WHERE id = $1 RETURNING number, position
    )
    UPDATE task_pushes SET delivered = $5, attempts = $6, claimed_by = NULL,
        due_at = now() + make_interval(secs => $7), is_pending = position > $5
    FROM task
    WHERE task_pushes.task = task.number AND id = $2 AND claimed_by = $3 AND delivered = $4";

impl PostgresStore {
    pub(super) async fn put_target(
        &self,
        scope: &TaskScope,
        id: &str,
        target: &PushTarget,
    ) -> Result<(), StoreError> {
        let put = sqlx::query("SELECT put_task_push($1, $2, $3, $4, $5)");
        let put = put.bind(column(id)).bind(scope_text(scope)).bind(column(&target.id));
        let put = put.bind(encode(id, target)?).bind(MAX_PUSH_TARGETS as i64);
        let row = self.0.database.optional(put).await?;
        let outcome = row.map(|row| row.try_get::<String, _>(0)).transpose().map_err(failure)?;
        match outcome.as_deref() {
            Some("stored") => Ok(()),
            Some("full") => Err(StoreError::Full(id.to_owned(), "the task has too many webhooks")),
            _ => Err(StoreError::NotFound(id.to_owned())),
        }
    }

    pub(super) async fn targets(
        &self,
        scope: &TaskScope,
        id: &str,
    ) -> Result<Vec<PushTarget>, StoreError> {
        let select = sqlx::query(
            "SELECT array(SELECT body FROM task_pushes WHERE task = tasks.number ORDER BY number)
             FROM tasks WHERE id = $1 AND scope = $2",
        );
        let row = self.0.database.optional(select.bind(column(id)).bind(scope_text(scope))).await?;
        let row = row.ok_or_else(|| StoreError::NotFound(id.to_owned()))?;
        let bodies: Vec<String> = row.try_get(0).map_err(failure)?;
        bodies.iter().map(|body| decode(id, body)).collect()
    }

    pub(super) async fn remove_target(
        &self,
        scope: &TaskScope,
        id: &str,
        target: &str,
    ) -> Result<bool, StoreError> {
        let remove = sqlx::query(
            "WITH task AS (SELECT number FROM tasks WHERE id = $1 AND scope = $2), gone AS (
                DELETE FROM task_pushes USING task
                WHERE task_pushes.task = task.number AND id = $3 RETURNING 1
             )
             SELECT EXISTS (SELECT FROM gone) FROM task",
        );
        let remove = remove.bind(column(id)).bind(scope_text(scope)).bind(column(target));
        let row = self.0.database.optional(remove).await?;
        let row = row.ok_or_else(|| StoreError::NotFound(id.to_owned()))?;
        row.try_get(0).map_err(failure)
    }

    pub(super) async fn claim(
        &self,
        runner: &str,
        limit: usize,
    ) -> Result<Vec<DuePush>, StoreError> {
        let claim = sqlx::query(CLAIM).bind(column(runner)).bind(column_number(limit as u64));
        self.0.database.all(claim).await?.iter().map(due_push).collect()
    }

    pub(super) async fn release(
        &self,
        runner: &str,
        push: &DuePush,
        position: u64,
        attempts: u32,
        pause: Duration,
    ) -> Result<(), StoreError> {
        let release = sqlx::query(RELEASE)
            .bind(column(&push.task))
            .bind(column(&push.target.id))
            .bind(column(runner))
            .bind(column_number(push.delivered))
            .bind(column_number(position))
            .bind(i64::from(attempts))
            .bind(pause.as_secs_f64().min(MAX_PAUSE));
        if self.0.database.execute(release).await? > 0 {
            self.publish(&Key::Pushes);
        }
        Ok(())
    }
}

fn due_push(row: &PgRow) -> Result<DuePush, StoreError> {
    let task = original(row.try_get(0).map_err(failure)?);
    let scope: String = row.try_get(1).map_err(failure)?;
    let body: String = row.try_get(2).map_err(failure)?;
    let delivered: i64 = row.try_get(3).map_err(failure)?;
    let attempts: i64 = row.try_get(4).map_err(failure)?;
    Ok(DuePush {
        scope: decode(&task, &scope)?,
        target: decode(&task, &body)?,
        task,
        delivered: delivered.unsigned_abs(),
        attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
    })
}
