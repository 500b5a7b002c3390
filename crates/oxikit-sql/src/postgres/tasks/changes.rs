//! Steps of a task: a new one, and the events that follow.

use oxikit_core::ports::task_progress::TaskProgress;
use oxikit_core::ports::{NewTask, StoreError, TaskScope};
use sqlx::Row;
use sqlx::postgres::PgRow;

use super::task_key;
use crate::known::scope_text;
use crate::postgres::PostgresStore;
use crate::postgres::database::failure;
use crate::postgres::text::{column, original};
use crate::postgres::watched::Key;
use crate::tasks::{
    Change, column_number, decode, encode, encode_all, phase, state_number, state_of, status_time,
    total_bytes,
};

/// One statement is one transaction: the task gets its events and its webhook, or is not made.
const CREATE: &str = "
    WITH task AS (
        INSERT INTO tasks (id, scope, context, metadata, state, phase, status_at, position, bytes,
            turns, turn, runner, changed, changed_at, written_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1, 1, $10, nextval('writes'), $11, now())
        ON CONFLICT (id) DO NOTHING
        RETURNING number
    ), pushes AS (
        INSERT INTO task_pushes (task, id, body, delivered, is_pending)
        SELECT task.number, $13, $14, 0, true FROM task WHERE $13::text IS NOT NULL
    )
    INSERT INTO task_events (task, sequence, turn, body)
    SELECT task.number, entry.ordinal, 1, entry.body
    FROM task, unnest($12::text[]) WITH ORDINALITY AS entry (body, ordinal)";

/// Answers a row with the number of webhooks that have something new, or no row if the task has
/// changed since it was read.
const CHANGE: &str = "
    WITH task AS (
        UPDATE tasks SET version = version + 1, state = $3, phase = $4, status_at = $5,
            position = $6, bytes = $7, turns = $8, turn = $9, runner = $10, last_write = $11,
            changed = CASE WHEN $12::bigint IS NULL THEN changed ELSE nextval('writes') END,
            changed_at = coalesce($12, changed_at), written_at = now()
        WHERE number = $1 AND version = $2
        RETURNING number
    ), events AS (
        INSERT INTO task_events (task, sequence, turn, body)
        SELECT task.number, $13 + entry.ordinal, $14, entry.body
        FROM task, unnest($15::text[]) WITH ORDINALITY AS entry (body, ordinal)
    ), pushes AS (
        UPDATE task_pushes SET is_pending = true FROM task
        WHERE task_pushes.task = task.number AND NOT is_pending AND $6 > $13
        RETURNING 1
    )
    SELECT (SELECT count(*) FROM pushes) FROM task";

/// A task's row, as a step needs it.
struct TaskRow {
    number: i64,
    version: i64,
    progress: TaskProgress,
}

impl PostgresStore {
    pub(super) async fn create_task(&self, task: NewTask) -> Result<u64, StoreError> {
        let NewTask { scope, id, context_id, metadata, runner, entries, push } = task;
        let texts = encode_all(&id, &entries)?;
        let max_bytes = self.0.options.max_task_bytes as u64;
        let progress = TaskProgress::begin(runner, &entries, total_bytes(&texts), max_bytes)
            .map_err(|refusal| refusal.about(&id))?;
        let metadata = metadata.map(|metadata| encode(&id, &metadata)).transpose()?;
        let target = push.as_ref().map(|push| encode(&id, push)).transpose()?;
        let create = sqlx::query(CREATE)
            .bind(column(&id))
            .bind(scope_text(&scope))
            .bind(column(&context_id))
            .bind(metadata)
            .bind(state_number(progress.state))
            .bind(phase(&progress))
            .bind(column_number(progress.status_at))
            .bind(column_number(progress.position))
            .bind(column_number(progress.bytes))
            .bind(progress.runner.as_deref().map(column))
            .bind(status_time(&entries).unwrap_or_default())
            .bind(&texts)
            .bind(push.as_ref().map(|push| column(&push.id)))
            .bind(target);
        if self.0.database.execute(create).await? == 0 {
            return Err(StoreError::Exists(id));
        }
        self.publish(&task_key(&id));
        if push.is_some() {
            self.publish(&Key::Pushes);
        }
        Ok(progress.position)
    }

    /// Makes a step of a task; of a task in this scope if a client makes it.
    pub(super) async fn change_task<A>(
        &self,
        id: &str,
        scope: Option<&TaskScope>,
        change: Change<A>,
    ) -> Result<A, StoreError> {
        let scope = scope.map(scope_text);
        loop {
            let row = self.task_row(id, scope.as_deref()).await?;
            let mut progress = row.progress.clone();
            let applied = change.apply(&mut progress, self.0.options.max_task_bytes);
            let applied = applied.map_err(|refusal| refusal.about(id))?;
            if !applied.is_new {
                return Ok(applied.answer);
            }
            let written = self.write_step(id, &row, &progress, &change, applied.turn).await?;
            if written {
                return Ok(applied.answer);
            }
            // Another step was faster. It has changed the task, so that this ends: each round
            // is one in which somebody has made progress.
        }
    }

    /// Writes a step; says whether the task was still as it was read.
    async fn write_step<A>(
        &self,
        id: &str,
        row: &TaskRow,
        progress: &TaskProgress,
        change: &Change<A>,
        turn: u64,
    ) -> Result<bool, StoreError> {
        let last_write = progress.last_write.as_ref();
        let last_write = last_write.map(|write| encode(id, write)).transpose()?;
        let write = sqlx::query(CHANGE)
            .bind(row.number)
            .bind(row.version)
            .bind(state_number(progress.state))
            .bind(phase(progress))
            .bind(column_number(progress.status_at))
            .bind(column_number(progress.position))
            .bind(column_number(progress.bytes))
            .bind(column_number(progress.turns))
            .bind(column_number(progress.turn))
            .bind(progress.runner.as_deref().map(column))
            .bind(last_write)
            .bind(change.changed_at)
            .bind(column_number(row.progress.position))
            .bind(column_number(turn))
            .bind(&change.texts);
        let Some(written) = self.0.database.optional(write).await? else { return Ok(false) };
        self.publish(&task_key(id));
        if written.try_get::<i64, _>(0).map_err(failure)? > 0 {
            self.publish(&Key::Pushes);
        }
        Ok(true)
    }

    async fn task_row(&self, id: &str, scope: Option<&str>) -> Result<TaskRow, StoreError> {
        let select = sqlx::query(
            "SELECT number, version, state, status_at, position, bytes, turns, turn, runner,
                 last_write
             FROM tasks WHERE id = $1 AND scope = coalesce($2, scope)",
        );
        let row = self.0.database.optional(select.bind(column(id)).bind(scope)).await?;
        let row = row.ok_or_else(|| StoreError::NotFound(id.to_owned()))?;
        let state = state_of(row.try_get(2).map_err(failure)?)
            .ok_or_else(|| StoreError::Damaged(id.to_owned(), "an unknown state".into()))?;
        let last_write: Option<String> = row.try_get(9).map_err(failure)?;
        let runner: Option<String> = row.try_get(8).map_err(failure)?;
        let progress = TaskProgress {
            state,
            status_at: count(&row, 3)?,
            position: count(&row, 4)?,
            bytes: count(&row, 5)?,
            turns: count(&row, 6)?,
            turn: count(&row, 7)?,
            runner: runner.map(|name| original(name).into()),
            last_write: last_write.map(|json| decode(id, &json)).transpose()?,
        };
        let (number, version) =
            (row.try_get(0).map_err(failure)?, row.try_get(1).map_err(failure)?);
        Ok(TaskRow { number, version, progress })
    }
}

/// A column that is never negative.
fn count(row: &PgRow, place: usize) -> Result<u64, StoreError> {
    row.try_get::<i64, _>(place).map(i64::unsigned_abs).map_err(failure)
}
