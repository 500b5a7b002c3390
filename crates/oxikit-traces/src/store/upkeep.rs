//! Background work: indexes words, and removes traces and log lines beyond the limits.
//!
//! It is triggered by counters of writes and not by a timer, so an idle store does nothing.
//! Each write that reaches a threshold queues one small step for the writer, so that other
//! writes do not wait long.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::Connection;

use super::ingest::Written;
use super::post::Post;
use super::recent_words::RecentWords;
use super::{TraceOptions, blocks, span_rows, words};
use oxikit_sqlite::damage::Health;
use oxikit_sqlite::failure::Outcome;
use oxikit_sqlite::now_ms;
use oxikit_sqlite::walk;
use oxikit_sqlite::writer::{Durability, Txn, Writer};

/// Number of new spans after which a step of indexing is queued.
pub(super) const INDEX_STEP: usize = 1024;
/// Maximum number of the oldest traces that are examined in one step.
const PRUNE_STEP: usize = 200;
/// Maximum number of log lines that are removed in one step.
const LOG_STEP: i64 = 256;
/// Time in milliseconds after which a running trace without new spans counts as abandoned by
/// its process. It can then be removed like an ended one.
const STALE_MS: i64 = 10 * 60 * 1000;

/// Counts the writes since the last step.
#[derive(Debug)]
pub(super) struct Upkeep {
    /// Number of ended spans that are not indexed.
    fresh: AtomicUsize,
    /// Number of new traces.
    traces: AtomicUsize,
    /// Number of new log lines.
    logs: AtomicUsize,
    /// The words of these spans, as far as they are cached.
    pub(super) recent: RecentWords,
}

impl Default for Upkeep {
    /// All counters are at their thresholds: the first write queues the steps that an earlier
    /// process left undone.
    fn default() -> Self {
        Self {
            fresh: AtomicUsize::new(INDEX_STEP),
            traces: AtomicUsize::new(usize::MAX / 2),
            logs: AtomicUsize::new(0),
            recent: RecentWords::default(),
        }
    }
}

impl Upkeep {
    /// Counts a written post, and caches the words of its ended spans.
    pub(super) fn record(&self, post: &Post, written: &Written) {
        for stored in &written.stored {
            let span = &post.spans[stored.place];
            // A span that had ended before may be indexed: its old words must be replaced.
            if span.end > 0.0 && !stored.had_ended {
                self.recent.keep(stored.number, span.words.clone());
            }
        }
        self.fresh.fetch_add(written.fresh, Ordering::Relaxed);
        self.traces.fetch_add(usize::from(written.is_new_trace), Ordering::Relaxed);
    }

    /// Counts written log lines.
    pub(super) fn note_logs(&self, logs: usize) {
        self.logs.fetch_add(logs, Ordering::Relaxed);
    }

    /// Queues the steps that are due.
    pub(super) fn schedule(
        self: &Arc<Self>,
        writer: &Writer,
        options: &TraceOptions,
        health: &Arc<Health>,
    ) {
        if self.fresh.load(Ordering::Relaxed) >= INDEX_STEP {
            self.fresh.store(0, Ordering::Relaxed);
            let (upkeep, of_file) = (self.clone(), health.clone());
            let index = move |txn: &Txn<'_>| {
                let indexed = words::index(txn, 2 * INDEX_STEP, &upkeep.recent, &of_file);
                of_file.log_damage("the words", indexed)
            };
            writer.enqueue(Durability::Unsynced, index);
        }
        // At 1 % of the limit, so that the number of traces exceeds it by about that much.
        let every = (options.max_traces / 100).clamp(1, PRUNE_STEP / 2);
        let is_due = self.traces.load(Ordering::Relaxed) >= every
            || self.logs.load(Ordering::Relaxed) >= LOG_STEP as usize / 2;
        if is_due {
            self.traces.store(0, Ordering::Relaxed);
            self.logs.store(0, Ordering::Relaxed);
            let (options, health) = (options.clone(), health.clone());
            let prune = move |txn: &Txn<'_>| {
                health.log_damage("old traces", prune(txn, &options, &health).map(drop))
            };
            writer.enqueue(Durability::Unsynced, prune);
        }
    }
}

/// The numbers of traces and log lines that a step has removed.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) traces: u64,
    pub(super) logs: u64,
}

/// Removes some of the oldest traces and log lines that are too many, too old, or take too much
/// space. One call is one step: it examines at most [`PRUNE_STEP`] traces.
pub(super) fn prune(txn: &Txn<'_>, options: &TraceOptions, health: &Health) -> Outcome<Step> {
    let now = now_ms();
    let age = i64::try_from(options.max_age.as_millis()).unwrap_or(i64::MAX);
    let oldest = now.saturating_sub(age);
    let mut is_large = bytes(txn.connection())? > options.max_bytes;
    let (traces, logs) = (count(txn, "traces")?, count(txn, "logs")?);
    let mut too_many = surplus(traces, options.max_traces);
    let mut logs_of_traces = 0;
    let mut step = Step::default();
    for candidate in candidates(txn, health)? {
        let runs = candidate.is_running && candidate.written_at >= now.saturating_sub(STALE_MS);
        // Age removes running traces, too; number and size do not.
        let is_old = candidate.written_at < oldest;
        if is_old || (!runs && (too_many > 0 || is_large)) {
            let Some(logs) = remove_whole(txn, &candidate, health)? else { continue };
            logs_of_traces += logs;
            step.traces += 1;
            too_many -= 1;
            is_large = is_large && bytes(txn.connection())? > options.max_bytes;
        }
    }
    let too_many = match is_large {
        true => LOG_STEP / 4,
        false => surplus(logs - logs_of_traces, options.max_logs),
    };
    step.logs = txn
        .sql(
            "DELETE FROM logs WHERE number IN (SELECT number FROM (
                 SELECT number, written_at, row_number() OVER (ORDER BY number) AS place
                 FROM (SELECT number, written_at FROM logs ORDER BY number LIMIT ?1))
             WHERE place <= ?2 OR written_at < ?3)",
        )?
        .execute((LOG_STEP, too_many, oldest))? as u64;
    discount(txn, "traces", step.traces as i64)?;
    discount(txn, "logs", logs_of_traces + step.logs as i64)?;
    if !health.is_careful() {
        blocks::keep(txn)?;
    }
    Ok(step)
}

/// A trace that may be removed.
struct Candidate {
    number: i64,
    id: String,
    is_running: bool,
    written_at: i64,
}

impl Candidate {
    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            number: row.get(0)?,
            id: row.get(1)?,
            is_running: row.get(2)?,
            written_at: row.get(3)?,
        })
    }
}

/// The oldest traces; in a damaged file those that can be read.
fn candidates(txn: &Txn<'_>, health: &Health) -> Outcome<Vec<Candidate>> {
    let columns = "SELECT number, id, state = 0, written_at FROM traces NOT INDEXED";
    if !health.is_careful() {
        let sql = format!("{columns} ORDER BY number LIMIT ?1");
        let mut select = txn.sql(&sql)?;
        let found = select.query_map([PRUNE_STEP as i64], Candidate::read)?;
        return Ok(found.collect::<Result<_, _>>()?);
    }
    let sql = format!("{columns} WHERE number = ?1");
    let numbers = walk::numbers(txn.connection(), "traces", (0, i64::MAX))?;
    let mut found = Vec::new();
    for number in numbers.found {
        found.extend(walk::row(txn.connection(), &sql, [number], Candidate::read)?.flatten());
        if found.len() == PRUNE_STEP {
            break;
        }
    }
    Ok(found)
}

/// The number of rows beyond the maximum.
fn surplus(count: i64, max: usize) -> i64 {
    count.saturating_sub(i64::try_from(max).unwrap_or(i64::MAX)).max(0)
}

/// The number of rows of a table. `COUNT(*)` reads the whole table, so the count is stored,
/// and only rows added since are counted.
fn count(txn: &Txn<'_>, table: &str) -> Outcome<i64> {
    let sql = format!(
        "UPDATE counts SET
             amount = amount + (SELECT COUNT(*) FROM {table} WHERE number > counts.last),
             last = MAX(last, (SELECT COALESCE(MAX(number), 0) FROM {table}))
         WHERE name = '{table}' RETURNING amount"
    );
    Ok(txn.sql(&sql)?.query_row([], |row| row.get(0))?)
}

/// The number of all traces, for readers: the stored count, and the rows added since.
pub(super) fn count_traces(connection: &Connection) -> Outcome<u64> {
    let sql = "SELECT amount + (SELECT COUNT(*) FROM traces WHERE number > counts.last)
         FROM counts WHERE name = 'traces'";
    let count: i64 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    Ok(u64::try_from(count).unwrap_or_default())
}

/// Subtracts removed rows, which were all counted, from the stored count. If the newest rows
/// were removed, SQLite assigns their numbers again, and those have to be counted then.
fn discount(txn: &Txn<'_>, table: &str, gone: i64) -> Outcome<()> {
    let sql = format!(
        "UPDATE counts SET amount = amount - ?1,
             last = MIN(last, (SELECT COALESCE(MAX(number), 0) FROM {table}))
         WHERE name = '{table}'"
    );
    txn.sql(&sql)?.execute([gone])?;
    Ok(())
}

/// Bytes of the file that are in use.
fn bytes(connection: &Connection) -> Outcome<u64> {
    let read = |name| connection.pragma_query_value(None, name, |row| row.get::<_, u32>(0));
    let pages = read("page_count")?.saturating_sub(read("freelist_count")?);
    Ok(u64::from(pages) * u64::from(read("page_size")?))
}

/// Removes one trace and all that belongs to it.
pub(super) fn remove_one(txn: &Txn<'_>, number: i64, id: &str, health: &Health) -> Outcome<()> {
    for table in ["traces", "logs"] {
        count(txn, table)?;
    }
    let logs = remove(txn, number, id, health)?;
    discount(txn, "traces", 1)?;
    discount(txn, "logs", logs)
}

/// Removes a trace. In a damaged file, a trace that cannot be removed is kept unchanged, and
/// the result is `None`.
fn remove_whole(txn: &Txn<'_>, candidate: &Candidate, health: &Health) -> Outcome<Option<i64>> {
    let Candidate { number, id, .. } = candidate;
    let remove = || remove(txn, *number, id, health);
    if health.is_careful() { health.guard(txn, remove) } else { remove().map(Some) }
}

/// Removes a trace and its rows in other tables. Returns the number of its log lines.
fn remove(txn: &Txn<'_>, number: i64, id: &str, health: &Health) -> Outcome<i64> {
    let (from, to) = span_rows::numbers(number);
    if !health.is_careful() || !words::are_damaged(txn.connection())? {
        words::guarded(txn, health, || {
            let sql = "DELETE FROM words WHERE rowid BETWEEN ?1 AND ?2";
            txn.sql(sql)?.execute((from, to))?;
            Ok(())
        })?;
    }
    txn.sql("DELETE FROM fresh WHERE first BETWEEN ?1 AND ?2")?.execute((from, to))?;
    txn.sql("DELETE FROM spans WHERE number BETWEEN ?1 AND ?2")?.execute((from, to))?;
    txn.sql("DELETE FROM labels WHERE trace = ?1")?.execute([number])?;
    let logs = txn.sql("DELETE FROM logs WHERE trace = ?1")?.execute([id])?;
    txn.sql("DELETE FROM traces WHERE number = ?1")?.execute([number])?;
    Ok(logs as i64)
}
