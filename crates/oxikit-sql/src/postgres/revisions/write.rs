//! Writes of revisions and labels.

use oxikit_core::ports::{Revision, RevisionInfo, StoreError};
use sqlx::Row;

use crate::postgres::PostgresStore;
use crate::postgres::database::failure;
use crate::postgres::text::column;
use crate::tasks::column_number;

const APPEND: &str = "SELECT append_revisions(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";

/// The update of the log makes writers of one log wait for each other.
const PUT_LABEL: &str = "
    WITH head AS (
        UPDATE revision_logs SET changed = pg_current_xact_id() FROM revisions
        WHERE document = $1 AND revisions.log = number AND revision = $3
        RETURNING number
    )
    INSERT INTO revision_labels (log, label, revision) SELECT number, $2, $3 FROM head
    ON CONFLICT (log, label) DO UPDATE SET revision = excluded.revision";

const REMOVE_LABEL: &str = "
    WITH head AS (
        UPDATE revision_logs SET changed = pg_current_xact_id() FROM revision_labels
        WHERE document = $1 AND revision_labels.log = number AND label = $2
        RETURNING number
    )
    DELETE FROM revision_labels USING head WHERE log = head.number AND label = $2";

impl PostgresStore {
    /// Appends revisions whose numbers follow `expected`, and moves the log to a new name if one
    /// is given.
    pub(super) async fn append_revisions(
        &self,
        document: &str,
        new_name: Option<&str>,
        expected: u64,
        revisions: &[Revision],
    ) -> Result<(), StoreError> {
        let current = revisions.iter().rev().find(|revision| revision.info.is_applied);
        // All revisions of one append have the same time.
        let at = revisions.first().map_or(0, |revision| revision.info.at);
        let append = sqlx::query(APPEND)
            .bind(column(document))
            .bind(new_name.map(column))
            .bind(column_number(expected))
            .bind(current.map(|revision| column_number(revision.info.number)))
            .bind(each(revisions, |info| column_number(info.parent)))
            .bind(each(revisions, |info| info.kind.as_str()))
            .bind(each(revisions, |info| column(&info.author)))
            .bind(at)
            .bind(each(revisions, |info| info.hash.as_str()))
            .bind(each(revisions, |info| column_number(info.bytes)))
            .bind(each(revisions, |info| info.is_applied))
            .bind(each(revisions, |info| info.op.as_deref().map(column)))
            .bind(each(revisions, |info| info.outcome.as_deref().map(column)))
            .bind(revisions.iter().map(|it| it.text.as_deref().map(column)).collect::<Vec<_>>());
        let row = self.0.database.optional(append).await?;
        let outcome = row.map(|row| row.try_get::<String, _>(0)).transpose().map_err(failure)?;
        match outcome.as_deref() {
            Some("stored") => Ok(()),
            Some("not found") => Err(StoreError::NotFound(document.to_owned())),
            Some("exists") => Err(StoreError::Exists(new_name.unwrap_or(document).to_owned())),
            _ => Err(StoreError::Conflict(document.to_owned())),
        }
    }

    /// Sets a label. Returns `false` if there is no such revision.
    pub(super) async fn put_label(
        &self,
        document: &str,
        label: &str,
        number: u64,
    ) -> Result<bool, StoreError> {
        let put = sqlx::query(PUT_LABEL).bind(column(document)).bind(column(label));
        Ok(self.0.database.execute(put.bind(column_number(number))).await? > 0)
    }

    /// Removes a label. Returns `false` if there is none.
    pub(super) async fn remove_label(
        &self,
        document: &str,
        label: &str,
    ) -> Result<bool, StoreError> {
        let remove = sqlx::query(REMOVE_LABEL).bind(column(document)).bind(column(label));
        Ok(self.0.database.execute(remove).await? > 0)
    }
}

/// One column of all revisions.
fn each<'a, T>(revisions: &'a [Revision], value: impl Fn(&'a RevisionInfo) -> T) -> Vec<T> {
    revisions.iter().map(|revision| value(&revision.info)).collect()
}
