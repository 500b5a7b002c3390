//! Minimum and maximum times and durations of blocks of 1,024 traces.
//!
//! Every list is in the order of arrival. An index by time or duration would return rows in
//! another order, which then had to be sorted. Instead a list with such a filter skips all
//! blocks whose bounds show that no trace in them can match: it reads one row per block, and
//! the bounds of a complete block are computed once.

use rusqlite::Connection;

use super::query::TraceQuery;
use oxikit_sqlite::damage::Health;
use oxikit_sqlite::failure::Outcome;
use oxikit_sqlite::writer::Txn;

/// Number of low bits of a trace's number that are its place in its block: a block has
/// 1,024 traces.
const BLOCK_BITS: u32 = 10;
/// Maximum number of blocks whose bounds are computed in one step. The next step continues;
/// usually there is at most one.
const STEP: usize = 32;

/// The times and durations that a list is limited to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    started_from: f64,
    started_before: f64,
    min_duration: f64,
    max_duration: f64,
}

impl Bounds {
    /// The bounds of a query; `None` if it has no filter by time or duration.
    pub(super) fn of(query: &TraceQuery) -> Option<Self> {
        let bounds = Self {
            started_from: query.started_from.unwrap_or(f64::NEG_INFINITY),
            started_before: query.started_before.unwrap_or(f64::INFINITY),
            min_duration: query.min_duration.unwrap_or(f64::NEG_INFINITY),
            max_duration: query.max_duration.unwrap_or(f64::INFINITY),
        };
        let filter = query.filter.iter();
        let from = filter.clone().flat_map(|filter| [&filter.gt, &filter.gte]);
        let to = filter.flat_map(|filter| [&filter.lt, &filter.lte]);
        let start = |fields: &std::collections::BTreeMap<String, f64>| fields.get("start").copied();
        let from = from.filter_map(start).fold(bounds.started_from, f64::max);
        // Blocks are selected with `<`, and the filter may be `<=`.
        let to = to.filter_map(start).map(f64::next_up).fold(bounds.started_before, f64::min);
        let bounds = Self { started_from: from, started_before: to, ..bounds };
        (bounds != Self::NONE).then_some(bounds)
    }

    /// Bounds that every trace fits.
    const NONE: Self = Self {
        started_from: f64::NEG_INFINITY,
        started_before: f64::INFINITY,
        min_duration: f64::NEG_INFINITY,
        max_duration: f64::INFINITY,
    };

    /// The ranges of trace numbers in which traces can match, newest first.
    pub(super) fn ranges(&self, connection: &Connection) -> Outcome<Vec<(i64, i64)>> {
        let sql = "SELECT COALESCE(MAX(number) + 1, 0) FROM blocks";
        let first: i64 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        let mut ranges = vec![(first << BLOCK_BITS, i64::MAX)];
        let mut select = connection.prepare_cached(
            "SELECT number FROM blocks WHERE max_start >= ?1 AND min_start < ?2
                 AND max_duration >= ?3 AND min_duration <= ?4 ORDER BY number DESC",
        )?;
        let Self { started_from, started_before, min_duration, max_duration } = *self;
        let bounds = (started_from, started_before, min_duration, max_duration);
        for number in select.query_map(bounds, |row| row.get(0))? {
            ranges.push(numbers(number?));
        }
        Ok(ranges)
    }
}

/// The first and the last number of a block's traces.
fn numbers(block: i64) -> (i64, i64) {
    (block << BLOCK_BITS, ((block + 1) << BLOCK_BITS) - 1)
}

/// Widens the bounds of a trace's block to include the trace.
pub(super) fn extend(
    txn: &Txn<'_>,
    trace: i64,
    (start, end): (f64, Option<f64>),
    health: &Health,
) -> Outcome<()> {
    let extend = || {
        txn.sql(
            "UPDATE blocks SET min_start = MIN(min_start, ?2), max_start = MAX(max_start, ?2),
                 min_duration = MIN(min_duration, COALESCE(?3, min_duration)),
                 max_duration = MAX(max_duration, COALESCE(?3, max_duration))
             WHERE number = ?1 AND NOT (?2 BETWEEN min_start AND max_start
                 AND COALESCE(?3 BETWEEN min_duration AND max_duration, TRUE))",
        )?
        .execute((trace >> BLOCK_BITS, start, end.map(|end| end - start)))?;
        Ok(())
    };
    // Lists do not use blocks that cannot be read.
    if health.is_careful() { health.guard(txn, extend).map(drop) } else { extend() }
}

/// Computes the bounds of some complete blocks, and removes those of deleted traces.
pub(super) fn keep(txn: &Txn<'_>) -> Outcome<()> {
    txn.sql("DELETE FROM blocks WHERE number < (SELECT MIN(number) FROM traces) >> ?1")?
        .execute([BLOCK_BITS])?;
    let sql = "SELECT COALESCE((SELECT MAX(number) + 1 FROM blocks),
                 (SELECT MIN(number) FROM traces) >> ?1, 0),
             COALESCE((SELECT MAX(number) FROM traces) >> ?1, 0)";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let (first, newest): (i64, i64) = txn.sql(sql)?.query_row([BLOCK_BITS], read)?;
    // The newest block is not complete: new traces would change its bounds with every post. Lists
    // always read it.
    for block in (first..newest).take(STEP) {
        let (from, to) = numbers(block);
        txn.sql(
            "INSERT INTO blocks SELECT ?1, COALESCE(MIN(start), 9e999), COALESCE(MAX(start), -9e999),
                 COALESCE(MIN(end - start), 9e999), COALESCE(MAX(end - start), -9e999)
             FROM traces WHERE number BETWEEN ?2 AND ?3",
        )?
        .execute((block, from, to))?;
    }
    Ok(())
}
