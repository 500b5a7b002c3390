//! Reads the rows of a table around its damaged pages.
//!
//! A table is a tree of pages, ordered by row number. A scan fails at the first damaged
//! page, but a search for a row number on a later page does not touch the damaged one. So
//! after a failure the scan is resumed at the next row number whose search succeeds.

use std::collections::BTreeSet;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Params, params_from_iter};

use super::failure::{Failure, Outcome};

/// The numbers of rows, some of which may be unreadable.
#[derive(Debug, Default)]
pub struct Numbers {
    /// The numbers of all rows that a scan or a search found.
    pub found: BTreeSet<i64>,
    /// Whether no damaged page was met, so that no number is missing.
    pub is_whole: bool,
}

/// The row numbers of a table within a range, both ends included. Reads the table itself
/// and no index, which may disagree with it.
///
/// # Errors
/// If SQLite fails for another reason than damage.
pub fn numbers(connection: &Connection, table: &str, range: (i64, i64)) -> Outcome<Numbers> {
    let sql = format!(
        "SELECT number FROM {table} NOT INDEXED WHERE number BETWEEN ?1 AND ?2 ORDER BY number"
    );
    let (mut from, to) = range;
    let mut numbers = Numbers { found: BTreeSet::new(), is_whole: true };
    loop {
        let whole = scan(connection, &sql, (from, to), |row| {
            numbers.found.insert(row.get(0)?);
            Ok(())
        })?;
        if whole {
            return Ok(numbers);
        }
        numbers.is_whole = false;
        from = numbers.found.last().map_or(from, |last| from.max(last.saturating_add(1)));
        match next_readable(connection, table, from, to)? {
            Some(next) => from = next,
            None => return Ok(numbers),
        }
    }
}

/// Passes rows to `take` until the end or the first damaged page. Returns whether the end
/// was reached.
///
/// # Errors
/// If SQLite or `take` fails for another reason than damage.
pub fn scan(
    connection: &Connection,
    sql: &str,
    parameters: impl Params,
    mut take: impl FnMut(&rusqlite::Row<'_>) -> Outcome<()>,
) -> Outcome<bool> {
    let read = || {
        let mut select = connection.prepare_cached(sql)?;
        let mut rows = select.query(parameters)?;
        while let Some(row) = rows.next()? {
            take(row)?;
        }
        Ok(())
    };
    whole(read()).map(|read| read.is_some())
}

/// Reads one row: `Some(None)` if there is none, `None` if it cannot be read.
///
/// # Errors
/// If SQLite fails for another reason than damage.
pub fn row<T>(
    connection: &Connection,
    sql: &str,
    parameters: impl Params,
    read: impl FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> Outcome<Option<Option<T>>> {
    let find = || Ok(connection.prepare_cached(sql)?.query_row(parameters, read).optional()?);
    whole(find())
}

/// Turns damage into `None`.
///
/// # Errors
/// The failure, if it is another one than damage.
pub fn whole<T>(outcome: Outcome<T>) -> Outcome<Option<T>> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(failure) if failure.is_damage() => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// The first number from `from` on whose search succeeds. Steps that double find a readable
/// number, and a binary search then finds the first one: a damaged page with thousands of
/// numbers costs a few dozen searches.
fn next_readable(connection: &Connection, table: &str, from: i64, to: i64) -> Outcome<Option<i64>> {
    let sql = format!(
        "SELECT number FROM {table} NOT INDEXED WHERE number >= ?1 ORDER BY number LIMIT 1"
    );
    let can_read = |at: i64| {
        let found = row(connection, &sql, [at], |row| row.get::<_, i64>(0))?;
        Ok::<_, Failure>(found.is_some())
    };
    if can_read(from)? {
        return Ok(Some(from));
    }
    let (mut bad, mut step) = (from, 1_i64);
    let mut good = loop {
        if bad == to {
            return Ok(None);
        }
        let at = from.saturating_add(step).min(to);
        if can_read(at)? {
            break at;
        }
        (bad, step) = (at, step.saturating_mul(2));
    };
    while good - bad > 1 {
        let middle = bad + (good - bad) / 2;
        if can_read(middle)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(Some(good))
}

/// Copies the readable rows of a table into the same table of another file. Returns the
/// numbers of copied rows and of unreadable ones, and whether all row numbers are known.
///
/// # Errors
/// If SQLite fails for another reason than damage.
pub fn copy_rows(old: &Connection, new: &Connection, table: &str) -> Outcome<(u64, u64, bool)> {
    let select = format!("SELECT * FROM {table} NOT INDEXED WHERE number = ?1");
    let read = |row: &rusqlite::Row<'_>| {
        (0..row.as_ref().column_count()).map(|column| row.get(column)).collect()
    };
    let (mut saved, mut lost) = (0, 0);
    let numbers = numbers(old, table, (0, i64::MAX))?;
    new.execute_batch("BEGIN IMMEDIATE")?;
    for number in numbers.found {
        let values: Option<Option<Vec<Value>>> = row(old, &select, [number], read)?;
        let Some(values) = values.flatten() else {
            lost += 1;
            continue;
        };
        let places = vec!["?"; values.len()].join(", ");
        // Two rows with the same unique name can only be the result of damage.
        let insert = format!("INSERT OR IGNORE INTO {table} VALUES ({places})");
        saved += new.prepare_cached(&insert)?.execute(params_from_iter(values))? as u64;
    }
    new.execute_batch("COMMIT")?;
    Ok((saved, lost, numbers.is_whole))
}
