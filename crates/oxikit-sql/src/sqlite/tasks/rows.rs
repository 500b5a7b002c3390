//! The rows of a task and of its events.

use std::sync::Arc;

use oxikit_core::ports::task_progress::TaskProgress;
use oxikit_core::ports::{MAX_PAGE_BYTES, StoreError, TaskEvent};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::tasks::{HeadRow, column_number, decode, phase, state_number, state_of};
use oxikit_sqlite::failure::{Failure, Outcome};
use oxikit_sqlite::now_ms;
use oxikit_sqlite::writer::Txn;

/// The columns of a [`HeadRow`], of the tables `tasks`, `status` and `task_metadata`.
pub(super) const HEAD: &str = "SELECT tasks.id, context, status.json, task_metadata.json, position,
         turns, runner, changed
     FROM tasks
     JOIN task_events AS status ON status.task = number AND status.sequence = status_at
     LEFT JOIN task_metadata ON task_metadata.task = number";

/// An event's row.
pub(super) struct EventRow {
    sequence: i64,
    turn: i64,
    json: String,
}

impl EventRow {
    pub(super) fn decode(self, id: &str) -> Result<TaskEvent, StoreError> {
        Ok(TaskEvent {
            sequence: self.sequence.unsigned_abs(),
            turn: self.turn.unsigned_abs(),
            entry: Arc::new(decode(id, &self.json)?),
        })
    }
}

pub(super) fn head_row(row: &Row<'_>) -> rusqlite::Result<HeadRow> {
    Ok(HeadRow {
        id: row.get(0)?,
        context: row.get(1)?,
        status: row.get(2)?,
        metadata: row.get(3)?,
        position: row.get(4)?,
        turns: row.get(5)?,
        runner: row.get(6)?,
    })
}

pub(super) fn head(connection: &Connection, scope: &str, id: &str) -> Outcome<HeadRow> {
    let mut select =
        connection.prepare_cached(&format!("{HEAD} WHERE tasks.id = ?1 AND scope = ?2"))?;
    select.query_row([id, scope], head_row).optional()?.ok_or(Failure::NotFound)
}

pub(super) fn events(
    connection: &Connection,
    id: &str,
    position: i64,
    limit: i64,
) -> Outcome<Vec<EventRow>> {
    let mut select = connection.prepare_cached(
        "SELECT sequence, turn, json FROM task_events
         WHERE task = (SELECT number FROM tasks WHERE id = ?1) AND sequence > ?2
         ORDER BY sequence LIMIT ?3",
    )?;
    let events = select.query_map((id, position, limit), |row| {
        Ok(EventRow { sequence: row.get(0)?, turn: row.get(1)?, json: row.get(2)? })
    })?;
    let (mut page, mut bytes) = (Vec::new(), 0);
    for event in events {
        let event: EventRow = event?;
        bytes += event.json.len() as u64;
        if bytes > MAX_PAGE_BYTES && !page.is_empty() {
            break;
        }
        page.push(event);
    }
    Ok(page)
}

/// Whether there is an event after the position, or the task has ended.
pub(super) fn is_readable(
    connection: &Connection,
    scope: &str,
    id: &str,
    position: i64,
) -> Outcome<bool> {
    let sql = "SELECT position > ?3 OR phase = 2 FROM tasks WHERE id = ?1 AND scope = ?2";
    let mut select = connection.prepare_cached(sql)?;
    select.query_row((id, scope, position), |row| row.get(0)).optional()?.ok_or(Failure::NotFound)
}

/// The number of a task in this scope.
pub(super) fn own_number(connection: &Connection, scope: &str, id: &str) -> Outcome<i64> {
    let sql = "SELECT number FROM tasks WHERE id = ?1 AND scope = ?2";
    let mut select = connection.prepare_cached(sql)?;
    select.query_row([id, scope], |row| row.get(0)).optional()?.ok_or(Failure::NotFound)
}

/// The number of a task, and how far it is.
pub(super) fn progress(
    connection: &Connection,
    id: &str,
    scope: Option<&str>,
) -> Outcome<(i64, TaskProgress)> {
    let mut select = connection.prepare_cached(
        "SELECT number, state, status_at, position, bytes, turns, turn, runner, last_write
         FROM tasks WHERE id = ?1 AND scope = coalesce(?2, scope)",
    )?;
    let number = |row: &Row<'_>, place| row.get::<_, i64>(place).map(i64::unsigned_abs);
    let found = select.query_row((id, scope), |row| {
        let (state, last_write): (i16, Option<String>) = (row.get(1)?, row.get(8)?);
        let progress = |state, last_write| {
            Ok::<_, rusqlite::Error>(TaskProgress {
                state,
                status_at: number(row, 2)?,
                position: number(row, 3)?,
                bytes: number(row, 4)?,
                turns: number(row, 5)?,
                turn: number(row, 6)?,
                runner: row.get(7)?,
                last_write,
            })
        };
        let last_write = last_write.map(|json| serde_json::from_str(&json)).transpose();
        let parts = state_of(state).zip(last_write.ok());
        let progress = parts.map(|(state, last_write)| progress(state, last_write)).transpose()?;
        Ok((row.get(0)?, progress))
    });
    let (number, progress) = found.optional()?.ok_or(Failure::NotFound)?;
    Ok((number, progress.ok_or(Failure::Damaged("the progress of a task"))?))
}

/// Stores how far the task is now. Columns with an index are written only if they change.
pub(super) fn update(
    txn: &Txn<'_>,
    number: i64,
    before: &TaskProgress,
    progress: &TaskProgress,
    changed_at: Option<i64>,
) -> Outcome<()> {
    let last_write = progress.last_write.as_ref().map(serde_json::to_string).transpose();
    let last_write = last_write.map_err(|_| Failure::Damaged("the last write of a task"))?;
    let mut update = txn.sql(
        "UPDATE tasks SET position = ?2, bytes = ?3, turns = ?4, turn = ?5, last_write = ?6,
             written_at = ?7 WHERE number = ?1",
    )?;
    update.execute((
        number,
        column_number(progress.position),
        column_number(progress.bytes),
        column_number(progress.turns),
        column_number(progress.turn),
        last_write,
        now_ms(),
    ))?;
    if progress.status_at != before.status_at {
        let mut update = txn.sql(
            "UPDATE tasks SET state = ?2, status_at = ?3, changed = ?4, changed_at = ?5
             WHERE number = ?1",
        )?;
        update.execute((
            number,
            state_number(progress.state),
            column_number(progress.status_at),
            txn.next()?,
            changed_at.unwrap_or_default(),
        ))?;
    }
    if progress.runner != before.runner || phase(progress) != phase(before) {
        txn.sql("UPDATE tasks SET runner = ?2, phase = ?3 WHERE number = ?1")?.execute((
            number,
            &progress.runner,
            phase(progress),
        ))?;
    }
    Ok(())
}

/// Stores events after a position.
pub(super) fn insert_events(
    txn: &Txn<'_>,
    number: i64,
    position: u64,
    turn: u64,
    texts: &[String],
) -> Outcome<()> {
    let mut insert =
        txn.sql("INSERT INTO task_events (task, sequence, turn, json) VALUES (?1, ?2, ?3, ?4)")?;
    for (json, sequence) in texts.iter().zip(column_number(position) + 1..) {
        insert.execute((number, sequence, column_number(turn), json))?;
    }
    Ok(())
}
