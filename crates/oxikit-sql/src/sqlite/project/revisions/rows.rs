//! Revisions in their tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use oxikit_core::ports::{
    DocumentHead, Revision, RevisionInfo, RevisionKind, all_revisions_topic, revision_topic,
    text_hash,
};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::tasks::column_number;
use oxikit_sqlite::failure::{Failure, Outcome};
use oxikit_sqlite::writer::Txn;

/// The columns of a revision without its text, in the order in which [`info`] reads them.
pub(super) const INFO: &str = "r.revision, r.parent, r.kind, r.author, r.at, r.hash, r.bytes,
    r.is_applied, r.op, r.outcome";
/// Number of columns in [`INFO`].
const INFO_COLUMNS: usize = 10;

/// Reads the columns [`INFO`].
pub(super) fn info(row: &Row<'_>) -> rusqlite::Result<RevisionInfo> {
    let kind: String = row.get(2)?;
    let kind = kind.parse::<RevisionKind>().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(2, Type::Text, Box::new(error))
    })?;
    Ok(RevisionInfo {
        number: count(row, 0)?,
        parent: count(row, 1)?,
        kind,
        author: row.get(3)?,
        at: row.get(4)?,
        hash: row.get(5)?,
        bytes: count(row, 6)?,
        is_applied: row.get(7)?,
        op: row.get(8)?,
        outcome: row.get(9)?,
    })
}

/// Reads the columns [`INFO`] and the text. The file has no checksums: a damaged page of a long
/// text is found by the hash of the text.
pub(super) fn whole(row: &Row<'_>) -> rusqlite::Result<Revision> {
    let (info, text): (_, Option<Arc<str>>) = (info(row)?, row.get(INFO_COLUMNS)?);
    if text.as_deref().map(text_hash).unwrap_or_default() != info.hash {
        let why = "the text is not the one that was stored".into();
        return Err(rusqlite::Error::FromSqlConversionFailure(INFO_COLUMNS, Type::Text, why));
    }
    Ok(Revision { info, text })
}

/// A column that is never negative.
pub(super) fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::unsigned_abs)
}

/// Appends revisions whose numbers follow `expected`, if that is the newest one.
pub(super) fn append(
    txn: &Txn<'_>,
    document: &str,
    expected: i64,
    revisions: &[Revision],
) -> Outcome<()> {
    let Last { newest, current } = Last::of(revisions, expected);
    let sql = "UPDATE logs SET newest = ?3, current = COALESCE(?4, current)
         WHERE document = ?1 AND newest = ?2";
    if txn.sql(sql)?.execute((document, expected, newest, current))? == 0 {
        if expected != 0 || find_log(txn.connection(), document)?.is_some() {
            return Err(Failure::Conflict);
        }
        txn.sql("INSERT INTO logs (document, newest, current) VALUES (?1, ?2, ?3)")?.execute((
            document,
            newest,
            current.unwrap_or(0),
        ))?;
    }
    insert(txn, document, revisions)?;
    publish(txn, &[document]);
    Ok(())
}

/// Moves a log to a name without a log, and appends revisions to it.
pub(super) fn rename(
    txn: &Txn<'_>,
    from: &str,
    to: &str,
    expected: i64,
    revisions: &[Revision],
) -> Outcome<()> {
    let log = find_log(txn.connection(), from)?.ok_or(Failure::NotFound)?;
    if log.newest != expected {
        return Err(Failure::Conflict);
    }
    if find_log(txn.connection(), to)?.is_some() {
        return Err(Failure::Exists);
    }
    let Last { newest, current } = Last::of(revisions, expected);
    txn.sql(
        "UPDATE logs SET document = ?2, newest = ?3, current = COALESCE(?4, current)
         WHERE number = ?1",
    )?
    .execute((log.number, to, newest, current))?;
    insert(txn, to, revisions)?;
    publish(txn, &[from, to]);
    Ok(())
}

/// The row of a log, as a write needs it.
struct LogRow {
    number: i64,
    newest: i64,
}

fn find_log(connection: &Connection, document: &str) -> Outcome<Option<LogRow>> {
    let sql = "SELECT number, newest FROM logs WHERE document = ?1";
    let log = |row: &Row<'_>| Ok(LogRow { number: row.get(0)?, newest: row.get(1)? });
    Ok(connection.prepare_cached(sql)?.query_row([document], log).optional()?)
}

/// The columns of a log after revisions were appended.
struct Last {
    newest: i64,
    /// `None` if no revision was applied.
    current: Option<i64>,
}

impl Last {
    fn of(revisions: &[Revision], newest: i64) -> Self {
        let number = |revision: &Revision| column_number(revision.info.number);
        let applied = revisions.iter().rev().find(|revision| revision.info.is_applied);
        Self { newest: revisions.last().map_or(newest, number), current: applied.map(number) }
    }
}

/// Inserts revisions into the log of a document.
fn insert(txn: &Txn<'_>, document: &str, revisions: &[Revision]) -> Outcome<()> {
    let mut insert = txn.sql(
        "INSERT INTO revisions (log, revision, parent, kind, author, at, hash, bytes, is_applied,
             op, outcome, text)
         VALUES ((SELECT number FROM logs WHERE document = ?1),
             ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?;
    for Revision { info, text } in revisions {
        insert.execute((
            document,
            column_number(info.number),
            column_number(info.parent),
            info.kind.as_str(),
            &info.author,
            info.at,
            &info.hash,
            column_number(info.bytes),
            info.is_applied,
            &info.op,
            &info.outcome,
            text.as_deref(),
        ))?;
    }
    Ok(())
}

/// Publishes changes of these documents after the commit.
fn publish(txn: &Txn<'_>, documents: &[&str]) {
    documents.iter().for_each(|document| txn.publish(revision_topic(document)));
    txn.publish(all_revisions_topic());
}

/// The newest number of a log and its current revision. A log without its current revision is
/// damaged: then its columns are NULL, which cannot be read.
pub(super) fn head(connection: &Connection, document: &str) -> Outcome<Option<(u64, Revision)>> {
    let sql = format!(
        "SELECT {INFO}, r.text, l.newest FROM logs l
         LEFT JOIN revisions r ON r.log = l.number AND r.revision = l.current
         WHERE l.document = ?1"
    );
    let read = |row: &Row<'_>| Ok((count(row, INFO_COLUMNS + 1)?, whole(row)?));
    Ok(connection.prepare_cached(&sql)?.query_row([document], read).optional()?)
}

pub(super) fn revision(
    connection: &Connection,
    document: &str,
    number: i64,
) -> Outcome<Option<Revision>> {
    let sql = format!(
        "SELECT {INFO}, r.text FROM logs l
         JOIN revisions r ON r.log = l.number AND r.revision = ?2
         WHERE l.document = ?1"
    );
    Ok(connection.prepare_cached(&sql)?.query_row((document, number), whole).optional()?)
}

pub(super) fn log(
    connection: &Connection,
    document: &str,
    before: i64,
    limit: i64,
) -> Outcome<Vec<RevisionInfo>> {
    let sql = format!(
        "SELECT {INFO} FROM logs l JOIN revisions r ON r.log = l.number AND r.revision < ?2
         WHERE l.document = ?1 ORDER BY r.revision DESC LIMIT ?3"
    );
    let mut select = connection.prepare_cached(&sql)?;
    let infos = select.query_map((document, before, limit), info)?;
    Ok(infos.collect::<Result<_, _>>()?)
}

/// The newest revision with this `op`.
pub(super) fn find_op(
    connection: &Connection,
    document: &str,
    op: &str,
) -> Outcome<Option<RevisionInfo>> {
    let sql = format!(
        "SELECT {INFO} FROM logs l JOIN revisions r ON r.log = l.number AND r.op = ?2
         WHERE l.document = ?1 ORDER BY r.revision DESC LIMIT 1"
    );
    Ok(connection.prepare_cached(&sql)?.query_row((document, op), info).optional()?)
}

/// All documents, in the order of their names: SQLite compares texts by their bytes.
pub(super) fn documents(connection: &Connection) -> Outcome<Vec<DocumentHead>> {
    let sql = format!(
        "SELECT {INFO}, l.document, l.newest FROM logs l
         LEFT JOIN revisions r ON r.log = l.number AND r.revision = l.current
         ORDER BY l.document"
    );
    let mut select = connection.prepare_cached(&sql)?;
    let heads = select.query_map([], document_head)?;
    Ok(heads.collect::<Result<_, _>>()?)
}

/// Reads the columns [`INFO`], the name and the newest number.
pub(super) fn document_head(row: &Row<'_>) -> rusqlite::Result<DocumentHead> {
    let (document, newest) = (row.get(INFO_COLUMNS)?, count(row, INFO_COLUMNS + 1)?);
    Ok(DocumentHead { document, newest, current: info(row)? })
}

/// Sets a label to a revision that exists.
pub(super) fn set_label(txn: &Txn<'_>, document: &str, label: &str, number: i64) -> Outcome<()> {
    let mut insert = txn.sql(
        "INSERT INTO labels (log, label, revision)
         SELECT r.log, ?2, r.revision FROM logs l
         JOIN revisions r ON r.log = l.number AND r.revision = ?3
         WHERE l.document = ?1
         ON CONFLICT (log, label) DO UPDATE SET revision = excluded.revision",
    )?;
    if insert.execute((document, label, number))? == 0 {
        return Err(Failure::NotFound);
    }
    publish(txn, &[document]);
    Ok(())
}

/// Removes a label, if it is there.
pub(super) fn remove_label(txn: &Txn<'_>, document: &str, label: &str) -> Outcome<()> {
    let mut delete = txn.sql(
        "DELETE FROM labels
         WHERE log = (SELECT number FROM logs WHERE document = ?1) AND label = ?2",
    )?;
    if delete.execute((document, label))? > 0 {
        publish(txn, &[document]);
    }
    Ok(())
}

pub(super) fn labels(connection: &Connection, document: &str) -> Outcome<BTreeMap<String, u64>> {
    let sql = "SELECT label, revision FROM labels
         WHERE log = (SELECT number FROM logs WHERE document = ?1)";
    let mut select = connection.prepare_cached(sql)?;
    let labels = select.query_map([document], |row| Ok((row.get(0)?, count(row, 1)?)))?;
    Ok(labels.collect::<Result<_, _>>()?)
}
