//! What is known of the traces in a database with pages that cannot be read.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row, params_from_iter};

use super::super::failure::{Failure, Outcome};
use super::super::walk::{self, Numbers};
use super::query::StoredSpan;
use super::read;
use super::torn::torn_span;

/// The traces that there are or were, by number, with their ids as far as they are known.
pub(super) struct Known {
    pub(super) ids: BTreeMap<i64, Option<String>>,
    pub(super) is_whole: bool,
}

/// All traces: those in the table, and those that only the index of their ids knows of.
pub(super) fn traces(connection: &Connection) -> Outcome<Known> {
    let Numbers { found, is_whole } = walk::numbers(connection, "traces", (0, i64::MAX))?;
    let mut ids: BTreeMap<_, _> = found.into_iter().map(|number| (number, None)).collect();
    let by_id = "SELECT number, id FROM traces INDEXED BY sqlite_autoindex_traces_1 ORDER BY id";
    let knows_all = both_ways(connection, &[by_id, &format!("{by_id} DESC")], &[], |row| {
        ids.insert(row.get(0)?, row.get(1).ok());
        Ok(())
    })?;
    Ok(Known { ids, is_whole: is_whole || knows_all })
}

/// Scans an index from its start, and if a page of it is damaged also from its end. Says
/// whether all of it was read.
fn both_ways(
    connection: &Connection,
    orders: &[&str; 2],
    parameters: &[i64],
    mut take: impl FnMut(&Row<'_>) -> Outcome<()>,
) -> Outcome<bool> {
    let is_whole = walk::scan(connection, orders[0], params_from_iter(parameters), &mut take)?;
    if !is_whole {
        walk::scan(connection, orders[1], params_from_iter(parameters), &mut take)?;
    }
    Ok(is_whole)
}

/// The number of a trace; `None` if it is certain that there is none.
pub(super) fn number_of(connection: &Connection, id: &str) -> Outcome<Option<i64>> {
    let by_id = "SELECT number FROM traces INDEXED BY sqlite_autoindex_traces_1 WHERE id = ?1";
    if let Some(found) = walk::row(connection, by_id, [id], |row| row.get(0))? {
        return Ok(found);
    }
    let Numbers { found, .. } = walk::numbers(connection, "traces", (0, i64::MAX))?;
    let own_id = "SELECT id FROM traces NOT INDEXED WHERE number = ?1";
    for number in found.into_iter().rev() {
        let found = walk::row(connection, own_id, [number], |row| row.get::<_, String>(0))?;
        if found.flatten().is_some_and(|found| found == id) {
            return Ok(Some(number));
        }
    }
    Err(Failure::Damaged("the index of the traces cannot be read"))
}

/// The spans of a trace. One that cannot be read has a text that says so.
pub(super) fn spans(connection: &Connection, number: i64) -> Outcome<Vec<StoredSpan>> {
    let known = span_numbers(connection, number)?;
    let sql = format!("SELECT {} FROM spans s NOT INDEXED WHERE number = ?1", read::SPAN_COLUMNS);
    let mut spans = Vec::new();
    for (number, id) in known {
        match walk::row(connection, &sql, [number], read::stored_span)? {
            Some(span) => spans.extend(span),
            None => {
                let place = number & ((1 << super::ingest::PLACE_BITS) - 1);
                let span_id = id.unwrap_or_else(|| format!("?{place}"));
                spans.push(StoredSpan { json: torn_span(&span_id), span_id, usage: None });
            }
        }
    }
    Ok(spans)
}

/// The numbers of the spans of a trace, with their ids as far as the index has them.
fn span_numbers(connection: &Connection, trace: i64) -> Outcome<BTreeMap<i64, Option<String>>> {
    let Numbers { found, .. } = walk::numbers(connection, "spans", read::numbers(trace))?;
    let mut known: BTreeMap<_, _> = found.into_iter().map(|number| (number, None)).collect();
    let by_id = "SELECT number, id FROM spans INDEXED BY sqlite_autoindex_spans_1
         WHERE trace = ?1 ORDER BY id";
    both_ways(connection, &[by_id, &format!("{by_id} DESC")], &[trace], |row| {
        known.insert(row.get(0)?, row.get(1).ok());
        Ok(())
    })?;
    Ok(known)
}

/// All spans that there are or were, by number.
pub(super) fn all_spans(connection: &Connection) -> Outcome<Numbers> {
    let mut numbers = walk::numbers(connection, "spans", (0, i64::MAX))?;
    let by_id = "SELECT number FROM spans INDEXED BY sqlite_autoindex_spans_1 ORDER BY trace, id";
    let backwards = by_id.replace("trace, id", "trace DESC, id DESC");
    let knows_all = both_ways(connection, &[by_id, &backwards], &[], |row| {
        numbers.found.insert(row.get(0)?);
        Ok(())
    })?;
    numbers.is_whole |= knows_all;
    Ok(numbers)
}
