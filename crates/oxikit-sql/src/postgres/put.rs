//! The statement that writes all rows of a snapshot.
//!
//! The database's function `save_snapshot` does everything in one transaction and one round
//! trip. It compares the session's version with the one that the write was prepared for, and
//! writes nothing if another writer was faster. Preparing the rows is the task of `write` and
//! `plan`.

use oxikit_core::ports::{MAX_SESSION_BYTES, SnapshotWrite, StoreError};
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{Postgres, Row as _};

use super::PostgresStore;
use super::database::failure;
use super::heads::Heads;
use super::plan::Plan;
use super::read::numbers;
use super::text::column;
use crate::known::Document;
use crate::summary::Summary;

/// The parameters are numbered in the order in which the functions below bind them: the
/// session ($1 to $14), the snapshot's row ($15 to $20), and its content ($21 to $36).
const SAVE: &str = "
    SELECT * FROM save_snapshot(
        $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
        $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35,
        $36
    )";

/// The statement while its parameters are bound.
type Save<'q> = Query<'q, Postgres, PgArguments>;

/// The numbers that a successful write has given to rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written {
    /// The number of the session's row.
    pub(super) session: i64,
    /// The segment that has the messages; `None` if the snapshot has none.
    pub(super) segment: Option<i64>,
}

impl PostgresStore {
    /// Writes all rows. Returns `None` if another writer was faster.
    pub(super) async fn put(
        &self,
        owner: &str,
        write: SnapshotWrite<'_>,
        heads: &Heads,
        plan: &Plan,
        summary: &Summary,
    ) -> Result<Option<Written>, StoreError> {
        let save = bind_session(sqlx::query(SAVE), owner, write, heads, plan, summary)?;
        let save = bind_snapshot(save, write, plan);
        let save = bind_content(save, plan);
        let row = match self.0.database.optional(save).await {
            // Another session has taken the id meanwhile: the next attempt finds it.
            Err(error) if is_taken(&error) => return Ok(None),
            row => row?.ok_or_else(|| StoreError::Conflict(write.snapshot.to_owned()))?,
        };
        // The function reports a lost lease apart from a conflict: a conflict is tried again, a
        // lost lease ends the turn.
        match row.try_get::<&str, _>("outcome").map_err(failure)? {
            "saved" => {
                let session = row.try_get("session").map_err(failure)?;
                let segment = row.try_get("segment").map_err(failure)?;
                Ok(Some(Written { session, segment }))
            }
            "fenced" => Err(StoreError::Fenced(write.session.to_owned())),
            _ => Ok(None),
        }
    }
}

/// Binds the session's row as it will be, and what must hold for the write to happen: the
/// version and the lease.
fn bind_session<'q>(
    save: Save<'q>,
    owner: &'q str,
    write: SnapshotWrite<'q>,
    heads: &Heads,
    plan: &Plan,
    summary: &'q Summary,
) -> Result<Save<'q>, StoreError> {
    // The database does not know the limit. If another writer is faster, nothing is written, and
    // the limit is checked again with the new sum.
    let bytes = plan.growth + heads.session.as_ref().map_or(0, |session| session.bytes);
    if bytes > MAX_SESSION_BYTES as i64 {
        let why = "the session's history is too large";
        return Err(StoreError::Full(write.snapshot.to_owned(), why));
    }
    let metadata = write
        .metadata
        .map(serde_json::to_string)
        .transpose()
        .map_err(|error| StoreError::Damaged(write.session.to_owned(), Box::new(error)))?;
    Ok(save
        .bind(owner)
        .bind(column(write.session))
        .bind(heads.session.as_ref().map(|session| session.version))
        .bind(column(write.agent))
        .bind(metadata)
        .bind(write.lease.map(|lease| lease.fence.cast_signed()))
        .bind(write.releases)
        .bind(column(&summary.created_at))
        .bind(summary.snapshots)
        .bind(summary.orphans)
        .bind(summary.latest.number)
        .bind(summary.completed.as_ref().map(|completed| completed.number))
        .bind(summary.is_active())
        .bind(bytes))
}

/// Binds the snapshot's own row, without its messages, custom state and artifacts.
fn bind_snapshot<'q>(save: Save<'q>, write: SnapshotWrite<'q>, plan: &'q Plan) -> Save<'q> {
    let head = &plan.head;
    // The function takes them as one array, in this order.
    let texts = [
        head.parent.as_deref(),
        Some(head.created_at.as_str()),
        head.updated_at.as_deref(),
        head.heartbeat_at.as_deref(),
        head.status.as_deref(),
        head.finish_reason.as_deref(),
        head.error.as_deref(),
    ];
    save.bind(plan.number)
        .bind(column(write.snapshot))
        .bind(plan.revision)
        .bind(texts.map(|text| text.map(column)))
        .bind(plan.content.head_bytes)
        .bind(write.work.map(column))
}

/// Binds the messages, the custom state and the artifacts: the rows that are added, those that
/// stay, and those that the snapshot had before and that may now be removed.
fn bind_content<'q>(save: Save<'q>, plan: &'q Plan) -> Save<'q> {
    let content = &plan.content;
    let artifacts = content.artifacts.as_deref();
    let bytes_of = |all: &[Document]| all.iter().map(|one| one.bytes).collect::<Vec<_>>();
    save.bind(content.has_state)
        .bind(plan.segment)
        .bind(plan.kept)
        .bind(content.messages.map(|messages| messages.bytes))
        .bind(&plan.added)
        .bind(plan.new_segment)
        .bind(content.custom.map(|custom| custom.document))
        .bind(content.custom.map(|custom| custom.depth))
        .bind(content.custom.map(|custom| custom.bytes))
        .bind(artifacts.map(numbers))
        .bind(artifacts.map(bytes_of))
        .bind(&plan.documents.numbers)
        .bind(&plan.documents.bases)
        .bind(&plan.documents.texts)
        .bind(plan.previous_segment)
        .bind(&plan.previous)
}

/// Whether the write failed because a row with this id exists, in another session.
fn is_taken(error: &StoreError) -> bool {
    let StoreError::Unavailable(source) = error else { return false };
    let error = source.downcast_ref::<sqlx::Error>().and_then(sqlx::Error::as_database_error);
    error.is_some_and(|error| error.is_unique_violation())
}
