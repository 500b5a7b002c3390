//! Documents that earlier versions have kept in the database of the traces.
//!
//! They are copied in one transaction, which also notes that they were; read again; and
//! then removed there. A process that is killed in between leaves them in both files: the
//! next one finds the notes, copies nothing again, and goes on with the removal.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::super::connection::{self, OpenError};
use super::super::damage::{REPAIR, Reason};
use super::super::failure::Outcome;
use super::super::traces;
use super::documents::{self, StoredDocument};
use super::options;

/// What the old file has.
#[derive(Debug, Default)]
struct Found {
    documents: Vec<(i64, StoredDocument)>,
    /// Names of those that cannot be read.
    lost: Vec<String>,
}

/// Moves all that can be read. What is wrong with the old file is logged; it is an error if
/// the new one cannot be written.
pub(super) fn take_over(new: &mut Connection, traces: &Path) -> Result<(), OpenError> {
    if !traces.is_file() {
        return Ok(());
    }
    let file = traces.display();
    let mut old = match connection::writer(traces, &options(), &traces::SCHEMA) {
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
    copy(new, &found.documents)?;
    verify(new, &found.documents)?;
    if let Err(error) = remove(&mut old, &found.documents) {
        tracing::error!(%file, %error, "data sets and evaluations were moved, and cannot be removed there");
    }
    Ok(())
}

fn find(old: &Connection) -> Outcome<Found> {
    let mut found = Found::default();
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

/// Copies those that were not copied before. Of two documents of one name, which there are
/// if an earlier version was used again, the one that was changed last counts.
fn copy(new: &mut Connection, found: &[(i64, StoredDocument)]) -> Result<(), OpenError> {
    let transaction = new.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (_, document) in found {
        if !was_moved(&transaction, document)? {
            copy_one(&transaction, document)?;
        }
    }
    Ok(transaction.commit()?)
}

fn was_moved(new: &Connection, document: &StoredDocument) -> rusqlite::Result<bool> {
    let StoredDocument { kind, id, version, updated_at, .. } = document;
    let sql = "SELECT 1 FROM moved
         WHERE kind = ?1 AND id = ?2 AND version = ?3 AND updated_at = ?4";
    let found = new.query_row(sql, (kind, id, version, updated_at), |_| Ok(())).optional()?;
    Ok(found.is_some())
}

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

/// Reads the copies again: nothing is removed on the word of the database alone. Those that
/// were changed or deleted since an earlier copy are none any more.
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

/// Removes what is on the disk in the other file by now.
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
