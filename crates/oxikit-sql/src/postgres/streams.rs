//! [`StreamStore`] for PostgreSQL: durable streams.
//!
//! A stream is a row with its position and a row per event. A write names the position that it
//! follows. If it has no effect, the store finds out why: the stream has ended, is full, another
//! writer has appended, or the same write was stored before and its answer was lost.

use std::time::Duration;

use async_trait::async_trait;
use oxikit_core::Payload;
use oxikit_core::ports::{
    StoreError, StreamEnd, StreamEvent, StreamPage, StreamScope, StreamStore,
};
use sqlx::Row;
use sqlx::postgres::PgRow;

use super::PostgresStore;
use super::database::{Database, failure};
use super::text::column;
use super::watched::Key;
use crate::entries::Entry;
use crate::known::scope_text;

/// The version of each of these streams: twice its position, plus one if it has ended; -1 if it
/// does not exist.
pub(super) const VERSIONS: &str = "
    SELECT wanted.id, coalesce(position * 2 + (ended_at IS NOT NULL)::int, -1)
    FROM unnest($1::text[]) AS wanted (id) LEFT JOIN streams USING (id)";

/// Moves the position and inserts the events. One statement is one transaction: both happen, or
/// neither.
const WRITE: &str = "
    WITH stream AS (
        UPDATE streams SET
            position = position + cardinality($3::smallint[]),
            bytes = bytes + $5,
            ended_at = CASE WHEN $6 THEN now() END
        WHERE id = $1 AND position = $2 AND ended_at IS NULL AND ($6 OR bytes + $5 <= $7)
        RETURNING number
    )
    INSERT INTO stream_events (stream, sequence, kind, body)
    SELECT stream.number, $2 + entry.ordinal, entry.kind, entry.body
    FROM stream, unnest($3::smallint[], $4::text[]) WITH ORDINALITY AS entry (kind, body, ordinal)";

// The column `owner` has the whole scope of a stream, as text.
#[async_trait]
impl StreamStore for PostgresStore {
    async fn open(&self, scope: &StreamScope, id: &str) -> Result<(), StoreError> {
        let open = sqlx::query(
            "INSERT INTO streams (id, owner) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING",
        );
        let open = open.bind(column(id)).bind(scope_text(scope));
        match self.0.database.execute(open).await? {
            0 => Err(StoreError::Exists(id.to_owned())),
            _ => Ok(()),
        }
    }

    async fn append(
        &self,
        id: &str,
        position: u64,
        chunks: Vec<Payload>,
    ) -> Result<u64, StoreError> {
        self.write(id, position, Entry::chunks(id, chunks)?).await
    }

    async fn finish(&self, id: &str, position: u64, end: StreamEnd) -> Result<u64, StoreError> {
        self.write(id, position, Entry::end(id, end)?).await
    }

    async fn read(
        &self,
        scope: &StreamScope,
        id: &str,
        position: u64,
        limit: usize,
    ) -> Result<StreamPage, StoreError> {
        // A stream without such events answers one row with nothing in it.
        let read = sqlx::query(
            "SELECT event.sequence, event.kind, event.body, position, ended_at IS NOT NULL
             FROM streams
             LEFT JOIN LATERAL (
                SELECT sequence, kind, body FROM stream_events
                WHERE stream = streams.number AND sequence > $3 ORDER BY sequence LIMIT $4
             ) AS event ON true
             WHERE id = $1 AND owner = $2 ORDER BY event.sequence",
        );
        let read = read.bind(column(id)).bind(scope_text(scope));
        let read = read.bind(number(position)).bind(number(limit as u64));
        let rows = self.0.database.all(read).await?;
        let stream = rows.first().ok_or_else(|| StoreError::NotFound(id.to_owned()))?;
        let events = rows.iter().filter_map(|row| event(id, row).transpose());
        Ok(StreamPage {
            events: events.collect::<Result<_, StoreError>>()?,
            position: stream.try_get::<i64, _>(3).map_err(failure)?.cast_unsigned(),
            has_ended: stream.try_get(4).map_err(failure)?,
        })
    }

    async fn wait(&self, scope: &StreamScope, id: &str, position: u64) -> Result<(), StoreError> {
        // Before the row is read: events that are appended between the two are not missed.
        let mut watching = self.0.watched.watch(Key::Stream(column(id).into_owned()));
        let look = sqlx::query(
            "SELECT position, ended_at IS NOT NULL FROM streams WHERE id = $1 AND owner = $2",
        );
        let look = look.bind(column(id)).bind(scope_text(scope));
        let row = self.0.database.optional(look).await?;
        let row = row.ok_or_else(|| StoreError::NotFound(id.to_owned()))?;
        let current: i64 = row.try_get(0).map_err(failure)?;
        let has_ended: bool = row.try_get(1).map_err(failure)?;
        if current <= number(position) && !has_ended {
            // The version of a stream that has not ended, as `VERSIONS` computes it.
            watching.saw(current * 2);
            watching.changed().await;
        }
        Ok(())
    }
}

impl PostgresStore {
    /// Appends events after `position`. Returns the new position.
    async fn write(&self, id: &str, position: u64, entries: Vec<Entry>) -> Result<u64, StoreError> {
        let is_end = entries.last().is_some_and(Entry::is_end);
        let max = self.0.options.max_stream_bytes as i64;
        let bytes = entries.iter().map(|entry| entry.body.len()).sum::<usize>() as i64;
        let kinds: Vec<i16> = entries.iter().map(|entry| entry.kind).collect();
        let bodies: Vec<&str> = entries.iter().map(|entry| entry.body.as_str()).collect();
        let write = sqlx::query(WRITE).bind(column(id)).bind(number(position)).bind(&kinds);
        let write = write.bind(&bodies).bind(bytes).bind(is_end).bind(max);
        // No inserted row: the condition of the update was false, or there was nothing to append.
        if self.0.database.execute(write).await? > 0 {
            self.publish(&Key::Stream(column(id).into_owned()));
            return Ok(position + entries.len() as u64);
        }
        self.explain(id, position, &entries, !is_end && bytes > 0).await
    }

    /// The reason why nothing was written. A repeated write gets the answer of the first one.
    async fn explain(
        &self,
        id: &str,
        position: u64,
        entries: &[Entry],
        may_be_full: bool,
    ) -> Result<u64, StoreError> {
        let look = sqlx::query(
            "SELECT position, ended_at IS NOT NULL,
                array(SELECT kind FROM stream_events WHERE stream = number AND sequence > $2
                    ORDER BY sequence LIMIT $3),
                array(SELECT body FROM stream_events WHERE stream = number AND sequence > $2
                    ORDER BY sequence LIMIT $3)
             FROM streams WHERE id = $1",
        );
        let look = look.bind(column(id)).bind(number(position));
        let row = self.0.database.optional(look.bind(number(entries.len() as u64 + 1))).await?;
        let row = row.ok_or_else(|| StoreError::NotFound(id.to_owned()))?;
        let current = row.try_get::<i64, _>(0).map_err(failure)?.cast_unsigned();
        let has_ended: bool = row.try_get(1).map_err(failure)?;
        let kinds: Vec<i16> = row.try_get(2).map_err(failure)?;
        let bodies: Vec<String> = row.try_get(3).map_err(failure)?;
        let stored = kinds.into_iter().zip(bodies).map(|(kind, body)| Entry { kind, body });
        // The same events follow the position: this write was stored before, and its answer was
        // lost.
        if current >= position && stored.eq(entries.iter().cloned()) {
            return Ok(current);
        }
        Err(if has_ended {
            StoreError::Ended(id.to_owned())
        } else if current == position && may_be_full {
            StoreError::Full(id.to_owned(), "the stream is too long")
        } else {
            StoreError::Conflict(id.to_owned())
        })
    }
}

/// The event of a row; `None` if the row has only the columns of its stream.
fn event(id: &str, row: &PgRow) -> Result<Option<StreamEvent>, StoreError> {
    let Some(sequence) = row.try_get::<Option<i64>, _>(0).map_err(failure)? else {
        return Ok(None);
    };
    let kind = row.try_get(1).map_err(failure)?;
    let body = row.try_get(2).map_err(failure)?;
    let entry = Entry { kind, body }.decode(id)?;
    Ok(Some(StreamEvent { sequence: sequence.cast_unsigned(), entry }))
}

/// A number for a column. A larger one is reduced to the maximum, which no stream reaches.
fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Removes streams that ended long ago, and their events with them.
pub(super) async fn sweep(database: &Database, keep: Duration) -> Result<(), StoreError> {
    let delete = sqlx::query(
        "DELETE FROM streams WHERE number IN (
            SELECT number FROM streams WHERE ended_at < now() - make_interval(secs => $1)
            LIMIT 100 FOR UPDATE SKIP LOCKED
         )",
    );
    // The next round removes the rest.
    database.execute(delete.bind(keep.as_secs_f64())).await.map(drop)
}
