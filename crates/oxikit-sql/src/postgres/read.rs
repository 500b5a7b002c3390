//! Reads snapshots.
//!
//! A snapshot is read in two queries: its row, and the texts that the row refers to. The second
//! is left out if the cache has the same revision. Another writer may remove texts between the
//! two; the snapshot then looks damaged, and is read again.

use std::sync::Arc;

use oxikit_core::ports::StoreError;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::PostgresStore;
use super::database::failure;
use super::text::original;
use crate::documents::Custom;
use crate::known::{Content, Document, Head, Known, Messages, Place, Row};
use crate::summary::Facts;

/// The columns of a snapshot `n` of a session `s`.
macro_rules! columns {
    () => {
        "n.number, n.session, s.id AS session_id, s.agent, n.id, n.revision, n.parent,
         n.created_at, n.updated_at, n.heartbeat_at, n.status, n.finish_reason, n.error,
         n.head_bytes, n.has_state, n.segment, n.length, n.message_bytes, n.custom,
         n.custom_depth, n.custom_bytes, n.artifacts, n.artifact_bytes"
    };
}
pub(super) use columns;

/// A snapshot by its id.
const GET: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM snapshots n JOIN sessions s ON s.number = n.session WHERE n.owner = $1 AND n.id = $2"
);

/// The latest snapshot of a session.
const LATEST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM sessions s JOIN snapshots n ON n.number = s.latest WHERE s.owner = $1 AND s.id = $2"
);

/// All texts of a snapshot: its messages, its custom state with the changes, and
/// its artifacts.
const TEXTS: &str = "
    SELECT array(
        WITH RECURSIVE chain AS (
            SELECT number, parent, start, $2::bigint AS stop FROM segments WHERE number = $1
            UNION ALL
            SELECT s.number, s.parent, s.start, chain.start
            FROM chain JOIN segments s ON s.number = chain.parent
        )
        SELECT body FROM chain JOIN messages ON segment = number AND position < stop
        ORDER BY position
    ), array(
        WITH RECURSIVE chain AS (
            SELECT base, body, 0 AS depth FROM documents WHERE number = $3
            UNION ALL
            SELECT d.base, d.body, depth + 1 FROM chain JOIN documents d ON d.number = chain.base
        )
        SELECT body FROM chain ORDER BY depth DESC
    ), array(
        SELECT body FROM unnest($4::bigint[]) WITH ORDINALITY AS wanted (number, ordinal)
        JOIN documents USING (number) ORDER BY ordinal
    )";

/// Maximum number of attempts to read a snapshot. Another writer may change the row between
/// the query for it and the query for its texts.
const ATTEMPTS: usize = 3;

impl PostgresStore {
    /// The snapshot with this id.
    pub(super) async fn known(
        &self,
        owner: &str,
        id: &str,
    ) -> Result<Option<Arc<Known>>, StoreError> {
        self.find(GET, owner, id).await
    }

    /// The session's latest snapshot.
    pub(super) async fn known_latest(
        &self,
        owner: &str,
        session: &str,
    ) -> Result<Option<Arc<Known>>, StoreError> {
        self.find(LATEST, owner, session).await
    }

    /// Reads the snapshot of the row that this query finds.
    async fn find(
        &self,
        query: &'static str,
        owner: &str,
        id: &str,
    ) -> Result<Option<Arc<Known>>, StoreError> {
        let mut attempt = 1;
        loop {
            let query = sqlx::query(query).bind(owner).bind(id);
            let Some(row) = self.0.database.optional(query).await? else { return Ok(None) };
            match self.content(owner, Found::new(&row).map_err(failure)?).await {
                Err(StoreError::Damaged(..)) if attempt < ATTEMPTS => attempt += 1,
                known => return known.map(Some),
            }
        }
    }

    /// The whole snapshot of a row, out of the cache if it has this revision.
    pub(super) async fn content(
        &self,
        owner: &str,
        found: Found,
    ) -> Result<Arc<Known>, StoreError> {
        let Found { place, mut row } = found;
        let cached = self.0.cache.get(owner, &row.snapshot);
        let is_same = |known: &Arc<Known>| {
            known.place == place && known.stored.revision.cast_signed() == row.revision
        };
        if let Some(known) = cached.filter(is_same) {
            return Ok(known);
        }
        let content = &row.content;
        let texts = sqlx::query(TEXTS)
            .bind(content.messages.map(|messages| messages.segment))
            .bind(content.messages.map(|messages| messages.length))
            .bind(content.custom.map(|custom| custom.document))
            .bind(content.artifacts.as_ref().map(|all| numbers(all)));
        if let Some(texts) = self.0.database.optional(texts).await? {
            row.messages = texts.try_get(0).map_err(failure)?;
            row.custom = texts.try_get(1).map_err(failure)?;
            row.artifacts = texts.try_get(2).map_err(failure)?;
        }
        let known = Arc::new(row.decode(place)?);
        self.0.cache.put(owner, &known);
        Ok(known)
    }
}

/// A snapshot's row without the texts it leads to.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) place: Place,
    pub(super) row: Row,
}

impl Found {
    /// Reads the columns that `columns!` names.
    pub(super) fn new(row: &PgRow) -> Result<Self, sqlx::Error> {
        let text = |name: &str| Ok::<_, sqlx::Error>(original(row.try_get(name)?));
        let maybe = |name: &str| {
            let text: Option<String> = row.try_get(name)?;
            Ok::<_, sqlx::Error>(text.map(original))
        };
        let head = Head {
            parent: maybe("parent")?,
            created_at: text("created_at")?,
            updated_at: maybe("updated_at")?,
            heartbeat_at: maybe("heartbeat_at")?,
            status: maybe("status")?,
            finish_reason: maybe("finish_reason")?,
            error: row.try_get("error")?,
        };
        let place = Place { session: row.try_get("session")?, number: row.try_get("number")? };
        let row = Row {
            snapshot: text("id")?,
            session: text("session_id")?,
            agent: text("agent")?,
            revision: row.try_get("revision")?,
            head,
            content: content(row)?,
            ..Row::default()
        };
        Ok(Self { place, row })
    }

    /// The facts of the snapshot, as the session's summary has them.
    pub(super) fn facts(&self) -> Facts {
        let Row { snapshot, head, content, .. } = &self.row;
        Facts {
            number: self.place.number,
            id: snapshot.clone(),
            parent: head.parent.clone(),
            created_at: head.created_at.clone(),
            updated_at: head.updated_at.clone(),
            heartbeat_at: head.heartbeat_at.clone(),
            status: head.status.clone(),
            finish_reason: head.finish_reason.clone(),
            messages: content.messages.map_or(0, |messages| messages.length),
            has_artifacts: content.artifacts.as_ref().is_some_and(|all| !all.is_empty()),
        }
    }
}

/// The numbers and sizes of the rows that have the content; the content itself is in other
/// tables.
fn content(row: &PgRow) -> Result<Content, sqlx::Error> {
    let messages = match row.try_get::<Option<i64>, _>("length")? {
        Some(length) => Some(Messages {
            segment: row.try_get::<Option<i64>, _>("segment")?.unwrap_or_default(),
            length,
            bytes: row.try_get("message_bytes")?,
        }),
        None => None,
    };
    let custom = match row.try_get::<Option<i64>, _>("custom")? {
        Some(document) => Some(Custom {
            document,
            depth: row.try_get("custom_depth")?,
            bytes: row.try_get("custom_bytes")?,
        }),
        None => None,
    };
    let artifacts = match row.try_get::<Option<Vec<i64>>, _>("artifacts")? {
        Some(numbers) => {
            let bytes: Vec<i64> = row.try_get("artifact_bytes")?;
            let document = |(number, bytes)| Document { number, bytes };
            Some(numbers.into_iter().zip(bytes).map(document).collect())
        }
        None => None,
    };
    Ok(Content {
        has_state: row.try_get("has_state")?,
        messages,
        custom,
        artifacts,
        head_bytes: row.try_get("head_bytes")?,
    })
}

/// The numbers of documents.
pub(super) fn numbers(documents: &[Document]) -> Vec<i64> {
    documents.iter().map(|document| document.number).collect()
}
