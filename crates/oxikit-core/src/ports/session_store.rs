//! Sessions of agents.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use oxikit_wire::{AgentFinishReason, SessionSnapshot, SnapshotStatus};

use super::{Owner, StoreError};
use crate::Status;

/// A snapshot may have so many bytes as JSON; a larger one is
/// [`Full`](StoreError::Full).
pub const MAX_SNAPSHOT_BYTES: usize = 8 * 1024 * 1024;

/// Keeps the snapshots of agent sessions.
///
/// The store owns identity, revisions and order; the caller owns status, times and
/// the tree of parents. A store has no other policy: which snapshot may be resumed
/// and when a pending one counts as expired is the agent's decision. A session is
/// there as soon as it has a snapshot. A write is answered when it is durable.
///
/// Ids of sessions are any text that is not blank, chosen by clients; the same id
/// under two owners names two sessions. What belongs to another owner is not there.
#[async_trait]
pub trait SessionStore: fmt::Debug + Send + Sync {
    /// What the tools call this kind of store, such as `memory`.
    fn name(&self) -> &'static str;

    /// The snapshot with this id.
    async fn get(
        &self,
        owner: &Owner,
        snapshot: &str,
    ) -> Result<Option<StoredSnapshot>, StoreError>;

    /// The session's newest snapshot, whatever its status: the one that is no
    /// other's parent; of several, the one with the greatest `createdAt`, then the
    /// one stored last. A snapshot that names itself as its parent does not count
    /// as one. `None` if the session has none.
    async fn latest(
        &self,
        owner: &Owner,
        session: &str,
    ) -> Result<Option<StoredSnapshot>, StoreError>;

    /// Reads the row, applies `update` and writes the answer, as one transaction;
    /// answers the new revision, or `None` if `update` left the row as it is.
    ///
    /// The row is a new one if there is none with this id. With a lease, the
    /// transaction fails with [`Fenced`](StoreError::Fenced) if another writer has
    /// got the session's lease since, however long ago this one's ran out; without
    /// one, nothing is asked. A store that retries calls `update` again: it must
    /// have no side effects. Ids inside of the snapshot are set by the store.
    async fn save(
        &self,
        write: SnapshotWrite<'_>,
        update: Update<'_>,
    ) -> Result<Option<u64>, StoreError>;

    /// Waits until the row's revision is another than `revision`, or the row is
    /// gone; 0 is the revision of a row that is not there. May return early.
    async fn changed(&self, owner: &Owner, snapshot: &str, revision: u64)
    -> Result<(), StoreError>;

    /// Takes the right to write the session, for as long as `ttl`. The session
    /// need not be there yet. [`Conflict`](StoreError::Conflict) while another
    /// writer has it. Each lease of a session has a greater number than all before.
    async fn lease(&self, owner: &Owner, session: &str, ttl: Duration)
    -> Result<Lease, StoreError>;

    /// Extends the lease to `ttl` from now, also when it has run out but was not
    /// given to another writer; [`Fenced`](StoreError::Fenced) if it was.
    async fn renew(&self, owner: &Owner, lease: &Lease, ttl: Duration) -> Result<(), StoreError>;

    /// Gives the lease back. Of a lease that is lost already, nothing happens.
    async fn release(&self, owner: &Owner, lease: Lease) -> Result<(), StoreError>;

    /// Sessions, those written last first. Pages neither repeat nor leave out a
    /// session that is not written meanwhile.
    async fn list(&self, owner: &Owner, query: &SessionQuery) -> Result<SessionPage, StoreError>;

    /// Removes the session, its snapshots and its lease; says whether it was there.
    /// Whoever waits for a change of one of its snapshots is woken, and a writer
    /// that has a lease of it is fenced.
    async fn delete(&self, owner: &Owner, session: &str) -> Result<bool, StoreError>;
}

/// Makes the new row of the old one. `None` leaves it as it is; a status refuses
/// the write and is passed on as [`Refused`](StoreError::Refused).
pub type Update<'a> =
    &'a (dyn Fn(Option<&SessionSnapshot>) -> Result<Option<SessionSnapshot>, Status> + Send + Sync);

/// What is to be written, and with what right.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotWrite<'a> {
    /// Whose session it is.
    pub owner: &'a Owner,
    /// The agent that the session belongs to; remembered with its first snapshot.
    pub agent: &'a str,
    /// The session.
    pub session: &'a str,
    /// The snapshot, of a random id that the agent has made.
    pub snapshot: &'a str,
    /// The writer's lease, if the write is part of a turn.
    pub lease: Option<&'a Lease>,
}

/// A snapshot and how often its row has been written.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSnapshot {
    /// Grows with every write of the row, from 1.
    pub revision: u64,
    /// The snapshot.
    pub snapshot: SessionSnapshot,
}

/// The right to write a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The session.
    pub session: String,
    /// The fencing number.
    pub fence: u64,
}

/// Which sessions to list.
#[derive(Debug, Clone)]
pub struct SessionQuery {
    /// Only those of this agent.
    pub agent: Option<String>,
    /// Only those whose latest snapshot is pending or was interrupted, or only the
    /// others.
    pub is_active: Option<bool>,
    /// At most so many.
    pub limit: usize,
    /// Goes on where a page ended: its [`SessionPage::next`].
    pub after: Option<String>,
}

impl Default for SessionQuery {
    fn default() -> Self {
        Self { agent: None, is_active: None, limit: 50, after: None }
    }
}

/// A page of sessions.
#[derive(Debug, Clone, Default)]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionSummary>,
    /// Where the next page begins; `None` if there is none.
    pub next: Option<String>,
}

/// A session without its content.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSummary {
    /// The session.
    pub session: String,
    /// The agent it belongs to.
    pub agent: String,
    /// `createdAt` of its first snapshot.
    pub created_at: String,
    /// `updatedAt`, or else `createdAt`, of its latest snapshot.
    pub updated_at: String,
    /// Id of its latest snapshot.
    pub latest: String,
    /// The latest snapshot's status.
    pub status: Option<SnapshotStatus>,
    /// Why the latest turn ended.
    pub finish_reason: Option<AgentFinishReason>,
    /// When detached work behind the latest snapshot was last alive.
    pub heartbeat_at: Option<String>,
    /// How many snapshots there are.
    pub snapshots: usize,
    /// Messages in the newest completed snapshot.
    pub messages: usize,
    /// Whether the newest completed snapshot has artifacts.
    pub has_artifacts: bool,
}
