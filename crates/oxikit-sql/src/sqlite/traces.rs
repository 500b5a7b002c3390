//! Traces, logs and documents of the developer tools in one SQLite file.

mod documents;
mod feed;
mod files;
mod filter;
mod ingest;
mod list;
mod logs;
mod members;
mod post;
mod query;
mod read;
mod sessions;
mod torn;
mod upkeep;
mod usage;
mod words;

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::StoreError;
use oxikit_wire::trace::{LogRecord, SpanData};
use rusqlite::OptionalExtension;

use super::SqliteOptions;
use super::bells::Bells;
use super::connection::{self, OpenError, Schema};
use super::failure::{Failure, Outcome};
use super::readers::Readers;
use super::writer::{Promise, Txn, Writer, WriterOptions};
pub use documents::StoredDocument;
use feed::Feeds;
pub use feed::{TraceEvent, TraceFeed};
pub use files::Imported;
pub use filter::{FilterValue, FilterValues, TraceFilter};
use ingest::Written;
use list::Question;
use logs::NewLog;
pub use logs::{LogPage, LogQuery};
use post::Post;
pub use query::{StoredSpan, TracePage, TraceQuery, TraceStatus, TraceSummary};
pub use sessions::{SeenSession, SeenSessionPage, SeenSessionQuery};
use upkeep::{INDEX_STEP, Upkeep};
pub use usage::{ModelPrice, TokenUsage};

const SCHEMA: Schema = Schema {
    // `oxtr` in ASCII.
    application: 0x6f78_7472,
    steps: &[include_str!("traces/schema.sql")],
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

struct Inner {
    options: TraceOptions,
    writer: Writer,
    readers: Arc<Readers>,
    feeds: Arc<Feeds>,
    upkeep: Arc<Upkeep>,
}

/// How a [`TraceStore`] works, and how much it keeps.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TraceOptions {
    /// So long a call waits for the file, which another process may have locked,
    /// before it fails as unavailable.
    pub patience: Duration,
    /// So many reads go on at the same time.
    pub readers: usize,
    /// So many traces are kept.
    pub max_traces: usize,
    /// So many log lines are kept.
    pub max_logs: usize,
    /// So many bytes of the file are in use.
    pub max_bytes: u64,
    /// So long a trace is kept after the last word of it.
    pub max_age: Duration,
    /// A longer attribute is cut, with a mark.
    pub max_attribute_bytes: usize,
    /// So many spans of a trace are kept; those that come later are counted.
    pub max_spans: usize,
    /// What models cost, by the names that their spans have. Where a runtime says
    /// itself what a call has cost, that counts.
    pub prices: HashMap<String, ModelPrice>,
    /// For tests of a full disk: the file has so many pages at most.
    #[doc(hidden)]
    pub max_pages: Option<u32>,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self {
            patience: Duration::from_secs(5),
            readers: 2,
            max_traces: 10_000,
            max_logs: 100_000,
            max_bytes: 1024 * 1024 * 1024,
            max_age: Duration::from_secs(7 * 24 * 60 * 60),
            max_attribute_bytes: 256 * 1024,
            max_spans: 10_000,
            prices: HashMap::new(),
            max_pages: None,
        }
    }
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
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a prune has removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrunedTraces {
    /// So many traces.
    pub traces: u64,
    /// So many log lines, besides those of these traces.
    pub logs: u64,
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
        let path = path.as_ref();
        let TraceOptions { patience, readers, max_pages, .. } = options;
        let of_file = SqliteOptions { patience, readers, max_pages, ..SqliteOptions::default() };
        let connection = connection::writer(path, &of_file, &SCHEMA)?;
        let of_writer = WriterOptions { patience, acknowledge_before_commit: false };
        let writer = Writer::start(connection, Arc::new(Bells::default()), of_writer)?;
        let readers = Readers::new(path.to_owned(), &of_file);
        let (feeds, upkeep) = (Arc::default(), Arc::default());
        Ok(Self(Arc::new(Inner { options, writer, readers, feeds, upkeep })))
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
        let Inner { options, writer, feeds, upkeep, .. } = &*self.0;
        let max_spans = i64::try_from(options.max_spans).unwrap_or(i64::MAX);
        let posts = Arc::new(posts);
        let work = {
            let posts = posts.clone();
            move |txn: &Txn<'_>| -> Outcome<Vec<Written>> {
                posts.iter().map(|post| ingest::write(txn, post, max_spans)).collect()
            }
        };
        let tell = {
            let (posts, feeds, upkeep) = (posts.clone(), feeds.clone(), upkeep.clone());
            move |written: &Vec<Written>| {
                for (post, written) in posts.iter().zip(written) {
                    upkeep.note(written);
                    let stored = written.stored.iter().map(|place| &post.spans[*place]);
                    feeds.tell(&post.trace, stored.map(|span| (&*span.json, span.end > 0.0)));
                }
            }
        };
        let written = writer.run_then(Promise::UntilPowerCut, work, tell).await;
        let id = posts.first().map_or("", |post| &post.trace);
        written.map_err(|failure| failure.about(id))?;
        upkeep.leave(writer, options);
        Ok(())
    }

    /// Stores log lines.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn add_logs(&self, logs: Vec<LogRecord>) -> Result<(), TraceError> {
        let Inner { options, writer, upkeep, .. } = &*self.0;
        let new = |log| NewLog::new(log, options.max_attribute_bytes);
        let logs: Vec<_> = logs.into_iter().map(new).collect::<Result<_, _>>()?;
        upkeep.note_logs(logs.len());
        let write = move |txn: &Txn<'_>| logs.iter().try_for_each(|log| log.write(txn));
        self.change("the logs", write).await?;
        upkeep.leave(writer, options);
        Ok(())
    }

    /// The traces of a page.
    ///
    /// # Errors
    ///
    /// If the query makes no sense, or the store does not work.
    pub async fn list(&self, query: &TraceQuery) -> Result<TracePage, TraceError> {
        let Some(question) = Question::new(query)? else { return Ok(TracePage::default()) };
        if query.text.is_some() {
            self.index().await?;
        }
        self.look("the list of traces", move |connection| question.ask(connection)).await
    }

    /// Puts all words into the index that are not there yet.
    async fn index(&self) -> Result<(), TraceError> {
        while !self.look("the words", words::is_complete).await? {
            self.change("the words", |txn| words::index(txn, INDEX_STEP).map(drop)).await?;
        }
        Ok(())
    }

    /// A trace as a list shows it.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn summary(&self, trace_id: &str) -> Result<Option<TraceSummary>, TraceError> {
        let id = trace_id.to_owned();
        self.look(trace_id, move |connection| list::summary(connection, &id)).await
    }

    /// The whole trace: the JSON of a [`TraceData`](oxikit_wire::trace::TraceData), its
    /// spans as they came.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn get(&self, trace_id: &str) -> Result<Option<String>, TraceError> {
        let id = trace_id.to_owned();
        self.look(trace_id, move |connection| read::trace(connection, &id)).await
    }

    /// The same for somebody else to read: without what looks like a secret.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn export(&self, trace_id: &str) -> Result<Option<String>, TraceError> {
        let trace = self.get(trace_id).await?;
        Ok(trace.map(|json| oxikit_core::redact::json_text(&json).into_owned()))
    }

    /// One span.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn span(
        &self,
        trace_id: &str,
        span_id: &str,
    ) -> Result<Option<StoredSpan>, TraceError> {
        let (trace, span) = (trace_id.to_owned(), span_id.to_owned());
        self.look(trace_id, move |connection| read::span(connection, &trace, &span)).await
    }

    /// The spans of a trace in the order of their arrival; none if there is no such
    /// trace.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn spans(&self, trace_id: &str) -> Result<Vec<StoredSpan>, TraceError> {
        let id = trace_id.to_owned();
        self.look(trace_id, move |connection| read::spans(connection, &id)).await
    }

    /// The log lines of a page.
    ///
    /// # Errors
    ///
    /// If the query makes no sense, or the store does not work.
    pub async fn logs(&self, query: &LogQuery) -> Result<LogPage, TraceError> {
        let before = logs::position(query)?;
        let query = query.clone();
        self.look("the logs", move |connection| logs::list(connection, &query, before)).await
    }

    /// Hears of every span that this process stores from now on.
    pub fn subscribe(&self) -> TraceFeed {
        self.0.feeds.subscribe(None)
    }

    /// Hears of the spans of one trace, which need not be there yet. To miss nothing,
    /// subscribe first and [`get`](Self::get) then.
    pub fn subscribe_trace(&self, trace_id: &str) -> TraceFeed {
        self.0.feeds.subscribe(Some(trace_id))
    }

    /// Removes a trace with its logs; `false` if there is none.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn delete(&self, trace_id: &str) -> Result<bool, TraceError> {
        let id = trace_id.to_owned();
        let delete = move |txn: &Txn<'_>| {
            let sql = "SELECT number FROM traces WHERE id = ?1";
            let number = txn.sql(sql)?.query_row([&id], |row| row.get(0)).optional()?;
            number.map(|number| upkeep::remove(txn, number, &id)).transpose()
        };
        Ok(self.change(trace_id, delete).await?.is_some())
    }

    /// Removes all traces and logs. Documents stay.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn clear(&self) -> Result<(), TraceError> {
        let clear = |txn: &Txn<'_>| {
            for sql in [
                "DELETE FROM spans",
                "DELETE FROM labels",
                "DELETE FROM fresh",
                "DELETE FROM logs",
                "DELETE FROM traces",
                "INSERT INTO words (words) VALUES ('delete-all')",
            ] {
                txn.sql(sql)?.execute([])?;
            }
            Ok(())
        };
        self.change("the traces", clear).await?;
        self.vacuum().await
    }

    /// Removes what is too much now, in small steps, and gives its room back. It goes
    /// on by itself whenever something is written.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn prune(&self) -> Result<PrunedTraces, TraceError> {
        let mut pruned = PrunedTraces::default();
        loop {
            let options = self.0.options.clone();
            let step = self.change("the traces", move |txn| upkeep::prune(txn, &options)).await?;
            pruned.traces += step.traces;
            pruned.logs += step.logs;
            if step.traces + step.logs == 0 {
                break;
            }
        }
        self.vacuum().await?;
        Ok(pruned)
    }

    async fn vacuum(&self) -> Result<(), TraceError> {
        let vacuumed = super::prune::vacuum(&self.0.writer).await;
        Ok(vacuumed.map_err(|failure| failure.about("the file"))?)
    }

    /// Writes a document and answers its version: 1, or one more than before. With
    /// `expected` only if that is the version that is there, 0 for none.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] if another version is there; and if the store does not
    /// work.
    pub async fn put_document(
        &self,
        kind: &str,
        id: &str,
        json: String,
        expected: Option<u32>,
    ) -> Result<u32, TraceError> {
        let (of_kind, of_id) = (kind.to_owned(), id.to_owned());
        let put = move |txn: &Txn<'_>| documents::put(txn, &of_kind, &of_id, &json, expected);
        self.change(id, put).await
    }

    /// A document.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn document(
        &self,
        kind: &str,
        id: &str,
    ) -> Result<Option<StoredDocument>, TraceError> {
        let (of_kind, of_id) = (kind.to_owned(), id.to_owned());
        self.look(id, move |connection| documents::get(connection, &of_kind, &of_id)).await
    }

    /// All documents of a kind, in the order they were made.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn documents(&self, kind: &str) -> Result<Vec<StoredDocument>, TraceError> {
        let of_kind = kind.to_owned();
        self.look(kind, move |connection| documents::list(connection, &of_kind)).await
    }

    /// Removes a document; `false` if there is none.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn delete_document(&self, kind: &str, id: &str) -> Result<bool, TraceError> {
        let (of_kind, of_id) = (kind.to_owned(), id.to_owned());
        self.change(id, move |txn| documents::delete(txn, &of_kind, &of_id)).await
    }

    async fn look<T, F>(&self, what: &str, read: F) -> Result<T, TraceError>
    where
        T: Send + 'static,
        F: FnOnce(&rusqlite::Connection) -> Outcome<T> + Send + 'static,
    {
        Ok(self.0.readers.run(read).await.map_err(|failure: Failure| failure.about(what))?)
    }

    async fn change<T, F>(&self, what: &str, work: F) -> Result<T, TraceError>
    where
        T: Send + 'static,
        F: FnMut(&Txn<'_>) -> Outcome<T> + Send + 'static,
    {
        let done = self.0.writer.run(Promise::UntilPowerCut, work).await;
        Ok(done.map_err(|failure| failure.about(what))?)
    }
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
