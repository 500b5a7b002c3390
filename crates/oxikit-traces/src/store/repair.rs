//! Saves the traces of a damaged file.
//!
//! All other tables and indexes can be computed from the spans and the times of their
//! traces. So only these are read from the damaged file, and they are written to the new file
//! like posts.

use std::collections::BTreeMap;
use std::path::Path;

use oxikit_wire::trace::SpanIds;
use rusqlite::{Connection, Row};

use super::ingest::{self, MAX_SPANS, PLACE_BITS, usage_at};
use super::post::{NewSpan, Post};
use super::recent_words::RecentWords;
use super::upkeep::INDEX_STEP;
use super::{SCHEMA, TraceOptions, TraceStore, damage, words};
use crate::peer_process::RuntimeNames;
use oxikit_sqlite::FileOptions;
use oxikit_sqlite::connection::{self, OpenError};
use oxikit_sqlite::damage::Health;
use oxikit_sqlite::failure::Outcome;
use oxikit_sqlite::repair::{self, RepairError, Repaired, SavedPart};
use oxikit_sqlite::walk;
use oxikit_sqlite::writer::Txn;

/// Maximum number of spans in memory. They are written before more are read.
const BATCH: usize = 256;

impl TraceStore {
    /// Checks a file with SQLite's `quick_check`. Returns its messages, none if the file is
    /// intact.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened at all.
    pub fn check(path: impl AsRef<Path>) -> Result<Vec<String>, OpenError> {
        let mut wrong = repair::check(path.as_ref(), &SCHEMA)?;
        let connection = connection::reader(path.as_ref(), &FileOptions::default())?;
        if wrong.is_empty() && words::are_damaged(&connection).unwrap_or(true) {
            wrong.push("the index of words is damaged".to_owned());
        }
        Ok(wrong)
    }

    /// Replaces a damaged file with a new one that contains all readable traces. The damaged file
    /// is kept beside it. No process may have the file open.
    ///
    /// ```no_run
    /// use oxikit_traces::TraceStore;
    ///
    /// for message in TraceStore::check("traces.db")? {
    ///     eprintln!("{message}");
    /// }
    /// for part in TraceStore::repair("traces.db")?.parts {
    ///     println!("{}: {} saved, {} lost", part.name, part.saved, part.lost);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the file belongs to another program, or there is no room for the new one. Then nothing
    /// was changed.
    pub fn repair(path: impl AsRef<Path>) -> Result<Repaired, RepairError> {
        let path = path.as_ref();
        repair::repair(path, &SCHEMA, |old, new| {
            let health = Health::of(path.to_owned());
            let mut parts = traces(old, new, &health)?;
            parts.push(copy_rows(old, new, "logs", "log lines")?);
            let recent = RecentWords::default();
            while !words::is_complete(new)? {
                in_transaction(new, |txn| words::index(txn, INDEX_STEP, &recent, &health))?;
            }
            Ok(parts)
        })
    }
}

/// A trace that is being copied.
#[derive(Debug, Default)]
struct Saved {
    /// Its number in the old file.
    number: i64,
    id: Option<String>,
    row: Option<OldRow>,
    /// Spans that were read and are not written yet.
    spans: Vec<NewSpan>,
    /// Spans that are written.
    written: u64,
}

/// The columns of a trace that cannot be computed from its spans. Without them the trace is
/// saved, too.
#[derive(Debug)]
struct OldRow {
    name: String,
    start: f64,
    end: Option<f64>,
    dropped: i64,
    written_at: i64,
}

/// Copies all traces, one after the other: the numbers of spans are in the order of their traces.
fn traces(old: &Connection, new: &Connection, health: &Health) -> Outcome<Vec<SavedPart>> {
    let known = damage::traces(old)?;
    let numbers = damage::all_spans(old)?;
    let mut lost: BTreeMap<i64, Option<String>> = known.ids;
    let (mut traces, mut spans, mut lost_spans) = (0, 0, 0);
    let mut trace = Saved::default();
    let mut end = |trace: &mut Saved, lost: &mut BTreeMap<_, _>| {
        trace.write(new, health)?;
        if trace.written > 0 {
            traces += 1;
            spans += trace.written;
            lost.remove(&trace.number);
        }
        Ok::<_, oxikit_sqlite::failure::Failure>(())
    };
    for number in &numbers.found {
        let of_trace = number >> PLACE_BITS;
        if of_trace != trace.number {
            end(&mut trace, &mut lost)?;
            let id = lost.get(&of_trace).cloned().flatten();
            trace = Saved::find(old, of_trace, id)?;
        }
        match span(old, *number)? {
            Some((id, span)) => {
                trace.id = trace.id.take().or(Some(id));
                trace.spans.push(span);
            }
            None => lost_spans += 1,
        }
        if trace.spans.len() == BATCH {
            trace.write(new, health)?;
        }
    }
    end(&mut trace, &mut lost)?;
    let part = SavedPart::new;
    Ok(vec![
        part("traces", traces, lost.len() as u64, known.is_whole),
        part("spans", spans, lost_spans, numbers.is_whole),
    ])
}

impl Saved {
    /// The trace with this number. Its id comes from its row, or else from the index.
    fn find(old: &Connection, number: i64, id: Option<String>) -> Outcome<Self> {
        let sql = "SELECT id, name, start, end, dropped, written_at FROM traces NOT INDEXED
             WHERE number = ?1";
        let read = |row: &Row<'_>| {
            let own: String = row.get(0)?;
            let (name, start, end) = (row.get(1)?, row.get(2)?, row.get(3)?);
            Ok((own, OldRow { name, start, end, dropped: row.get(4)?, written_at: row.get(5)? }))
        };
        let found = walk::row(old, sql, [number], read)?.flatten();
        let (own, row) = found.unzip();
        Ok(Self { number, id: own.or(id), row, ..Self::default() })
    }

    /// Writes the spans that were read.
    fn write(&mut self, new: &Connection, health: &Health) -> Outcome<()> {
        let Some(id) = self.id.clone().filter(|_| !self.spans.is_empty()) else { return Ok(()) };
        let row = self.row.as_ref();
        let post = Post {
            trace: id,
            name: row.map(|row| row.name.clone()),
            start: row.map(|row| row.start),
            end: row.and_then(|row| row.end),
            spans: std::mem::take(&mut self.spans),
            // Labels are made again from the spans, which do not name their runtime.
            runtime: RuntimeNames::default(),
        };
        in_transaction(new, |txn| {
            let written = ingest::write(txn, &post, MAX_SPANS, &RecentWords::default(), health)?;
            self.written += written.stored.len() as u64;
            if let Some(row) = row {
                txn.sql("UPDATE traces SET dropped = ?2, written_at = ?3 WHERE id = ?1")?
                    .execute((&post.trace, row.dropped, row.written_at))?;
            }
            Ok(())
        })
    }
}

/// A span and the id of its trace; `None` if it cannot be read, or is torn.
fn span(old: &Connection, number: i64) -> Outcome<Option<(String, NewSpan)>> {
    let sql = "SELECT json, input_tokens, output_tokens, total_tokens, cost
         FROM spans NOT INDEXED WHERE number = ?1";
    let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, usage_at(row, 1)?));
    let Some((json, usage)) = walk::row(old, sql, [number], read)?.flatten() else {
        return Ok(None);
    };
    // Long attributes were cut when the span was posted.
    let options = TraceOptions { max_attribute_bytes: usize::MAX, ..TraceOptions::default() };
    let ids = serde_json::from_str::<SpanIds>(&json).ok();
    Ok(ids.and_then(|ids| {
        let span = NewSpan::read(&ids.span_id, &json, &options).ok()?;
        // The stored cost is kept: it may come from prices that are not configured here.
        Some((ids.trace_id, NewSpan { usage, ..span }))
    }))
}

/// Copies the rows of a table, which has numbers.
fn copy_rows(
    old: &Connection,
    new: &Connection,
    table: &str,
    name: &'static str,
) -> Outcome<SavedPart> {
    walk::copy_rows(old, new, table)
        .map(|(saved, lost, is_whole)| SavedPart::new(name, saved, lost, is_whole))
}

/// Writes to the new file in a transaction. An error ends the repair, so nothing is rolled back.
fn in_transaction<T>(new: &Connection, work: impl FnOnce(&Txn<'_>) -> Outcome<T>) -> Outcome<T> {
    new.execute_batch("BEGIN IMMEDIATE")?;
    let done = work(&Txn::of(new))?;
    new.execute_batch("COMMIT")?;
    Ok(done)
}
