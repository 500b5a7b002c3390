//! Documents in the table.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row};

use super::super::damage::Damage;
use super::super::failure::{Failure, Outcome};
use super::super::session_row::now_ms;
use super::super::walk::{self, Numbers};
use super::super::writer::Txn;

/// A document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredDocument {
    /// What it is, such as `dataset` or `evalRun`.
    pub kind: String,
    /// Its id among those of its kind.
    pub id: String,
    /// 1 when it is made, one more with every change.
    pub version: u32,
    /// When it was made, in milliseconds since 1970.
    pub created_at: i64,
    /// When it was last changed.
    pub updated_at: i64,
    /// Its JSON.
    pub json: String,
}

/// The documents of a kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentList {
    /// In the order they were made.
    pub documents: Vec<StoredDocument>,
    /// Those that cannot be read, because the file is damaged.
    pub damage: Option<Damage>,
}

pub(super) const COLUMNS: &str = "kind, id, version, created_at, updated_at, json";

pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<StoredDocument> {
    Ok(StoredDocument {
        kind: row.get(0)?,
        id: row.get(1)?,
        version: row.get(2)?,
        created_at: row.get(3)?,
        updated_at: row.get(4)?,
        json: row.get(5)?,
    })
}

/// Writes a document and answers its version. With `expected` only if that is the
/// version that is there; 0 is none.
pub(super) fn put(
    txn: &Txn<'_>,
    kind: &str,
    id: &str,
    json: &str,
    expected: Option<u32>,
) -> Outcome<u32> {
    let found = get(txn.connection(), kind, id)?;
    let version = found.as_ref().map_or(0, |document| document.version);
    if expected.is_some_and(|expected| expected != version) {
        return Err(Failure::Conflict);
    }
    let now = now_ms();
    txn.sql(
        "INSERT INTO documents (kind, id, version, created_at, updated_at, json)
         VALUES (?1, ?2, ?3, ?4, ?4, ?5) ON CONFLICT (kind, id) DO UPDATE
         SET version = excluded.version, updated_at = excluded.updated_at, json = excluded.json",
    )?
    .execute((kind, id, version + 1, now, json))?;
    Ok(version + 1)
}

pub(super) fn get(
    connection: &Connection,
    kind: &str,
    id: &str,
) -> Outcome<Option<StoredDocument>> {
    let sql = format!("SELECT {COLUMNS} FROM documents WHERE kind = ?1 AND id = ?2");
    Ok(connection.prepare_cached(&sql)?.query_row((kind, id), read).optional()?)
}

/// All of a kind, in the order they were made.
pub(super) fn list(connection: &Connection, kind: &str) -> Outcome<DocumentList> {
    let sql = format!("SELECT {COLUMNS} FROM documents WHERE kind = ?1 ORDER BY number");
    let mut select = connection.prepare_cached(&sql)?;
    let found = select.query_map([kind], read)?;
    Ok(DocumentList { documents: found.collect::<Result<_, _>>()?, damage: None })
}

/// The same for a damaged database: one document at a time.
pub(super) fn list_each(connection: &Connection, kind: &str) -> Outcome<DocumentList> {
    let known = known(connection)?;
    let mut list = DocumentList::default();
    let mut lost = Damage::new(known.is_whole);
    for (number, name) in known.names {
        match at(connection, number)? {
            Some(document) if document.kind == kind => list.documents.push(document),
            Some(_) => {}
            None => match name {
                Some((of_kind, id)) if of_kind == kind => lost.add(id),
                Some(_) => {}
                None => lost.add(format!("number {number}")),
            },
        }
    }
    list.damage = lost.into_option();
    Ok(list)
}

/// One document of a damaged database; it is an error if it may be there and cannot be read.
pub(super) fn get_damaged(
    connection: &Connection,
    kind: &str,
    id: &str,
) -> Outcome<Option<StoredDocument>> {
    let known = known(connection)?;
    let is_wanted = |document: &StoredDocument| document.kind == kind && document.id == id;
    let mut may_be_lost = !known.is_whole;
    for (number, name) in known.names {
        match at(connection, number)? {
            Some(document) if is_wanted(&document) => return Ok(Some(document)),
            Some(_) => {}
            None => may_be_lost |= name.is_none_or(|name| name == (kind.to_owned(), id.to_owned())),
        }
    }
    if may_be_lost { Err(Failure::Damaged("its page cannot be read")) } else { Ok(None) }
}

/// The documents that there are or were.
pub(super) struct Known {
    /// By number, with kind and id as far as the index knows them.
    pub(super) names: BTreeMap<i64, Option<(String, String)>>,
    /// Whether there can be no others.
    pub(super) is_whole: bool,
}

/// Those in the table, and those that only the index of their names knows of.
pub(super) fn known(connection: &Connection) -> Outcome<Known> {
    let Numbers { found, is_whole } = walk::numbers(connection, "documents", (0, i64::MAX))?;
    let mut names: BTreeMap<_, _> = found.into_iter().map(|number| (number, None)).collect();
    let mut knows_all = false;
    for order in ["kind, id", "kind DESC, id DESC"] {
        let sql = format!(
            "SELECT number, kind, id FROM documents INDEXED BY sqlite_autoindex_documents_1
             ORDER BY {order}"
        );
        knows_all = walk::scan(connection, &sql, [], |row| {
            names.insert(row.get(0)?, Some((row.get(1)?, row.get(2)?)));
            Ok(())
        })?;
        if knows_all {
            break;
        }
    }
    Ok(Known { names, is_whole: is_whole || knows_all })
}

/// The document of this number; `None` if it cannot be read.
pub(super) fn at(connection: &Connection, number: i64) -> Outcome<Option<StoredDocument>> {
    let sql = format!("SELECT {COLUMNS} FROM documents NOT INDEXED WHERE number = ?1");
    Ok(walk::row(connection, &sql, [number], read)?.flatten())
}

/// Whether there was one.
pub(super) fn delete(txn: &Txn<'_>, kind: &str, id: &str) -> Outcome<bool> {
    let sql = "DELETE FROM documents WHERE kind = ?1 AND id = ?2";
    Ok(txn.sql(sql)?.execute((kind, id))? > 0)
}
