//! [`StreamStore`] for SQLite: durable streams.
//!
//! A stream is a row with its position and a row per event. A write names the position that it
//! follows, so that a repeated write, whose answer was lost, is recognised and not stored
//! twice.

use async_trait::async_trait;
use oxikit_core::Payload;
use oxikit_core::ports::{
    StoreError, StreamEnd, StreamEvent, StreamPage, StreamScope, StreamStore, Topic,
};
use rusqlite::{Connection, OptionalExtension};

use super::SqliteStore;
use crate::entries::Entry;
use crate::known::scope_text;
use oxikit_sqlite::at_once;
use oxikit_sqlite::failure::{Failure, Outcome};
use oxikit_sqlite::now_ms;
use oxikit_sqlite::writer::{Durability, Txn};

/// Maximum number of expired streams that are removed when a stream is opened. The next ones are
/// removed when further streams are opened.
const DROPPED: i64 = 4;

/// A stream's row.
struct Stream {
    number: i64,
    /// As text, in the column `owner`.
    scope: String,
    /// Number of events, which is the number of the last one.
    position: i64,
    /// Bytes of the JSON of all events.
    bytes: i64,
    is_ended: bool,
}

#[async_trait]
impl StreamStore for SqliteStore {
    async fn open(&self, scope: &StreamScope, id: &str) -> Result<(), StoreError> {
        let (scope, stream) = (scope_text(scope), id.to_owned());
        let keep = self.options().keep_ended_streams.as_secs();
        let oldest = now_ms() / 1000 - i64::try_from(keep).unwrap_or(i64::MAX);
        let open = move |txn: &Txn<'_>| {
            drop_ended(txn, oldest)?;
            let number = txn.next()?;
            // The whole write is checked by now: either all events are stored, or none.
            let mut insert = txn.sql(
                "INSERT INTO streams (id, number, owner, position, bytes) VALUES (?1, ?2, ?3, 0, 0)
                 ON CONFLICT DO NOTHING",
            )?;
            match insert.execute((&stream, number, &scope))? {
                0 => Err(Failure::Exists),
                _ => Ok(()),
            }
        };
        self.writer().run(Durability::Synced, open).await.map_err(|failure| failure.about(id))
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
        let (scope, stream) = (scope_text(scope), id.to_owned());
        let position = i64::try_from(position).unwrap_or(i64::MAX);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let read = move |connection: &Connection| {
            at_once(connection, || {
                let found = find_own(connection, &scope, &stream)?;
                let events = events(connection, found.number, position, limit)?;
                Ok((found, events))
            })
        };
        let (found, events) =
            self.readers().run(read).await.map_err(|failure| failure.about(id))?;
        let event = |(sequence, entry): (i64, Entry)| {
            Ok(StreamEvent { sequence: sequence.unsigned_abs(), entry: entry.decode(id)? })
        };
        Ok(StreamPage {
            events: events.into_iter().map(event).collect::<Result<_, StoreError>>()?,
            position: found.position.unsigned_abs(),
            has_ended: found.is_ended,
        })
    }

    async fn wait(&self, scope: &StreamScope, id: &str, position: u64) -> Result<(), StoreError> {
        let position = i64::try_from(position).unwrap_or(i64::MAX);
        let mut subscription = self.subscribe(stream_topic(id));
        loop {
            let (scope, stream) = (scope_text(scope), id.to_owned());
            let find = move |connection: &Connection| find_own(connection, &scope, &stream);
            let found = self.readers().run(find).await.map_err(|failure| failure.about(id))?;
            if found.is_ended || found.position > position {
                return Ok(());
            }
            // The subscription began before the row was read, so no event is missed. Several
            // waiters may be woken for one change, and each reads again.
            subscription.next().await;
        }
    }
}

impl SqliteStore {
    /// Appends events after `position`. Returns the new position.
    async fn write(&self, id: &str, position: u64, entries: Vec<Entry>) -> Result<u64, StoreError> {
        let stream = id.to_owned();
        let position = i64::try_from(position).map_err(|_| StoreError::Conflict(id.to_owned()))?;
        let max_bytes = i64::try_from(self.options().max_stream_bytes).unwrap_or(i64::MAX);
        let write = move |txn: &Txn<'_>| append(txn, &stream, position, &entries, max_bytes);
        let end = self.writer().run(Durability::Synced, write).await;
        end.map(i64::unsigned_abs).map_err(|failure| failure.about(id))
    }
}

/// The topic that is published when events are appended.
fn stream_topic(id: &str) -> Topic {
    Topic::of(&["stream", id])
}

/// Appends events in a transaction. A write that was stored before is answered like the first
/// time.
fn append(txn: &Txn<'_>, id: &str, position: i64, new: &[Entry], max_bytes: i64) -> Outcome<i64> {
    let stream = find(txn.connection(), id)?.ok_or(Failure::NotFound)?;
    if stream.position != position && is_written(txn, &stream, position, new)? {
        // The write is repeated because its answer was lost.
        return Ok(stream.position);
    }
    if stream.is_ended {
        return Err(Failure::Ended);
    }
    if stream.position != position {
        return Err(Failure::Conflict);
    }
    let is_end = new.last().is_some_and(Entry::is_end);
    let bytes = stream.bytes + new.iter().map(|entry| entry.body.len()).sum::<usize>() as i64;
    // The end is stored beyond the limit, too: otherwise readers would wait for it forever.
    if !is_end && bytes > max_bytes {
        return Err(Failure::Full("the stream is too long"));
    }
    let mut insert =
        txn.sql("INSERT INTO events (stream, sequence, kind, json) VALUES (?1, ?2, ?3, ?4)")?;
    for (Entry { kind, body }, sequence) in new.iter().zip(position + 1..) {
        insert.execute((stream.number, sequence, kind, body))?;
    }
    let end = position + new.len() as i64;
    let ended_at = is_end.then(|| now_ms() / 1000);
    txn.sql("UPDATE streams SET position = ?2, bytes = ?3, ended_at = ?4 WHERE id = ?1")?
        .execute((id, end, bytes, ended_at))?;
    txn.publish(stream_topic(id));
    Ok(end)
}

/// Whether these are the last events of the stream, and follow `position`.
fn is_written(txn: &Txn<'_>, stream: &Stream, position: i64, new: &[Entry]) -> Outcome<bool> {
    if position.checked_add(new.len() as i64) != Some(stream.position) {
        return Ok(false);
    }
    let written = events(txn.connection(), stream.number, position, i64::MAX)?;
    Ok(written.iter().map(|(_, entry)| entry).eq(new))
}

/// Events after `position`, in order, each with its number.
fn events(
    connection: &Connection,
    stream: i64,
    position: i64,
    limit: i64,
) -> Outcome<Vec<(i64, Entry)>> {
    let sql = "SELECT sequence, kind, json FROM events
         WHERE stream = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3";
    let mut select = connection.prepare_cached(sql)?;
    let events = select.query_map((stream, position, limit), |row| {
        Ok((row.get(0)?, Entry { kind: row.get(1)?, body: row.get(2)? }))
    })?;
    Ok(events.collect::<Result<_, _>>()?)
}

/// The stream with this id, if it has this scope. One of another scope is not found, so that a
/// client cannot find out that it exists.
fn find_own(connection: &Connection, scope: &str, id: &str) -> Outcome<Stream> {
    find(connection, id)?.filter(|stream| stream.scope == scope).ok_or(Failure::NotFound)
}

/// The stream with this id, of any scope.
fn find(connection: &Connection, id: &str) -> Outcome<Option<Stream>> {
    let sql = "SELECT number, owner, position, bytes, ended_at IS NOT NULL FROM streams
         WHERE id = ?1";
    let stream = connection.prepare_cached(sql)?.query_row([id], |row| {
        Ok(Stream {
            number: row.get(0)?,
            scope: row.get(1)?,
            position: row.get(2)?,
            bytes: row.get(3)?,
            is_ended: row.get(4)?,
        })
    });
    Ok(stream.optional()?)
}

/// Removes a few expired streams, so that opening a stream stays fast; more than one, so that
/// they become fewer.
fn drop_ended(txn: &Txn<'_>, oldest: i64) -> Outcome<()> {
    let mut select = txn.sql("SELECT id, number FROM streams WHERE ended_at < ?1 LIMIT ?2")?;
    let ended = select.query_map((oldest, DROPPED), |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (id, number) in ended.collect::<Result<Vec<(String, i64)>, _>>()? {
        txn.sql("DELETE FROM events WHERE stream = ?1")?.execute([number])?;
        txn.sql("DELETE FROM streams WHERE id = ?1")?.execute([&id])?;
    }
    Ok(())
}
