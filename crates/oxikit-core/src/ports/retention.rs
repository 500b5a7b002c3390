//! Limits for stored sessions, and the background task that removes what exceeds them.
//!
//! The task only decides when to prune and which process does it; what is removed is decided by
//! [`SessionStore::prune`].

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Lease, Owner, SessionStore, StoreError, Term};

/// Limits for what a session store keeps. Without limits it keeps everything.
///
/// A snapshot that has children may be removed; the snapshots of its branch stay complete. The
/// last snapshot of every branch stays as long as its session, as does a pending one. A
/// session with a lease stays, as does one with unfinished
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
    /// Sessions without a write for this time are removed.
    pub max_age: Option<Duration>,
    /// Maximum number of sessions, of all owners. Of more, those written longest ago
    /// are removed.
    pub max_sessions: Option<usize>,
    /// Maximum number of snapshots of a session. Of more, the oldest are removed.
    pub max_snapshots: Option<usize>,
    /// Maximum bytes of all sessions together. Of more, those written longest ago are
    /// removed.
    pub max_bytes: Option<u64>,
    /// Pause between two prunings of a store that has this among its options; ten minutes by
    /// default. It varies by a quarter, at random. [`SessionStore::prune`] ignores it.
    pub interval: Option<Duration>,
}

impl Retention {
    /// Whether there are no limits, so that nothing is ever removed.
    pub fn keeps_everything(&self) -> bool {
        *self == Self { interval: self.interval, ..Self::default() }
    }
}

/// Numbers of removed sessions and snapshots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Removed sessions.
    pub sessions: u64,
    /// Removed snapshots of sessions that are kept.
    pub snapshots: u64,
}

/// Pause between two prunings if the [`Retention`] sets none.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(10 * 60);
/// The first round comes at a random time within this, so that processes that are
/// started together do not all begin at once.
const FIRST_ROUND: Duration = Duration::from_secs(10);
/// Shortest time after which another process takes over from one that has stopped.
const MIN_TTL: Duration = Duration::from_secs(30);

/// Prunes a session store in the background, until this is dropped: for stores that
/// have a [`Retention`] among their options.
///
/// If several processes share a store, one of them prunes. It holds a lease in that store;
/// when it ends, the next process that tries to take the lease takes over.
#[derive(Debug)]
pub struct Pruner {
    _stop: DropGuard,
}

impl Pruner {
    /// Starts a thread, for stores that are opened outside of a runtime. `store` returns
    /// `None` when the store is closed, which ends the thread. Nothing is started if
    /// [everything is kept](Retention::keeps_everything).
    ///
    /// # Errors
    ///
    /// If the operating system cannot start a thread.
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

    /// As [`start`](Self::start), with a task of the current Tokio runtime instead of a thread.
    ///
    /// # Errors
    ///
    /// Outside of a Tokio runtime.
    pub fn spawn(
        retention: Retention,
        store: impl Fn() -> Option<Arc<dyn SessionStore>> + Send + Sync + 'static,
    ) -> io::Result<Option<Self>> {
        if retention.keeps_everything() {
            return Ok(None);
        }
        let runtime = tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let rounds = Rounds { retention };
        runtime.spawn(async move { stopped.run_until_cancelled(rounds.run(store)).await });
        Ok(Some(Self { _stop: stop.drop_guard() }))
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

    /// Prunes once, unless another process holds the lease. Returns the lease for the next round.
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
        // A pruning may take longer than the lease lives. `lose` renews it meanwhile, and ends if
        // another process has taken it; the pruning is dropped then.
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

/// Renews the lease again and again; returns when another process has taken it.
async fn lose(store: &dyn SessionStore, owner: &Owner, lease: &Lease) {
    loop {
        sleep(lease.ttl / 3).await;
        if let Err(StoreError::Fenced(_)) = store.renew(owner, lease).await {
            return;
        }
    }
}

/// The owner of the lease. No caller can be this owner, so that no session of a client has the
/// same lease.
fn lease_owner() -> Owner {
    Owner::principal("retention").of_tenant("oxikit:internal")
}
