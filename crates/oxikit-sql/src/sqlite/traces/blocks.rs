//! Times and durations of whole blocks of traces.
//!
//! A list by time or duration is in the order of arrival, as every list is, so that an
//! index by time would have to be sorted. Instead it passes over blocks in which no trace
//! can fit: it reads a thousandth of the rows, and a block is summed up only once.

use rusqlite::Connection;

use super::super::damage::Health;
use super::super::failure::Outcome;
use super::super::writer::Txn;
use super::query::TraceQuery;

/// So many bits of a trace's number are its place in its block.
const BLOCK_BITS: u32 = 10;
/// So many blocks are summed up in one step: as a rule there is one at most.
const STEP: usize = 32;

/// Between which times and durations a list looks for traces.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    started_from: f64,
    started_before: f64,
    min_duration: f64,
    max_duration: f64,
}

impl Bounds {
    /// `None` if the query does not ask for any.
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
        // Blocks are looked for by `<`, the filter may be `<=`.
        let to = to.filter_map(start).map(f64::next_up).fold(bounds.started_before, f64::min);
        let bounds = Self { started_from: from, started_before: to, ..bounds };
        (bounds != Self::NONE).then_some(bounds)
    }

    const NONE: Self = Self {
        started_from: f64::NEG_INFINITY,
        started_before: f64::INFINITY,
        min_duration: f64::NEG_INFINITY,
        max_duration: f64::INFINITY,
    };

    /// The numbers of traces among which there may be some: the newest first.
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

/// Makes the bounds of a trace's block wide enough for it.
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

/// Sums up some of the blocks that are complete, and forgets those whose traces are gone.
pub(super) fn keep(txn: &Txn<'_>) -> Outcome<()> {
    txn.sql("DELETE FROM blocks WHERE number < (SELECT MIN(number) FROM traces) >> ?1")?
        .execute([BLOCK_BITS])?;
    let sql = "SELECT COALESCE((SELECT MAX(number) + 1 FROM blocks),
                 (SELECT MIN(number) FROM traces) >> ?1, 0),
             COALESCE((SELECT MAX(number) FROM traces) >> ?1, 0)";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let (first, newest): (i64, i64) = txn.sql(sql)?.query_row([BLOCK_BITS], read)?;
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
