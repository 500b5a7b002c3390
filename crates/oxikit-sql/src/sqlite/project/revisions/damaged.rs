//! Reads of revisions around damaged pages: rows are found by an index or by the table, whichever
//! can be read, and read one at a time.
//!
//! It is an error if something may exist and cannot be read: `None` would say that it does not
//! exist. Only lists leave out what cannot be read.

use std::collections::{BTreeMap, BTreeSet};

use oxikit_core::ports::{DocumentHead, Revision, RevisionInfo};
use rusqlite::{Connection, Row};

use super::rows::{self, INFO};
use oxikit_sqlite::failure::{Failure, Outcome};
use oxikit_sqlite::walk::{self, Numbers};

const UNREADABLE: Failure = Failure::Damaged("its page cannot be read");

pub(super) fn head(connection: &Connection, document: &str) -> Outcome<Option<(u64, Revision)>> {
    let Some(log) = log_of(connection, document)? else { return Ok(None) };
    let (newest, current) = newest_and_current(connection, log)?;
    let current = Places::of(connection, log)?.read_text(connection, current)?;
    Ok(Some((newest, current.ok_or(UNREADABLE)?)))
}

pub(super) fn revision(
    connection: &Connection,
    document: &str,
    number: i64,
) -> Outcome<Option<Revision>> {
    let Some(log) = log_of(connection, document)? else { return Ok(None) };
    Places::of(connection, log)?.read_text(connection, number)
}

pub(super) fn log(
    connection: &Connection,
    document: &str,
    before: i64,
    limit: usize,
) -> Outcome<Vec<RevisionInfo>> {
    let Some(log) = log_of(connection, document)? else { return Ok(Vec::new()) };
    let mut page = Vec::new();
    for row in Places::of(connection, log)?.rows.range(..before).rev().map(|(_, row)| *row) {
        if page.len() == limit {
            break;
        }
        page.extend(info_at(connection, row)?);
    }
    Ok(page)
}

pub(super) fn find_op(
    connection: &Connection,
    document: &str,
    op: &str,
) -> Outcome<Option<RevisionInfo>> {
    let Some(log) = log_of(connection, document)? else { return Ok(None) };
    let places = Places::of(connection, log)?;
    let mut may_be_lost = !places.is_whole;
    for row in places.rows.into_values().rev() {
        match info_at(connection, row)? {
            Some(info) if info.op.as_deref() == Some(op) => return Ok(Some(info)),
            Some(_) => {}
            None => may_be_lost = true,
        }
    }
    if may_be_lost { Err(UNREADABLE) } else { Ok(None) }
}

pub(super) fn documents(connection: &Connection) -> Outcome<Vec<DocumentHead>> {
    let mut heads = Vec::new();
    for (number, name) in Logs::of(connection)?.names {
        let Some(document) = name else { continue };
        let read = || {
            let (newest, current) = newest_and_current(connection, number)?;
            let places = Places::of(connection, number)?;
            let row = places.find(current)?.ok_or(UNREADABLE)?;
            let current = info_at(connection, row)?.ok_or(UNREADABLE)?;
            Ok(DocumentHead { document, newest, current })
        };
        heads.extend(walk::whole(read())?);
    }
    heads.sort_by(|one: &DocumentHead, other| one.document.cmp(&other.document));
    Ok(heads)
}

/// The logs that exist, as far as the index of their names and the table show.
pub(super) struct Logs {
    /// By number; `None` if the name cannot be read.
    pub(super) names: BTreeMap<i64, Option<String>>,
    /// Whether there can be no others.
    pub(super) is_whole: bool,
}

impl Logs {
    pub(super) fn of(connection: &Connection) -> Outcome<Self> {
        let mut names = BTreeMap::new();
        let select = "SELECT number, document FROM logs INDEXED BY sqlite_autoindex_logs_1";
        for order in ["document", "document DESC"] {
            let sql = format!("{select} ORDER BY {order}");
            let is_whole = walk::scan(connection, &sql, [], |row| {
                names.insert(row.get(0)?, Some(row.get(1)?));
                Ok(())
            })?;
            if is_whole {
                return Ok(Self { names, is_whole });
            }
        }
        let Numbers { found, is_whole } = walk::numbers(connection, "logs", (0, i64::MAX))?;
        for number in found {
            let sql = "SELECT document FROM logs NOT INDEXED WHERE number = ?1";
            let name = walk::row(connection, sql, [number], |row| row.get(0))?.flatten();
            let known = names.entry(number).or_default();
            *known = name.or(known.take());
        }
        Ok(Self { names, is_whole })
    }
}

/// The number of the log of a document.
fn log_of(connection: &Connection, document: &str) -> Outcome<Option<i64>> {
    let Logs { names, is_whole } = Logs::of(connection)?;
    let found = names.iter().find(|(_, name)| name.as_deref() == Some(document));
    match found {
        Some((number, _)) => Ok(Some(*number)),
        None if is_whole && names.values().all(Option::is_some) => Ok(None),
        None => Err(UNREADABLE),
    }
}

/// The newest number of a log, and that of its current revision.
pub(super) fn newest_and_current(connection: &Connection, log: i64) -> Outcome<(u64, i64)> {
    let sql = "SELECT newest, current FROM logs NOT INDEXED WHERE number = ?1";
    let read = |row: &Row<'_>| Ok((rows::count(row, 0)?, row.get(1)?));
    walk::row(connection, sql, [log], read)?.flatten().ok_or(UNREADABLE)
}

/// The revisions of a log, as far as their index or their table show.
struct Places {
    /// The numbers of the rows, by the numbers of the revisions.
    rows: BTreeMap<i64, i64>,
    /// Whether there can be no others.
    is_whole: bool,
}

impl Places {
    fn of(connection: &Connection, log: i64) -> Outcome<Self> {
        let mut rows = BTreeMap::new();
        // A scan ends at the first damaged page. From the other end it finds the rows behind that
        // page.
        for order in ["revision", "revision DESC"] {
            let sql = format!(
                "SELECT revision, number FROM revisions INDEXED BY sqlite_autoindex_revisions_1
                 WHERE log = ?1 ORDER BY {order}"
            );
            let is_whole = walk::scan(connection, &sql, [log], |row| {
                rows.insert(row.get(0)?, row.get(1)?);
                Ok(())
            })?;
            if is_whole {
                return Ok(Self { rows, is_whole });
            }
        }
        let Numbers { found, mut is_whole } =
            walk::numbers(connection, "revisions", (0, i64::MAX))?;
        let sql = "SELECT revision FROM revisions NOT INDEXED WHERE number = ?1 AND log = ?2";
        for number in found {
            match walk::row(connection, sql, (number, log), |row| row.get(0))? {
                Some(Some(revision)) => _ = rows.insert(revision, number),
                Some(None) => {}
                None => is_whole = false,
            }
        }
        Ok(Self { rows, is_whole })
    }

    /// The row of a revision; `None` if there is none.
    fn find(&self, revision: i64) -> Outcome<Option<i64>> {
        match self.rows.get(&revision) {
            Some(row) => Ok(Some(*row)),
            None if self.is_whole => Ok(None),
            None => Err(UNREADABLE),
        }
    }

    /// A revision with its text; `None` if there is none.
    fn read_text(&self, connection: &Connection, revision: i64) -> Outcome<Option<Revision>> {
        let Some(row) = self.find(revision)? else { return Ok(None) };
        let sql = format!("SELECT {INFO}, r.text FROM revisions r NOT INDEXED WHERE r.number = ?1");
        let found = walk::row(connection, &sql, [row], rows::whole)?.flatten();
        found.map(Some).ok_or(UNREADABLE)
    }
}

/// The revision in this row, without its text; `None` if it cannot be read.
fn info_at(connection: &Connection, row: i64) -> Outcome<Option<RevisionInfo>> {
    let sql = format!("SELECT {INFO} FROM revisions r NOT INDEXED WHERE r.number = ?1");
    Ok(walk::row(connection, &sql, [row], rows::info)?.flatten())
}

/// Number of revisions of all logs that their index knows, and whether it can be read to its end.
pub(super) fn count_in_index(connection: &Connection) -> Outcome<(u64, bool)> {
    let mut rows = BTreeSet::new();
    for order in ["log, revision", "log DESC, revision DESC"] {
        let sql = format!(
            "SELECT number FROM revisions INDEXED BY sqlite_autoindex_revisions_1 ORDER BY {order}"
        );
        let is_whole = walk::scan(connection, &sql, [], |row| {
            rows.insert(row.get::<_, i64>(0)?);
            Ok(())
        })?;
        if is_whole {
            return Ok((rows.len() as u64, true));
        }
    }
    Ok((rows.len() as u64, false))
}
