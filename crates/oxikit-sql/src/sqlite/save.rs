//! Writes a snapshot that was prepared outside of the transaction.
//!
//! A write is optimistic: the rows are read and compared before, without blocking other
//! writers, and the transaction only checks that they are still the same. If not, it fails
//! with [`Failure::Stale`], and the write is prepared again.

use oxikit_core::ports::MAX_SESSION_BYTES;
use rusqlite::OptionalExtension;

use super::session_row::SessionRow;
use super::{leases, rows, segments, sweep};
use crate::documents::{Custom, NewCustom};
use crate::draft::{Draft, NewArtifact};
use crate::known::{Content, Document, Place, list_text};
use crate::summary::{Facts, Summary};
use oxikit_sqlite::failure::{Failure, Outcome};
use oxikit_sqlite::now_ms;
use oxikit_sqlite::writer::Txn;

/// Minimum number of unused bytes in a session before they are removed: removing them reads all
/// rows of the session.
const MIN_GARBAGE: i64 = 256 * 1024;

/// A write that has been prepared outside of the transaction.
#[derive(Debug)]
pub(super) struct Save {
    pub(super) owner: String,
    pub(super) agent: String,
    pub(super) session: String,
    pub(super) snapshot: String,
    /// Number of the writer's lease.
    pub(super) fence: Option<i64>,
    /// Whether the lease is released by the same transaction.
    pub(super) releases: bool,
    /// As JSON.
    pub(super) metadata: Option<String>,
    /// Work that is pending, for the process that finds it after a crash.
    pub(super) work: Option<String>,
    /// The rows to be written.
    pub(super) draft: Draft,
    /// The row as `update` has seen it; `None` if it saw none.
    pub(super) previous: Option<Version>,
    /// The row that the draft was compared with.
    pub(super) base: Option<Version>,
}

/// A row and its revision.
pub(super) type Version = (Place, i64);

/// The numbers that a write has given to its rows.
#[derive(Debug)]
pub(super) struct Saved {
    /// The row of the snapshot.
    pub(super) place: Place,
    pub(super) revision: i64,
    /// The agent of the session, which the first write of it has set.
    pub(super) agent: String,
    /// Where the content is stored.
    pub(super) content: Content,
}

/// The row before the write.
struct Previous {
    version: Version,
    head_bytes: i64,
    /// As far as they decide which is the latest.
    facts: Facts,
}

impl Save {
    /// Executes the write. Fails with [`Failure::Stale`] if the rows have changed since it
    /// was prepared.
    pub(super) fn execute(&self, txn: &Txn<'_>) -> Outcome<Saved> {
        // In the same transaction as the write: no other writer can take the lease in between.
        if let Some(fence) = self.fence {
            leases::check(txn.connection(), &self.owner, &self.session, fence)?;
        }
        let session = SessionRow::find(txn.connection(), &self.owner, &self.session)?;
        let previous = self.previous(txn)?;
        self.check(txn, session.as_ref(), previous.as_ref())?;
        let mut session = match session {
            Some(session) => session,
            None => SessionRow {
                number: txn.next()?,
                owner: self.owner.clone(),
                session: self.session.clone(),
                summary: Summary::new(&self.agent),
                bytes: 0,
                garbage: 0,
                written: 0,
                written_at: 0,
            },
        };
        let number = match &previous {
            Some(previous) => previous.version.0.number,
            None => txn.next()?,
        };
        let place = Place { session: session.number, number };
        let revision = txn.next()?;
        let content = self.write_content(txn, &mut session, previous.is_some())?;
        session.bytes += content.head_bytes - previous.as_ref().map_or(0, |row| row.head_bytes);
        self.write_row(txn, place, revision, &content)?;
        self.note(txn, &mut session, previous.as_ref(), number)?;
        // Before the session's row is written, which has the bytes that are left.
        tidy(txn, &mut session)?;
        session.written = revision;
        session.written_at = now_ms();
        session.write(txn)?;
        if let (true, Some(fence)) = (self.releases, self.fence) {
            leases::release(txn, &self.owner, &self.session, fence)?;
        }
        txn.publish(rows::snapshot_topic(&self.snapshot));
        Ok(Saved { place, revision, agent: session.summary.agent, content })
    }

    /// The row as it is now.
    fn previous(&self, txn: &Txn<'_>) -> Outcome<Option<Previous>> {
        let mut select = txn.sql(
            "SELECT session, number, revision, parent, created_at, head_bytes
             FROM snapshots WHERE id = ?1 AND owner = ?2",
        )?;
        let previous = select.query_row((&self.snapshot, &self.owner), |row| {
            let place = Place { session: row.get(0)?, number: row.get(1)? };
            let facts = Facts { parent: row.get(3)?, created_at: row.get(4)?, ..Facts::default() };
            Ok(Previous { version: (place, row.get(2)?), head_bytes: row.get(5)?, facts })
        });
        Ok(previous.optional()?)
    }

    /// Checks that the rows are the same as when the write was prepared.
    fn check(
        &self,
        txn: &Txn<'_>,
        session: Option<&SessionRow>,
        previous: Option<&Previous>,
    ) -> Outcome<()> {
        let of_session = session.map(|session| session.number);
        if previous.is_some_and(|previous| Some(previous.version.0.session) != of_session) {
            return Err(Failure::Exists);
        }
        if previous.map(|previous| previous.version) != self.previous {
            return Err(Failure::Stale);
        }
        // The previous row has just been checked.
        let Some((place, revision)) = self.base.filter(|_| self.base != self.previous) else {
            return Ok(());
        };
        let sql = "SELECT revision FROM snapshots WHERE session = ?1 AND number = ?2";
        let mut select = txn.sql(sql)?;
        let found: Option<i64> =
            select.query_row((place.session, place.number), |row| row.get(0)).optional()?;
        if found == Some(revision) && Some(place.session) == of_session {
            return Ok(());
        }
        Err(Failure::Stale)
    }

    /// Writes messages and documents, and counts their bytes. If the row is written again, the
    /// documents that it had before may be unused, and count as garbage.
    fn write_content(
        &self,
        txn: &Txn<'_>,
        session: &mut SessionRow,
        is_again: bool,
    ) -> Outcome<Content> {
        let Draft { head, has_state, messages, custom, artifacts } = &self.draft;
        session.bytes += self.draft.added_bytes();
        if is_again {
            session.garbage += self.draft.document_bytes();
        }
        let mut content = Content {
            has_state: *has_state,
            head_bytes: head.bytes() as i64,
            ..Content::default()
        };
        if let Some(new) = messages {
            let (messages, copied) = segments::write(txn, session.number, new)?;
            session.bytes += copied;
            if is_again && messages.segment != new.kept.segment {
                session.garbage += messages.bytes;
            }
            content.messages = Some(messages);
        }
        if let Some(new) = custom {
            content.custom = Some(write_custom(txn, session.number, new)?);
        }
        if let Some(new) = artifacts {
            let documents = new.iter().map(|artifact| match artifact {
                NewArtifact::Same(document) => Ok(*document),
                NewArtifact::New(json) => {
                    let number = write_document(txn, session.number, None, json)?;
                    Ok(Document { number, bytes: json.len() as i64 })
                }
            });
            content.artifacts = Some(documents.collect::<Outcome<_>>()?);
        }
        Ok(content)
    }

    /// Inserts or replaces the snapshot's row.
    fn write_row(
        &self,
        txn: &Txn<'_>,
        place: Place,
        revision: i64,
        content: &Content,
    ) -> Outcome<()> {
        let head = &self.draft.head;
        let Content { has_state, messages, custom, artifacts, head_bytes } = content;
        txn.sql(
            "INSERT INTO snapshots (session, number, owner, id, revision, parent, created_at,
                 updated_at, heartbeat_at, status, finish_reason, error, has_state, segment,
                 messages, message_bytes, custom, custom_depth, custom_bytes, artifacts,
                 head_bytes, work)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                 ?18, ?19, ?20, ?21, ?22)
             ON CONFLICT (session, number) DO UPDATE SET revision = ?5, parent = ?6,
                 created_at = ?7, updated_at = ?8, heartbeat_at = ?9, status = ?10,
                 finish_reason = ?11, error = ?12, has_state = ?13, segment = ?14,
                 messages = ?15, message_bytes = ?16, custom = ?17, custom_depth = ?18,
                 custom_bytes = ?19, artifacts = ?20, head_bytes = ?21, work = ?22",
        )?
        .execute(rusqlite::params![
            place.session,
            place.number,
            self.owner,
            self.snapshot,
            revision,
            head.parent,
            head.created_at,
            head.updated_at,
            head.heartbeat_at,
            head.status,
            head.finish_reason,
            head.error,
            has_state,
            messages.map(|messages| messages.segment),
            messages.map(|messages| messages.length),
            messages.map(|messages| messages.bytes),
            custom.map(|custom| custom.document),
            custom.map(|custom| custom.depth),
            custom.map(|custom| custom.bytes),
            artifacts.as_deref().map(list_text),
            head_bytes,
            self.work,
        ])?;
        Ok(())
    }

    /// Updates the summary in the session's row.
    fn note(
        &self,
        txn: &Txn<'_>,
        session: &mut SessionRow,
        previous: Option<&Previous>,
        number: i64,
    ) -> Outcome<()> {
        let row = Facts::of(number, &self.snapshot, &self.draft);
        let has_parent = match row.real_parent() {
            Some(parent) if self.base.is_none() => {
                let parent = rows::find(txn.connection(), &self.owner, parent)?;
                parent.is_some_and(|parent| parent.place.session == session.number)
            }
            // The parent is the base, or the row is not new.
            other => other.is_some(),
        };
        if !session.summary.note(previous.map(|previous| &previous.facts), &row, has_parent) {
            session.summary.recount(&rows::facts(txn.connection(), session.number)?);
        }
        if let Some(metadata) = &self.metadata {
            session.summary.metadata = Some(metadata.clone());
        }
        Ok(())
    }
}

/// Removes unused messages and documents, if they are many or prevent the write.
fn tidy(txn: &Txn<'_>, session: &mut SessionRow) -> Outcome<()> {
    let is_full = |session: &SessionRow| session.bytes > MAX_SESSION_BYTES as i64;
    // A quarter of the session: the cost of a sweep is then spread over the writes that made it
    // necessary.
    let is_much = session.garbage > MIN_GARBAGE.max(session.bytes / 4);
    if is_much || (is_full(session) && session.garbage > 0) {
        session.bytes = sweep::sweep(txn, session.number)?;
        session.garbage = 0;
    }
    match is_full(session) {
        true => Err(Failure::Full("the session's history is too large")),
        false => Ok(()),
    }
}

/// Writes the custom state: nothing, a whole text, or a patch.
fn write_custom(txn: &Txn<'_>, session: i64, custom: &NewCustom) -> Outcome<Custom> {
    let bytes = custom.bytes();
    let (document, depth) = match custom {
        NewCustom::Same(custom) => (custom.document, custom.depth),
        NewCustom::Whole(text) => (write_document(txn, session, None, text)?, 0),
        NewCustom::Patch { base, patch, .. } => {
            (write_document(txn, session, Some(base.document), patch)?, base.depth + 1)
        }
    };
    Ok(Custom { document, depth, bytes })
}

/// Writes a document and returns its number.
fn write_document(txn: &Txn<'_>, session: i64, base: Option<i64>, json: &str) -> Outcome<i64> {
    let document = txn.next()?;
    let sql = "INSERT INTO documents (session, number, base, json) VALUES (?1, ?2, ?3, ?4)";
    txn.sql(sql)?.execute((session, document, base, json))?;
    Ok(document)
}
