//! The one connection of a store that is always open. It says that this process is
//! alive, hears what others announce, announces what this one has changed, and
//! looks by itself for what nobody has announced.

use std::fmt::Write;
use std::time::Duration;

use oxikit_core::ports::StoreError;
use sqlx::Row;
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use tracing::{info, warn};

use super::bell::{Bell, Key};
use super::database::{DEADLINE, Database, failure, within};

/// So often it looks. An announcement that is lost costs this time.
const ROUND: Duration = Duration::from_millis(750);
/// So often streams that ended long ago are removed.
const SWEEP: Duration = Duration::from_secs(60);
/// After a lost connection, the pause before the next attempt.
const PAUSE: Duration = Duration::from_millis(100);
/// So many are announced with one notification, which holds 8,000 bytes.
const ANNOUNCED: usize = 400;
/// So many rows are looked for with one query.
const LOOKED_FOR: usize = 4096;

/// An owner and an id each.
type Pairs = Vec<(String, String)>;

/// What the connection is for.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) database: Database,
    pub(super) bell: Bell,
    /// The number of this store among all that use the database. As long as the
    /// connection is open, it holds a lock of this number.
    pub(super) instance: i64,
    /// The name of the bell.
    pub(super) channel: String,
    /// How long an ended stream can be read again.
    pub(super) keep_ended: Duration,
}

impl Watch {
    /// Opens the connection. Locks are shared, so that the new connection does not
    /// wait for one that is lost and does not know it.
    pub(super) async fn open(&self) -> Result<PgListener, StoreError> {
        let deadline = Instant::now() + DEADLINE;
        // A pool for each: one that hangs must not be in the way of the next.
        let pool = PgPoolOptions::new()
            .max_connections(1)
            // The pauses between attempts to connect are a fifth of it at most.
            .acquire_timeout(DEADLINE)
            .max_lifetime(None)
            .idle_timeout(None)
            .connect_lazy_with(self.database.connect_options());
        let mut listener = within(deadline, PgListener::connect_with(&pool)).await?;
        listener.eager_reconnect(false);
        within(deadline, listener.listen(&self.channel)).await?;
        let lock = sqlx::query("SELECT pg_advisory_lock_shared($1)").bind(self.instance);
        within(deadline, lock.execute(&mut listener)).await?;
        Ok(listener)
    }

    /// Keeps the connection for ever.
    pub(super) async fn run(self, mut listener: PgListener) {
        loop {
            if let Err(error) = self.attend(listener).await {
                warn!(%error, "the connection that hears of changes was lost");
            }
            listener = loop {
                sleep(PAUSE).await;
                let opened = self.open().await;
                self.database.set_away(opened.is_err());
                if let Ok(listener) = opened {
                    info!("the connection that hears of changes is back");
                    break listener;
                }
            };
        }
    }

    /// Until the connection is lost.
    async fn attend(&self, mut listener: PgListener) -> Result<(), StoreError> {
        let mut round = interval(ROUND);
        round.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut sweep = interval(SWEEP);
        loop {
            tokio::select! {
                heard = listener.try_recv() => match heard.map_err(failure)? {
                    Some(notification) => self.hear(notification.payload()),
                    None => return Ok(()),
                },
                topics = self.bell.rung() => self.announce(&mut listener, &topics).await?,
                _ = round.tick() => self.look(&mut listener).await?,
                _ = sweep.tick() => self.sweep().await,
            }
        }
    }

    /// A notification is the number of its sender and the topics, in hexadecimal.
    fn hear(&self, payload: &str) {
        let mut words = payload.split(' ');
        let is_own = words.next() == Some(&format!("{:x}", self.instance));
        if !is_own {
            words.filter_map(|word| u64::from_str_radix(word, 16).ok()).for_each(|topic| {
                self.bell.wake(topic);
            });
        }
    }

    async fn announce(&self, listener: &mut PgListener, topics: &[u64]) -> Result<(), StoreError> {
        for topics in topics.chunks(ANNOUNCED) {
            let mut payload = format!("{:x}", self.instance);
            for topic in topics {
                write!(payload, " {topic:x}").expect("a text takes every text");
            }
            let notify = sqlx::query("SELECT pg_notify($1, $2)").bind(&self.channel).bind(payload);
            within(Instant::now() + DEADLINE, notify.execute(&mut *listener)).await?;
        }
        Ok(())
    }

    /// Looks at everything that somebody waits for. It asks even if nobody waits:
    /// a connection that has been cut silently is found so.
    async fn look(&self, listener: &mut PgListener) -> Result<(), StoreError> {
        let (mut streams, mut snapshots, mut leases) = (Vec::new(), Pairs::new(), Pairs::new());
        for key in self.bell.keys() {
            match key {
                Key::Stream(id) => streams.push(id),
                Key::Snapshot(owner, id) => snapshots.push((owner, id)),
                Key::Lease(owner, session) => leases.push((owner, session)),
            }
        }
        let ask = sqlx::query("SELECT 1");
        within(Instant::now() + DEADLINE, ask.execute(&mut *listener)).await?;
        for ids in streams.chunks(LOOKED_FOR) {
            let query = sqlx::query(super::streams::VERSIONS).bind(ids);
            let rows = within(Instant::now() + DEADLINE, query.fetch_all(&mut *listener)).await?;
            for row in rows {
                let key = Key::Stream(row.try_get(0).map_err(failure)?);
                self.bell.saw(key.topic(), row.try_get(1).map_err(failure)?);
            }
        }
        self.look_at(listener, super::sessions::VERSIONS, snapshots, Key::Snapshot).await?;
        self.look_at(listener, super::sessions::FENCES, leases, Key::Lease).await
    }

    /// Looks at rows that are found by two texts; the query answers these and a number.
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
                self.bell.saw(key.topic(), row.try_get(2).map_err(failure)?);
            }
        }
        Ok(())
    }

    async fn sweep(&self) {
        if let Err(error) = super::streams::sweep(&self.database, self.keep_ended).await {
            warn!(%error, "ended streams could not be removed");
        }
    }
}
