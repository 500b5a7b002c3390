//! What is kept of sessions, and the background work that removes the rest.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Lease, Owner, SessionStore, StoreError, Term};

/// What is kept. Everything, unless something is said.
///
/// A snapshot from which a branch goes on may go; the branch stays whole. The last
/// snapshot of every branch stays as long as its session, as does a pending one. A
/// session that somebody has the lease of stays, as does one with unfinished
/// [`work`](super::SnapshotWrite::work), whatever their age.
///
/// ```
/// use std::time::Duration;
/// use oxikit_core::ports::Retention;
///
/// let month = Duration::from_secs(30 * 24 * 60 * 60);
/// let retention = Retention { max_age: Some(month), ..Retention::default() };
/// assert!(!retention.keeps_everything());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Sessions that have not been written for so long are removed.
    pub max_age: Option<Duration>,
    /// Maximum number of sessions, of all owners. Of more, those written longest ago
    /// are removed.
    pub max_sessions: Option<usize>,
    /// Maximum number of snapshots of a session. Of more, the oldest are removed.
    pub max_snapshots: Option<usize>,
    /// Maximum bytes of all sessions together. Of more, those written longest ago are
    /// removed.
    pub max_bytes: Option<u64>,
    /// How often a store that has this among its options prunes itself; every ten minutes
    /// if nothing is said. [`SessionStore::prune`] does not look at it.
    pub interval: Option<Duration>,
}

impl Retention {
    /// Whether nothing is ever removed.
    pub fn keeps_everything(&self) -> bool {
        *self == Self { interval: self.interval, ..Self::default() }
    }
}

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Whole sessions.
    pub sessions: u64,
    /// Snapshots of sessions that are kept.
    pub snapshots: u64,
}

const DEFAULT_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// The first round comes at a random time within this, so that processes that are
/// started together do not all begin at once.
const FIRST_ROUND: Duration = Duration::from_secs(10);
/// Shortest time after which another process takes over from one that has stopped.
const MIN_TTL: Duration = Duration::from_secs(30);

/// Prunes a session store in the background, until this is dropped: for stores that
/// have a [`Retention`] among their options.
///
/// Of the processes that share a store one prunes. It holds a lease of that store;
/// when it ends, the next one that asks takes over.
#[derive(Debug)]
pub struct Pruner {
    _stop: DropGuard,
}

impl Pruner {
    /// Starts a thread, for stores that are opened outside of a runtime. `store` answers
    /// `None` when the store is closed. Nothing is started if everything is kept.
    ///
    /// # Errors
    ///
    /// If the system does not give a thread.
    pub fn start(
        retention: Retention,
        store: impl Fn() -> Option<Arc<dyn SessionStore>> + Send + Sync + 'static,
    ) -> io::Result<Option<Self>> {
        if retention.keeps_everything() {
            return Ok(None);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let rounds = Rounds { retention };
        let run = move || _ = runtime.block_on(stopped.run_until_cancelled(rounds.run(store)));
        std::thread::Builder::new().name("oxikit-retention".to_owned()).spawn(run)?;
        Ok(Some(Self { _stop: stop.drop_guard() }))
    }

    /// The same as a task of the current runtime.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub fn spawn(
        retention: Retention,
        store: impl Fn() -> Option<Arc<dyn SessionStore>> + Send + Sync + 'static,
    ) -> Option<Self> {
        if retention.keeps_everything() {
            return None;
        }
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let rounds = Rounds { retention };
        tokio::spawn(async move { stopped.run_until_cancelled(rounds.run(store)).await });
        Some(Self { _stop: stop.drop_guard() })
    }
}

struct Rounds {
    retention: Retention,
}

impl Rounds {
    async fn run(self, store: impl Fn() -> Option<Arc<dyn SessionStore>>) {
        sleep(self.interval().min(FIRST_ROUND).mul_f64(fastrand::f64())).await;
        let mut lease = None;
        while let Some(store) = store() {
            match self.round(&*store, lease.take()).await {
                Ok(held) => lease = held,
                Err(error) => tracing::warn!(%error, "old sessions could not be removed"),
            }
            // The store may be closed during the pause.
            drop(store);
            sleep(self.interval().mul_f64(0.75 + fastrand::f64() / 2.0)).await;
        }
    }

    /// Prunes once, if no other process does; answers the lease, if there is one.
    async fn round(
        &self,
        store: &dyn SessionStore,
        held: Option<Lease>,
    ) -> Result<Option<Lease>, StoreError> {
        let owner = lease_owner();
        let lease = match held {
            Some(lease) => match store.renew(&owner, &lease).await {
                Err(StoreError::Fenced(_)) => return Ok(None),
                renewed => renewed.map(|()| lease)?,
            },
            None => match store.lease(&owner, "retention", Term::of(self.ttl())).await {
                Err(StoreError::Conflict(_)) => return Ok(None),
                lease => lease?,
            },
        };
        let prune = store.prune(&self.retention);
        let pruned = match select(prune, Box::pin(lose(store, &owner, &lease))).await {
            Either::Left((pruned, _)) => pruned?,
            Either::Right(_) => return Ok(None),
        };
        let Pruned { sessions, snapshots } = pruned;
        if sessions + snapshots > 0 {
            tracing::info!(sessions, snapshots, "old sessions were removed");
        }
        Ok(Some(lease))
    }

    fn interval(&self) -> Duration {
        self.retention.interval.unwrap_or(DEFAULT_INTERVAL)
    }

    fn ttl(&self) -> Duration {
        (self.interval() * 3).max(MIN_TTL)
    }
}

/// Keeps the lease; ends when another process has it.
async fn lose(store: &dyn SessionStore, owner: &Owner, lease: &Lease) {
    loop {
        sleep(lease.ttl / 3).await;
        if let Err(StoreError::Fenced(_)) = store.renew(owner, lease).await {
            return;
        }
    }
}

/// No caller is this owner, so that no session of a client has the same lease.
fn lease_owner() -> Owner {
    Owner::principal("retention").of_tenant("oxikit:internal")
}
