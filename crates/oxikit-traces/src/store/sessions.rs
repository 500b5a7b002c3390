//! Lists the sessions of agents that appear in traces. The session store of the application is
//! not read: it belongs to the application, and may be anywhere.

use rusqlite::{Connection, params};

use super::list::{position, token};
use super::{TraceError, TraceStore};
use oxikit_sqlite::failure::Outcome;

/// Maximum number of sessions per page. A larger limit is reduced to it.
const MAX_PAGE: usize = 1000;

/// A query for sessions, those with the newest trace first.
///
/// ```
/// use oxikit_traces::SeenSessionQuery;
///
/// let mut query = SeenSessionQuery::of("helper");
/// query.is_running = Some(true);
/// assert_eq!(query.limit, 50);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SeenSessionQuery {
    /// The name of the agent.
    pub agent: String,
    /// Maximum number of sessions; at most 1,000. The default is 50.
    pub limit: usize,
    /// Continues after a page: its [`next`](SeenSessionPage::next).
    pub after: Option<String>,
    /// `true` for those whose newest trace runs, `false` for the others; `None` for all.
    pub is_running: Option<bool>,
}

impl SeenSessionQuery {
    /// The first page of an agent's sessions.
    pub fn of(agent: impl Into<String>) -> Self {
        Self { agent: agent.into(), limit: 50, after: None, is_running: None }
    }
}

/// A page of a list of sessions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SeenSessionPage {
    /// The sessions, those with the newest trace first.
    pub sessions: Vec<SeenSession>,
    /// The token for the next page; `None` if there are no more.
    pub next: Option<String>,
}

/// A session that an agent worked for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SeenSession {
    /// The id of the session.
    pub session_id: String,
    /// When its first trace began, in milliseconds since 1970.
    pub first_seen: f64,
    /// When its newest trace ended, or began if it runs, in milliseconds since 1970.
    pub last_seen: f64,
    /// Number of its traces: mostly one a turn.
    pub turns: u32,
    /// Whether its newest trace has no end yet.
    pub is_running: bool,
}

impl TraceStore {
    /// Lists the sessions of an agent's runs. Only traces whose root is the agent count.
    ///
    /// # Errors
    ///
    /// [`Query`](TraceError::Query) if the continuation token is not valid; else if the store
    /// does not work.
    pub async fn sessions(&self, query: &SeenSessionQuery) -> Result<SeenSessionPage, TraceError> {
        let before = position(query.after.as_deref())?.unwrap_or(i64::MAX);
        let query = query.clone();
        let what = query.agent.clone();
        self.look(&what, move |connection| list(connection, &query, before)).await
    }
}

/// Groups the traces of the agent by session. The number of the newest trace is the position of a
/// session in the list.
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
        // One session more than fits: there is another page.
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
