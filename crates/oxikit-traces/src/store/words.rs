//! The full-text index of the words of ended spans.
//!
//! A write only notes the numbers of new spans; [`index`] later puts their words into the
//! index in larger groups, which is much cheaper. A search first indexes all that is noted.
//! The index can be computed again from the spans, so a damaged index disables the search
//! only.

use std::collections::BTreeSet;

use rusqlite::{Connection, ErrorCode, OptionalExtension};

use super::recent_words::RecentWords;
use super::tokens::{each_word, words_of};
use oxikit_sqlite::damage::Health;
use oxikit_sqlite::failure::{Failure, Outcome};
use oxikit_sqlite::walk;
use oxikit_sqlite::writer::Txn;

/// Maximum number of words in a query. Further ones are ignored.
const MAX_WANTED: usize = 32;

/// The query for the index; `None` if the text contains no word.
pub(super) fn wanted(text: &str) -> Option<String> {
    let mut wanted: Vec<String> = Vec::new();
    let mut buffer = String::new();
    for part in text.split_whitespace() {
        each_word(part, &mut buffer, |word| wanted.push(format!("\"{word}\"")));
        if let Some(last) =
            wanted.last_mut().filter(|last| part.ends_with('*') && last.ends_with('"'))
        {
            last.push('*');
        }
    }
    wanted.truncate(MAX_WANTED);
    (!wanted.is_empty()).then(|| wanted.join(" AND "))
}

/// Notes a range of spans whose words are not indexed yet, by its first and last number.
pub(super) fn note_new(txn: &Txn<'_>, run: (i64, i64)) -> Outcome<()> {
    let sql = "INSERT INTO fresh (first, last) VALUES (?1, ?2)
         ON CONFLICT (first) DO UPDATE SET last = MAX(last, excluded.last)";
    txn.sql(sql)?.execute(run)?;
    Ok(())
}

/// Indexes up to `limit` spans that are noted. Does nothing if the index is known to be
/// damaged.
pub(super) fn index(
    txn: &Txn<'_>,
    limit: usize,
    recent: &RecentWords,
    health: &Health,
) -> Outcome<()> {
    if are_damaged(txn.connection())? {
        return Ok(());
    }
    guarded(txn, health, || {
        recent.check(txn.connection())?;
        take(txn, limit)?.into_iter().try_for_each(|run| index_run(txn, run, recent))?;
        // Without it the index is written at the commit, and damage would fail the commit.
        txn.sql("INSERT INTO words (words) VALUES ('flush')")?.execute([])?;
        Ok(())
    })
}

/// Changes the index. In a file that is known to be damaged, a change that finds damage is
/// rolled back and the damage is noted, so that the rest of the transaction can be kept.
pub(super) fn guarded(
    txn: &Txn<'_>,
    health: &Health,
    work: impl FnOnce() -> Outcome<()>,
) -> Outcome<()> {
    let work = || work().map_err(as_damage);
    if !health.is_careful() {
        return work();
    }
    if health.guard(txn, work)?.is_none() {
        tracing::error!("the index of words in the trace database is damaged: {OFF}");
        note_damage(txn)?;
    }
    Ok(())
}

/// Converts errors that only damage can cause: the index consists of several tables, and one of
/// them breaks a rule of another.
fn as_damage(failure: Failure) -> Failure {
    match &failure {
        Failure::Sql(error) => match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation | ErrorCode::Unknown) => {
                Failure::Damaged("the tables of the index do not fit each other")
            }
            _ => failure,
        },
        _ => failure,
    }
}

/// The error of a search while the index is damaged.
pub(super) const OFF: &str = "traces cannot be searched for words until it is made anew; stop the \
     tools and run `oxikit doctor --repair`";
/// The row of the counts that says that the index is damaged.
const DAMAGED: &str = "damaged words";

/// Whether the index is known to be damaged.
pub(super) fn are_damaged(connection: &Connection) -> Outcome<bool> {
    let sql = "SELECT 1 FROM counts WHERE name = ?1";
    let found = connection.prepare_cached(sql)?.query_row([DAMAGED], |_| Ok(())).optional()?;
    Ok(found.is_some())
}

/// Notes that the index is damaged.
pub(super) fn note_damage(txn: &Txn<'_>) -> Outcome<()> {
    let sql = "INSERT OR REPLACE INTO counts (name, amount, last) VALUES (?1, 1, 0)";
    txn.sql(sql)?.execute([DAMAGED])?;
    Ok(())
}

/// Empties the index, which also clears its damage.
pub(super) fn clear(txn: &Txn<'_>) -> Outcome<()> {
    txn.sql("INSERT INTO words (words) VALUES ('delete-all')")?.execute([])?;
    txn.sql("DELETE FROM counts WHERE name = ?1")?.execute([DAMAGED])?;
    Ok(())
}

/// The numbers of the traces that have a span with these words.
pub(super) fn search(connection: &Connection, wanted: &str) -> Outcome<BTreeSet<i64>> {
    let mut select =
        connection.prepare_cached("SELECT rowid >> 20 FROM words WHERE words MATCH ?1")?;
    let found = select.query_map([wanted], |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Takes up to `limit` of the oldest spans that were [noted](note_new). Adjacent ranges are
/// merged.
fn take(txn: &Txn<'_>, limit: usize) -> Outcome<Vec<(i64, i64)>> {
    let mut left = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut runs: Vec<(i64, i64)> = Vec::new();
    let (mut newest, mut rest) = (None, None);
    let mut select = txn.sql("SELECT first, last FROM fresh ORDER BY first")?;
    let mut rows = select.query([])?;
    // Of the last range only a part may be taken; the rest is noted again.
    while left > 0
        && let Some(row) = rows.next()?
    {
        let (first, last): (i64, i64) = (row.get(0)?, row.get(1)?);
        let end = last.min(first.saturating_add(left - 1));
        left -= end - first + 1;
        newest = Some(first);
        rest = (end < last).then_some((end + 1, last));
        match runs.last_mut() {
            Some(run) if run.1 + 1 == first => run.1 = end,
            _ => runs.push((first, end)),
        }
    }
    drop(rows);
    txn.sql("DELETE FROM fresh WHERE first <= ?1")?.execute([newest])?;
    rest.map_or(Ok(()), |rest| note_new(txn, rest))?;
    Ok(runs)
}

/// Indexes a range of spans: first those whose words are cached, then the others from their rows.
fn index_run(txn: &Txn<'_>, run: (i64, i64), recent: &RecentWords) -> Outcome<()> {
    let (mut from, to) = run;
    while from <= to
        && let Some(words) = recent.take(from)
    {
        txn.sql("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?.execute((from, &*words))?;
        from += 1;
    }
    // A span that cannot be read has no words; those behind it have.
    while from <= to && !index_readable(txn, &mut from, to)? {
        from += 1;
    }
    Ok(())
}

/// Moves `from` behind the last span that could be read; `false` if that was not the end.
fn index_readable(txn: &Txn<'_>, from: &mut i64, to: i64) -> Outcome<bool> {
    let sql = "SELECT number, json FROM spans WHERE number BETWEEN ?1 AND ?2";
    let mut select = txn.sql(sql)?;
    let mut rows = select.query((*from, to))?;
    loop {
        let Some(row) = walk::whole(rows.next().map_err(Into::into))? else { return Ok(false) };
        let Some(row) = row else { return Ok(true) };
        let number: i64 = row.get(0)?;
        let words = words_of(row.get_ref(1)?.as_str().unwrap_or_default());
        // A span that ended twice is indexed again.
        txn.sql("INSERT OR REPLACE INTO words (rowid, text) VALUES (?1, ?2)")?
            .execute((number, &*words))?;
        *from = number + 1;
    }
}

/// Whether the index is whole and has the words of all spans. Otherwise the caller finds out what is
/// wrong.
pub(super) fn can_search(connection: &Connection) -> bool {
    matches!((are_damaged(connection), is_complete(connection)), (Ok(false), Ok(true)))
}

/// Whether all spans are in the index.
pub(super) fn is_complete(connection: &Connection) -> Outcome<bool> {
    let sql = "SELECT 1 FROM fresh LIMIT 1";
    let found = connection.prepare_cached(sql)?.query_row([], |_| Ok(())).optional()?;
    Ok(found.is_none())
}
