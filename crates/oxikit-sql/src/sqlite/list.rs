//! Lists sessions, and work whose process has ended.
//!
//! The continuation token is the write number of the last entry: sessions that are written
//! meanwhile move to the beginning of the list, and are not repeated.

use oxikit_core::ports::{SessionPage, SessionQuery, StalledWork, StoreError};
use rusqlite::Connection;

use super::leases::{Held, Leases};
use super::session_row::{SessionRow, columns};
use crate::known::owner_of;
use oxikit_sqlite::failure::Outcome;

/// Maximum number of sessions per page. A larger limit is reduced to it.
const MAX_PAGE: usize = 1000;

/// The write number before which a page continues. Fails with `Invalid` if the token is not one
/// of these lists.
pub(super) fn position(query: &SessionQuery) -> Result<i64, StoreError> {
    let Some(token) = &query.after else { return Ok(i64::MAX) };
    let number = token.strip_prefix('w').and_then(|number| i64::from_str_radix(number, 16).ok());
    number.ok_or(StoreError::Invalid("the continuation token"))
}

/// The sessions of a page, and one more if there are more.
pub(super) fn read(
    connection: &Connection,
    owner: &str,
    query: &SessionQuery,
    before: i64,
) -> Outcome<Vec<SessionRow>> {
    let mut found = Vec::new();
    // Both kinds have an index in the order of the list.
    for is_active in [false, true] {
        if query.is_active.is_none_or(|wanted| wanted == is_active) {
            found.extend(read_kind(connection, owner, query, before, is_active)?);
        }
    }
    found.sort_unstable_by_key(|row| std::cmp::Reverse(row.written));
    found.truncate(limit(query) + 1);
    Ok(found)
}

/// The active sessions of a page, or the others.
fn read_kind(
    connection: &Connection,
    owner: &str,
    query: &SessionQuery,
    before: i64,
    is_active: bool,
) -> Outcome<Vec<SessionRow>> {
    let limit = limit(query) as i64 + 1;
    let rows = match &query.agent {
        Some(agent) => connection
            .prepare_cached(concat!(
                "SELECT ",
                columns!(),
                " FROM sessions INDEXED BY sessions_by_agent
                 WHERE owner = ?1 AND agent = ?2 AND is_active = ?3 AND written < ?4
                 ORDER BY written DESC LIMIT ?5"
            ))?
            .query_map((owner, agent, is_active, before, limit), SessionRow::read)?
            .collect::<Result<_, _>>()?,
        None => connection
            .prepare_cached(concat!(
                "SELECT ",
                columns!(),
                " FROM sessions INDEXED BY sessions_by_writing
                 WHERE owner = ?1 AND is_active = ?2 AND written < ?3
                 ORDER BY written DESC LIMIT ?4"
            ))?
            .query_map((owner, is_active, before, limit), SessionRow::read)?
            .collect::<Result<_, _>>()?,
    };
    Ok(rows)
}

/// The page of these rows.
pub(super) fn page(
    mut rows: Vec<SessionRow>,
    query: &SessionQuery,
) -> Result<SessionPage, StoreError> {
    let has_more = rows.len() > limit(query);
    rows.truncate(limit(query));
    let next = rows.last().filter(|_| has_more).map(|last| format!("w{:x}", last.written));
    let sessions = rows.into_iter().map(|row| row.summary.shown(row.session));
    Ok(SessionPage { sessions: sessions.collect::<Result<_, _>>()?, next })
}

/// The number of sessions of a page.
fn limit(query: &SessionQuery) -> usize {
    query.limit.min(MAX_PAGE)
}

/// Pending work of the agent in sessions without a valid lease, at most `limit`, each with the
/// text of its owner.
pub(super) fn stalled(
    connection: &Connection,
    leases: &Leases,
    agent: &str,
    limit: usize,
) -> Outcome<Vec<(String, StalledWork)>> {
    let mut select = connection.prepare_cached(
        "SELECT s.owner, s.session, p.id, p.work, l.fence, l.beat, l.holder, l.ttl_ms
         FROM snapshots p INDEXED BY snapshots_with_work
         JOIN sessions s ON s.number = p.session
         LEFT JOIN leases l ON l.owner = s.owner AND l.session = s.session
         WHERE p.work IS NOT NULL AND s.agent = ?1",
    )?;
    let mut found = Vec::new();
    let mut rows = select.query([agent])?;
    while let Some(row) = rows.next()?.filter(|_| found.len() < limit) {
        let (owner, session): (String, String) = (row.get(0)?, row.get(1)?);
        let fence: Option<i64> = row.get(4)?;
        // No row in `leases` means that the lease was released, or never taken.
        if fence.is_some() && !leases.is_over(&owner, &session, &Held::read(row, 4)?) {
            continue;
        }
        let (snapshot, work) = (row.get(2)?, row.get(3)?);
        found.push((owner, StalledWork { owner: Default::default(), session, snapshot, work }));
    }
    Ok(found)
}

/// The work with its owner.
pub(super) fn with_owner((owner, work): (String, StalledWork)) -> Result<StalledWork, StoreError> {
    Ok(StalledWork { owner: owner_of(&owner)?, ..work })
}
