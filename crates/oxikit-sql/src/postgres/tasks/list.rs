//! Lists of tasks.

use oxikit_core::ports::{StoreError, TaskList, TaskQuery, TaskScope};
use sqlx::Row;

use super::read::head_row;
use crate::known::scope_text;
use crate::postgres::PostgresStore;
use crate::postgres::database::failure;
use crate::postgres::text::column;
use crate::tasks::{column_number, list_before, state_number};

/// A page, and one task more if there are more. Each row has the total, and there is one row
/// without a task if the page is empty: all of it is of one moment.
const LIST: &str = "
    WITH found AS (
        SELECT * FROM tasks
        WHERE scope = $1 AND ($2::text IS NULL OR context = $2)
            AND ($3::smallint IS NULL OR state = $3)
            AND ($4::bigint IS NULL OR changed_at >= $4)
    ), page AS (
        SELECT found.id, context, status.body, metadata, position, turns, runner, changed
        FROM found
        JOIN task_events AS status ON status.task = number AND status.sequence = status_at
        WHERE changed < $5 ORDER BY changed DESC LIMIT $6
    )
    SELECT page.*, total.count
    FROM (SELECT count(*) FROM found) AS total LEFT JOIN page ON true
    ORDER BY changed DESC";

impl PostgresStore {
    pub(super) async fn list_tasks(
        &self,
        scope: &TaskScope,
        query: &TaskQuery,
    ) -> Result<TaskList, StoreError> {
        let list = sqlx::query(LIST)
            .bind(scope_text(scope))
            .bind(query.context_id.as_deref().map(column))
            .bind(query.state.map(state_number))
            .bind(query.changed_since.map(column_number))
            .bind(list_before(query)?)
            .bind(column_number(query.limit as u64).saturating_add(1));
        let rows = self.0.database.all(list).await?;
        let total: Option<i64> =
            rows.first().map(|row| row.try_get(8)).transpose().map_err(failure)?;
        let mut tasks = Vec::new();
        for row in &rows {
            if let Some(changed) = row.try_get::<Option<i64>, _>(7).map_err(failure)? {
                tasks.push((head_row(row).map_err(failure)?.decode()?, changed));
            }
        }
        let has_more = tasks.len() > query.limit;
        tasks.truncate(query.limit);
        let cursor = tasks.last().filter(|_| has_more).map(|(_, changed)| changed.to_string());
        let tasks = tasks.into_iter().map(|(head, _)| head).collect();
        Ok(TaskList { tasks, cursor, total: total.unwrap_or_default().unsigned_abs() })
    }
}
