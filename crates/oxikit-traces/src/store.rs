//! Traces and logs of the developer tools in one SQLite file.
//!
//! Runtimes post spans while they run. A span is stored as the JSON text that was posted, beside
//! a few columns to list and filter by; the row of its trace holds the sums. The words of spans
//! are indexed later, in steps, so that a post does not wait for the index. The store knows
//! nothing of HTTP: the routes of this crate call it.

mod blocks;
mod conditions;
mod damage;
mod feed;
mod files;
mod filter;
mod ids;
mod ingest;
mod list;
mod logs;
mod members;
mod options;
mod post;
mod query;
mod read;
mod recent_words;
mod removal;
mod repair;
mod sessions;
mod span_rows;
mod tokens;
mod torn;
mod upkeep;
mod usage;
mod words;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use oxikit_core::ports::{LocalNotifier, StoreError};
use oxikit_wire::trace::SpanData;

use feed::Feeds;
pub use feed::{TraceEvent, TraceFeed};
pub use files::Imported;
pub use filter::{FilterValue, FilterValues, TraceFilter};
use ids::stored_id;
use ingest::Written;
use list::ListQuery;
pub use logs::{LogPage, LogQuery};
pub(crate) use members::shown;
pub use options::TraceOptions;
use oxikit_sqlite::FileOptions;
use oxikit_sqlite::Readers;
use oxikit_sqlite::at_once;
use oxikit_sqlite::connection::{self, OpenError, Schema};
use oxikit_sqlite::damage::{Health, REPAIR, Reason};
use oxikit_sqlite::failure::{Failure, Outcome};
use oxikit_sqlite::file_check::{DELETED, OpenFile};
use oxikit_sqlite::writer::{Durability, Txn, Writer, WriterOptions, WriterWork};
use post::Post;
pub use query::{StoredSpan, TracePage, TraceQuery, TraceStatus, TraceSummary};
pub use removal::PrunedTraces;
pub use sessions::{SeenSession, SeenSessionPage, SeenSessionQuery};
use upkeep::{INDEX_STEP, Upkeep};

use crate::peer_process::RuntimeNames;
pub use usage::{ModelPrice, TokenUsage};

/// The tables of this file. The number in its header tells it from files of other programs.
pub(super) const SCHEMA: Schema = Schema {
    // `oxtr` in ASCII.
    application: 0x6f78_7472,
    tables: &["traces", "spans", "labels", "logs"],
    unreleased: 4,
    steps: &[include_str!("store/schema.sql")],
};

/// The traces of a project, in one SQLite file that can be deleted at any time.
///
/// Any number of processes of one machine may open the file. An acknowledged write survives
/// a crash of the process, and may be lost in a power cut. The oldest traces are removed
/// when a limit of [`TraceOptions`] is exceeded. Cloning is cheap; the file is closed with
/// the last clone.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// use oxikit_traces::{TraceQuery, TraceStore};
///
/// # let folder = std::env::temp_dir().join(format!("oxikit-traces-{}", std::process::id()));
/// # let path = folder.join("traces.db");
/// let store = TraceStore::open(&path)?;
/// store.ingest(br#"{"traceId":"t1","spans":{"s1":{
///     "spanId":"s1","traceId":"t1","startTime":1000,"endTime":1002.5,"attributes":{},
///     "displayName":"greet","instrumentationLibrary":{"name":"my-tracer"},"spanKind":"INTERNAL"
/// }}}"#).await?;
/// let page = store.list(&TraceQuery::default()).await?;
/// assert_eq!(page.traces[0].name, "greet");
/// # drop(store);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct TraceStore(Arc<Inner>);

/// The writer of a [`TraceStore`]; made by [`TraceStore::open_apart`].
pub struct TraceWriter(WriterWork);

impl TraceWriter {
    /// Writes until the last clone of the store is dropped.
    ///
    /// Each transaction blocks the thread, so the thread should have little else to do. If
    /// the tasks that store spans run on the same thread, a post does not have to wake
    /// another thread, and all posts that arrived meanwhile share a transaction.
    pub async fn run(self) {
        self.0.run().await;
    }
}

impl fmt::Debug for TraceWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceWriter").finish_non_exhaustive()
    }
}

/// The state that all clones of a store share.
struct Inner {
    options: TraceOptions,
    /// Before the writer: the readers are closed first. SQLite removes the write-ahead log with
    /// the last connection, and not if two connections are closed at the same time.
    readers: Arc<Readers>,
    writer: Writer,
    feeds: Arc<Feeds>,
    upkeep: Arc<Upkeep>,
    health: Arc<Health>,
}

/// The error of an operation of a [`TraceStore`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The post is not a valid trace. Nothing of it is stored.
    #[error("the post is refused: {0}")]
    Post(String),
    /// The query is invalid; the text says why.
    #[error("{0}")]
    Query(String),
    /// A file or a folder cannot be read.
    #[error("the files cannot be read")]
    File(#[from] std::io::Error),
    /// Pages of the database cannot be read, or not written because of those that cannot
    /// be read. The text says what is affected and what to do. It was logged.
    #[error("{0}")]
    Damaged(String),
    /// The file was deleted or replaced while it was open. Nothing was stored.
    #[error("{DELETED}")]
    Gone,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl TraceStore {
    /// Opens the file. Creates it, and its folder, if it does not exist, readable for its
    /// user only.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened, is not a database of traces, or has the tables of a
    /// newer version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_with(path, TraceOptions::default())
    }

    /// Opens the file with these options.
    ///
    /// ```
    /// # let folder = std::env::temp_dir().join(format!("oxikit-traces-with-{}", std::process::id()));
    /// # let path = folder.join("traces.db");
    /// use oxikit_traces::{ModelPrice, TraceOptions, TraceStore};
    ///
    /// let mut options = TraceOptions::default();
    /// options.max_traces = 1_000;
    /// // Prices are per million tokens, in a currency of your choice.
    /// options.prices.insert("acme/large".to_owned(), ModelPrice { input: 2.0, output: 8.0 });
    /// let store = TraceStore::open_with(&path, options)?;
    /// # drop(store);
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: TraceOptions) -> Result<Self, OpenError> {
        let (store, TraceWriter(work)) = Self::open_apart(path, options)?;
        work.start_thread()?;
        Ok(store)
    }

    /// Opens the file, and leaves it to the caller where the store writes. Nothing is written
    /// before [`TraceWriter::run`] is called, and writes wait for it. A server that receives
    /// posts on one thread runs the writer there; all others call [`open_with`](Self::open_with),
    /// which starts a thread.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_apart(
        path: impl AsRef<Path>,
        options: TraceOptions,
    ) -> Result<(Self, TraceWriter), OpenError> {
        let path = path.as_ref();
        let TraceOptions { patience, readers, max_pages, .. } = options;
        let of_file = FileOptions { timeout: patience, readers, max_pages };
        let connection = connection::writer(path, &of_file, &SCHEMA)?;
        let of_writer = WriterOptions { timeout: patience, expects_failures: false };
        let file = OpenFile::at(path);
        let notifier = Arc::new(LocalNotifier::default());
        let (writer, work) = Writer::new(connection, file, notifier, of_writer);
        let readers = Readers::new(path.to_owned(), &of_file);
        let (feeds, upkeep) = (Arc::default(), Arc::default());
        let health = Arc::new(Health::of(path.to_owned()));
        let inner = Inner { options, writer, readers, feeds, upkeep, health };
        Ok((Self(Arc::new(inner)), TraceWriter(work)))
    }

    /// Stores the spans of a post: the JSON of a [`TraceData`](oxikit_wire::trace::TraceData). A
    /// span that is stored already is replaced, but one that has ended is never replaced by one
    /// that runs: posts may arrive in any order.
    ///
    /// # Errors
    ///
    /// [`Post`](TraceError::Post) if the JSON is not a trace, and then nothing of it is stored;
    /// else if the store does not work.
    pub async fn ingest(&self, post: &[u8]) -> Result<(), TraceError> {
        self.ingest_of(post, &RuntimeNames::default()).await
    }

    /// The same for a post of the runtime with these names.
    pub(super) async fn ingest_of(
        &self,
        post: &[u8],
        runtime: &RuntimeNames,
    ) -> Result<(), TraceError> {
        let mut post = Post::read(post, &self.0.options)?;
        post.runtime = runtime.clone();
        self.write(vec![post]).await
    }

    /// Stores spans of any traces, those of each trace in the given order.
    ///
    /// # Errors
    ///
    /// As [`ingest`](Self::ingest).
    pub async fn ingest_spans(&self, spans: Vec<SpanData>) -> Result<(), TraceError> {
        self.ingest_spans_of(spans, &RuntimeNames::default()).await
    }

    /// The same for spans of the runtime with these names.
    pub(super) async fn ingest_spans_of(
        &self,
        spans: Vec<SpanData>,
        runtime: &RuntimeNames,
    ) -> Result<(), TraceError> {
        let mut posts = Post::of_spans(spans, &self.0.options)?;
        posts.iter_mut().for_each(|post| post.runtime = runtime.clone());
        self.write(posts).await
    }

    /// Stores posts, and queues the background work that they make necessary.
    async fn write(&self, posts: Vec<Post>) -> Result<(), TraceError> {
        let Inner { options, writer, upkeep, health, .. } = &*self.0;
        // Shared with the writer's job, which may be executed twice.
        let posts = Arc::new(posts);
        let was_careful = health.is_careful();
        match self.try_write(posts.clone()).await {
            // Now that damage is known, the second attempt is guarded by savepoints: if only
            // the index of words is damaged, the spans are stored.
            Err(TraceError::Damaged(_)) if !was_careful => self.try_write(posts).await?,
            written => written?,
        }
        // The caller does not wait for the steps that this queues.
        upkeep.schedule(writer, options, health);
        Ok(())
    }

    /// Stores posts in one transaction, and then publishes their spans to subscribers.
    async fn try_write(&self, posts: Arc<Vec<Post>>) -> Result<(), TraceError> {
        let Inner { options, writer, feeds, upkeep, health, .. } = &*self.0;
        let max_spans = i64::try_from(options.max_spans).unwrap_or(i64::MAX);
        let work = {
            let (posts, upkeep, health) = (posts.clone(), upkeep.clone(), health.clone());
            move |txn: &Txn<'_>| -> Outcome<Vec<Written>> {
                let write = |post| ingest::write(txn, post, max_spans, &upkeep.recent, &health);
                posts.iter().map(write).collect()
            }
        };
        // Called in the order of the writes, so that subscribers see them in that order.
        let publish = {
            let (posts, feeds, upkeep) = (posts.clone(), feeds.clone(), upkeep.clone());
            move |written: &Vec<Written>| {
                for (post, written) in posts.iter().zip(written) {
                    upkeep.record(post, written);
                    let stored = written.stored.iter().map(|stored| &post.spans[stored.place]);
                    feeds.publish(&post.trace, stored.map(|span| (&*span.json, span.end > 0.0)));
                }
            }
        };
        let written = writer.run_then(Durability::Unsynced, work, publish).await;
        let id = posts.first().map_or("", |post| &post.trace);
        written.map_err(|failure| self.error(id, failure))?;
        Ok(())
    }

    /// Lists one page of traces, newest first.
    ///
    /// A query with [`text`](TraceQuery::text) first indexes the words of all spans that are not
    /// indexed yet, so that a search finds every acknowledged span.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// # let folder = std::env::temp_dir().join(format!("oxikit-traces-list-{}", std::process::id()));
    /// # let store = oxikit_traces::TraceStore::open(folder.join("traces.db"))?;
    /// use oxikit_traces::{TraceQuery, TraceStatus};
    ///
    /// let mut query = TraceQuery::default();
    /// query.kind = Some("flow".to_owned());
    /// query.status = Some(TraceStatus::Error);
    /// query.limit = 100;
    /// // All pages, one after the other.
    /// loop {
    ///     let page = store.list(&query).await?;
    ///     for trace in &page.traces {
    ///         println!("{} failed after {:?}", trace.name, trace.end.map(|end| end - trace.start));
    ///     }
    ///     let Some(next) = page.next else { break };
    ///     query.after = Some(next);
    /// }
    /// # drop(store);
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Query`](TraceError::Query) if the continuation token or the filter is not valid; else if
    /// the store does not work.
    pub async fn list(&self, query: &TraceQuery) -> Result<TracePage, TraceError> {
        Ok(self.page(query, |_| ()).await?.0)
    }

    /// Lists traces, as [`list`](Self::list), and counts all that are stored, which is `None` if a damaged
    /// file does not tell. One visit to the database does both.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub async fn list_and_count(
        &self,
        query: &TraceQuery,
    ) -> Result<(TracePage, Option<u64>), TraceError> {
        self.page(query, |connection| upkeep::count_traces(connection).ok()).await
    }

    /// A page, and what else is read with it.
    async fn page<T: Send + 'static>(
        &self,
        query: &TraceQuery,
        also: impl Fn(&rusqlite::Connection) -> T + Clone + Send + 'static,
    ) -> Result<(TracePage, T), TraceError> {
        let prepared = Arc::new(ListQuery::new(query)?);
        let is_search = query.text.is_some() && prepared.is_some();
        let health = self.0.health.clone();
        let read = move |connection: &rusqlite::Connection| {
            let Some(prepared) = &*prepared else {
                return Ok((TracePage::default(), also(connection)));
            };
            let page = at_once(connection, || Ok((prepared.run(connection)?, also(connection))));
            let each = || Ok((prepared.run_each(connection)?, also(connection)));
            health.or_else("the list of traces", page, each)
        };
        if !is_search {
            return self.look("the list of traces", read).await;
        }
        // Mostly all words are indexed: one visit to the file finds this out and searches.
        let search = read.clone();
        let read_if_indexed =
            move |connection: &rusqlite::Connection| match words::can_search(connection) {
                true => read(connection).map(Some),
                false => Ok(None),
            };
        let found = match self.look("the list of traces", read_if_indexed).await {
            Ok(Some(found)) => Ok(found),
            Ok(None) => {
                self.index().await?;
                self.look("the list of traces", search).await
            }
            Err(error) => Err(error),
        };
        if let Err(TraceError::Damaged(_)) = found {
            // Tables can be read around damaged pages; the full-text index cannot.
            self.change("the words", words::note_damage).await?;
            return Err(search_is_off());
        }
        found
    }

    /// Indexes the words of all spans that are not indexed yet.
    async fn index(&self) -> Result<(), TraceError> {
        loop {
            if self.look("the words", words::are_damaged).await? {
                return Err(search_is_off());
            }
            if let Ok(true) = self.look("the words", words::is_complete).await {
                return Ok(());
            }
            let (upkeep, health) = (self.0.upkeep.clone(), self.0.health.clone());
            let was_careful = health.is_careful();
            let index = move |txn: &Txn<'_>| words::index(txn, INDEX_STEP, &upkeep.recent, &health);
            match self.change("the words", index).await {
                Err(TraceError::Damaged(_)) if !was_careful => {}
                indexed => indexed?,
            }
        }
    }

    /// Subscribes to every span that this process stores from now on. Spans that other processes
    /// store in the same file are not seen.
    pub fn subscribe(&self) -> TraceFeed {
        self.0.feeds.subscribe(None)
    }

    /// Subscribes to the spans of one trace, which need not exist yet. To miss no span,
    /// subscribe first and call [`get`](Self::get) then.
    pub fn subscribe_trace(&self, trace_id: &str) -> TraceFeed {
        self.0.feeds.subscribe(Some(&stored_id(trace_id)))
    }

    /// Reads. `what` names the affected thing in errors.
    async fn look<T, F>(&self, what: &str, read: F) -> Result<T, TraceError>
    where
        T: Send + 'static,
        F: FnOnce(&rusqlite::Connection) -> Outcome<T> + Send + 'static,
    {
        self.0.readers.run(read).await.map_err(|failure| self.error(what, failure))
    }

    /// Writes in a transaction. `what` names the affected thing in errors.
    async fn change<T, F>(&self, what: &str, work: F) -> Result<T, TraceError>
    where
        T: Send + 'static,
        F: FnMut(&Txn<'_>) -> Outcome<T> + Send + 'static,
    {
        let done = self.0.writer.run(Durability::Unsynced, work).await;
        done.map_err(|failure| self.error(what, failure))
    }

    /// The failure as an error of the store. Damage is logged the first time.
    fn error(&self, what: &str, failure: Failure) -> TraceError {
        match failure {
            Failure::FileDeleted => TraceError::Gone,
            failure if failure.is_damage() => {
                self.0.health.record_damage(what, &Reason(&failure));
                let text =
                    format!("the trace database is damaged, which affects `{what}`; {REPAIR}");
                TraceError::Damaged(text)
            }
            failure => failure.about(what).into(),
        }
    }
}

/// The error of a search while the index is damaged.
fn search_is_off() -> TraceError {
    TraceError::Damaged(format!("the index of words is damaged: {}", words::OFF))
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.feeds.close();
    }
}

impl fmt::Debug for TraceStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceStore").field("options", &self.0.options).finish_non_exhaustive()
    }
}
