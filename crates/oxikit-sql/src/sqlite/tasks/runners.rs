//! Runners of tasks.

use rusqlite::Connection;

use super::push_topic;
use oxikit_sqlite::failure::Outcome;
use oxikit_sqlite::writer::Txn;

pub(super) fn renew(txn: &Txn<'_>, runner: &str) -> Outcome<()> {
    // No number is given out twice, so that a forgotten runner that comes back is a new one.
    let sql = "INSERT OR REPLACE INTO task_runners (runner, number) VALUES (?1, ?2)";
    txn.sql(sql)?.execute((runner, txn.next()?))?;
    Ok(())
}

pub(super) fn all(connection: &Connection) -> Outcome<Vec<(String, u64)>> {
    let mut select = connection.prepare_cached("SELECT runner, number FROM task_runners")?;
    let runners = select
        .query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())))?
        .collect::<Result<_, _>>()?;
    Ok(runners)
}

pub(super) fn tasks_of(connection: &Connection, runner: &str, limit: i64) -> Outcome<Vec<String>> {
    let sql = "SELECT id FROM tasks WHERE runner = ?1 LIMIT ?2";
    let mut select = connection.prepare_cached(sql)?;
    let tasks = select.query_map((runner, limit), |row| row.get(0))?;
    Ok(tasks.collect::<Result<_, _>>()?)
}

pub(super) fn forget(txn: &Txn<'_>, runner: &str) -> Outcome<()> {
    txn.sql("DELETE FROM task_runners WHERE runner = ?1")?.execute([runner])?;
    let sql = "UPDATE task_pushes SET claimed_by = NULL WHERE claimed_by = ?1";
    if txn.sql(sql)?.execute([runner])? > 0 {
        txn.publish(push_topic());
    }
    Ok(())
}
