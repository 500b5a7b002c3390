//! PostgreSQL: sessions and streams for any number of processes and machines.

mod bell;
mod database;
mod heads;
mod leases;
mod list;
mod plan;
mod prune;
mod read;
mod sessions;
mod setup;
mod streams;
mod text;
mod watch;
mod write;

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use oxikit_core::ports::{Pruner, Retention, SessionStore, StoreError};
use tokio::task::JoinSet;

use crate::cache::Cache;
use bell::Bell;
use database::Database;
use leases::{Observed, Unanswered};
use watch::Watch;

/// Sessions and durable streams in a PostgreSQL database: both a
/// [`SessionStore`](oxikit_core::ports::SessionStore) and a
/// [`StreamStore`](oxikit_core::ports::StreamStore). Cheap to clone; clones are one
/// store.
///
/// What is acknowledged is on the database's disk. A request that the database does
/// not answer fails with [`Unavailable`](StoreError::Unavailable) within five
/// seconds. Besides its pool a store keeps one connection open, which must lead to
/// the database itself and not to a proxy that shares connections between
/// transactions: it says that this process is alive, and hears of changes. When the
/// process ends, its leases are free at once.
///
/// ```no_run
/// # async fn example() -> Result<(), oxikit_core::ports::StoreError> {
/// use oxikit_sql::PostgresStore;
///
/// let store = PostgresStore::connect("postgres://app:secret@localhost/app").await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct PostgresStore(Arc<Inner>);

struct Inner {
    options: PostgresOptions,
    database: Database,
    cache: Cache,
    bell: Bell,
    /// The number of this store among all that use the database.
    instance: i64,
    observed: Observed,
    unanswered: Unanswered,
    /// Removes what need not be kept; ends with the store.
    pruner: OnceLock<Pruner>,
    /// What goes on beside requests; ends with the store.
    _tasks: JoinSet<()>,
}

/// How a [`PostgresStore`] uses its database.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PostgresOptions {
    /// So many connections besides the one that is always open.
    pub max_connections: u32,
    /// The schema of the tables, made if it is not there: a name of small letters,
    /// digits and underscores. Stores in different schemas know nothing of each other.
    pub schema: String,
    /// How long an ended stream can be read again.
    pub keep_ended: Duration,
    /// So many bytes in one stream.
    pub max_stream_bytes: usize,
    /// About so many bytes of snapshots are kept in memory, so that the next turn
    /// need not read them again.
    pub cache_bytes: usize,
    /// What is removed of sessions in the background; everything is kept where nothing is
    /// said. Processes that share the schema should say the same: one of them prunes.
    pub retention: Retention,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            max_connections: 16,
            schema: "oxikit".to_owned(),
            keep_ended: Duration::from_secs(24 * 60 * 60),
            max_stream_bytes: 64 * 1024 * 1024,
            cache_bytes: 64 * 1024 * 1024,
            retention: Retention::default(),
        }
    }
}

impl PostgresOptions {
    /// With so many connections.
    #[must_use]
    pub fn with_max_connections(mut self, connections: u32) -> Self {
        self.max_connections = connections;
        self
    }

    /// With the tables in this schema.
    #[must_use]
    pub fn with_schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// Removes sessions in the background that need not be kept.
    #[must_use]
    pub fn with_retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }
}

impl PostgresStore {
    /// Connects to the database at a URL such as `postgres://user:password@host/name`,
    /// and makes its tables if they are not there.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::connect_with(url, PostgresOptions::default()).await
    }

    /// The same with options.
    pub async fn connect_with(url: &str, options: PostgresOptions) -> Result<Self, StoreError> {
        let database = Database::new(url, &options)?;
        setup::tables(&database, &options.schema).await?;
        let (bell, instance) = (Bell::default(), fastrand::i64(..));
        let watch = Watch {
            database: database.clone(),
            bell: bell.clone(),
            instance,
            channel: format!("oxikit_{}", options.schema),
            keep_ended: options.keep_ended,
        };
        let listener = watch.open().await?;
        let mut tasks = JoinSet::new();
        tasks.spawn(watch.run(listener));
        let cache = Cache::new(options.cache_bytes);
        let (observed, unanswered) = (Observed::default(), Unanswered::default());
        let (retention, pruner) = (options.retention, OnceLock::new());
        let inner = Arc::new(Inner {
            options,
            database,
            cache,
            bell,
            instance,
            observed,
            unanswered,
            pruner,
            _tasks: tasks,
        });
        let weak = Arc::downgrade(&inner);
        let store = move || Some(Arc::new(Self(weak.upgrade()?)) as Arc<dyn SessionStore>);
        if let Some(started) = Pruner::spawn(retention, store) {
            _ = inner.pruner.set(started);
        }
        Ok(Self(inner))
    }

    /// Closes the connections, once what is under way is done. A store that is only
    /// dropped leaves this to the runtime.
    pub async fn close(&self) {
        self.0.database.close().await;
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address has a password in it.
        f.debug_struct("PostgresStore").field("schema", &self.0.options.schema).finish()
    }
}
