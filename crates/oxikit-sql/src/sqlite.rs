//! Sessions, streams and tasks in one SQLite file, shared by the processes of a machine.
//!
//! All writes of a process go through one writer, which puts those that wait into one
//! transaction; reads have connections of their own and never wait for a writer. Writes are
//! prepared outside of the transaction (`sessions`) and checked in it (`save`).

mod instance;
mod leases;
mod list;
mod notifier;
mod project;
mod prune;
mod rows;
mod save;
mod segments;
mod session_row;
mod sessions;
mod streams;
mod sweep;
mod tasks;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use oxikit_core::ports::{
    LocalNotifier, Notifier, Pruner, Retention, SessionStore, StreamStore, Subscription, TaskStore,
    Topic,
};
use oxikit_sqlite::FileOptions;
use oxikit_sqlite::connection::{self, Schema};

use crate::cache::Cache;
use instance::Instance;
use leases::Leases;
use notifier::SqliteNotifier;
use oxikit_sqlite::Readers;
pub use oxikit_sqlite::connection::OpenError;
pub use oxikit_sqlite::damage::Damage;
use oxikit_sqlite::file_check::OpenFile;
pub use oxikit_sqlite::repair::{RepairError, Repaired, SavedPart};
use oxikit_sqlite::writer::{Writer, WriterOptions};
pub use project::{SqliteProject, SqliteProjectOptions};

/// The tables of this file. The number in its header tells it from files of other programs.
const SCHEMA: Schema = Schema {
    // `oxse` in ASCII.
    application: 0x6f78_7365,
    tables: &["sessions", "snapshots", "segments", "messages", "leases", "streams"],
    unreleased: 1,
    steps: &[include_str!("sqlite/schema.sql")],
};

/// A [`SessionStore`], a [`StreamStore`] and a [`TaskStore`] in one SQLite file.
///
/// Any number of processes of one machine may open the file; it must be on a disk
/// of that machine. An acknowledged write is on the disk; waiting writes share one
/// transaction. A lease whose process has ended is free at once. Cloning is cheap; the file
/// is closed with the last clone.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// use oxikit_core::ports::{Owner, SessionQuery, SessionStore};
/// use oxikit_sql::{SqliteStore};
///
/// # let folder = std::env::temp_dir().join(format!("oxikit-sql-{}", std::process::id()));
/// # let path = folder.join("app.db");
/// let store = SqliteStore::open(&path)?;
/// let page = store.list(&Owner::nobody(), &SessionQuery::default()).await?;
/// assert!(page.sessions.is_empty());
/// # drop(store);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SqliteStore(Arc<Inner>);

/// The state that all clones of a store share.
struct Inner {
    options: SqliteOptions,
    /// Before the writer: the readers are closed first. SQLite removes the write-ahead log with
    /// the last connection, and not if two connections are closed at the same time.
    readers: Arc<Readers>,
    writer: Writer,
    notifier: Arc<SqliteNotifier>,
    leases: Arc<Leases>,
    cache: Arc<Cache>,
    /// Enforces the retention; ends with the store.
    pruner: OnceLock<Pruner>,
}

/// Options of a [`SqliteStore`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// Timeout of a call, which may wait for a file that another process has locked. The call
    /// then fails as unavailable. The default is five seconds.
    pub patience: Duration,
    /// Maximum number of reads at the same time. Further ones wait. The default is 4.
    pub readers: usize,
    /// Approximate size in bytes of the cache of snapshots. The default is 64 MiB.
    pub cache_bytes: usize,
    /// Time for which an ended stream can be read again. Then it is removed when another one is
    /// opened. The default is a day.
    pub keep_ended_streams: Duration,
    /// Maximum size of a stream in bytes. Further chunks fail as full; the end is always stored.
    /// The default is 64 MiB.
    pub max_stream_bytes: usize,
    /// Maximum size of the events of a task in bytes. Further ones fail as full; a terminal state
    /// is always stored. The default is 64 MiB.
    pub max_task_bytes: usize,
    /// The sessions that are removed in the background; by default none. Processes that
    /// share the file should have the same retention, since any of them may prune.
    pub retention: Retention,
    /// Publishes the changes that this store makes; a [`LocalNotifier`] unless another one
    /// is given. Changes by other processes are found without it, within half a second.
    pub notifier: Arc<dyn Notifier>,
    /// Maximum number of pages of the file, for tests of a full disk.
    #[doc(hidden)]
    pub max_pages: Option<u32>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            patience: Duration::from_secs(5),
            readers: 4,
            cache_bytes: 64 * 1024 * 1024,
            keep_ended_streams: Duration::from_secs(24 * 60 * 60),
            max_stream_bytes: 64 * 1024 * 1024,
            max_task_bytes: 64 * 1024 * 1024,
            retention: Retention::default(),
            notifier: Arc::new(LocalNotifier::default()),
            max_pages: None,
        }
    }
}

impl SqliteOptions {
    /// The part that is about the file.
    fn file(&self) -> FileOptions {
        FileOptions { timeout: self.patience, readers: self.readers, max_pages: self.max_pages }
    }

    /// Removes sessions in the background that need not be kept.
    ///
    /// ```
    /// use std::time::Duration;
    /// use oxikit_core::ports::Retention;
    /// use oxikit_sql::{SqliteOptions};
    ///
    /// let month = Duration::from_secs(30 * 24 * 60 * 60);
    /// let retention = Retention { max_age: Some(month), ..Retention::default() };
    /// let options = SqliteOptions::default().with_retention(retention);
    /// # assert_eq!(options.retention, retention);
    /// ```
    #[must_use]
    pub fn with_retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }

    /// Publishes changes by this notifier.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use oxikit_core::ports::LocalNotifier;
    /// use oxikit_sql::{SqliteOptions};
    ///
    /// let notifier = Arc::new(LocalNotifier::default());
    /// let options = SqliteOptions::default().with_notifier(notifier);
    /// ```
    #[must_use]
    pub fn with_notifier(mut self, notifier: Arc<dyn Notifier>) -> Self {
        self.notifier = notifier;
        self
    }
}

impl SqliteStore {
    /// Opens the file. Creates it, and its folder, if it does not exist, readable for its
    /// user only.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened, is not a database of this store, or has the tables of
    /// a newer version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_with(path, SqliteOptions::default())
    }

    /// Opens the file with these options.
    ///
    /// ```
    /// # let folder = std::env::temp_dir().join(format!("oxikit-sql-with-{}", std::process::id()));
    /// # let path = folder.join("app.db");
    /// use std::time::Duration;
    ///
    /// use oxikit_sql::{SqliteOptions, SqliteStore};
    ///
    /// let mut options = SqliteOptions::default();
    /// options.patience = Duration::from_secs(1);
    /// options.keep_ended_streams = Duration::from_secs(60 * 60);
    /// let store = SqliteStore::open_with(&path, options)?;
    /// # drop(store);
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let connection = connection::writer(path, &options.file(), &SCHEMA)?;
        // A connection of its own: `data_version` shows commits of all other connections.
        let watched = connection::reader(path, &options.file())?;
        let notifier = SqliteNotifier::start(options.notifier.clone(), watched)?;
        let of_writer = WriterOptions { timeout: options.patience, expects_failures: true };
        let writer = Writer::start(connection, OpenFile::at(path), notifier.clone(), of_writer)?;
        let readers = Readers::new(path.to_owned(), &options.file());
        let leases = Arc::new(Leases::new(Instance::enter(path)?));
        let cache = Arc::new(Cache::new(options.cache_bytes));
        let (retention, pruner) = (options.retention, OnceLock::new());
        let inner = Arc::new(Inner { options, writer, readers, notifier, leases, cache, pruner });
        // The pruner has no strong reference, since it would keep the file open.
        let weak = Arc::downgrade(&inner);
        if let Some(started) =
            Pruner::start(retention, move || Some(Self(weak.upgrade()?).sessions()))?
        {
            _ = inner.pruner.set(started);
        }
        Ok(Self(inner))
    }

    /// The store of sessions, in the form in which agents take it.
    pub fn sessions(&self) -> Arc<dyn SessionStore> {
        Arc::new(self.clone())
    }

    /// The store of streams, in the form in which servers take it.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// # let folder = std::env::temp_dir().join(format!("oxikit-sql-streams-{}", std::process::id()));
    /// # let store = oxikit_sql::SqliteStore::open(folder.join("app.db"))?;
    /// use oxikit_core::Payload;
    /// use oxikit_core::ports::{Owner, StreamEnd, StreamScope};
    ///
    /// let streams = store.streams();
    /// let scope = StreamScope::new(Owner::nobody(), "/flow/greet");
    /// streams.open(&scope, "stream-1").await?;
    /// // Each write names the position that it follows, so that a repeated one is stored once.
    /// let chunk = Payload::from_json(r#""Hello""#.to_owned())?;
    /// let position = streams.append("stream-1", 0, vec![chunk.clone()]).await?;
    /// streams.finish("stream-1", position, StreamEnd::Done(chunk)).await?;
    /// // A reader that was disconnected after the first event continues there.
    /// let page = streams.read(&scope, "stream-1", 1, 100).await?;
    /// assert_eq!((page.events.len(), page.has_ended), (1, true));
    /// # drop((streams, store));
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn streams(&self) -> Arc<dyn StreamStore> {
        Arc::new(self.clone())
    }

    /// The store of tasks, as servers of A2A take it.
    pub fn tasks(&self) -> Arc<dyn TaskStore> {
        Arc::new(self.clone())
    }

    /// Notifies of changes of the file, by this process and by others. It works as long as
    /// the store is open.
    pub fn notifier(&self) -> Arc<dyn Notifier> {
        self.0.notifier.clone()
    }

    fn options(&self) -> &SqliteOptions {
        &self.0.options
    }

    fn writer(&self) -> &Writer {
        &self.0.writer
    }

    fn readers(&self) -> &Arc<Readers> {
        &self.0.readers
    }

    /// Subscribes to a topic, and wakes the thread that looks at the file.
    fn subscribe(&self, topic: Topic) -> Subscription {
        self.0.notifier.subscribe(topic)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.notifier.close();
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("options", &self.0.options).finish_non_exhaustive()
    }
}
