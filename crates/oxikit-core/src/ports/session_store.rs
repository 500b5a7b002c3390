//! Sessions of agents.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use oxikit_wire::{AgentFinishReason, JsonObject, SessionSnapshot, SnapshotStatus};

use super::{Owner, Pruned, Retention, StoreError};
use crate::Status;

/// A snapshot may have so many bytes as JSON, its artifacts aside; a larger one is
/// [`Full`](StoreError::Full), as are the others.
pub const MAX_SNAPSHOT_BYTES: usize = 8 * 1024 * 1024;
/// An artifact may have so many bytes as JSON.
pub const MAX_ARTIFACT_BYTES: usize = 16 * 1024 * 1024;
/// All that is kept of a session may have so many bytes. What snapshots share
/// counts once.
pub const MAX_SESSION_BYTES: usize = 64 * 1024 * 1024;

/// Keeps the snapshots of agent sessions.
///
/// The store owns identity, revisions and order; the caller owns status, times and
/// the tree of parents. A store has no other policy: which snapshot may be resumed
/// and when a pending one counts as expired is the agent's decision. A session is
/// there as soon as it has a snapshot. A write is answered when it is durable, and
/// costs what is new in it: what a snapshot has in common with its parent is kept
/// once.
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
    /// have no side effects. Ids inside of the snapshot, also that of the session in
    /// its state, are set by the store. An id that is taken by a snapshot of another
    /// session is [`Exists`](StoreError::Exists).
    async fn save(
        &self,
        write: SnapshotWrite<'_>,
        update: Update<'_>,
    ) -> Result<Option<u64>, StoreError>;

    /// Waits until the row's revision is another than `revision`, or the row is
    /// gone; 0 is the revision of a row that is not there. May return early.
    async fn changed(&self, owner: &Owner, snapshot: &str, revision: u64)
    -> Result<(), StoreError>;

    /// Takes the right to write the session. The session need not be there yet.
    /// [`Conflict`](StoreError::Conflict) while another writer has it, unless it is
    /// taken by force. Each lease of a session has a greater number than all before.
    ///
    /// A lease ends when it is released, when the process of its holder is known to
    /// be gone, and when its holder has not renewed it for its `ttl`. Time is
    /// measured by whoever wants it, from when it first saw the lease as it is: the
    /// clock on the wall has no say, and a first attempt may be refused although
    /// the lease has run out.
    async fn lease(&self, owner: &Owner, session: &str, term: Term) -> Result<Lease, StoreError>;

    /// Extends the lease by its `ttl`, also when it has run out but was not given to
    /// another writer; [`Fenced`](StoreError::Fenced) if it was.
    async fn renew(&self, owner: &Owner, lease: &Lease) -> Result<(), StoreError>;

    /// Waits until the lease is not its holder's any more, because another writer has taken
    /// it or the session was deleted. The change of another process is heard within a
    /// second.
    async fn lease_lost(&self, owner: &Owner, lease: &Lease) -> Result<(), StoreError>;

    /// Gives the lease back. Of a lease that is lost already, nothing happens.
    async fn release(&self, owner: &Owner, lease: Lease) -> Result<(), StoreError>;

    /// Sessions, those written last first. Pages neither repeat nor leave out a
    /// session that is not written meanwhile.
    async fn list(&self, owner: &Owner, query: &SessionQuery) -> Result<SessionPage, StoreError>;

    /// The session without its content, as it is listed; `None` if there is no such.
    async fn summary(
        &self,
        owner: &Owner,
        session: &str,
    ) -> Result<Option<SessionSummary>, StoreError>;

    /// All snapshots of the session without their content, in the order of their
    /// first writing. Empty if there is no such session.
    async fn tree(&self, owner: &Owner, session: &str) -> Result<Vec<SnapshotNode>, StoreError>;

    /// Removes the session, its snapshots and its lease; says whether it was there.
    /// Whoever waits for a change of one of its snapshots is woken, and a writer
    /// that has a lease of it is fenced.
    async fn delete(&self, owner: &Owner, session: &str) -> Result<bool, StoreError>;

    /// Removes what need not be kept any longer, of all owners; see [`Retention`].
    async fn prune(&self, retention: &Retention) -> Result<Pruned, StoreError>;

    /// Work of this agent that has lost its process, of all owners: snapshots that
    /// were written with [`work`](SnapshotWrite::work) and whose session nobody has
    /// a lease of. Whoever goes on with it takes the lease first.
    async fn stalled(&self, agent: &str, limit: usize) -> Result<Vec<StalledWork>, StoreError>;
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
    /// Whether the lease is given back with this write, if something is written.
    pub releases: bool,
    /// Notes on the session, in place of those before; `None` leaves them.
    pub metadata: Option<&'a JsonObject>,
    /// What it takes to start the work behind a pending snapshot again, as JSON.
    /// Kept with the row until a write without it.
    pub work: Option<&'a str>,
}

impl<'a> SnapshotWrite<'a> {
    /// A write outside of any turn.
    pub fn new(owner: &'a Owner, agent: &'a str, session: &'a str, snapshot: &'a str) -> Self {
        let (lease, releases, metadata, work) = (None, false, None, None);
        Self { owner, agent, session, snapshot, lease, releases, metadata, work }
    }
}

/// A snapshot and how often its row has been written.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSnapshot {
    /// Another one after every write of the row, and greater; never 0.
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
    /// The fencing number.
    pub fence: u64,
    /// How long it lasts without being renewed.
    pub ttl: Duration,
}

/// How a lease is taken.
#[derive(Debug, Clone, Copy)]
pub struct Term {
    /// How long it lasts without being renewed.
    pub ttl: Duration,
    /// Whether it is taken from whoever has it.
    pub by_force: bool,
}

impl Term {
    /// A lease that is taken when it is free.
    pub fn of(ttl: Duration) -> Self {
        Self { ttl, by_force: false }
    }
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
    /// Notes on the session.
    pub metadata: Option<JsonObject>,
}

/// A snapshot without its content.
#[derive(Debug, Clone, PartialEq)]
pub struct SnapshotNode {
    /// The snapshot.
    pub snapshot: String,
    /// The one that its turn went on from.
    pub parent: Option<String>,
    /// When it was first written.
    pub created_at: String,
    /// How far its turn is.
    pub status: Option<SnapshotStatus>,
    /// Why its turn ended.
    pub finish_reason: Option<AgentFinishReason>,
    /// How many messages it has.
    pub messages: usize,
}

/// Work that has lost its process.
#[derive(Debug, Clone, PartialEq)]
pub struct StalledWork {
    /// Whose it is.
    pub owner: Owner,
    /// The session.
    pub session: String,
    /// The pending snapshot.
    pub snapshot: String,
    /// What it takes to start it again.
    pub work: String,
}
