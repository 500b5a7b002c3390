//! Removes unused messages and documents of a session, and whole sessions.
//!
//! A snapshot that is replaced or removed may leave messages and documents that no other snapshot
//! refers to. They are not counted by reference: now and then all snapshots of the session are
//! read, and what none of them uses is removed.

use std::collections::{HashMap, HashSet};

use super::session_row::SessionRow;
use super::{leases, rows, segments};
use oxikit_sqlite::failure::Outcome;
use oxikit_sqlite::writer::Txn;

/// Removes the messages and documents that no snapshot of the session uses. Returns the
/// number of bytes that are left.
pub(super) fn sweep(txn: &Txn<'_>, session: i64) -> Outcome<i64> {
    let used = Used::find(txn, session)?;
    // A segment that is used up to a place keeps its messages before that place.
    for segment in numbers(txn, "SELECT number FROM segments WHERE session = ?1", session)? {
        match used.segments.get(&segment) {
            Some(length) => {
                txn.sql("DELETE FROM messages WHERE segment = ?1 AND place >= ?2")?
                    .execute((segment, length))?;
            }
            None => remove_segment(txn, session, segment)?,
        }
    }
    for document in numbers(txn, "SELECT number FROM documents WHERE session = ?1", session)? {
        if !used.documents.contains(&document) {
            txn.sql("DELETE FROM documents WHERE session = ?1 AND number = ?2")?
                .execute((session, document))?;
        }
    }
    let mut count = txn.sql(
        "SELECT COALESCE((SELECT SUM(octet_length(json)) FROM documents WHERE session = ?1), 0)
           + COALESCE((SELECT SUM(octet_length(m.json)) FROM segments s
                 JOIN messages m ON m.segment = s.number WHERE s.session = ?1), 0)
           + COALESCE((SELECT SUM(head_bytes) FROM snapshots WHERE session = ?1), 0)",
    )?;
    Ok(count.query_row([session], |row| row.get(0))?)
}

/// The segments and documents that the snapshots of a session use.
#[derive(Default)]
struct Used {
    /// Each with the place up to which it is read.
    segments: HashMap<i64, i64>,
    documents: HashSet<i64>,
}

impl Used {
    /// Follows all snapshots of the session.
    fn find(txn: &Txn<'_>, session: i64) -> Outcome<Self> {
        let mut used = Self::default();
        let mut select = txn
            .sql("SELECT segment, messages, custom, artifacts FROM snapshots WHERE session = ?1")?;
        let mut found = select.query([session])?;
        while let Some(row) = found.next()? {
            if let (Some(segment), Some(length)) = (row.get(0)?, row.get(1)?) {
                used.add_segment(txn, session, segment, length)?;
            }
            let artifacts: Option<String> = row.get(3)?;
            let artifacts = rows::artifacts_of(artifacts.as_deref().unwrap_or_default())?;
            used.documents.extend(artifacts.iter().map(|artifact| artifact.number));
            used.add_document(txn, session, row.get(2)?)?;
        }
        Ok(used)
    }

    /// Adds a segment up to a place, and all segments that it continues.
    fn add_segment(
        &mut self,
        txn: &Txn<'_>,
        session: i64,
        segment: i64,
        length: i64,
    ) -> Outcome<()> {
        if self.segments.get(&segment).is_some_and(|known| *known >= length) {
            return Ok(());
        }
        for step in segments::path(txn.connection(), session, segment, length)? {
            let known = self.segments.entry(step.segment).or_default();
            *known = step.length.max(*known);
        }
        Ok(())
    }

    /// Adds a document and the documents that it is a patch of.
    fn add_document(
        &mut self,
        txn: &Txn<'_>,
        session: i64,
        mut document: Option<i64>,
    ) -> Outcome<()> {
        let sql = "SELECT base FROM documents WHERE session = ?1 AND number = ?2";
        let mut select = txn.sql(sql)?;
        // A document that is known already was followed to its whole text before.
        while let Some(number) = document.filter(|number| !self.documents.contains(number)) {
            self.documents.insert(number);
            document = select.query_row((session, number), |row| row.get(0))?;
        }
        Ok(())
    }
}

/// Removes the session of this owner with all that belongs to it, and its lease.
pub(super) fn delete(txn: &Txn<'_>, owner: &str, session: &str) -> Outcome<bool> {
    txn.sql("DELETE FROM leases WHERE owner = ?1 AND session = ?2")?.execute((owner, session))?;
    txn.publish(leases::lease_topic(owner, session));
    let Some(row) = SessionRow::find(txn.connection(), owner, session)? else { return Ok(false) };
    let number = row.number;
    for snapshot in rows::facts(txn.connection(), number)? {
        txn.publish(rows::snapshot_topic(&snapshot.id));
    }
    for segment in numbers(txn, "SELECT number FROM segments WHERE session = ?1", number)? {
        remove_segment(txn, number, segment)?;
    }
    txn.sql("DELETE FROM documents WHERE session = ?1")?.execute([number])?;
    txn.sql("DELETE FROM snapshots WHERE session = ?1")?.execute([number])?;
    txn.sql("DELETE FROM sessions WHERE number = ?1")?.execute([number])?;
    Ok(true)
}

/// Removes a segment with its messages.
fn remove_segment(txn: &Txn<'_>, session: i64, segment: i64) -> Outcome<()> {
    txn.sql("DELETE FROM messages WHERE segment = ?1")?.execute([segment])?;
    txn.sql("DELETE FROM segments WHERE session = ?1 AND number = ?2")?
        .execute((session, segment))?;
    Ok(())
}

/// The numbers that a query finds for a session.
fn numbers(txn: &Txn<'_>, sql: &str, session: i64) -> Outcome<Vec<i64>> {
    let mut select = txn.sql(sql)?;
    let numbers = select.query_map([session], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(numbers)
}
