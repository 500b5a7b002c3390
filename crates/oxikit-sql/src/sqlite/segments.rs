//! Messages in append-only segments, each of which may continue from a place in another one.
//!
//! Places count from the first message of the session. A segment that continues another one
//! begins at the place of the fork; the messages before are read from its parent. A segment can
//! be appended to only at its end: if another snapshot appended there first, a write branches
//! off a new segment, so that each snapshot keeps its own history and no message is copied.

use rusqlite::{Connection, OptionalExtension};

use crate::draft::{Kept, NewMessages};
use crate::known::Messages;
use oxikit_sqlite::failure::{Failure, Outcome};
use oxikit_sqlite::writer::Txn;

/// Maximum number of segments in a chain. A longer chain is copied into one segment, so that
/// the cost of reading stays bounded.
const MAX_DEPTH: i64 = 16;

/// A segment's row.
struct Segment {
    /// The segment that it continues; `None` for the first one of a session.
    parent: Option<i64>,
    /// Number of messages that are read from the parent.
    kept: i64,
    /// Number of segments before it.
    depth: i64,
}

/// Stores the added messages. Returns the segment and length of all messages, and the number
/// of bytes that were copied from other segments.
pub(super) fn write(txn: &Txn<'_>, session: i64, new: &NewMessages) -> Outcome<(Messages, i64)> {
    let NewMessages { kept, added, bytes } = new;
    let length = kept.length + added.len() as i64;
    if length == 0 {
        return Ok((Messages { segment: 0, length, bytes: 0 }, 0));
    }
    let is_end = kept.length > 0 && end(txn, session, kept.segment)? == kept.length;
    let (segment, copied) = match () {
        // If nothing is added, it does not matter whether the segment continues.
        () if is_end || (added.is_empty() && kept.length > 0) => (kept.segment, 0),
        () if kept.length == 0 => (begin(txn, session, None, 0, 0)?, 0),
        () => branch(txn, session, *kept)?,
    };
    let mut insert = txn.sql("INSERT INTO messages (segment, place, json) VALUES (?1, ?2, ?3)")?;
    for (json, place) in added.iter().zip(kept.length..) {
        insert.execute((segment, place, json))?;
    }
    Ok((Messages { segment, length, bytes: *bytes }, copied))
}

/// The first messages of a segment, in order.
pub(super) fn read(
    connection: &Connection,
    session: i64,
    segment: i64,
    length: i64,
) -> Outcome<Vec<String>> {
    let sql = "SELECT json FROM messages WHERE segment = ?1 AND place < ?2 ORDER BY place";
    let mut select = connection.prepare_cached(sql)?;
    let mut messages = Vec::with_capacity(usize::try_from(length).unwrap_or_default().min(65_536));
    for (segment, length) in chain(connection, session, segment, length)?.into_iter().rev() {
        for json in select.query_map((segment, length), |row| row.get(0))? {
            messages.push(json?);
        }
    }
    Ok(messages)
}

/// The place behind the last message of the segment.
fn end(txn: &Txn<'_>, session: i64, segment: i64) -> Outcome<i64> {
    let mut select = txn.sql("SELECT MAX(place) + 1 FROM messages WHERE segment = ?1")?;
    match select.query_row([segment], |row| row.get(0))? {
        Some(end) => Ok(end),
        None => Ok(find(txn.connection(), session, segment)?.kept),
    }
}

/// Begins a segment that continues from a place in another one. Returns its number and the number
/// of bytes that were copied, which is 0 unless the chain is too long.
fn branch(txn: &Txn<'_>, session: i64, kept: Kept) -> Outcome<(i64, i64)> {
    let chain = chain(txn.connection(), session, kept.segment, kept.length)?;
    // Segments that begin after the place contain none of the kept messages.
    let (parent, length) = *chain.first().ok_or(MISSING)?;
    let depth = find(txn.connection(), session, parent)?.depth + 1;
    if depth <= MAX_DEPTH {
        return Ok((begin(txn, session, Some(parent), length, depth)?, 0));
    }
    let copy = begin(txn, session, None, 0, 0)?;
    let mut insert = txn.sql(
        "INSERT INTO messages (segment, place, json)
         SELECT ?1, place, json FROM messages WHERE segment = ?2 AND place < ?3",
    )?;
    for (segment, length) in chain {
        insert.execute((copy, segment, length))?;
    }
    let mut count = txn.sql("SELECT SUM(octet_length(json)) FROM messages WHERE segment = ?1")?;
    Ok((copy, count.query_row([copy], |row| row.get::<_, Option<i64>>(0))?.unwrap_or_default()))
}

/// Inserts an empty segment and returns its number.
fn begin(txn: &Txn<'_>, session: i64, parent: Option<i64>, kept: i64, depth: i64) -> Outcome<i64> {
    let segment = txn.next()?;
    let sql = "INSERT INTO segments (session, number, parent, kept, depth) VALUES (?, ?, ?, ?, ?)";
    txn.sql(sql)?.execute((session, segment, parent, kept, depth))?;
    Ok(segment)
}

/// The segments that contain the first messages, the last one first, and the place up to
/// which each is read.
fn chain(
    connection: &Connection,
    session: i64,
    segment: i64,
    length: i64,
) -> Outcome<Vec<(i64, i64)>> {
    let path = path(connection, session, segment, length)?.into_iter();
    Ok(path.filter(|step| step.has_messages).map(|step| (step.segment, step.length)).collect())
}

/// A segment on the way from a snapshot to its first message.
pub(super) struct Step {
    pub(super) segment: i64,
    /// The place that it is read up to.
    pub(super) length: i64,
    /// Whether messages of its own are read. A snapshot that keeps fewer messages than
    /// its segment took over from the parent reads none, and still leads through it.
    has_messages: bool,
}

/// All segments that lead to the first messages, the last one first.
pub(super) fn path(
    connection: &Connection,
    session: i64,
    segment: i64,
    mut length: i64,
) -> Outcome<Vec<Step>> {
    let mut path = Vec::new();
    let mut next = Some(segment).filter(|_| length > 0);
    while let Some(segment) = next {
        let Segment { parent, kept, .. } = find(connection, session, segment)?;
        path.push(Step { segment, length, has_messages: length > kept });
        // A parent has a smaller number than its children. A damaged row that breaks this
        // could make the loop endless.
        if parent.is_some_and(|parent| parent >= segment) {
            return Err(MISSING);
        }
        length = length.min(kept);
        next = parent;
    }
    Ok(path)
}

/// The row of a segment.
fn find(connection: &Connection, session: i64, segment: i64) -> Outcome<Segment> {
    let sql = "SELECT parent, kept, depth FROM segments WHERE session = ?1 AND number = ?2";
    let mut select = connection.prepare_cached(sql)?;
    let segment = select.query_row((session, segment), |row| {
        Ok(Segment { parent: row.get(0)?, kept: row.get(1)?, depth: row.get(2)? })
    });
    segment.optional()?.ok_or(MISSING)
}

/// A row refers to a segment that does not exist, or to a later one.
const MISSING: Failure = Failure::Damaged("a segment is missing");
