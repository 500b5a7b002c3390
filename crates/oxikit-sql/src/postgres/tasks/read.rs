//! Reads of a task.

use std::sync::Arc;

use oxikit_core::ports::{MAX_PAGE_BYTES, StoreError, TaskEvent, TaskPage, TaskScope};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::known::scope_text;
use crate::postgres::PostgresStore;
use crate::postgres::database::failure;
use crate::postgres::text::{column, original};
use crate::tasks::{HeadRow, column_number, decode};

/// One statement sees one moment. The events are in arrays, so that the head is sent once. The
/// first event is the one that has all bytes up to it.
const READ: &str = "
    SELECT tasks.id, context, status.body, metadata, position, turns, runner, changed,
        page.sequences, page.of_turns, page.bodies
    FROM tasks
    JOIN task_events AS status ON status.task = number AND status.sequence = status_at
    CROSS JOIN LATERAL (
        SELECT coalesce(array_agg(sequence ORDER BY sequence), '{}') AS sequences,
            coalesce(array_agg(turn ORDER BY sequence), '{}') AS of_turns,
            coalesce(array_agg(body ORDER BY sequence), '{}') AS bodies
        FROM (
            SELECT *, sum(octet_length(body)) OVER (ORDER BY sequence) AS bytes
            FROM (
                SELECT sequence, turn, body FROM task_events
                WHERE task = number AND sequence > $3 ORDER BY sequence LIMIT $4
            ) AS event
        ) AS event
        WHERE bytes <= $5 OR bytes = octet_length(body)
    ) AS page
    WHERE tasks.id = $1 AND scope = $2";

impl PostgresStore {
    pub(super) async fn read_task(
        &self,
        scope: &TaskScope,
        id: &str,
        position: u64,
        limit: usize,
    ) -> Result<TaskPage, StoreError> {
        let read = sqlx::query(READ).bind(column(id)).bind(scope_text(scope));
        let read = read.bind(column_number(position)).bind(column_number(limit as u64));
        let read = read.bind(column_number(MAX_PAGE_BYTES));
        let row = self.0.database.optional(read).await?;
        let row = row.ok_or_else(|| StoreError::NotFound(id.to_owned()))?;
        let head = head_row(&row).map_err(failure)?.decode()?;
        let sequences: Vec<i64> = row.try_get(8).map_err(failure)?;
        let turns: Vec<i64> = row.try_get(9).map_err(failure)?;
        let bodies: Vec<String> = row.try_get(10).map_err(failure)?;
        let event = |((sequence, turn), body): ((i64, i64), String)| {
            Ok(TaskEvent {
                sequence: sequence.unsigned_abs(),
                turn: turn.unsigned_abs(),
                entry: Arc::new(decode(id, &body)?),
            })
        };
        let events = sequences.into_iter().zip(turns).zip(bodies).map(event);
        Ok(TaskPage { events: events.collect::<Result<_, StoreError>>()?, head })
    }
}

/// The first columns of a query for heads.
pub(super) fn head_row(row: &PgRow) -> Result<HeadRow, sqlx::Error> {
    let runner: Option<String> = row.try_get(6)?;
    Ok(HeadRow {
        id: original(row.try_get(0)?),
        context: original(row.try_get(1)?),
        status: row.try_get(2)?,
        metadata: row.try_get(3)?,
        position: row.try_get(4)?,
        turns: row.try_get(5)?,
        runner: runner.map(|name| original(name).into()),
    })
}
