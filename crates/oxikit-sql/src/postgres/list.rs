//! Lists sessions, and work whose process has ended.
//!
//! A page is one query on the rows of sessions and their latest snapshots. The continuation token
//! is the write number of the last entry: sessions that are written meanwhile move to the
//! beginning of the list, and are not repeated.

use oxikit_core::ports::{SessionPage, SessionQuery, SessionSummary, StalledWork, StoreError};
use sqlx::Row;
use sqlx::postgres::PgRow;

use super::PostgresStore;
use super::database::failure;
use super::text::{column, original};
use crate::known::owner_of;
use crate::summary::{Facts, Summary};

/// The query of a page with a further condition. There is an index for each condition.
macro_rules! page {
    ($condition:literal) => {
        concat!(
            "SELECT s.id AS session_id, s.agent, s.metadata, s.written,
                s.created_at AS first_at, s.snapshots, n.id, n.created_at, n.updated_at,
                n.heartbeat_at, n.status, n.finish_reason,
                coalesce(c.length, 0) AS messages,
                coalesce(cardinality(c.artifacts), 0) > 0 AS has_artifacts
             FROM sessions s
             JOIN snapshots n ON n.number = s.latest
             LEFT JOIN snapshots c ON c.number = s.completed
             WHERE s.owner = $1 AND s.written < $2",
            $condition,
            " ORDER BY s.written DESC LIMIT $3"
        )
    };
}

/// Maximum number of rows per query. Further ones are read by the next query.
const BATCH: i64 = 256;

/// Work of an agent and the lease of its session. The columns of the lease are empty if it is
/// free or its holder has ended.
const WORK: &str = "
    SELECT n.number, s.owner, s.id AS session_id, n.id, n.work,
        l.fence, l.beat, l.ttl_ms
    FROM snapshots n
    JOIN sessions s ON s.number = n.session
    LEFT JOIN leases l ON l.owner = s.owner AND l.session = s.id AND l.is_held
        AND is_alive(l.instance)
    WHERE n.work IS NOT NULL AND s.agent = $1 AND n.number > $2
    ORDER BY n.number LIMIT $3";

impl PostgresStore {
    /// One page of an owner's sessions, the last written one first.
    pub(super) async fn page(
        &self,
        owner: &str,
        query: &SessionQuery,
    ) -> Result<SessionPage, StoreError> {
        let before = match &query.after {
            Some(token) => {
                token.parse().map_err(|_| StoreError::Invalid("the continuation token"))?
            }
            None => i64::MAX,
        };
        // One more, to know whether there is another page.
        let limit = i64::try_from(query.limit).unwrap_or(i64::MAX).saturating_add(1);
        let page = match (&query.agent, query.is_active) {
            (None, None) => sqlx::query(page!("")),
            (None, Some(_)) => sqlx::query(page!(" AND s.is_active = $4")),
            (Some(_), None) => sqlx::query(page!(" AND s.agent = $4")),
            (Some(_), Some(_)) => sqlx::query(page!(" AND s.agent = $4 AND s.is_active = $5")),
        };
        let mut page = page.bind(owner).bind(before).bind(limit);
        if let Some(agent) = &query.agent {
            page = page.bind(column(agent));
        }
        if let Some(is_active) = query.is_active {
            page = page.bind(is_active);
        }
        let mut rows = self.0.database.all(page).await?;
        let has_more = rows.len() > query.limit;
        rows.truncate(query.limit);
        let last = rows.last().filter(|_| has_more);
        let next = last.map(|row| row.try_get::<i64, _>("written")).transpose().map_err(failure)?;
        let mut sessions = Vec::with_capacity(rows.len());
        for row in &rows {
            let (session, summary) = summary(row).map_err(failure)?;
            sessions.push(summary.shown(session)?);
        }
        Ok(SessionPage { sessions, next: next.map(|written| written.to_string()) })
    }

    /// The entry of one session, as [`page`](Self::page) lists it.
    pub(super) async fn summary_of(
        &self,
        owner: &str,
        session: &str,
    ) -> Result<Option<SessionSummary>, StoreError> {
        let one = sqlx::query(page!(" AND s.id = $4"));
        let one = one.bind(owner).bind(i64::MAX).bind(1_i64).bind(column(session));
        let rows = self.0.database.all(one).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let (session, summary) = summary(row).map_err(failure)?;
        summary.shown(session).map(Some)
    }

    /// Pending work of the agent whose process has ended or does not renew its lease, at most
    /// `limit`.
    pub(super) async fn lost_work(
        &self,
        agent: &str,
        limit: usize,
    ) -> Result<Vec<StalledWork>, StoreError> {
        let mut lost = Vec::new();
        let mut last = 0_i64;
        loop {
            let work = sqlx::query(WORK).bind(column(agent)).bind(last).bind(BATCH);
            let rows = self.0.database.all(work).await?;
            for row in &rows {
                if lost.len() == limit {
                    return Ok(lost);
                }
                last = row.try_get("number").map_err(failure)?;
                // The database has left out leases of ended processes. A process that lives and
                // does not renew is found by observation.
                if self.is_lost(row).map_err(failure)? {
                    lost.push(work_of(row)?);
                }
            }
            if (rows.len() as i64) < BATCH {
                return Ok(lost);
            }
        }
    }

    /// Whether the lease is free, or its holder does not renew it.
    fn is_lost(&self, row: &PgRow) -> Result<bool, sqlx::Error> {
        let Some(fence) = row.try_get::<Option<i64>, _>("fence")? else { return Ok(true) };
        let owner: String = row.try_get("owner")?;
        let session: String = row.try_get("session_id")?;
        let state = (fence, row.try_get("beat")?);
        Ok(self.0.observed.note(&owner, &session, state, row.try_get("ttl_ms")?))
    }
}

/// The work of a row of [`WORK`].
fn work_of(row: &PgRow) -> Result<StalledWork, StoreError> {
    let text = |name: &str| row.try_get(name).map(original).map_err(failure);
    let owner: String = row.try_get("owner").map_err(failure)?;
    Ok(StalledWork {
        owner: owner_of(&owner)?,
        session: text("session_id")?,
        snapshot: text("id")?,
        work: text("work")?,
    })
}

/// The session of a row of a page: its id and its summary.
fn summary(row: &PgRow) -> Result<(String, Summary), sqlx::Error> {
    let text = |name: &str| row.try_get(name).map(original);
    let maybe = |name: &str| {
        let text: Option<String> = row.try_get(name)?;
        Ok::<_, sqlx::Error>(text.map(original))
    };
    let latest = Facts {
        id: text("id")?,
        created_at: text("created_at")?,
        updated_at: maybe("updated_at")?,
        heartbeat_at: maybe("heartbeat_at")?,
        status: maybe("status")?,
        finish_reason: maybe("finish_reason")?,
        ..Facts::default()
    };
    let completed = Facts {
        messages: row.try_get("messages")?,
        has_artifacts: row.try_get("has_artifacts")?,
        ..Facts::default()
    };
    let summary = Summary {
        created_at: text("first_at")?,
        snapshots: row.try_get("snapshots")?,
        latest,
        completed: Some(completed),
        metadata: row.try_get("metadata")?,
        ..Summary::new(&text("agent")?)
    };
    Ok((text("session_id")?, summary))
}
