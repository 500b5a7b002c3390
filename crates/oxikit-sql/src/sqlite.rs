//! Sessions and streams in one SQLite file, shared by the processes of a machine.

mod bells;
mod connection;
mod damage;
mod failure;
mod file_check;
mod first_pages;
mod instance;
mod leases;
mod list;
mod project;
mod prune;
mod readers;
mod repair;
mod rows;
mod save;
mod segments;
mod session_row;
mod sessions;
mod streams;
mod sweep;
mod traces;
mod walk;
mod writer;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use oxikit_core::ports::{Pruner, Retention, SessionStore, StreamStore};

use crate::cache::Cache;
use bells::Bells;
pub use connection::OpenError;
pub use damage::Damage;
use file_check::OpenFile;
use instance::Instance;
use leases::Leases;
pub use project::{DocumentList, ProjectError, ProjectStore, StoredDocument};
use readers::Readers;
pub use repair::{RepairError, Repaired, SavedPart};
pub use traces::{
    FilterValue, FilterValues, Imported, LogPage, LogQuery, ModelPrice, PrunedTraces, SeenSession,
    SeenSessionPage, SeenSessionQuery, StoredSpan, TokenUsage, TraceError, TraceEvent, TraceFeed,
    TraceFilter, TraceOptions, TracePage, TraceQuery, TraceStatus, TraceStore, TraceSummary,
    TraceWriter,
};
use writer::{Writer, WriterOptions};

const SCHEMA: connection::Schema = connection::Schema {
    // `oxse` in ASCII.
    application: 0x6f78_7365,
    tables: &["sessions", "snapshots", "segments", "messages", "leases", "streams"],
    steps: &[include_str!("sqlite/schema.sql")],
};

/// A [`SessionStore`] and a [`StreamStore`] in one SQLite file.
///
/// Any number of processes of one machine may open the file; it must be on a disk
/// of that machine. A write is on the disk when it is answered: writes that wait
/// share one transaction. A lease whose process is gone is free at once. Cloning is
/// cheap; the file is closed with the last clone.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// use oxikit_core::ports::{Owner, SessionQuery, SessionStore};
/// use oxikit_sql::SqliteStore;
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

struct Inner {
    options: SqliteOptions,
    writer: Writer,
    readers: Arc<Readers>,
    bells: Arc<Bells>,
    leases: Arc<Leases>,
    cache: Arc<Cache>,
    /// Removes what need not be kept; ends with the store.
    pruner: OnceLock<Pruner>,
}

/// How a [`SqliteStore`] works.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// So long a call waits for the file, which another process may have locked,
    /// before it fails as unavailable.
    pub patience: Duration,
    /// So many reads go on at the same time.
    pub readers: usize,
    /// About so many bytes of snapshots are kept in memory.
    pub cache_bytes: usize,
    /// How long an ended stream can be read again.
    pub keep_ended_streams: Duration,
    /// So many bytes in one stream.
    pub max_stream_bytes: usize,
    /// What is removed of sessions in the background; everything is kept where nothing is
    /// said. Processes that share the file should say the same: one of them prunes.
    pub retention: Retention,
    /// For tests of a full disk: the file has so many pages at most.
    #[doc(hidden)]
    pub max_pages: Option<u32>,
    /// For tests of crash tests: breaks the promise that what is answered is stored.
    #[doc(hidden)]
    pub acknowledge_before_commit: bool,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            patience: Duration::from_secs(5),
            readers: 4,
            cache_bytes: 64 * 1024 * 1024,
            keep_ended_streams: Duration::from_secs(24 * 60 * 60),
            max_stream_bytes: 64 * 1024 * 1024,
            retention: Retention::default(),
            max_pages: None,
            acknowledge_before_commit: false,
        }
    }
}

impl SqliteOptions {
    /// Removes sessions in the background that need not be kept.
    ///
    /// ```
    /// use std::time::Duration;
    /// use oxikit_core::ports::Retention;
    /// use oxikit_sql::SqliteOptions;
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
}

impl SqliteStore {
    /// Opens the file; makes it, and its folder, if there is none. Only the user of
    /// the process can read what is made.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened, is no database, or has the tables of a newer
    /// version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_with(path, SqliteOptions::default())
    }

    /// Opens the file with these options.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let connection = connection::writer(path, &options, &SCHEMA)?;
        let bells = Arc::new(Bells::default());
        bells.watch(connection::reader(path, &options)?)?;
        let SqliteOptions { patience, acknowledge_before_commit, .. } = options;
        let of_writer =
            WriterOptions { patience, acknowledge_before_commit, expects_failures: true };
        let writer = Writer::start(connection, OpenFile::at(path), bells.clone(), of_writer)?;
        let readers = Readers::new(path.to_owned(), &options);
        let leases = Arc::new(Leases::new(Instance::enter(path)?));
        let cache = Arc::new(Cache::new(options.cache_bytes));
        let (retention, pruner) = (options.retention, OnceLock::new());
        let inner = Arc::new(Inner { options, writer, readers, bells, leases, cache, pruner });
        let weak = Arc::downgrade(&inner);
        if let Some(started) =
            Pruner::start(retention, move || Some(Self(weak.upgrade()?).sessions()))?
        {
            _ = inner.pruner.set(started);
        }
        Ok(Self(inner))
    }

    /// The store of sessions, as agents take it.
    pub fn sessions(&self) -> Arc<dyn SessionStore> {
        Arc::new(self.clone())
    }

    /// The store of streams, as servers take it.
    pub fn streams(&self) -> Arc<dyn StreamStore> {
        Arc::new(self.clone())
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

    fn bells(&self) -> &Arc<Bells> {
        &self.0.bells
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.bells.close();
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("options", &self.0.options).finish_non_exhaustive()
    }
}
