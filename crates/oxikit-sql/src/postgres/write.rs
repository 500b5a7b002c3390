//! Snapshots into their tables.

use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::{MAX_SESSION_BYTES, SnapshotWrite, StoreError, StoredSnapshot, Update};
use oxikit_wire::SessionSnapshot;
use sqlx::Row as _;
use tokio::time::sleep;

use super::PostgresStore;
use super::bell::Key;
use super::database::failure;
use super::heads::Heads;
use super::plan::Plan;
use super::read::{Found, columns, numbers};
use super::text::column;
use crate::draft::Draft;
use crate::known::{Document, Known, Place, owner_text};
use crate::summary::{Facts, Summary};

/// A writer that has been too late so often gives up.
const ATTEMPTS: u32 = 12;
/// So many numbers are handed out at once.
const BLOCK: usize = 64;

const PARENT: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM snapshots n JOIN sessions s ON s.number = n.session
    WHERE n.owner = $1 AND n.id = $2 AND n.session = $3"
);

const SAVE: &str = "
    SELECT * FROM save_snapshot(
        $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
        $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35,
        $36
    )";

/// How an attempt went.
enum Attempt {
    Saved(u64),
    LeftAsItIs,
    TooLate,
}

impl PostgresStore {
    /// Reads, then writes if nobody else has written meanwhile: two round trips, and
    /// no lock while the caller's own code runs.
    pub(super) async fn save_snapshot(
        &self,
        write: SnapshotWrite<'_>,
        update: Update<'_>,
    ) -> Result<Option<u64>, StoreError> {
        for attempt in 0..ATTEMPTS {
            match self.attempt(write, update).await? {
                Attempt::Saved(revision) => return Ok(Some(revision)),
                Attempt::LeftAsItIs => return Ok(None),
                Attempt::TooLate => {
                    let longest = 4_u64 << attempt.min(5);
                    sleep(Duration::from_millis(fastrand::u64(0..longest))).await;
                }
            }
        }
        Err(StoreError::Conflict(write.snapshot.to_owned()))
    }

    async fn attempt(
        &self,
        write: SnapshotWrite<'_>,
        update: Update<'_>,
    ) -> Result<Attempt, StoreError> {
        let owner = owner_text(write.owner);
        let mut heads = self.heads(&owner, write).await?;
        let fence = write.lease.map(|lease| lease.fence.cast_signed());
        if fence.is_some() && fence != heads.fence {
            return Err(StoreError::Fenced(write.session.to_owned()));
        }
        let own = heads.take(write.snapshot);
        let session = heads.session.as_ref().map(|session| session.number);
        if own.as_ref().is_some_and(|own| Some(own.place.session) != session) {
            return Err(StoreError::Exists(write.snapshot.to_owned()));
        }
        let former_facts = own.as_ref().map(Found::facts);
        let former = match own {
            Some(own) => match self.content(&owner, own).await {
                Err(StoreError::Damaged(..)) if self.is_changed(&owner, write, &heads).await? => {
                    return Ok(Attempt::TooLate);
                }
                known => Some(known?),
            },
            None => None,
        };
        let updated = update(former.as_ref().map(|known| &known.stored.snapshot));
        let Some(mut snapshot) = updated.map_err(StoreError::Refused)? else {
            return Ok(Attempt::LeftAsItIs);
        };
        name(&mut snapshot, write);
        let parent = match former {
            Some(_) => None,
            None => self.parent(&owner, &snapshot, &mut heads).await?,
        };
        let has_parent = parent.is_some();
        let base = match (&former, parent) {
            // What cannot be read is no help, and no obstacle.
            (None, Some(parent)) => self.content(&owner, parent).await.ok(),
            (former, _) => former.clone(),
        };
        let draft = Draft::new(&snapshot, base.as_deref())?;
        let numbers = self.numbers(heads.block, Plan::numbers(&draft)).await?;
        let number = former.as_ref().map_or(heads.block, |known| known.place.number);
        let facts = Facts::of(number, write.snapshot, &draft);
        let plan = Plan::new(draft, former.as_deref(), numbers);
        let summary =
            self.summarise(&owner, write, &heads, former_facts.as_ref(), facts, has_parent).await?;
        let Some((session, segment)) = self.put(&owner, write, &heads, &plan, &summary).await?
        else {
            return Ok(Attempt::TooLate);
        };
        self.0.bell.ring(Key::Snapshot(owner.clone(), column(write.snapshot).into_owned()).topic());
        let revision = plan.revision.cast_unsigned();
        let mut content = plan.content;
        if let (Some(messages), Some(segment)) = (&mut content.messages, segment) {
            messages.segment = segment;
        }
        if let (None, Some(base)) = (former, base) {
            self.0.cache.forget(&owner, &base.stored.snapshot.snapshot_id);
        }
        let place = Place { session, number };
        let stored = StoredSnapshot { revision, agent: Some(summary.agent), snapshot };
        self.0.cache.put(&owner, &Arc::new(Known { place, stored, content }));
        Ok(Attempt::Saved(revision))
    }

    /// Whether another writer has been there since.
    async fn is_changed(
        &self,
        owner: &str,
        write: SnapshotWrite<'_>,
        heads: &Heads,
    ) -> Result<bool, StoreError> {
        let now = self.heads(owner, write).await?.session.map(|session| session.version);
        Ok(now != heads.session.as_ref().map(|session| session.version))
    }

    /// The row that the snapshot names as its parent, if it is there. Nearly always
    /// it is the latest one.
    async fn parent(
        &self,
        owner: &str,
        snapshot: &SessionSnapshot,
        heads: &mut Heads,
    ) -> Result<Option<Found>, StoreError> {
        let parent = snapshot.parent_id.as_deref().filter(|id| *id != snapshot.snapshot_id);
        let (Some(parent), Some(session)) = (parent, &heads.session) else { return Ok(None) };
        let query = sqlx::query(PARENT).bind(owner).bind(column(parent)).bind(session.number);
        if let Some(parent) = heads.take(parent) {
            return Ok(Some(parent));
        }
        let row = self.0.database.optional(query).await?;
        row.as_ref().map(Found::new).transpose().map_err(failure)
    }

    /// So many numbers, of a block that has been handed out and of others.
    async fn numbers(&self, block: i64, count: usize) -> Result<Vec<i64>, StoreError> {
        let mut blocks = vec![block];
        if count > BLOCK {
            let more = sqlx::query("SELECT nextval('numbers') FROM generate_series(1, $1)");
            let more = more.bind((count / BLOCK) as i64);
            for row in self.0.database.all(more).await? {
                blocks.push(row.try_get(0).map_err(failure)?);
            }
        }
        Ok(blocks.into_iter().flat_map(|first| first..first + BLOCK as i64).collect())
    }

    /// What the session's row will say.
    async fn summarise(
        &self,
        owner: &str,
        write: SnapshotWrite<'_>,
        heads: &Heads,
        former: Option<&Facts>,
        facts: Facts,
        has_parent: bool,
    ) -> Result<Summary, StoreError> {
        let summary = heads.session.as_ref().map(|session| session.summary.clone());
        let mut summary = summary.unwrap_or_else(|| Summary::new(write.agent));
        if !summary.note(former, &facts, has_parent) {
            let mut rows = self.facts(owner, write.session).await?;
            match rows.iter_mut().find(|row| row.number == facts.number) {
                Some(row) => *row = facts,
                None => rows.push(facts),
            }
            summary.recount(&rows);
        }
        Ok(summary)
    }

    /// Writes all rows. Answers the numbers of the session and of the messages'
    /// segment, or nothing if another writer was faster.
    async fn put(
        &self,
        owner: &str,
        write: SnapshotWrite<'_>,
        heads: &Heads,
        plan: &Plan,
        summary: &Summary,
    ) -> Result<Option<(i64, Option<i64>)>, StoreError> {
        let bytes = plan.growth + heads.session.as_ref().map_or(0, |session| session.bytes);
        if bytes > MAX_SESSION_BYTES as i64 {
            let why = "the session's history is too large";
            return Err(StoreError::Full(write.snapshot.to_owned(), why));
        }
        let metadata = write
            .metadata
            .map(serde_json::to_string)
            .transpose()
            .map_err(|error| StoreError::Damaged(write.session.to_owned(), Box::new(error)))?;
        let head = &plan.head;
        let texts = [
            head.parent.as_deref(),
            Some(head.created_at.as_str()),
            head.updated_at.as_deref(),
            head.heartbeat_at.as_deref(),
            head.status.as_deref(),
            head.finish_reason.as_deref(),
            head.error.as_deref(),
        ];
        let texts = texts.map(|text| text.map(column));
        let content = &plan.content;
        let artifacts = content.artifacts.as_deref();
        let bytes_of = |all: &[Document]| all.iter().map(|one| one.bytes).collect::<Vec<_>>();
        let save = sqlx::query(SAVE)
            .bind(owner)
            .bind(column(write.session))
            .bind(heads.session.as_ref().map(|session| session.version))
            .bind(column(write.agent))
            .bind(metadata)
            .bind(write.lease.map(|lease| lease.fence.cast_signed()))
            .bind(write.releases)
            .bind(column(&summary.created_at))
            .bind(summary.snapshots)
            .bind(summary.orphans)
            .bind(summary.latest.number)
            .bind(summary.completed.as_ref().map(|completed| completed.number))
            .bind(summary.is_active())
            .bind(bytes)
            .bind(plan.number)
            .bind(column(write.snapshot))
            .bind(plan.revision)
            .bind(texts.as_slice())
            .bind(content.head_bytes)
            .bind(write.work.map(column))
            .bind(content.has_state)
            .bind(plan.segment)
            .bind(plan.kept)
            .bind(content.messages.map(|messages| messages.bytes))
            .bind(&plan.added)
            .bind(plan.new_segment)
            .bind(content.custom.map(|custom| custom.document))
            .bind(content.custom.map(|custom| custom.depth))
            .bind(content.custom.map(|custom| custom.bytes))
            .bind(artifacts.map(numbers))
            .bind(artifacts.map(bytes_of))
            .bind(&plan.documents.numbers)
            .bind(&plan.documents.bases)
            .bind(&plan.documents.texts)
            .bind(plan.former_segment)
            .bind(&plan.former);
        let row = match self.0.database.optional(save).await {
            // Two sessions want the same id: the next look finds it.
            Err(error) if is_taken(&error) => return Ok(None),
            row => row?.ok_or_else(|| StoreError::Conflict(write.snapshot.to_owned()))?,
        };
        match row.try_get::<&str, _>("outcome").map_err(failure)? {
            "saved" => {
                let session = row.try_get("session").map_err(failure)?;
                Ok(Some((session, row.try_get("segment").map_err(failure)?)))
            }
            "fenced" => Err(StoreError::Fenced(write.session.to_owned())),
            _ => Ok(None),
        }
    }
}

fn is_taken(error: &StoreError) -> bool {
    let StoreError::Unavailable(source) = error else { return false };
    let error = source.downcast_ref::<sqlx::Error>().and_then(sqlx::Error::as_database_error);
    error.is_some_and(|error| error.is_unique_violation())
}

/// Ids are the store's.
fn name(snapshot: &mut SessionSnapshot, write: SnapshotWrite<'_>) {
    write.snapshot.clone_into(&mut snapshot.snapshot_id);
    write.session.clone_into(snapshot.session_id.get_or_insert_default());
    if let Some(state) = &mut snapshot.state {
        write.session.clone_into(state.session_id.get_or_insert_default());
    }
}
