//! Finds the traces and spans of a database with damaged pages.
//!
//! A row that cannot be read may still be named by an index, which is on other pages. So
//! tables and indexes are read both, and the unreadable traces are reported by id.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row, params_from_iter};

use super::query::StoredSpan;
use super::span_rows;
use super::torn::torn_span;
use oxikit_sqlite::failure::{Failure, Outcome};
use oxikit_sqlite::walk::{self, Numbers};

/// The traces by number, with their ids where the table or the index has them.
pub(super) struct Known {
    /// The id of each trace, if the table or the index has it.
    pub(super) ids: BTreeMap<i64, Option<String>>,
    /// Whether there can be no others: the table or the index was read to its end.
    pub(super) is_whole: bool,
}

/// All traces: those in the table, and those that only the index of ids contains.
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

/// Scans an index from its start, and if one of its pages is damaged also from its end.
/// Returns whether all of it was read.
fn both_ways(
    connection: &Connection,
    orders: &[&str; 2],
    parameters: &[i64],
    mut take: impl FnMut(&Row<'_>) -> Outcome<()>,
) -> Outcome<bool> {
    // The second scan finds the rows behind the damaged page.
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
    let sql =
        format!("SELECT {} FROM spans s NOT INDEXED WHERE number = ?1", span_rows::SPAN_COLUMNS);
    let mut spans = Vec::new();
    for (number, id) in known {
        match walk::row(connection, &sql, [number], span_rows::stored_span)? {
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
    let Numbers { found, .. } = walk::numbers(connection, "spans", span_rows::numbers(trace))?;
    let mut known: BTreeMap<_, _> = found.into_iter().map(|number| (number, None)).collect();
    let by_id = "SELECT number, id FROM spans INDEXED BY sqlite_autoindex_spans_1
         WHERE trace = ?1 ORDER BY id";
    both_ways(connection, &[by_id, &format!("{by_id} DESC")], &[trace], |row| {
        known.insert(row.get(0)?, row.get(1).ok());
        Ok(())
    })?;
    Ok(known)
}

/// The numbers of all spans that exist or existed, as far as the table and its index show.
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
