//! Moves documents that earlier versions have stored in the database of the traces.
//!
//! They are copied in one transaction, which also records that they were; then the copies are
//! read again; and then the originals are removed. A process that is killed in between leaves
//! them in both files: the next one finds the records, copies nothing again, and goes on with the
//! removal.

use std::path::Path;

use oxikit_core::ports::StoredDocument;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::documents;
use super::file_options;
use oxikit_sqlite::connection::{self, OpenError, Schema};
use oxikit_sqlite::damage::{REPAIR, Reason};
use oxikit_sqlite::failure::Outcome;

/// The traces file of earlier versions, which had data sets and evaluations in it too.
const OLD_TRACES: Schema = Schema {
    // `oxtr` in ASCII.
    application: 0x6f78_7472,
    tables: &["traces", "spans", "labels", "logs"],
    unreleased: 4,
    steps: &[],
};

/// The documents of the old file.
#[derive(Debug, Default)]
struct Found {
    documents: Vec<(i64, StoredDocument)>,
    /// Names of those that cannot be read.
    lost: Vec<String>,
}

/// Moves all documents that can be read. Problems of the old file are logged; it is an error if
/// the new one cannot be written.
pub(super) fn take_over(new: &mut Connection, traces: &Path) -> Result<(), OpenError> {
    if !traces.is_file() {
        return Ok(());
    }
    let file = traces.display();
    let mut old = match connection::of_any_version(traces, &file_options(), &OLD_TRACES) {
        Ok(old) => old,
        Err(error) => {
            tracing::error!(%file, %error, "data sets and evaluations in it, if any, cannot be moved");
            return Ok(());
        }
    };
    let found = match find(&old) {
        Ok(found) => found,
        Err(failure) => {
            let why = Reason(&failure);
            tracing::error!(%file, %why, "data sets and evaluations in it, if any, cannot be moved");
            return Ok(());
        }
    };
    for name in &found.lost {
        tracing::error!(%file, name, "this cannot be read, and is not moved; {REPAIR}");
    }
    if found.documents.is_empty() {
        return Ok(());
    }
    // The order makes a kill at any moment safe: a document is always in at least one of the
    // files.
    copy(new, &found.documents)?;
    verify(new, &found.documents)?;
    if let Err(error) = remove(&mut old, &found.documents) {
        tracing::error!(%file, %error, "data sets and evaluations were moved, and cannot be removed there");
    }
    Ok(())
}

/// Reads all documents of the old file, one by one, so that a damaged page hides only its own.
fn find(old: &Connection) -> Outcome<Found> {
    let mut found = Found::default();
    if !connection::table_names(old)?.iter().any(|table| table == "documents") {
        return Ok(found);
    }
    for (number, name) in documents::known(old)?.names {
        match documents::at(old, number)? {
            Some(document) => found.documents.push((number, document)),
            None => found.lost.push(match name {
                Some((kind, id)) => format!("{kind} {id}"),
                None => format!("number {number}"),
            }),
        }
    }
    Ok(found)
}

/// Copies the documents that were not copied before. If both files have a document of the same
/// name, because an earlier version was used again, the one that was changed last is kept.
fn copy(new: &mut Connection, found: &[(i64, StoredDocument)]) -> Result<(), OpenError> {
    let transaction = new.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (_, document) in found {
        if !was_moved(&transaction, document)? {
            copy_one(&transaction, document)?;
        }
    }
    Ok(transaction.commit()?)
}

/// Whether this version of the document was copied before. It may have been changed or deleted
/// since.
fn was_moved(new: &Connection, document: &StoredDocument) -> rusqlite::Result<bool> {
    let StoredDocument { kind, id, version, updated_at, .. } = document;
    let sql = "SELECT 1 FROM moved
         WHERE kind = ?1 AND id = ?2 AND version = ?3 AND updated_at = ?4";
    let found = new.query_row(sql, (kind, id, version, updated_at), |_| Ok(())).optional()?;
    Ok(found.is_some())
}

/// Copies a document and records it.
fn copy_one(new: &Transaction<'_>, document: &StoredDocument) -> rusqlite::Result<()> {
    let StoredDocument { kind, id, version, created_at, updated_at, json } = document;
    new.prepare_cached(
        "INSERT INTO documents (kind, id, version, created_at, updated_at, json)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (kind, id) DO UPDATE
         SET version = MAX(version + 1, excluded.version), created_at = excluded.created_at,
             updated_at = excluded.updated_at, json = excluded.json
         WHERE excluded.updated_at > updated_at",
    )?
    .execute((kind, id, version, created_at, updated_at, json))?;
    new.prepare_cached("INSERT OR REPLACE INTO moved VALUES (?1, ?2, ?3, ?4)")?
        .execute((kind, id, version, updated_at))?;
    Ok(())
}

/// Reads the copies again before the originals are removed, and compares them. A copy that was
/// changed or deleted since an earlier run is not compared.
fn verify(new: &Connection, found: &[(i64, StoredDocument)]) -> Result<(), OpenError> {
    let sql = "SELECT d.json FROM moved m LEFT JOIN documents d ON d.kind = m.kind AND d.id = m.id
             AND d.updated_at = m.updated_at
         WHERE m.kind = ?1 AND m.id = ?2 AND m.version = ?3 AND m.updated_at = ?4";
    let mut select = new.prepare(sql)?;
    for (_, document) in found {
        let StoredDocument { kind, id, version, updated_at, json, .. } = document;
        let read: Option<String> =
            select.query_row((kind, id, version, updated_at), |row| row.get(0))?;
        if read.is_some_and(|read| read != *json) {
            let text = format!("the copy of {kind} `{id}` is not what was copied");
            return Err(OpenError::File(std::io::Error::other(text)));
        }
    }
    Ok(())
}

/// Removes the originals of the copies, which are on the disk by now.
fn remove(old: &mut Connection, found: &[(i64, StoredDocument)]) -> rusqlite::Result<()> {
    let transaction = old.transaction_with_behavior(TransactionBehavior::Immediate)?;
    {
        let mut delete = transaction.prepare(
            "DELETE FROM documents WHERE number = ?1 AND version = ?2 AND updated_at = ?3",
        )?;
        for (number, document) in found {
            delete.execute((number, document.version, document.updated_at))?;
        }
    }
    transaction.commit()
}
