//! Writes snapshots.
//!
//! A write is optimistic: it reads the rows, calls the caller's update, computes the difference,
//! and writes it in one statement that has an effect only if no other writer was faster. No lock
//! is held in between, so a slow update delays nobody. A write that came too late begins again.

use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::{SnapshotWrite, StoreError, StoredSnapshot, Update};
use oxikit_wire::SessionSnapshot;
use sqlx::Row as _;
use tokio::time::sleep;

use super::PostgresStore;
use super::database::failure;
use super::heads::Heads;
use super::plan::Plan;
use super::put::Written;
use super::read::{Found, columns};
use super::text::column;
use super::watched::Key;
use crate::draft::Draft;
use crate::known::{Known, Place, owner_text};
use crate::summary::{Facts, Summary};

/// Maximum number of attempts of a write. Each failed one means that another writer was
/// faster; after the last one the write fails as a conflict.
const ATTEMPTS: u32 = 12;
/// Number of row numbers that one query of the sequence reserves.
const BLOCK: usize = 64;

/// The parent of a new snapshot, in the same session.
const PARENT: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM snapshots n JOIN sessions s ON s.number = n.session
    WHERE n.owner = $1 AND n.id = $2 AND n.session = $3"
);

/// The result of an attempt to write.
enum Attempt {
    /// Written, with this revision.
    Saved(u64),
    /// The caller's update wants no change.
    LeftAsItIs,
    /// Another writer was faster: the write has to begin again.
    TooLate,
}

impl PostgresStore {
    /// Reads, then writes if no other writer was faster: two round trips, and no lock while
    /// the caller's own code runs.
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
                    // A random pause, which doubles with each attempt up to 128 ms, so that
                    // writers that collided do not collide again.
                    let longest = 4_u64 << attempt.min(5);
                    sleep(Duration::from_millis(fastrand::u64(0..longest))).await;
                }
            }
        }
        Err(StoreError::Conflict(write.snapshot.to_owned()))
    }

    /// One attempt: reads the rows that the write depends on, prepares the new rows, and
    /// writes them unless the session's version has changed since.
    async fn attempt(
        &self,
        write: SnapshotWrite<'_>,
        update: Update<'_>,
    ) -> Result<Attempt, StoreError> {
        let owner = owner_text(write.owner);
        let mut heads = self.heads(&owner, write).await?;
        let own = own_snapshot(&mut heads, write)?;
        let previous_facts = own.as_ref().map(Found::facts);
        let previous = match own {
            Some(own) => match self.content(&owner, own).await {
                // The rows may be of two moments: only rows that did not change are damaged.
                Err(StoreError::Damaged(..)) if self.is_changed(&owner, write, &heads).await? => {
                    return Ok(Attempt::TooLate);
                }
                known => Some(known?),
            },
            None => None,
        };
        let updated = update(previous.as_ref().map(|known| &known.stored.snapshot));
        let Some(mut snapshot) = updated.map_err(StoreError::Refused)? else {
            return Ok(Attempt::LeftAsItIs);
        };
        set_ids(&mut snapshot, write);
        let parent = match previous {
            Some(_) => None,
            None => self.parent(&owner, &snapshot, &mut heads).await?,
        };
        let has_parent = parent.is_some();
        let base = match (&previous, parent) {
            // A damaged parent does not prevent the write: the snapshot is then written in full.
            (None, Some(parent)) => self.content(&owner, parent).await.ok(),
            (previous, _) => previous.clone(),
        };
        let draft = Draft::new(&snapshot, base.as_deref())?;
        let numbers = self.numbers(heads.block, Plan::numbers(&draft)).await?;
        let number = previous.as_ref().map_or(heads.block, |known| known.place.number);
        let facts = Facts::of(number, write.snapshot, &draft);
        let plan = Plan::new(draft, previous.as_deref(), numbers);
        let previous_facts = previous_facts.as_ref();
        let summary =
            self.summarise(&owner, write, &heads, previous_facts, facts, has_parent).await?;
        let Some(written) = self.put(&owner, write, &heads, &plan, &summary).await? else {
            return Ok(Attempt::TooLate);
        };
        self.publish(&Key::Snapshot(owner.clone(), column(write.snapshot).into_owned()));
        if let (None, Some(base)) = (previous, base) {
            // The next write is based on the new snapshot, so its parent is not needed again.
            self.0.cache.forget(&owner, &base.stored.snapshot.snapshot_id);
        }
        let revision = plan.revision.cast_unsigned();
        let stored = StoredSnapshot { revision, agent: Some(summary.agent), snapshot };
        self.0.cache.put(&owner, &Arc::new(known(stored, plan, written)));
        Ok(Attempt::Saved(revision))
    }

    /// Whether another writer has changed the session since `heads` were read.
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

    /// Returns `count` numbers, of the reserved block and, if needed, of further ones.
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

    /// The summary of the session after the write. All snapshots are read only if the new row
    /// alone does not decide it.
    async fn summarise(
        &self,
        owner: &str,
        write: SnapshotWrite<'_>,
        heads: &Heads,
        previous: Option<&Facts>,
        facts: Facts,
        has_parent: bool,
    ) -> Result<Summary, StoreError> {
        let summary = heads.session.as_ref().map(|session| session.summary.clone());
        let mut summary = summary.unwrap_or_else(|| Summary::new(write.agent));
        if !summary.note(previous, &facts, has_parent) {
            let mut rows = self.facts(owner, write.session).await?;
            match rows.iter_mut().find(|row| row.number == facts.number) {
                Some(row) => *row = facts,
                None => rows.push(facts),
            }
            summary.recount(&rows);
        }
        Ok(summary)
    }
}

/// The stored snapshot that the write replaces, if there is one.
///
/// # Errors
///
/// `Fenced` if the caller's lease is no longer the session's newest, and `Exists` if the
/// snapshot belongs to another session.
fn own_snapshot(heads: &mut Heads, write: SnapshotWrite<'_>) -> Result<Option<Found>, StoreError> {
    let fence = write.lease.map(|lease| lease.fence.cast_signed());
    if fence.is_some() && fence != heads.fence {
        return Err(StoreError::Fenced(write.session.to_owned()));
    }
    let own = heads.take(write.snapshot);
    let session = heads.session.as_ref().map(|session| session.number);
    if own.as_ref().is_some_and(|own| Some(own.place.session) != session) {
        return Err(StoreError::Exists(write.snapshot.to_owned()));
    }
    Ok(own)
}

/// The snapshot as the cache keeps it, with the numbers that the database has given to its rows.
fn known(stored: StoredSnapshot, plan: Plan, written: Written) -> Known {
    let mut content = plan.content;
    if let (Some(messages), Some(segment)) = (&mut content.messages, written.segment) {
        messages.segment = segment;
    }
    let place = Place { session: written.session, number: plan.number };
    Known { place, stored, content }
}

/// Overwrites the ids in the snapshot with those of the write: a caller's closure cannot
/// store a snapshot under another id or in another session.
fn set_ids(snapshot: &mut SessionSnapshot, write: SnapshotWrite<'_>) {
    write.snapshot.clone_into(&mut snapshot.snapshot_id);
    write.session.clone_into(snapshot.session_id.get_or_insert_default());
    if let Some(state) = &mut snapshot.state {
        write.session.clone_into(state.session_id.get_or_insert_default());
    }
}
