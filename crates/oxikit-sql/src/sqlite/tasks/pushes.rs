//! Webhooks of tasks, and who delivers to them.

use std::time::Duration;

use oxikit_core::ports::{DuePush, MAX_PUSH_TARGETS, StoreError};
use rusqlite::Connection;

use super::{push_topic, rows};
use crate::tasks::{column_number, decode};
use oxikit_sqlite::failure::{Failure, Outcome};
use oxikit_sqlite::now_ms;
use oxikit_sqlite::writer::Txn;

/// The condition of a webhook that can be claimed at the time `?1`.
const IS_DUE: &str = "is_pending = 1 AND claimed_by IS NULL AND due_at <= ?1";

/// Registers a webhook for events after the present position.
pub(super) fn put(txn: &Txn<'_>, task: i64, target: &str, json: &str) -> Outcome<()> {
    let sql = "SELECT count(*) FROM task_pushes WHERE task = ?1 AND id <> ?2";
    let others: i64 = txn.sql(sql)?.query_row((task, target), |row| row.get(0))?;
    if others >= MAX_PUSH_TARGETS as i64 {
        return Err(Failure::Full("the task has too many webhooks"));
    }
    let sql = "SELECT position FROM tasks WHERE number = ?1";
    let position: i64 = txn.sql(sql)?.query_row([task], |row| row.get(0))?;
    insert(txn, task, target, json, position)
}

/// Stores a webhook. One that replaces another keeps its place.
pub(super) fn insert(
    txn: &Txn<'_>,
    task: i64,
    target: &str,
    json: &str,
    delivered: i64,
) -> Outcome<()> {
    let mut insert = txn.sql(
        "INSERT INTO task_pushes (task, id, number, json, delivered, is_pending, attempts, due_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?5 < (SELECT position FROM tasks WHERE number = ?1), 0, ?6)
         ON CONFLICT (task, id) DO UPDATE SET json = excluded.json,
             delivered = excluded.delivered, is_pending = excluded.is_pending, attempts = 0,
             due_at = excluded.due_at, claimed_by = NULL",
    )?;
    insert.execute((task, target, txn.next()?, json, delivered, now_ms()))?;
    Ok(())
}

/// Notes that the task has new events; says whether a webhook had none before.
pub(super) fn set_pending(txn: &Txn<'_>, task: i64) -> Outcome<bool> {
    let sql = "UPDATE task_pushes SET is_pending = 1 WHERE task = ?1 AND is_pending = 0";
    Ok(txn.sql(sql)?.execute([task])? > 0)
}

/// The webhooks of a task, as JSON.
pub(super) fn targets(connection: &Connection, scope: &str, id: &str) -> Outcome<Vec<String>> {
    let task = rows::own_number(connection, scope, id)?;
    let sql = "SELECT json FROM task_pushes WHERE task = ?1 ORDER BY number";
    let mut select = connection.prepare_cached(sql)?;
    let targets = select.query_map([task], |row| row.get(0))?;
    Ok(targets.collect::<Result<_, _>>()?)
}

pub(super) fn has_due(connection: &Connection) -> Outcome<bool> {
    let sql = format!("SELECT EXISTS (SELECT 1 FROM task_pushes WHERE {IS_DUE})");
    Ok(connection.prepare_cached(&sql)?.query_row([now_ms()], |row| row.get(0))?)
}

/// A claimed webhook.
pub(super) struct ClaimedRow {
    number: i64,
    task: String,
    scope: String,
    json: String,
    delivered: i64,
    attempts: u32,
}

impl ClaimedRow {
    pub(super) fn decode(self) -> Result<DuePush, StoreError> {
        Ok(DuePush {
            scope: decode(&self.task, &self.scope)?,
            target: decode(&self.task, &self.json)?,
            task: self.task,
            delivered: self.delivered.unsigned_abs(),
            attempts: self.attempts,
        })
    }
}

/// Claims due webhooks, those that are due longest first.
pub(super) fn claim(txn: &Txn<'_>, runner: &str, limit: i64) -> Outcome<Vec<ClaimedRow>> {
    let mut select = txn.sql(&format!(
        "SELECT task_pushes.number, tasks.id, scope, json, delivered, attempts
         FROM task_pushes JOIN tasks ON tasks.number = task
         WHERE {IS_DUE} ORDER BY due_at, task_pushes.number LIMIT ?2"
    ))?;
    let due = select.query_map((now_ms(), limit), |row| {
        Ok(ClaimedRow {
            number: row.get(0)?,
            task: row.get(1)?,
            scope: row.get(2)?,
            json: row.get(3)?,
            delivered: row.get(4)?,
            attempts: row.get(5)?,
        })
    })?;
    let due = due.collect::<Result<Vec<_>, _>>()?;
    let mut update = txn.sql(
        "UPDATE task_pushes SET claimed_by = ?1
         WHERE number = ?2 AND task = (SELECT number FROM tasks WHERE id = ?3)",
    )?;
    for row in &due {
        update.execute((runner, row.number, &row.task))?;
    }
    Ok(due)
}

/// The release of a claim.
pub(super) struct Release {
    runner: String,
    task: String,
    target: String,
    claimed_at: i64,
    position: i64,
    attempts: u32,
    pause: i64,
}

impl Release {
    pub(super) fn of(
        runner: &str,
        push: &DuePush,
        position: u64,
        attempts: u32,
        pause: Duration,
    ) -> Self {
        Self {
            runner: runner.to_owned(),
            task: push.task.clone(),
            target: push.target.id.clone(),
            claimed_at: column_number(push.delivered),
            position: column_number(position),
            attempts,
            pause: i64::try_from(pause.as_millis()).unwrap_or(i64::MAX),
        }
    }

    pub(super) fn run(&self, txn: &Txn<'_>) -> Outcome<()> {
        // A webhook that was registered anew since the claim has another position.
        let mut update = txn.sql(
            "UPDATE task_pushes SET delivered = ?1, attempts = ?2, due_at = ?3, claimed_by = NULL,
                 is_pending = (SELECT position FROM tasks WHERE number = task) > ?1
             WHERE task = (SELECT number FROM tasks WHERE id = ?4) AND id = ?5
                 AND claimed_by = ?6 AND delivered = ?7",
        )?;
        let released = update.execute((
            self.position,
            self.attempts,
            now_ms().saturating_add(self.pause),
            &self.task,
            &self.target,
            &self.runner,
            self.claimed_at,
        ))?;
        if released > 0 {
            txn.publish(push_topic());
        }
        Ok(())
    }
}
