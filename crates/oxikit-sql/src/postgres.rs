//! PostgreSQL: sessions, streams, tasks and revisions for any number of processes and machines.
//!
//! A write is one statement that does nothing if another writer was faster (`write`, `put`), so
//! no lock is held while a turn runs. One connection per process is always open (`watch`): it
//! shows that the process is alive, and receives notifications. The database's own functions are
//! in `schema.sql`.

mod database;
mod heads;
mod leases;
mod list;
mod notifier;
mod plan;
mod prune;
mod put;
mod read;
mod revisions;
mod sessions;
mod setup;
mod streams;
mod tasks;
mod text;
mod watch;
mod watched;
mod write;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use oxikit_core::ports::{Notifier, Pruner, Retention, SessionStore, StoreError};
use tokio::task::JoinSet;

use crate::cache::Cache;
use database::Database;
use leases::{Observed, Unanswered};
use notifier::PostgresNotifier;
use revisions::SeenRevisions;
use watch::{Channel, Watch};
use watched::{Key, WatchedRows};

/// Sessions, durable streams, tasks and revision logs in a PostgreSQL database: a
/// [`SessionStore`](oxikit_core::ports::SessionStore), a
/// [`StreamStore`](oxikit_core::ports::StreamStore), a
/// [`TaskStore`](oxikit_core::ports::TaskStore) and a
/// [`RevisionStore`](oxikit_core::ports::RevisionStore). Cheap to clone; clones are one store.
///
/// An acknowledged write is on the database's disk. A request that the database does not
/// answer fails with [`Unavailable`](StoreError::Unavailable) within five seconds. Besides
/// its pool a store keeps one connection open, which shows that the process is alive and
/// receives notifications. It must lead to the database itself, and not to a proxy that
/// shares connections between transactions. When the process ends, its leases are free at
/// once.
///
/// ```no_run
/// # async fn example() -> Result<(), oxikit_core::ports::StoreError> {
/// use oxikit_sql::{PostgresStore};
///
/// let store = PostgresStore::connect("postgres://app:secret@localhost/app").await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct PostgresStore(Arc<Inner>);

/// The state that all clones of a store share.
struct Inner {
    options: PostgresOptions,
    database: Database,
    cache: Cache,
    notifier: Arc<dyn Notifier>,
    watched: WatchedRows,
    /// The number of this store among all that use the database.
    instance: i64,
    observed: Observed,
    unanswered: Unanswered,
    /// Enforces the retention; ends with the store.
    pruner: OnceLock<Pruner>,
    /// Background tasks; they end with the store.
    _tasks: JoinSet<()>,
}

/// Options of a [`PostgresStore`].
///
/// ```
/// use oxikit_sql::PostgresOptions;
///
/// // Two applications share a database, each in a schema of its own.
/// let options = PostgresOptions::default().with_schema("shop_agents").with_max_connections(8);
/// assert_eq!(options.schema, "shop_agents");
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// Maximum number of connections, besides the one that is always open. Further requests wait,
    /// for up to four seconds, and then fail as unavailable. The default is 16.
    pub max_connections: u32,
    /// The schema of the tables, which is created if it does not exist: up to 48 small letters,
    /// digits and underscores, of which the first is not a digit. Stores in different schemas do
    /// not share anything. The default is `oxikit`.
    pub schema: String,
    /// Time for which an ended stream can be read again. Then it is removed. The default is a
    /// day.
    pub keep_ended: Duration,
    /// Maximum size of a stream in bytes. Further chunks fail as full; the end is always stored.
    /// The default is 64 MiB.
    pub max_stream_bytes: usize,
    /// Maximum size of the events of a task in bytes. Further ones fail as full; a terminal state
    /// is always stored. The default is 64 MiB.
    pub max_task_bytes: usize,
    /// Approximate size in bytes of the cache of snapshots, which saves the next turn from
    /// reading them. The default is 64 MiB.
    pub cache_bytes: usize,
    /// The sessions that are removed in the background; by default none. Processes that
    /// share the schema should have the same retention, since any of them may prune.
    pub retention: Retention,
    /// Notifies other processes of changes, in place of `LISTEN` and `NOTIFY`. Changes that
    /// are not notified are found within a second.
    pub notifier: Option<Arc<dyn Notifier>>,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            max_connections: 16,
            schema: "oxikit".to_owned(),
            keep_ended: Duration::from_secs(24 * 60 * 60),
            max_stream_bytes: 64 * 1024 * 1024,
            max_task_bytes: 64 * 1024 * 1024,
            cache_bytes: 64 * 1024 * 1024,
            retention: Retention::default(),
            notifier: None,
        }
    }
}

impl PostgresOptions {
    /// Sets the [maximum number of connections](Self::max_connections). All processes together
    /// must stay below the `max_connections` of the database.
    #[must_use]
    pub fn with_max_connections(mut self, connections: u32) -> Self {
        self.max_connections = connections;
        self
    }

    /// Sets the [schema](Self::schema) of the tables. The name is checked when the store
    /// connects.
    #[must_use]
    pub fn with_schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// Removes sessions in the background that need not be kept.
    ///
    /// ```
    /// use oxikit_core::ports::Retention;
    /// use oxikit_sql::PostgresOptions;
    ///
    /// let retention = Retention { max_sessions: Some(10_000), ..Retention::default() };
    /// let options = PostgresOptions::default().with_retention(retention);
    /// # assert_eq!(options.retention, retention);
    /// ```
    #[must_use]
    pub fn with_retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }

    /// Notifies other processes by this notifier, in place of `LISTEN` and `NOTIFY`.
    #[must_use]
    pub fn with_notifier(mut self, notifier: Arc<dyn Notifier>) -> Self {
        self.notifier = Some(notifier);
        self
    }
}

impl PostgresStore {
    /// Connects to the database at a URL such as `postgres://user:password@host/name`, and
    /// creates its tables if they do not exist.
    ///
    /// # Errors
    ///
    /// As [`connect_with`](Self::connect_with).
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::connect_with(url, PostgresOptions::default()).await
    }

    /// Connects with these options.
    ///
    /// # Errors
    ///
    /// `Invalid` if the URL or the name of the schema is not valid, or the schema was created by
    /// a newer version; `Unavailable` if the database cannot be reached or refuses the user.
    pub async fn connect_with(url: &str, options: PostgresOptions) -> Result<Self, StoreError> {
        let database = Database::new(url, &options)?;
        setup::tables(&database, &options.schema).await?;
        // A random number and not a counter: stores of different machines choose theirs without a
        // round trip, and two equal ones are practically impossible.
        let instance = fastrand::i64(..);
        let (notifier, channel): (Arc<dyn Notifier>, _) = match &options.notifier {
            Some(notifier) => (notifier.clone(), None),
            None => {
                let notifier = Arc::new(PostgresNotifier::new(instance));
                (notifier.clone(), Some(Channel { name: channel_name(&options), notifier }))
            }
        };
        let watched = WatchedRows::new(notifier.clone());
        let watch = Watch {
            database: database.clone(),
            watched: watched.clone(),
            instance,
            channel,
            keep_ended: options.keep_ended,
        };
        // Before the store is used: leases name this instance, and others see it as alive only
        // while the connection is open.
        let mut listener = watch.open().await?;
        let seen = SeenRevisions::begin(notifier.clone(), &mut listener).await?;
        let mut tasks = JoinSet::new();
        tasks.spawn(watch.run(listener, seen));
        let cache = Cache::new(options.cache_bytes);
        let (observed, unanswered) = (Observed::default(), Unanswered::default());
        let (retention, pruner) = (options.retention, OnceLock::new());
        let inner = Arc::new(Inner {
            options,
            database,
            cache,
            notifier,
            watched,
            instance,
            observed,
            unanswered,
            pruner,
            _tasks: tasks,
        });
        // The pruner has no strong reference, since it would keep the store open.
        let weak = Arc::downgrade(&inner);
        let store = move || Some(Arc::new(Self(weak.upgrade()?)) as Arc<dyn SessionStore>);
        let started = Pruner::spawn(retention, store)
            .map_err(|error| StoreError::Unavailable(error.into()))?;
        if let Some(started) = started {
            _ = inner.pruner.set(started);
        }
        Ok(Self(inner))
    }

    /// Notifies of changes by this process and by others. It works as long as the store is open.
    /// Notifications may be lost with a connection; subscribers then receive
    /// [`Lagged`](oxikit_core::ports::Notification::Lagged).
    ///
    /// ```no_run
    /// # async fn example(store: oxikit_sql::PostgresStore) {
    /// use oxikit_core::ports::Topic;
    ///
    /// let topic = Topic::of(&["orders", "42"]);
    /// let mut subscription = store.notifier().subscribe(topic);
    /// // In another process: `store.notifier().publish(Topic::of(&["orders", "42"]))`.
    /// subscription.next().await;
    /// # }
    /// ```
    pub fn notifier(&self) -> Arc<dyn Notifier> {
        self.0.notifier.clone()
    }

    /// Publishes that a row has changed.
    fn publish(&self, key: &Key) {
        self.0.notifier.publish(key.topic());
    }

    /// Closes the connections after the running statements have ended, and waits for it, at most
    /// four seconds. A store that is only dropped closes them in the background.
    ///
    /// ```no_run
    /// # async fn example(store: oxikit_sql::PostgresStore) {
    /// // At the end of `main`: the last statements are answered before the runtime ends.
    /// store.close().await;
    /// # }
    /// ```
    pub async fn close(&self) {
        self.0.database.close().await;
    }
}

/// The channel that all stores of a schema listen to.
fn channel_name(options: &PostgresOptions) -> String {
    format!("oxikit_{}", options.schema)
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL contains a password.
        f.debug_struct("PostgresStore").field("schema", &self.0.options.schema).finish()
    }
}
