//! What a write must know before it is made.

use oxikit_core::ports::{SnapshotWrite, StoreError};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::PostgresStore;
use super::database::failure;
use super::read::{Found, columns};
use super::text::{column, original};
use crate::summary::{Facts, Summary};

/// One row for each of these snapshots that is there: the latest of the session,
/// the newest completed one, and the one to be written, which may turn out to be in
/// another session. At least one row, without a snapshot.
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

const ALL: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM sessions s JOIN snapshots n ON n.session = s.number
    WHERE s.owner = $1 AND s.id = $2 ORDER BY n.number"
);

/// The state of things at one moment.
#[derive(Debug)]
pub(super) struct Heads {
    /// The first of the numbers that the write may use.
    pub(super) block: i64,
    /// The fence of the session's lease.
    pub(super) fence: Option<i64>,
    pub(super) session: Option<SessionRow>,
    /// The snapshots that were found.
    found: Vec<Found>,
}

/// What the session's row says.
#[derive(Debug)]
pub(super) struct SessionRow {
    pub(super) number: i64,
    pub(super) version: i64,
    pub(super) bytes: i64,
    pub(super) summary: Summary,
}

impl Heads {
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

    /// The snapshot of this name, if it is one of those that were looked for.
    pub(super) fn take(&mut self, id: &str) -> Option<Found> {
        let place = self.found.iter().position(|found| found.row.snapshot == id)?;
        Some(self.found.swap_remove(place))
    }
}

impl SessionRow {
    fn new(row: &PgRow, found: &[Found]) -> Result<Option<Self>, sqlx::Error> {
        let Some(number) = row.try_get("own_number")? else { return Ok(None) };
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
    pub(super) async fn heads(
        &self,
        owner: &str,
        write: SnapshotWrite<'_>,
    ) -> Result<Heads, StoreError> {
        let query = sqlx::query(HEADS).bind(owner);
        let query = query.bind(column(write.session)).bind(column(write.snapshot));
        Heads::new(&self.0.database.all(query).await?).map_err(failure)
    }

    /// All snapshots of a session without their content.
    pub(super) async fn facts(&self, owner: &str, session: &str) -> Result<Vec<Facts>, StoreError> {
        let rows = self.0.database.all(sqlx::query(ALL).bind(owner).bind(column(session))).await?;
        let facts = rows.iter().map(|row| Ok(Found::new(row)?.facts()));
        facts.collect::<Result<_, _>>().map_err(failure)
    }
}
