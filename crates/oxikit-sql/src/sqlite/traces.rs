//! Traces and logs of the developer tools in one SQLite file.

mod blocks;
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
mod tokens;
mod torn;
mod upkeep;
mod usage;
mod words;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use oxikit_core::ports::StoreError;
use oxikit_wire::trace::SpanData;

use super::SqliteOptions;
use super::bells::Bells;
use super::connection::{self, OpenError, Schema};
use super::damage::{Health, REPAIR, Reason};
use super::failure::{Failure, Outcome};
use super::file_check::{DELETED, OpenFile};
use super::readers::Readers;
use super::writer::{Promise, Txn, Writer, WriterOptions, WriterWork};
use feed::Feeds;
pub use feed::{TraceEvent, TraceFeed};
pub use files::Imported;
pub use filter::{FilterValue, FilterValues, TraceFilter};
use ids::stored_id;
use ingest::Written;
use list::Question;
pub use logs::{LogPage, LogQuery};
pub use options::TraceOptions;
use post::Post;
pub use query::{StoredSpan, TracePage, TraceQuery, TraceStatus, TraceSummary};
pub use removal::PrunedTraces;
pub use sessions::{SeenSession, SeenSessionPage, SeenSessionQuery};
use upkeep::{INDEX_STEP, Upkeep};
pub use usage::{ModelPrice, TokenUsage};

pub(super) const SCHEMA: Schema = Schema {
    // `oxtr` in ASCII.
    application: 0x6f78_7472,
    tables: &["traces", "spans", "labels", "logs"],
    steps: &[
        include_str!("traces/schema.sql"),
        include_str!("traces/schema_2.sql"),
        include_str!("traces/schema_3.sql"),
        include_str!("traces/schema_4.sql"),
    ],
};

/// The traces of a project, in one SQLite file that can be deleted at any time.
///
/// Any number of processes of one machine may open the file. What is answered
/// outlives the process, and may be lost with the power. The oldest traces go by
/// themselves when there are too many. Cloning is cheap; the file is closed with the
/// last clone.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// use oxikit_sql::{TraceQuery, TraceStore};
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

/// Writes what a [`TraceStore`] is given; made by [`TraceStore::open_apart`].
pub struct TraceWriter(WriterWork);

impl TraceWriter {
    /// Writes until the last clone of the store is gone.
    ///
    /// The thread is blocked while a transaction is written, so it should have little else to
    /// do. If those who store spans are tasks on the same thread, nobody has to wake another
    /// thread for a post, and all posts that have come by then share a transaction.
    pub async fn run(self) {
        self.0.run().await;
    }
}

impl fmt::Debug for TraceWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceWriter").finish_non_exhaustive()
    }
}

struct Inner {
    options: TraceOptions,
    writer: Writer,
    readers: Arc<Readers>,
    feeds: Arc<Feeds>,
    upkeep: Arc<Upkeep>,
    health: Arc<Health>,
}

/// Why a [`TraceStore`] did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// What was posted is no trace. Nothing of it is stored.
    #[error("the post is refused: {0}")]
    Post(String),
    /// What was asked for makes no sense.
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
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl TraceStore {
    /// Opens the file; makes it, and its folder, if there is none. Only the user of
    /// the process can read what is made.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened, is no database of traces, or has the tables of a
    /// newer version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::open_with(path, TraceOptions::default())
    }

    /// Opens the file with these options.
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
    /// before [`TraceWriter::run`] is called.
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
        let of_file = SqliteOptions { patience, readers, max_pages, ..SqliteOptions::default() };
        let connection = connection::writer(path, &of_file, &SCHEMA)?;
        let of_writer =
            WriterOptions { patience, acknowledge_before_commit: false, expects_failures: false };
        let file = OpenFile::at(path);
        let (writer, work) = Writer::new(connection, file, Arc::new(Bells::default()), of_writer);
        let readers = Readers::new(path.to_owned(), &of_file);
        let (feeds, upkeep) = (Arc::default(), Arc::default());
        let health = Arc::new(Health::of(path.to_owned()));
        let inner = Inner { options, writer, readers, feeds, upkeep, health };
        Ok((Self(Arc::new(inner)), TraceWriter(work)))
    }

    /// Stores the spans of a post: the JSON of a [`TraceData`](oxikit_wire::trace::TraceData).
    /// A span that has ended is never replaced by one that runs.
    ///
    /// # Errors
    ///
    /// If the post is refused, or the store does not work.
    pub async fn ingest(&self, post: &[u8]) -> Result<(), TraceError> {
        let post = Post::read(post, &self.0.options)?;
        self.write(vec![post]).await
    }

    /// Stores spans of any traces.
    ///
    /// # Errors
    ///
    /// As [`ingest`](Self::ingest).
    pub async fn ingest_spans(&self, spans: Vec<SpanData>) -> Result<(), TraceError> {
        let posts = Post::of_spans(spans, &self.0.options)?;
        self.write(posts).await
    }

    async fn write(&self, posts: Vec<Post>) -> Result<(), TraceError> {
        let Inner { options, writer, upkeep, health, .. } = &*self.0;
        let posts = Arc::new(posts);
        let was_careful = health.is_careful();
        match self.try_write(posts.clone()).await {
            // The words alone may be damaged: then the rest is stored.
            Err(TraceError::Damaged(_)) if !was_careful => self.try_write(posts).await?,
            written => written?,
        }
        upkeep.leave(writer, options, health);
        Ok(())
    }

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
        let tell = {
            let (posts, feeds, upkeep) = (posts.clone(), feeds.clone(), upkeep.clone());
            move |written: &Vec<Written>| {
                for (post, written) in posts.iter().zip(written) {
                    upkeep.note(post, written);
                    let stored = written.stored.iter().map(|stored| &post.spans[stored.place]);
                    feeds.tell(&post.trace, stored.map(|span| (&*span.json, span.end > 0.0)));
                }
            }
        };
        let written = writer.run_then(Promise::UntilPowerCut, work, tell).await;
        let id = posts.first().map_or("", |post| &post.trace);
        written.map_err(|failure| self.error(id, failure))?;
        Ok(())
    }

    /// The traces of a page.
    ///
    /// # Errors
    ///
    /// If the query makes no sense, or the store does not work.
    pub async fn list(&self, query: &TraceQuery) -> Result<TracePage, TraceError> {
        let Some(question) = Question::new(query)? else { return Ok(TracePage::default()) };
        let is_search = query.text.is_some();
        if is_search {
            self.index().await?;
        }
        let health = self.0.health.clone();
        let ask = move |connection: &rusqlite::Connection| {
            let what = "the list of traces";
            health.or_else(what, question.ask(connection), || question.ask_each(connection))
        };
        match self.look("the list of traces", ask).await {
            Err(TraceError::Damaged(_)) if is_search => {
                // The traces can be walked around damage; the index of words cannot.
                self.change("the words", words::note_damage).await?;
                Err(search_is_off())
            }
            page => page,
        }
    }

    /// Puts all words into the index that are not there yet.
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

    /// Hears of every span that this process stores from now on.
    pub fn subscribe(&self) -> TraceFeed {
        self.0.feeds.subscribe(None)
    }

    /// Hears of the spans of one trace, which need not be there yet. To miss nothing,
    /// subscribe first and [`get`](Self::get) then.
    pub fn subscribe_trace(&self, trace_id: &str) -> TraceFeed {
        self.0.feeds.subscribe(Some(&stored_id(trace_id)))
    }

    async fn look<T, F>(&self, what: &str, read: F) -> Result<T, TraceError>
    where
        T: Send + 'static,
        F: FnOnce(&rusqlite::Connection) -> Outcome<T> + Send + 'static,
    {
        self.0.readers.run(read).await.map_err(|failure| self.error(what, failure))
    }

    async fn change<T, F>(&self, what: &str, work: F) -> Result<T, TraceError>
    where
        T: Send + 'static,
        F: FnMut(&Txn<'_>) -> Outcome<T> + Send + 'static,
    {
        let done = self.0.writer.run(Promise::UntilPowerCut, work).await;
        done.map_err(|failure| self.error(what, failure))
    }

    /// The failure as callers are told of it. Damage is logged when it is first met.
    fn error(&self, what: &str, failure: Failure) -> TraceError {
        match failure {
            Failure::Gone => TraceError::Gone,
            failure if failure.is_damage() => {
                self.0.health.note(what, &Reason(&failure));
                let text =
                    format!("the trace database is damaged, which affects `{what}`; {REPAIR}");
                TraceError::Damaged(text)
            }
            failure => failure.about(what).into(),
        }
    }
}

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
