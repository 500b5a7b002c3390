//! Lists of tasks.

use oxikit_core::ports::{StoreError, TaskList, TaskQuery, TaskScope};
use rusqlite::Connection;

use super::rows::{HEAD, head_row};
use crate::known::scope_text;
use crate::tasks::{HeadRow, column_number, list_before, state_number};
use oxikit_sqlite::at_once;
use oxikit_sqlite::failure::Outcome;

/// A query as the columns see it.
pub(super) struct Search {
    scope: String,
    context: Option<String>,
    state: Option<i16>,
    since: Option<i64>,
    before: i64,
    limit: usize,
}

/// The rows of a page with the places of their last changes, and one more if there are more.
pub(super) struct Found {
    rows: Vec<(HeadRow, i64)>,
    limit: usize,
    total: i64,
}

impl Search {
    pub(super) fn of(scope: &TaskScope, query: &TaskQuery) -> Result<Self, StoreError> {
        Ok(Self {
            scope: scope_text(scope),
            context: query.context_id.clone(),
            state: query.state.map(state_number),
            since: query.changed_since.map(column_number),
            before: list_before(query)?,
            limit: query.limit,
        })
    }

    pub(super) fn run(&self, connection: &Connection) -> Outcome<Found> {
        at_once(connection, || {
            Ok(Found {
                rows: self.page(connection)?,
                limit: self.limit,
                total: self.count(connection)?,
            })
        })
    }

    /// The condition of the query. A context has an index of its own.
    fn condition(&self) -> &'static str {
        match self.context {
            Some(_) => {
                "scope = ?1 AND context = ?2 AND (?3 IS NULL OR state = ?3)
                 AND (?4 IS NULL OR changed_at >= ?4)"
            }
            None => {
                "scope = ?1 AND ?2 IS NULL AND (?3 IS NULL OR state = ?3)
                 AND (?4 IS NULL OR changed_at >= ?4)"
            }
        }
    }

    fn page(&self, connection: &Connection) -> Outcome<Vec<(HeadRow, i64)>> {
        let condition = self.condition();
        let sql =
            format!("{HEAD} WHERE {condition} AND changed < ?5 ORDER BY changed DESC LIMIT ?6");
        let mut select = connection.prepare_cached(&sql)?;
        let more = column_number(self.limit as u64).saturating_add(1);
        let values = (&self.scope, &self.context, self.state, self.since, self.before, more);
        let rows = select.query_map(values, |row| Ok((head_row(row)?, row.get(7)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn count(&self, connection: &Connection) -> Outcome<i64> {
        let sql = format!("SELECT count(*) FROM tasks WHERE {}", self.condition());
        let values = (&self.scope, &self.context, self.state, self.since);
        Ok(connection.prepare_cached(&sql)?.query_row(values, |row| row.get(0))?)
    }
}

impl Found {
    pub(super) fn decode(mut self) -> Result<TaskList, StoreError> {
        let has_more = self.rows.len() > self.limit;
        self.rows.truncate(self.limit);
        let last = self.rows.last().filter(|_| has_more);
        let cursor = last.map(|(_, changed)| changed.to_string());
        let tasks = self.rows.into_iter().map(|(row, _)| row.decode());
        let tasks = tasks.collect::<Result<_, _>>()?;
        Ok(TaskList { tasks, cursor, total: self.total.unsigned_abs() })
    }
}
