//! Writing a snapshot.

use oxikit_core::ports::MAX_SESSION_BYTES;
use rusqlite::OptionalExtension;

use super::failure::{Failure, Outcome};
use super::session_row::{SessionRow, now_ms};
use super::writer::Txn;
use super::{leases, rows, segments, sweep};
use crate::documents::NewCustom;
use crate::draft::{Draft, NewArtifact};
use crate::known::{Content, Custom, Document, Place, list_text};
use crate::summary::{Facts, Summary};

/// Less than this is not swept up.
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
    pub(super) releases: bool,
    /// As JSON.
    pub(super) metadata: Option<String>,
    pub(super) work: Option<String>,
    pub(super) draft: Draft,
    /// The row as `update` has seen it; `None` if it saw none.
    pub(super) former: Option<Version>,
    /// The row that the draft was compared with.
    pub(super) base: Option<Version>,
}

/// A row and its revision.
pub(super) type Version = (Place, i64);

/// What was written.
#[derive(Debug)]
pub(super) struct Saved {
    pub(super) place: Place,
    pub(super) revision: i64,
    pub(super) agent: String,
    pub(super) content: Content,
}

/// The row before the write.
struct Former {
    version: Version,
    head_bytes: i64,
    /// As far as they decide which is the latest.
    facts: Facts,
}

impl Save {
    /// Fails with [`Failure::Stale`] if the rows are not what they were.
    pub(super) fn execute(&self, txn: &Txn<'_>) -> Outcome<Saved> {
        if let Some(fence) = self.fence {
            leases::check(txn.connection(), &self.owner, &self.session, fence)?;
        }
        let session = SessionRow::find(txn.connection(), &self.owner, &self.session)?;
        let former = self.former(txn)?;
        self.check(txn, session.as_ref(), former.as_ref())?;
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
        let number = match &former {
            Some(former) => former.version.0.number,
            None => txn.next()?,
        };
        let place = Place { session: session.number, number };
        let revision = txn.next()?;
        let content = self.write_content(txn, &mut session, former.is_some())?;
        session.bytes += content.head_bytes - former.as_ref().map_or(0, |row| row.head_bytes);
        self.write_row(txn, place, revision, &content)?;
        self.note(txn, &mut session, former.as_ref(), number)?;
        tidy(txn, &mut session)?;
        session.written = revision;
        session.written_at = now_ms();
        session.write(txn)?;
        if let (true, Some(fence)) = (self.releases, self.fence) {
            leases::release(txn, &self.owner, &self.session, fence)?;
        }
        txn.ring(&self.snapshot);
        Ok(Saved { place, revision, agent: session.summary.agent, content })
    }

    fn former(&self, txn: &Txn<'_>) -> Outcome<Option<Former>> {
        let mut select = txn.sql(
            "SELECT session, number, revision, parent, created_at, head_bytes
             FROM snapshots WHERE id = ?1 AND owner = ?2",
        )?;
        let former = select.query_row((&self.snapshot, &self.owner), |row| {
            let place = Place { session: row.get(0)?, number: row.get(1)? };
            let facts = Facts { parent: row.get(3)?, created_at: row.get(4)?, ..Facts::default() };
            Ok(Former { version: (place, row.get(2)?), head_bytes: row.get(5)?, facts })
        });
        Ok(former.optional()?)
    }

    /// Whether all is as it was when the write was prepared.
    fn check(
        &self,
        txn: &Txn<'_>,
        session: Option<&SessionRow>,
        former: Option<&Former>,
    ) -> Outcome<()> {
        let of_session = session.map(|session| session.number);
        if former.is_some_and(|former| Some(former.version.0.session) != of_session) {
            return Err(Failure::Exists);
        }
        if former.map(|former| former.version) != self.former {
            return Err(Failure::Stale);
        }
        // The former row has just been looked at.
        let Some((place, revision)) = self.base.filter(|_| self.base != self.former) else {
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

    /// Brings what the session's row says up to date.
    fn note(
        &self,
        txn: &Txn<'_>,
        session: &mut SessionRow,
        former: Option<&Former>,
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
        if !session.summary.note(former.map(|former| &former.facts), &row, has_parent) {
            session.summary.recount(&rows::facts(txn.connection(), session.number)?);
        }
        if let Some(metadata) = &self.metadata {
            session.summary.metadata = Some(metadata.clone());
        }
        Ok(())
    }
}

/// Removes what has lost its use, if it is much or in the way.
fn tidy(txn: &Txn<'_>, session: &mut SessionRow) -> Outcome<()> {
    let is_full = |session: &SessionRow| session.bytes > MAX_SESSION_BYTES as i64;
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

fn write_document(txn: &Txn<'_>, session: i64, base: Option<i64>, json: &str) -> Outcome<i64> {
    let document = txn.next()?;
    let sql = "INSERT INTO documents (session, number, base, json) VALUES (?1, ?2, ?3, ?4)";
    txn.sql(sql)?.execute((session, document, base, json))?;
    Ok(document)
}
