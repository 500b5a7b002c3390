//! Removes tasks that need not be kept.

use std::time::Duration;

use oxikit_core::ports::TaskRetention;

use super::task_topic;
use oxikit_sqlite::failure::Outcome;
use oxikit_sqlite::now_ms;
use oxikit_sqlite::writer::Txn;

/// Maximum number of tasks that are removed in one transaction, so that other writes do not wait
/// for long.
const STEP: i64 = 64;

/// A task with undelivered events for a webhook is kept.
const IS_DELIVERED: &str =
    "NOT EXISTS (SELECT 1 FROM task_pushes WHERE task = tasks.number AND is_pending = 1)";

/// Removes a few tasks; answers their number, 0 if nothing is left to remove.
pub(super) fn step(txn: &Txn<'_>, retention: &TaskRetention) -> Outcome<u64> {
    let mut removed = 0;
    for (phase, age) in [(2, retention.ended), (1, retention.waiting)] {
        if let Some(age) = age {
            removed += older(txn, phase, age)?;
        }
    }
    if removed == 0
        && let Some(max) = retention.max_ended
    {
        removed = excess(txn, max)?;
    }
    Ok(removed)
}

/// Removes tasks of a phase that were not written for this time.
fn older(txn: &Txn<'_>, phase: i64, age: Duration) -> Outcome<u64> {
    let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    let oldest = now_ms().saturating_sub(age);
    // The phase is a part of the text, so that the index of the phase is used.
    let sql = format!(
        "SELECT number, id FROM tasks WHERE phase = {phase} AND written_at <= ?1
             AND {IS_DELIVERED} LIMIT ?2"
    );
    remove(txn, &sql, (oldest, STEP))
}

/// Removes the tasks that ended first, if there are more than `max`.
fn excess(txn: &Txn<'_>, max: usize) -> Outcome<u64> {
    let sql = "SELECT count(*) FROM tasks WHERE phase = 2";
    let ended: i64 = txn.sql(sql)?.query_row([], |row| row.get(0))?;
    let excess = ended.saturating_sub(i64::try_from(max).unwrap_or(i64::MAX));
    if excess <= 0 {
        return Ok(0);
    }
    let sql = format!(
        "SELECT number, id FROM tasks WHERE phase = 2 AND {IS_DELIVERED}
         ORDER BY written_at, changed LIMIT min(?1, ?2)"
    );
    remove(txn, &sql, (excess, STEP))
}

/// Removes the tasks that a query finds.
fn remove(txn: &Txn<'_>, sql: &str, values: (i64, i64)) -> Outcome<u64> {
    let mut select = txn.sql(sql)?;
    let found = select.query_map(values, |row| Ok((row.get(0)?, row.get(1)?)))?;
    let found = found.collect::<Result<Vec<(i64, String)>, _>>()?;
    for (number, id) in &found {
        for table in ["task_events", "task_metadata", "task_pushes"] {
            txn.sql(&format!("DELETE FROM {table} WHERE task = ?1"))?.execute([number])?;
        }
        txn.sql("DELETE FROM tasks WHERE number = ?1")?.execute([number])?;
        txn.publish(task_topic(id));
    }
    Ok(found.len() as u64)
}
