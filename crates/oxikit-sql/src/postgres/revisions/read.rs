//! Reads of revisions and labels.

use std::collections::BTreeMap;

use oxikit_core::ports::{DocumentHead, Revision, RevisionInfo, RevisionKind, StoreError};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::postgres::PostgresStore;
use crate::postgres::database::failure;
use crate::postgres::text::{column, original};
use crate::tasks::column_number;

// The first columns of all queries for revisions are those that `info` reads.

const HEAD: &str = "
    SELECT revision, parent, kind, author, at, hash, bytes, is_applied, op, outcome, body, newest
    FROM revision_logs JOIN revisions ON log = number AND revision = current
    WHERE document = $1";

const REVISION: &str = "
    SELECT revision, parent, kind, author, at, hash, bytes, is_applied, op, outcome, body
    FROM revision_logs JOIN revisions ON log = number
    WHERE document = $1 AND revision = $2";

const LOG: &str = "
    SELECT revision, parent, kind, author, at, hash, bytes, is_applied, op, outcome
    FROM revision_logs JOIN revisions ON log = number
    WHERE document = $1 AND revision < $2 ORDER BY revision DESC LIMIT $3";

const FIND_OP: &str = "
    SELECT revision, parent, kind, author, at, hash, bytes, is_applied, op, outcome
    FROM revision_logs JOIN revisions ON log = number
    WHERE document = $1 AND op = $2 ORDER BY revision DESC LIMIT 1";

const DOCUMENTS: &str = "
    SELECT revision, parent, kind, author, at, hash, bytes, is_applied, op, outcome, document,
        newest
    FROM revision_logs JOIN revisions ON log = number AND revision = current";

const LABELS: &str = "
    SELECT label, revision FROM revision_logs JOIN revision_labels ON log = number
    WHERE document = $1";

impl PostgresStore {
    pub(super) async fn read_head(
        &self,
        document: &str,
    ) -> Result<Option<(u64, Revision)>, StoreError> {
        let row = self.0.database.optional(sqlx::query(HEAD).bind(column(document))).await?;
        row.map(|row| Ok((count(&row, 11)?, whole(document, &row)?))).transpose()
    }

    pub(super) async fn read_revision(
        &self,
        document: &str,
        number: u64,
    ) -> Result<Option<Revision>, StoreError> {
        let select = sqlx::query(REVISION).bind(column(document)).bind(column_number(number));
        let row = self.0.database.optional(select).await?;
        row.map(|row| whole(document, &row)).transpose()
    }

    pub(super) async fn read_log(
        &self,
        document: &str,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<RevisionInfo>, StoreError> {
        let before = before.map_or(i64::MAX, column_number);
        let select = sqlx::query(LOG).bind(column(document)).bind(before);
        let rows = self.0.database.all(select.bind(column_number(limit as u64))).await?;
        rows.iter().map(|row| info(document, row)).collect()
    }

    /// The newest revision with this `op`.
    pub(super) async fn newest_with_op(
        &self,
        document: &str,
        op: &str,
    ) -> Result<Option<RevisionInfo>, StoreError> {
        let select = sqlx::query(FIND_OP).bind(column(document)).bind(column(op));
        let row = self.0.database.optional(select).await?;
        row.map(|row| info(document, &row)).transpose()
    }

    pub(super) async fn document_heads(&self) -> Result<Vec<DocumentHead>, StoreError> {
        let head = |row: &PgRow| {
            let document = original(row.try_get(10).map_err(failure)?);
            let current = info(&document, row)?;
            Ok(DocumentHead { document, newest: count(row, 11)?, current })
        };
        let rows = self.0.database.all(sqlx::query(DOCUMENTS)).await?;
        let mut heads = rows.iter().map(head).collect::<Result<Vec<_>, StoreError>>()?;
        // The database sorts by its locale, and sees the names with their escapes.
        heads.sort_by(|one, other| one.document.cmp(&other.document));
        Ok(heads)
    }

    pub(super) async fn read_labels(
        &self,
        document: &str,
    ) -> Result<BTreeMap<String, u64>, StoreError> {
        let rows = self.0.database.all(sqlx::query(LABELS).bind(column(document))).await?;
        let label = |row: &PgRow| Ok((original(row.try_get(0).map_err(failure)?), count(row, 1)?));
        rows.iter().map(label).collect()
    }
}

/// A revision with its text, which is the column after those of [`info`].
fn whole(document: &str, row: &PgRow) -> Result<Revision, StoreError> {
    let text: Option<String> = row.try_get(10).map_err(failure)?;
    Ok(Revision { info: info(document, row)?, text: text.map(|text| original(text).into()) })
}

/// A revision without its text.
fn info(document: &str, row: &PgRow) -> Result<RevisionInfo, StoreError> {
    let kind: &str = row.try_get(2).map_err(failure)?;
    let kind = kind
        .parse::<RevisionKind>()
        .map_err(|error| StoreError::Damaged(document.to_owned(), Box::new(error)))?;
    let op: Option<String> = row.try_get(8).map_err(failure)?;
    let outcome: Option<String> = row.try_get(9).map_err(failure)?;
    Ok(RevisionInfo {
        number: count(row, 0)?,
        parent: count(row, 1)?,
        kind,
        author: original(row.try_get(3).map_err(failure)?),
        at: row.try_get(4).map_err(failure)?,
        hash: row.try_get(5).map_err(failure)?,
        bytes: count(row, 6)?,
        is_applied: row.try_get(7).map_err(failure)?,
        op: op.map(original),
        outcome: outcome.map(original),
    })
}

/// A column that is never negative.
fn count(row: &PgRow, place: usize) -> Result<u64, StoreError> {
    row.try_get::<i64, _>(place).map(i64::unsigned_abs).map_err(failure)
}
