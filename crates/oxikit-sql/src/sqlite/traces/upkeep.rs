//! What must be done now and then: words into the index, old traces out of the file.
//!
//! Writes leave it as work for the writer, in small steps, so that nobody waits for
//! it long.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::Connection;

use super::super::damage::Health;
use super::super::failure::Outcome;
use super::super::session_row::now_ms;
use super::super::walk;
use super::super::writer::{Promise, Txn, Writer};
use super::ingest::Written;
use super::post::Post;
use super::recent_words::RecentWords;
use super::{TraceOptions, blocks, read, words};

/// So many spans go into the index at once.
pub(super) const INDEX_STEP: usize = 1024;
/// So many of the oldest traces are looked at in one step.
const PRUNE_STEP: usize = 200;
/// So many log lines are removed in one step.
const LOG_STEP: i64 = 256;
/// A trace that runs, and of which nothing was heard for so long, has lost its
/// process: it goes like any other.
const SILENT_MS: i64 = 10 * 60 * 1000;

/// Counts what has come since it was last seen to.
#[derive(Debug)]
pub(super) struct Upkeep {
    fresh: AtomicUsize,
    traces: AtomicUsize,
    logs: AtomicUsize,
    pub(super) recent: RecentWords,
}

impl Default for Upkeep {
    /// The first write looks after what an earlier process has left.
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
    /// Counts what was written, and keeps the words of the spans that have ended.
    pub(super) fn note(&self, post: &Post, written: &Written) {
        for stored in &written.stored {
            let span = &post.spans[stored.place];
            // Else the index may have words of it already, which are to go.
            if span.end > 0.0 && !stored.had_ended {
                self.recent.keep(stored.number, span.words.clone());
            }
        }
        self.fresh.fetch_add(written.fresh, Ordering::Relaxed);
        self.traces.fetch_add(usize::from(written.is_new_trace), Ordering::Relaxed);
    }

    pub(super) fn note_logs(&self, logs: usize) {
        self.logs.fetch_add(logs, Ordering::Relaxed);
    }

    /// Leaves the writer what is due.
    pub(super) fn leave(
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
                of_file.noted("the words", indexed)
            };
            writer.leave(Promise::UntilPowerCut, index);
        }
        let every = (options.max_traces / 100).clamp(1, PRUNE_STEP / 2);
        let is_due = self.traces.load(Ordering::Relaxed) >= every
            || self.logs.load(Ordering::Relaxed) >= LOG_STEP as usize / 2;
        if is_due {
            self.traces.store(0, Ordering::Relaxed);
            self.logs.store(0, Ordering::Relaxed);
            let (options, health) = (options.clone(), health.clone());
            let prune = move |txn: &Txn<'_>| {
                health.noted("old traces", prune(txn, &options, &health).map(drop))
            };
            writer.leave(Promise::UntilPowerCut, prune);
        }
    }
}

/// What one step has removed.
#[derive(Debug, Default)]
pub(super) struct Step {
    pub(super) traces: u64,
    pub(super) logs: u64,
}

/// Removes some of the oldest traces and log lines that are too many, too old, or
/// take too much room.
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
        let runs = candidate.is_running && candidate.written_at >= now.saturating_sub(SILENT_MS);
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

/// How many of so many are too many.
fn surplus(count: i64, max: usize) -> i64 {
    count.saturating_sub(i64::try_from(max).unwrap_or(i64::MAX)).max(0)
}

/// How many rows a table has. Only those are counted that have come since it was last
/// asked: to count all takes long when there are many.
fn count(txn: &Txn<'_>, table: &str) -> Outcome<i64> {
    let sql = format!(
        "UPDATE counts SET
             amount = amount + (SELECT COUNT(*) FROM {table} WHERE number > counts.last),
             last = MAX(last, (SELECT COALESCE(MAX(number), 0) FROM {table}))
         WHERE name = '{table}' RETURNING amount"
    );
    Ok(txn.sql(&sql)?.query_row([], |row| row.get(0))?)
}

/// So many rows of a table, all of them counted, are gone. The numbers of the newest are given
/// again, and have to be counted then.
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

/// Removes a trace. In a file that is known to be damaged one that cannot be removed stays
/// as it is, with `None`.
fn remove_whole(txn: &Txn<'_>, candidate: &Candidate, health: &Health) -> Outcome<Option<i64>> {
    let Candidate { number, id, .. } = candidate;
    let remove = || remove(txn, *number, id, health);
    if health.is_careful() { health.guard(txn, remove) } else { remove().map(Some) }
}

/// Removes a trace and all that belongs to it; answers how many log lines that were.
fn remove(txn: &Txn<'_>, number: i64, id: &str, health: &Health) -> Outcome<i64> {
    let (from, to) = read::numbers(number);
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
