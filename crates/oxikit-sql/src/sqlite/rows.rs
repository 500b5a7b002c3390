//! Reads snapshots and the texts that their rows refer to.
//!
//! Everything that belongs to a snapshot is read in one transaction of the caller, so that its
//! parts have the same age.

use oxikit_core::ports::Topic;
use rusqlite::{Connection, OptionalExtension, Row as SqlRow};

use super::segments;
use crate::documents::Custom;
use crate::known::{Content, Document, Head, Messages, Place, Row, list_of};
use crate::summary::Facts;
use oxikit_sqlite::failure::{Failure, Outcome};

/// A row and the version of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) place: Place,
    pub(super) revision: i64,
}

/// Reads the columns `id`, `session`, `number` and `revision`.
fn found(row: &SqlRow<'_>) -> rusqlite::Result<Found> {
    let place = Place { session: row.get(1)?, number: row.get(2)? };
    Ok(Found { id: row.get(0)?, place, revision: row.get(3)? })
}

/// The topic that is published when the snapshot has changed. The owner is not part of it: a
/// snapshot with the same id of another owner is rare, and costs its readers one query.
pub(super) fn snapshot_topic(id: &str) -> Topic {
    Topic::of(&["snapshot", id])
}

/// The snapshot with this id, without its content.
pub(super) fn find(connection: &Connection, owner: &str, id: &str) -> Outcome<Option<Found>> {
    let sql = "SELECT id, session, number, revision FROM snapshots WHERE id = ?1 AND owner = ?2";
    Ok(connection.prepare_cached(sql)?.query_row((id, owner), found).optional()?)
}

/// The session's latest snapshot, without its content.
pub(super) fn find_latest(
    connection: &Connection,
    owner: &str,
    session: &str,
) -> Outcome<Option<Found>> {
    let sql = "SELECT p.id, p.session, p.number, p.revision FROM sessions s
         JOIN snapshots p ON p.session = s.number AND p.number = s.latest
         WHERE s.owner = ?1 AND s.session = ?2";
    Ok(connection.prepare_cached(sql)?.query_row((owner, session), found).optional()?)
}

/// The whole row, with all texts that it refers to.
pub(super) fn load(connection: &Connection, place: Place) -> Outcome<Row> {
    let sql = "SELECT p.id, s.session, s.agent, p.revision, p.parent, p.created_at, p.updated_at,
             p.heartbeat_at, p.status, p.finish_reason, p.error, p.has_state, p.segment, p.messages,
             p.message_bytes, p.custom, p.custom_depth, p.custom_bytes, p.artifacts, p.head_bytes
         FROM snapshots p JOIN sessions s ON s.number = p.session
         WHERE p.session = ?1 AND p.number = ?2";
    let mut select = connection.prepare_cached(sql)?;
    let (mut row, artifacts) = select.query_row((place.session, place.number), read_row)?;
    row.content.artifacts = artifacts.map(|list| artifacts_of(&list)).transpose()?;
    if let Some(messages) = row.content.messages {
        row.messages =
            segments::read(connection, place.session, messages.segment, messages.length)?;
    }
    if let Some(custom) = row.content.custom {
        row.custom = documents(connection, place.session, custom.document)?;
    }
    for artifact in row.content.artifacts.iter().flatten() {
        row.artifacts.extend(documents(connection, place.session, artifact.number)?);
    }
    Ok(row)
}

/// The columns of the row, and its list of artifacts, which is not parsed yet.
fn read_row(row: &SqlRow<'_>) -> rusqlite::Result<(Row, Option<String>)> {
    let segment: Option<i64> = row.get(12)?;
    let messages = match segment {
        Some(segment) => Some(Messages { segment, length: row.get(13)?, bytes: row.get(14)? }),
        None => None,
    };
    let document: Option<i64> = row.get(15)?;
    let custom = match document {
        Some(document) => Some(Custom { document, depth: row.get(16)?, bytes: row.get(17)? }),
        None => None,
    };
    let head_bytes = row.get(19)?;
    let content =
        Content { has_state: row.get(11)?, messages, custom, artifacts: None, head_bytes };
    let head = Head {
        parent: row.get(4)?,
        created_at: row.get(5)?,
        updated_at: row.get(6)?,
        heartbeat_at: row.get(7)?,
        status: row.get(8)?,
        finish_reason: row.get(9)?,
        error: row.get(10)?,
    };
    let row_read = Row {
        snapshot: row.get(0)?,
        session: row.get(1)?,
        agent: row.get(2)?,
        revision: row.get(3)?,
        head,
        content,
        ..Row::default()
    };
    Ok((row_read, row.get(18)?))
}

/// The texts of a document: the whole text, then the patches up to it.
fn documents(connection: &Connection, session: i64, document: i64) -> Outcome<Vec<String>> {
    let sql = "SELECT json, base FROM documents WHERE session = ?1 AND number = ?2";
    let mut select = connection.prepare_cached(sql)?;
    let mut texts = Vec::new();
    let mut next = Some(document);
    while let Some(document) = next {
        let read = |row: &SqlRow<'_>| Ok((row.get(0)?, row.get(1)?));
        let (json, base): (String, Option<i64>) =
            select.query_row((session, document), read).optional()?.ok_or(MISSING)?;
        // A base has a smaller number than its patch. A damaged row that breaks this could
        // make the loop endless.
        if base.is_some_and(|base| base >= document) {
            return Err(MISSING);
        }
        texts.push(json);
        next = base;
    }
    // The chain was followed from the newest patch back to the whole text.
    texts.reverse();
    Ok(texts)
}

/// A row refers to a document that does not exist, or to a later one.
const MISSING: Failure = Failure::Damaged("a document is missing");

/// Parses the list of artifacts of a row.
pub(super) fn artifacts_of(list: &str) -> Outcome<Vec<Document>> {
    list_of(list).ok_or(Failure::Damaged("the list of artifacts cannot be read"))
}

/// The facts of all snapshots of a session, in the order of their first writing.
pub(super) fn facts(connection: &Connection, session: i64) -> Outcome<Vec<Facts>> {
    let sql = "SELECT number, id, parent, created_at, updated_at, heartbeat_at, status,
             finish_reason, messages, artifacts
         FROM snapshots WHERE session = ?1 ORDER BY number";
    let mut select = connection.prepare_cached(sql)?;
    let rows = select.query_map([session], |row| {
        let artifacts: Option<String> = row.get(9)?;
        Ok(Facts {
            number: row.get(0)?,
            id: row.get(1)?,
            parent: row.get(2)?,
            created_at: row.get(3)?,
            updated_at: row.get(4)?,
            heartbeat_at: row.get(5)?,
            status: row.get(6)?,
            finish_reason: row.get(7)?,
            messages: row.get::<_, Option<i64>>(8)?.unwrap_or_default(),
            has_artifacts: artifacts.is_some_and(|list| !list.is_empty()),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
