//! Documents that live in the same file: data sets, evaluation runs.

use rusqlite::{Connection, OptionalExtension, Row};

use super::super::failure::{Failure, Outcome};
use super::super::session_row::now_ms;
use super::super::writer::Txn;
use super::{TraceError, TraceStore};

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

impl TraceStore {
    /// Writes a document and answers its version: 1, or one more than before. With
    /// `expected` only if that is the version that is there, 0 for none.
    ///
    /// # Errors
    ///
    /// [`Conflict`](oxikit_core::ports::StoreError::Conflict) if another version is there;
    /// and if the store does not work.
    pub async fn put_document(
        &self,
        kind: &str,
        id: &str,
        json: String,
        expected: Option<u32>,
    ) -> Result<u32, TraceError> {
        let (of_kind, of_id) = (kind.to_owned(), id.to_owned());
        let put = move |txn: &Txn<'_>| put(txn, &of_kind, &of_id, &json, expected);
        self.change(id, put).await
    }

    /// A document.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn document(
        &self,
        kind: &str,
        id: &str,
    ) -> Result<Option<StoredDocument>, TraceError> {
        let (of_kind, of_id) = (kind.to_owned(), id.to_owned());
        self.look(id, move |connection| get(connection, &of_kind, &of_id)).await
    }

    /// All documents of a kind, in the order they were made.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn documents(&self, kind: &str) -> Result<Vec<StoredDocument>, TraceError> {
        let of_kind = kind.to_owned();
        self.look(kind, move |connection| list(connection, &of_kind)).await
    }

    /// Removes a document; `false` if there is none.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn delete_document(&self, kind: &str, id: &str) -> Result<bool, TraceError> {
        let (of_kind, of_id) = (kind.to_owned(), id.to_owned());
        self.change(id, move |txn| delete(txn, &of_kind, &of_id)).await
    }
}

const COLUMNS: &str = "kind, id, version, created_at, updated_at, json";

fn read(row: &Row<'_>) -> rusqlite::Result<StoredDocument> {
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
fn put(txn: &Txn<'_>, kind: &str, id: &str, json: &str, expected: Option<u32>) -> Outcome<u32> {
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

fn get(connection: &Connection, kind: &str, id: &str) -> Outcome<Option<StoredDocument>> {
    let sql = format!("SELECT {COLUMNS} FROM documents WHERE kind = ?1 AND id = ?2");
    Ok(connection.prepare_cached(&sql)?.query_row((kind, id), read).optional()?)
}

/// All of a kind, in the order they were made.
fn list(connection: &Connection, kind: &str) -> Outcome<Vec<StoredDocument>> {
    let sql = format!("SELECT {COLUMNS} FROM documents WHERE kind = ?1 ORDER BY number");
    let mut select = connection.prepare_cached(&sql)?;
    let found = select.query_map([kind], read)?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Whether there was one.
fn delete(txn: &Txn<'_>, kind: &str, id: &str) -> Outcome<bool> {
    let sql = "DELETE FROM documents WHERE kind = ?1 AND id = ?2";
    Ok(txn.sql(sql)?.execute((kind, id))? > 0)
}
