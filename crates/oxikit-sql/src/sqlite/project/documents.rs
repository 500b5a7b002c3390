//! Documents in their table: one row each, found by kind and id.
//!
//! In a damaged file the queries by index may fail. Then documents are read one by one by their
//! numbers, so that those on damaged pages do not hide the others.

use std::collections::BTreeMap;

use oxikit_core::ports::{DocumentList, StoredDocument};
use rusqlite::{Connection, OptionalExtension, Row};

use oxikit_sqlite::failure::{Failure, Outcome};
use oxikit_sqlite::now_ms;
use oxikit_sqlite::walk::{self, Numbers};
use oxikit_sqlite::writer::Txn;

/// The columns of a document, in the order in which [`read`] reads them.
pub(super) const COLUMNS: &str = "kind, id, version, created_at, updated_at, json";

/// Reads the columns [`COLUMNS`].
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

/// Writes a document and returns its version. With `expected`, only if the stored document has
/// that version; 0 means that there is none. Otherwise it fails with [`Failure::Conflict`].
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

/// The document with this kind and id.
pub(super) fn get(
    connection: &Connection,
    kind: &str,
    id: &str,
) -> Outcome<Option<StoredDocument>> {
    let sql = format!("SELECT {COLUMNS} FROM documents WHERE kind = ?1 AND id = ?2");
    Ok(connection.prepare_cached(&sql)?.query_row((kind, id), read).optional()?)
}

/// All documents of a kind, in the order of their creation.
pub(super) fn list(connection: &Connection, kind: &str) -> Outcome<DocumentList> {
    let sql = format!("SELECT {COLUMNS} FROM documents WHERE kind = ?1 ORDER BY number");
    let mut select = connection.prepare_cached(&sql)?;
    let found = select.query_map([kind], read)?;
    let documents = found.collect::<Result<_, _>>()?;
    Ok(DocumentList { documents, ..DocumentList::default() })
}

/// The same for a damaged database: one document at a time.
pub(super) fn list_each(connection: &Connection, kind: &str) -> Outcome<DocumentList> {
    let known = known(connection)?;
    let may_be_incomplete = !known.is_whole;
    let mut list = DocumentList { may_be_incomplete, ..DocumentList::default() };
    for (number, name) in known.names {
        match at(connection, number)? {
            Some(document) if document.kind == kind => list.documents.push(document),
            Some(_) => {}
            None => match name {
                Some((of_kind, id)) if of_kind == kind => list.unreadable.push(id),
                Some(_) => {}
                None => list.unreadable.push(format!("number {number}")),
            },
        }
    }
    Ok(list)
}

/// One document of a damaged database. It is an error if the document may exist and cannot be
/// read: `None` would say that it does not exist.
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

/// The documents that exist or existed, as far as the table and its index show.
pub(super) struct Known {
    /// By number, with kind and id as far as the index knows them.
    pub(super) names: BTreeMap<i64, Option<(String, String)>>,
    /// Whether there can be no others: the table or the index was read to its end.
    pub(super) is_whole: bool,
}

/// The documents of the table, and those that only the index of their names shows.
pub(super) fn known(connection: &Connection) -> Outcome<Known> {
    let Numbers { found, is_whole } = walk::numbers(connection, "documents", (0, i64::MAX))?;
    let mut names: BTreeMap<_, _> = found.into_iter().map(|number| (number, None)).collect();
    let mut knows_all = false;
    // A scan ends at the first damaged page. From the other end it finds the rows behind that
    // page.
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

/// Deletes a document. Returns whether there was one.
pub(super) fn delete(txn: &Txn<'_>, kind: &str, id: &str) -> Outcome<bool> {
    let sql = "DELETE FROM documents WHERE kind = ?1 AND id = ?2";
    Ok(txn.sql(sql)?.execute((kind, id))? > 0)
}
