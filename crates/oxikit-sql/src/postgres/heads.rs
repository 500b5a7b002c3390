//! Reads the rows that a write needs before it is prepared, in one statement.
//!
//! A turn costs two round trips, this one and the write itself, however long the session is. The
//! rows have the versions that the write compares with.

use oxikit_core::ports::{SnapshotWrite, StoreError};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::PostgresStore;
use super::database::failure;
use super::read::{Found, columns};
use super::text::{column, original};
use crate::summary::{Facts, Summary};

/// One row for each of these snapshots that is stored: the latest one of the session, its newest
/// completed one, and the one to be written, which may turn out to be in another session. If none
/// is stored, one row without a snapshot.
const HEADS: &str = concat!(
    "SELECT fresh.block, lease.fence, own.number AS own_number, own.version, own.bytes,
        own.agent AS own_agent, own.metadata, own.created_at AS first_at, own.snapshots,
        own.orphans, own.latest, own.completed, ",
    columns!(),
    " FROM (SELECT nextval('numbers') AS block) AS fresh
    LEFT JOIN leases AS lease ON lease.owner = $1 AND lease.session = $2
    LEFT JOIN sessions AS own ON own.owner = $1 AND own.id = $2
    LEFT JOIN LATERAL (
        SELECT * FROM snapshots WHERE number = own.latest
        UNION ALL
        SELECT * FROM snapshots WHERE number = own.completed AND number <> own.latest
        UNION ALL
        SELECT * FROM snapshots WHERE owner = $1 AND id = $3
            AND (own.number IS NULL OR number NOT IN (own.latest, coalesce(own.completed, 0)))
    ) AS n ON true
    LEFT JOIN sessions AS s ON s.number = n.session"
);

/// All snapshots of a session, in the order of first writing.
const ALL: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM sessions s JOIN snapshots n ON n.session = s.number
    WHERE s.owner = $1 AND s.id = $2 ORDER BY n.number"
);

/// These rows, as they were at one moment.
#[derive(Debug)]
pub(super) struct Heads {
    /// The first of the numbers that the write may use.
    pub(super) block: i64,
    /// The fence of the session's lease.
    pub(super) fence: Option<i64>,
    /// `None` if the session has no snapshot yet.
    pub(super) session: Option<SessionRow>,
    /// The snapshots that were found.
    found: Vec<Found>,
}

/// The columns of the session's row.
#[derive(Debug)]
pub(super) struct SessionRow {
    pub(super) number: i64,
    /// Grows with every write of the session. A write is accepted only for the version that it
    /// was prepared for.
    pub(super) version: i64,
    /// Bytes of all its rows, for the limit of a session.
    pub(super) bytes: i64,
    pub(super) summary: Summary,
}

impl Heads {
    /// Reads the rows of [`HEADS`]. All of them have the same columns of the session.
    fn new(rows: &[PgRow]) -> Result<Self, sqlx::Error> {
        let first = rows.first().ok_or(sqlx::Error::RowNotFound)?;
        let mut found = Vec::new();
        for row in rows {
            if row.try_get::<Option<i64>, _>("number")?.is_some() {
                found.push(Found::new(row)?);
            }
        }
        Ok(Self {
            block: first.try_get("block")?,
            fence: first.try_get("fence")?,
            session: SessionRow::new(first, &found)?,
            found,
        })
    }

    /// Removes and returns the snapshot with this id, if the query has found it.
    pub(super) fn take(&mut self, id: &str) -> Option<Found> {
        let place = self.found.iter().position(|found| found.row.snapshot == id)?;
        Some(self.found.swap_remove(place))
    }
}

impl SessionRow {
    /// The session of a row of [`HEADS`]; `None` if there is none.
    fn new(row: &PgRow, found: &[Found]) -> Result<Option<Self>, sqlx::Error> {
        let Some(number) = row.try_get("own_number")? else { return Ok(None) };
        // The query has returned these rows, too: no further query is needed.
        let facts = |number: Option<i64>| {
            found.iter().find(|found| Some(found.place.number) == number).map(Found::facts)
        };
        let summary = Summary {
            agent: original(row.try_get("own_agent")?),
            created_at: original(row.try_get("first_at")?),
            snapshots: row.try_get("snapshots")?,
            latest: facts(row.try_get("latest")?).unwrap_or_default(),
            completed: facts(row.try_get("completed")?),
            orphans: row.try_get("orphans")?,
            metadata: row.try_get("metadata")?,
        };
        let (version, bytes) = (row.try_get("version")?, row.try_get("bytes")?);
        Ok(Some(Self { number, version, bytes, summary }))
    }
}

impl PostgresStore {
    /// Reads the rows for this write.
    pub(super) async fn heads(
        &self,
        owner: &str,
        write: SnapshotWrite<'_>,
    ) -> Result<Heads, StoreError> {
        let query = sqlx::query(HEADS).bind(owner);
        let query = query.bind(column(write.session)).bind(column(write.snapshot));
        Heads::new(&self.0.database.all(query).await?).map_err(failure)
    }

    /// The facts of all snapshots of a session, for its tree and for a recount.
    pub(super) async fn facts(&self, owner: &str, session: &str) -> Result<Vec<Facts>, StoreError> {
        let rows = self.0.database.all(sqlx::query(ALL).bind(owner).bind(column(session))).await?;
        let facts = rows.iter().map(|row| Ok(Found::new(row)?.facts()));
        facts.collect::<Result<_, _>>().map_err(failure)
    }
}
