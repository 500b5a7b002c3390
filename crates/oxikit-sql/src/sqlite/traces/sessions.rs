//! Sessions of agents, as far as traces tell of them.

use rusqlite::{Connection, params};

use super::super::failure::Outcome;
use super::list::{position, token};
use super::{TraceError, TraceStore};

/// A page has so many sessions at most, whatever was asked for.
const MAX_PAGE: usize = 1000;

/// Which sessions, those with the newest trace first.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SeenSessionQuery {
    /// The agent that worked for them.
    pub agent: String,
    /// So many at most; never more than 1,000.
    pub limit: usize,
    /// Goes on after a page: the [`next`](SeenSessionPage::next) of that.
    pub after: Option<String>,
    /// Only those whose newest trace runs, or only the others.
    pub is_running: Option<bool>,
}

impl SeenSessionQuery {
    /// The first page of an agent's sessions.
    pub fn of(agent: impl Into<String>) -> Self {
        Self { agent: agent.into(), limit: 50, after: None, is_running: None }
    }
}

/// A part of a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SeenSessionPage {
    /// Those with the newest trace first.
    pub sessions: Vec<SeenSession>,
    /// Where the next page goes on; `None` if there are no more.
    pub next: Option<String>,
}

/// A session that an agent worked for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SeenSession {
    /// Its id.
    pub session_id: String,
    /// When its first trace began, in milliseconds since 1970.
    pub first_seen: f64,
    /// When its newest trace ended, or else began.
    pub last_seen: f64,
    /// How many traces of it there are: mostly one a turn.
    pub turns: u32,
    /// Whether its newest trace has no end yet.
    pub is_running: bool,
}

impl TraceStore {
    /// The sessions that runs of an agent have left traces of. Agents that others have
    /// called are not seen.
    ///
    /// # Errors
    ///
    /// If the query makes no sense, or the store does not work.
    pub async fn sessions(&self, query: &SeenSessionQuery) -> Result<SeenSessionPage, TraceError> {
        let before = position(query.after.as_deref())?.unwrap_or(i64::MAX);
        let query = query.clone();
        let what = query.agent.clone();
        self.look(&what, move |connection| list(connection, &query, before)).await
    }
}

fn list(
    connection: &Connection,
    query: &SeenSessionQuery,
    before: i64,
) -> Outcome<SeenSessionPage> {
    // State 0 is running.
    let sql = "SELECT s.session, s.first, coalesce(t.end, t.start), s.turns, t.state = 0, t.number
        FROM (
            SELECT session, min(start) AS first, max(number) AS last, count(*) AS turns
            FROM traces WHERE name = ?1 AND type = 'agent' AND session IS NOT NULL
            GROUP BY session
        ) s CROSS JOIN traces t ON t.number = s.last
        WHERE s.last < ?2 AND (?3 IS NULL OR (t.state = 0) = ?3)
        ORDER BY s.last DESC";
    let limit = query.limit.min(MAX_PAGE);
    let mut select = connection.prepare_cached(sql)?;
    let mut rows = select.query(params![query.agent, before, query.is_running])?;
    let mut page = SeenSessionPage::default();
    let mut last = None;
    while let Some(row) = rows.next()? {
        if page.sessions.len() == limit {
            page.next = last.map(token);
            break;
        }
        page.sessions.push(SeenSession {
            session_id: row.get(0)?,
            first_seen: row.get(1)?,
            last_seen: row.get(2)?,
            turns: row.get(3)?,
            is_running: row.get(4)?,
        });
        last = Some(row.get(5)?);
    }
    Ok(page)
}
