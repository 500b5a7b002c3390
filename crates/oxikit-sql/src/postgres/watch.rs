//! The one connection of a store that is always open. It shows that this process is
//! alive, transfers notifications, and looks at the rows that readers wait for, in case
//! a notification was lost.

use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::{Notifier, StoreError};
use sqlx::Row;
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use tracing::{info, warn};

use super::database::{DEADLINE, Database, failure, within};
use super::notifier::PostgresNotifier;
use super::revisions::SeenRevisions;
use super::watched::{Key, WatchedRows};

/// Interval between two looks at the watched rows: the delay of a change whose
/// notification was lost.
const ROUND: Duration = Duration::from_millis(750);
/// Interval between two removals of streams that ended long ago.
const SWEEP: Duration = Duration::from_secs(60);
/// After a lost connection, the pause before the next attempt.
const PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of rows in one query.
const LOOKED_FOR: usize = 4096;

/// An owner and an id each.
type Pairs = Vec<(String, String)>;

/// The connection that is always open, and the rows and messages that it serves.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) database: Database,
    pub(super) watched: WatchedRows,
    /// The number of this store among all that use the database. As long as the
    /// connection is open, it holds a lock of this number.
    pub(super) instance: i64,
    /// The channel of notifications; `None` if the store was given a notifier that has its own
    /// connection.
    pub(super) channel: Option<Channel>,
    /// Time for which an ended stream can be read again.
    pub(super) keep_ended: Duration,
}

/// A channel of `LISTEN` and `NOTIFY`.
#[derive(Debug)]
pub(super) struct Channel {
    /// The name, which all stores of a schema have in common.
    pub(super) name: String,
    /// Has the messages to send, and the subscribers.
    pub(super) notifier: Arc<PostgresNotifier>,
}

impl Watch {
    /// Opens the connection. Locks are shared, so that the new connection does not
    /// wait for one that is lost and does not know it.
    pub(super) async fn open(&self) -> Result<PgListener, StoreError> {
        let deadline = Instant::now() + DEADLINE;
        // A new pool for each attempt: one that hangs must not delay the next.
        let pool = PgPoolOptions::new()
            .max_connections(1)
            // The pauses between attempts to connect are a fifth of it at most.
            .acquire_timeout(DEADLINE)
            .max_lifetime(None)
            .idle_timeout(None)
            .connect_lazy_with(self.database.connect_options());
        let mut listener = within(deadline, PgListener::connect_with(&pool)).await?;
        listener.eager_reconnect(false);
        if let Some(channel) = &self.channel {
            within(deadline, listener.listen(&channel.name)).await?;
        }
        let lock = sqlx::query("SELECT pg_advisory_lock_shared($1)").bind(self.instance);
        within(deadline, lock.execute(&mut listener)).await?;
        Ok(listener)
    }

    /// Keeps the connection open, and opens it again when it is lost.
    pub(super) async fn run(self, mut listener: PgListener, mut seen: SeenRevisions) {
        loop {
            if let Err(error) = self.attend(listener, &mut seen).await {
                warn!(%error, "the connection for notifications was lost");
            }
            listener = loop {
                sleep(PAUSE).await;
                let opened = self.open().await;
                self.database.set_away(opened.is_err());
                if let Ok(listener) = opened {
                    info!("the connection for notifications is open again");
                    self.notify_lagged();
                    break listener;
                }
            };
        }
    }

    /// Serves the connection until it is lost.
    async fn attend(
        &self,
        mut listener: PgListener,
        seen: &mut SeenRevisions,
    ) -> Result<(), StoreError> {
        let mut round = interval(ROUND);
        round.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut sweep = interval(SWEEP);
        loop {
            tokio::select! {
                received = listener.try_recv() => match received.map_err(failure)? {
                    Some(notification) => self.receive(notification.payload()),
                    None => return Ok(()),
                },
                messages = self.outgoing() => self.send(&mut listener, messages).await?,
                _ = round.tick() => {
                    self.look(&mut listener).await?;
                    seen.look(&mut listener).await?;
                }
                _ = sweep.tick() => self.sweep().await,
            }
        }
    }

    /// Notifies the subscribers of a message of another process.
    fn receive(&self, message: &str) {
        if let Some(channel) = &self.channel {
            channel.notifier.receive(message);
        }
    }

    /// Notifies all subscribers that they may have missed changes: messages that were sent while
    /// the connection was closed are lost.
    fn notify_lagged(&self) {
        if let Some(channel) = &self.channel {
            channel.notifier.subscribers().notify_lagged();
        }
    }

    /// The messages to send; never ready if the store has another notifier.
    async fn outgoing(&self) -> Vec<String> {
        match &self.channel {
            Some(channel) => channel.notifier.outgoing().await,
            None => std::future::pending().await,
        }
    }

    /// Sends messages to all processes that listen to the channel.
    async fn send(
        &self,
        listener: &mut PgListener,
        messages: Vec<String>,
    ) -> Result<(), StoreError> {
        let Some(channel) = &self.channel else { return Ok(()) };
        for message in messages {
            let notify = sqlx::query("SELECT pg_notify($1, $2)").bind(&channel.name).bind(message);
            within(Instant::now() + DEADLINE, notify.execute(&mut *listener)).await?;
        }
        Ok(())
    }

    /// Looks at all rows that readers wait for. A query is sent even if there are none, so
    /// that a connection that was cut silently is noticed.
    async fn look(&self, listener: &mut PgListener) -> Result<(), StoreError> {
        let (mut streams, mut snapshots, mut leases) = (Vec::new(), Pairs::new(), Pairs::new());
        let (mut tasks, mut has_pushes) = (Vec::new(), false);
        for key in self.watched.keys() {
            match key {
                Key::Stream(id) => streams.push(id),
                Key::Snapshot(owner, id) => snapshots.push((owner, id)),
                Key::Lease(owner, session) => leases.push((owner, session)),
                Key::Task(id) => tasks.push(id),
                Key::Pushes => has_pushes = true,
            }
        }
        let check = sqlx::query("SELECT 1");
        within(Instant::now() + DEADLINE, check.execute(&mut *listener)).await?;
        self.look_by_id(listener, super::streams::VERSIONS, streams, Key::Stream).await?;
        self.look_by_id(listener, super::tasks::VERSIONS, tasks, Key::Task).await?;
        if has_pushes {
            let query = sqlx::query(super::tasks::HAS_DUE);
            let row = within(Instant::now() + DEADLINE, query.fetch_one(&mut *listener)).await?;
            let has_due: bool = row.try_get(0).map_err(failure)?;
            self.watched.saw(&Key::Pushes, has_due.into());
        }
        self.look_at(listener, super::sessions::VERSIONS, snapshots, Key::Snapshot).await?;
        self.look_at(listener, super::sessions::FENCES, leases, Key::Lease).await
    }

    /// Looks at rows that an id identifies. The query returns the id and a version.
    async fn look_by_id(
        &self,
        listener: &mut PgListener,
        sql: &'static str,
        ids: Vec<String>,
        key: fn(String) -> Key,
    ) -> Result<(), StoreError> {
        for ids in ids.chunks(LOOKED_FOR) {
            let query = sqlx::query(sql).bind(ids);
            let rows = within(Instant::now() + DEADLINE, query.fetch_all(&mut *listener)).await?;
            for row in rows {
                let key = key(row.try_get(0).map_err(failure)?);
                self.watched.saw(&key, row.try_get(1).map_err(failure)?);
            }
        }
        Ok(())
    }

    /// Looks at rows that two texts identify. The query returns the two texts and a version.
    async fn look_at(
        &self,
        listener: &mut PgListener,
        sql: &'static str,
        pairs: Pairs,
        key: fn(String, String) -> Key,
    ) -> Result<(), StoreError> {
        let (owners, ids): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        for (owners, ids) in owners.chunks(LOOKED_FOR).zip(ids.chunks(LOOKED_FOR)) {
            let query = sqlx::query(sql).bind(owners).bind(ids);
            let rows = within(Instant::now() + DEADLINE, query.fetch_all(&mut *listener)).await?;
            for row in rows {
                let (owner, id) = (row.try_get(0), row.try_get(1));
                let key = key(owner.map_err(failure)?, id.map_err(failure)?);
                self.watched.saw(&key, row.try_get(2).map_err(failure)?);
            }
        }
        Ok(())
    }

    /// Removes streams that ended long ago. A failure is logged, and the next round tries again.
    async fn sweep(&self) {
        if let Err(error) = super::streams::sweep(&self.database, self.keep_ended).await {
            warn!(%error, "ended streams could not be removed");
        }
    }
}
