//! The port for the sessions of agents: snapshots, their tree, and leases.
//!
//! A session is a tree of snapshots: each turn writes one, with the snapshot that it continued
//! from as its parent. A lease makes sure that one process at a time continues a session. The
//! module has only the trait and its types; see [`SessionStore`] for the contract.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use oxikit_wire::{AgentFinishReason, JsonObject, SessionSnapshot, SnapshotStatus};

use super::{Owner, Pruned, Retention, StoreError};
use crate::Status;

/// Maximum bytes of a snapshot as JSON, without its artifacts. A larger one is refused with
/// [`Full`](StoreError::Full).
pub const MAX_SNAPSHOT_BYTES: usize = 8 * 1024 * 1024;
/// Maximum bytes of an artifact as JSON. A snapshot with a larger one is refused with
/// [`Full`](StoreError::Full).
pub const MAX_ARTIFACT_BYTES: usize = 16 * 1024 * 1024;
/// Maximum bytes of all snapshots of a session. Content that snapshots share
/// counts once. A write beyond it is refused with [`Full`](StoreError::Full).
pub const MAX_SESSION_BYTES: usize = 64 * 1024 * 1024;

/// Keeps the snapshots of agent sessions.
///
/// The store owns identity, revisions and order; the caller owns status, times and
/// the tree of parents. A store has no other policy: which snapshot may be resumed
/// and when a pending one counts as expired is the agent's decision. A session exists
/// as soon as it has a snapshot. A write returns when it is durable, and its
/// cost depends on what is new in it: content that a snapshot has in common with its parent is
/// stored once.
///
/// Ids of sessions are any text that is not blank, chosen by clients; the same id
/// under two owners names two sessions. Data of another owner is reported as not found.
///
/// A turn of an agent uses a store in this order: it takes the lease of the session, reads the
/// snapshot to continue from, renews the lease while it works, and writes the new snapshot, which
/// also releases the lease. If the process stops in between, the lease expires and another
/// process may continue.
///
/// ```
/// use std::time::Duration;
///
/// use oxikit_core::ports::memory::MemorySessions;
/// use oxikit_core::ports::{Owner, SessionStore, SnapshotWrite, StoreError, Term};
/// use oxikit_wire::SessionSnapshot;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), StoreError> {
/// # let (store, owner) = (MemorySessions::default(), Owner::nobody());
/// let term = Term::of(Duration::from_secs(30));
/// let lease = store.lease(&owner, "session-7", term).await?;
/// // A second writer is refused.
/// let second = store.lease(&owner, "session-7", term).await;
/// assert!(matches!(second, Err(StoreError::Conflict(_))));
///
/// let write = SnapshotWrite {
///     lease: Some(&lease),
///     releases: true,
///     ..SnapshotWrite::new(&owner, "guide", "session-7", "snapshot-1")
/// };
/// store.save(write, &|_| Ok(Some(SessionSnapshot::default()))).await?;
/// // The write has released the lease.
/// assert!(store.lease(&owner, "session-7", term).await.is_ok());
/// # Ok(()) }
/// ```
#[async_trait]
pub trait SessionStore: fmt::Debug + Send + Sync {
    /// The name of this kind of store in the tools, such as `memory`.
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

    /// Reads the row, applies `update` and writes the result, as one transaction.
    /// Returns the new revision, or `None` if `update` left the row as it is.
    ///
    /// If no row has this id, a new one is made. With a lease, the
    /// transaction fails with [`Fenced`](StoreError::Fenced) if another writer has
    /// taken the session's lease since; a lease that has only expired is still good. Without
    /// a lease, none is checked. A store that retries calls `update` again: it must
    /// have no side effects. The store sets the ids inside of the snapshot, also that of the
    /// session in its state. An id that a snapshot of another session has is refused with
    /// [`Exists`](StoreError::Exists).
    async fn save(
        &self,
        write: SnapshotWrite<'_>,
        update: Update<'_>,
    ) -> Result<Option<u64>, StoreError>;

    /// Waits until the row's revision differs from `revision`, or the row is
    /// removed; 0 is the revision of a row that does not exist. May return early.
    async fn changed(&self, owner: &Owner, snapshot: &str, revision: u64)
    -> Result<(), StoreError>;

    /// Takes the lease of the session: the right to write it. The session need not exist yet.
    /// [`Conflict`](StoreError::Conflict) while another writer holds the lease, unless it is
    /// taken by force. Each lease of a session has a greater fence than all before.
    ///
    /// A lease is free when it was released, when the process of its holder is known to have ended,
    /// or when its holder has not renewed it for its `ttl`. That time is measured by the process
    /// that wants the lease, with its own monotonic clock, from when it first saw the lease in its
    /// present form. So clocks of different machines are never compared, and a first attempt may be
    /// refused although the lease has expired.
    async fn lease(&self, owner: &Owner, session: &str, term: Term) -> Result<Lease, StoreError>;

    /// Extends the lease by its `ttl`, also when it has expired but no other writer has taken it;
    /// [`Fenced`](StoreError::Fenced) if one has.
    async fn renew(&self, owner: &Owner, lease: &Lease) -> Result<(), StoreError>;

    /// Waits until the lease is lost, because another writer has taken it or the session was
    /// deleted. The change of another process is noticed within a
    /// second.
    async fn lease_lost(&self, owner: &Owner, lease: &Lease) -> Result<(), StoreError>;

    /// Releases the lease. Does nothing if the lease is already lost.
    async fn release(&self, owner: &Owner, lease: Lease) -> Result<(), StoreError>;

    /// Sessions, those written last first. Pages neither repeat nor leave out a
    /// session that is not written meanwhile.
    async fn list(&self, owner: &Owner, query: &SessionQuery) -> Result<SessionPage, StoreError>;

    /// The session without its content, as it is listed; `None` if it does not exist.
    async fn summary(
        &self,
        owner: &Owner,
        session: &str,
    ) -> Result<Option<SessionSummary>, StoreError>;

    /// All snapshots of the session without their content, in the order of their
    /// first writing. Empty if there is no such session.
    async fn tree(&self, owner: &Owner, session: &str) -> Result<Vec<SnapshotNode>, StoreError>;

    /// Removes the session, its snapshots and its lease; `false` if it does not exist.
    /// Waiters for a change of one of its snapshots are woken, and a writer that holds a lease
    /// of the session is fenced.
    async fn delete(&self, owner: &Owner, session: &str) -> Result<bool, StoreError>;

    /// Removes sessions and snapshots beyond these limits, of all owners; see [`Retention`].
    async fn prune(&self, retention: &Retention) -> Result<Pruned, StoreError>;

    /// Work of this agent that has lost its process, of all owners: snapshots that
    /// were written with [`work`](SnapshotWrite::work) and whose session has
    /// no lease. A process that resumes the work takes the lease first.
    async fn stalled(&self, agent: &str, limit: usize) -> Result<Vec<StalledWork>, StoreError>;
}

/// Makes the new row from the old one, or from `None` if there is no row. Returning `None` leaves
/// the row as it is; an error refuses the write and is passed on as
/// [`Refused`](StoreError::Refused).
pub type Update<'a> =
    &'a (dyn Fn(Option<&SessionSnapshot>) -> Result<Option<SessionSnapshot>, Status> + Send + Sync);

/// The target of a write, and the lease that permits it.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotWrite<'a> {
    /// The owner of the session.
    pub owner: &'a Owner,
    /// The agent that the session belongs to; stored with its first snapshot.
    pub agent: &'a str,
    /// The session.
    pub session: &'a str,
    /// The id of the snapshot: a random one that the agent has made.
    pub snapshot: &'a str,
    /// The writer's lease, if the write is part of a turn.
    pub lease: Option<&'a Lease>,
    /// Whether this write also releases the lease, if something is written.
    pub releases: bool,
    /// Metadata of the session, which replaces the previous one; `None` keeps it.
    pub metadata: Option<&'a JsonObject>,
    /// The data to restart the work behind a pending snapshot, as JSON.
    /// Kept with the row until a write without it.
    pub work: Option<&'a str>,
}

impl<'a> SnapshotWrite<'a> {
    /// A write outside of any turn: without lease, metadata and work.
    pub fn new(owner: &'a Owner, agent: &'a str, session: &'a str, snapshot: &'a str) -> Self {
        let (lease, releases, metadata, work) = (None, false, None, None);
        Self { owner, agent, session, snapshot, lease, releases, metadata, work }
    }
}

/// A snapshot and how often its row has been written.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSnapshot {
    /// The revision of the row: greater after every write, never 0.
    pub revision: u64,
    /// The agent it belongs to, if the store knows.
    pub agent: Option<String>,
    /// The snapshot.
    pub snapshot: SessionSnapshot,
}

/// The right to write a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The session.
    pub session: String,
    /// The fence: greater than that of all earlier leases of the session. Stores refuse writes
    /// with a smaller fence than the newest.
    pub fence: u64,
    /// Time to live without a renewal.
    pub ttl: Duration,
}

/// The terms on which a lease is taken.
#[derive(Debug, Clone, Copy)]
pub struct Term {
    /// Time to live without a renewal.
    pub ttl: Duration,
    /// Whether the lease is taken even if another writer holds it.
    pub by_force: bool,
}

impl Term {
    /// A lease that is taken when it is free.
    pub fn of(ttl: Duration) -> Self {
        Self { ttl, by_force: false }
    }
}

/// A filter for the sessions to list, and the page.
#[derive(Debug, Clone)]
pub struct SessionQuery {
    /// Only those of this agent.
    pub agent: Option<String>,
    /// Only those whose latest snapshot is pending or was interrupted, or only the
    /// others.
    pub is_active: Option<bool>,
    /// Maximum number of sessions in the page.
    pub limit: usize,
    /// Continues after a page: its [`SessionPage::next`].
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
    /// Token for the next page ([`SessionQuery::after`]); `None` after the last page.
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
    /// Number of its snapshots.
    pub snapshots: usize,
    /// Messages in the newest completed snapshot.
    pub messages: usize,
    /// Whether the newest completed snapshot has artifacts.
    pub has_artifacts: bool,
    /// Notes on the session.
    pub metadata: Option<JsonObject>,
}

/// A snapshot without its content.
#[derive(Debug, Clone, PartialEq)]
pub struct SnapshotNode {
    /// The snapshot.
    pub snapshot: String,
    /// The snapshot that its turn continued from.
    pub parent: Option<String>,
    /// When it was first written.
    pub created_at: String,
    /// The status of its turn.
    pub status: Option<SnapshotStatus>,
    /// Why its turn ended.
    pub finish_reason: Option<AgentFinishReason>,
    /// Number of its messages.
    pub messages: usize,
}

/// Work that has lost its process.
#[derive(Debug, Clone, PartialEq)]
pub struct StalledWork {
    /// The owner of the session.
    pub owner: Owner,
    /// The session.
    pub session: String,
    /// The pending snapshot.
    pub snapshot: String,
    /// The data to restart the work.
    pub work: String,
}
