//! The port for durable streams, whose readers can reconnect and continue.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_core::Stream;
use serde::Serialize;

use super::{Owner, StoreError};
use crate::{OutgoingStatus, Payload};

/// Keeps the events of durable streams: any number of chunks, then one end.
///
/// A *position* is a number of events: 0 is the start, and the event with the
/// sequence number `n` is the one that leads to position `n`. Numbers begin at 1
/// and have no gaps, in every process and after every restart.
///
/// A stream has one writer, the run it records, and any number of readers. The
/// writer knows its position, so that a write whose answer was lost can be
/// repeated. A write returns when it is durable; a store that cannot promise
/// that says so in its name and documentation. Ended streams are removed after
/// a time that the store decides; open ones never.
#[async_trait]
pub trait StreamStore: fmt::Debug + Send + Sync {
    /// Begins a stream. [`Exists`](StoreError::Exists) if the id is already used, also in
    /// another scope. The server makes ids of 128 random bits.
    async fn open(&self, scope: &StreamScope, id: &str) -> Result<(), StoreError>;

    /// Adds chunks after `position` and returns the new position.
    ///
    /// A repetition of the same call returns the same and adds nothing.
    /// [`Conflict`](StoreError::Conflict) if the stream is at another position,
    /// [`Ended`](StoreError::Ended) if it has ended.
    async fn append(
        &self,
        id: &str,
        position: u64,
        chunks: Vec<Payload>,
    ) -> Result<u64, StoreError>;

    /// Adds the end after `position` and returns the last position. May be repeated
    /// like [`append`](Self::append); the first end counts.
    async fn finish(&self, id: &str, position: u64, end: StreamEnd) -> Result<u64, StoreError>;

    /// Up to `limit` events after `position`, in order, and the position of the whole stream.
    /// Both are read in one transaction: a page without events says whether any can come.
    async fn read(
        &self,
        scope: &StreamScope,
        id: &str,
        position: u64,
        limit: usize,
    ) -> Result<StreamPage, StoreError>;

    /// Waits until there are events after `position`, or the stream has
    /// ended, also if it ends before `position`. May return early: the reader reads
    /// and, if the page says that the stream has not ended, waits again.
    async fn wait(&self, scope: &StreamScope, id: &str, position: u64) -> Result<(), StoreError>;
}

/// The owner and the source of a stream. A store compares all fields with the scope that the
/// stream was opened in; a stream of another scope is reported as not found.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct StreamScope {
    /// The owner of the stream.
    pub owner: Owner,
    /// The source of the stream, such as the key of an action. A caller that may read streams of
    /// one source need not be allowed to read those of another.
    pub source: String,
}

impl StreamScope {
    /// The scope of this owner's streams of this source.
    pub fn new(owner: Owner, source: impl Into<String>) -> Self {
        Self { owner, source: source.into() }
    }
}

/// A part of a stream, and the state of the stream when it was read.
#[derive(Debug, Clone)]
pub struct StreamPage {
    /// The events after the position that was asked for.
    pub events: Vec<StreamEvent>,
    /// The position of the whole stream: the number of stored events.
    pub position: u64,
    /// Whether the last stored event is the end, so that no further one will come.
    pub has_ended: bool,
}

/// One event and its number.
#[derive(Debug, Clone)]
pub struct StreamEvent {
    /// The position that it leads to.
    pub sequence: u64,
    /// Its content.
    pub entry: StreamEntry,
}

/// An entry of a stream.
#[derive(Debug, Clone)]
pub enum StreamEntry {
    /// A chunk of the run.
    Chunk(Payload),
    /// The last entry.
    End(StreamEnd),
}

/// The end of a stream.
#[derive(Debug, Clone)]
pub enum StreamEnd {
    /// The output of the run.
    Done(Payload),
    /// The failure of the run, reduced to the part that may leave the process.
    Failed(OutgoingStatus),
}

/// The number of events that are read at once.
const BATCH: usize = 64;

/// Pause after a store has returned from waiting although there was nothing to
/// read. So a reader never polls in a tight loop, whatever the store does.
const PAUSE: Duration = Duration::from_millis(20);

/// All events after `position`: those that are stored, then those to come, each
/// once and in order. Ends after the end of the stream or an error; at once if
/// `position` is at or beyond the end of a stream that has ended.
///
/// ```
/// use std::sync::Arc;
///
/// use futures_util::TryStreamExt;
/// use oxikit_core::Payload;
/// use oxikit_core::ports::memory::MemoryStreams;
/// use oxikit_core::ports::{Owner, StoreError, StreamEnd, StreamScope, StreamStore, follow};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), StoreError> {
/// let store: Arc<dyn StreamStore> = Arc::new(MemoryStreams::default());
/// let scope = StreamScope::new(Owner::nobody(), "/flow/greet");
/// store.open(&scope, "4f1c").await?;
/// store.append("4f1c", 0, vec![Payload::of(1), Payload::of(2)]).await?;
/// store.finish("4f1c", 2, StreamEnd::Done(Payload::of(3))).await?;
///
/// // A client that has read the first event continues after it.
/// let rest: Vec<_> = follow(store, scope, "4f1c".to_owned(), 1).try_collect().await?;
/// assert_eq!(rest.iter().map(|event| event.sequence).collect::<Vec<_>>(), [2, 3]);
/// # Ok(()) }
/// ```
///
/// The stream yields an error if the stored stream is missing, damaged or of another scope, and
/// then ends.
pub fn follow(
    store: Arc<dyn StreamStore>,
    scope: StreamScope,
    id: String,
    position: u64,
) -> impl Stream<Item = Result<StreamEvent, StoreError>> + Send {
    let events = Vec::new().into_iter();
    let reader = Reader { store, scope, id, position, events, is_over: false };
    futures_util::stream::try_unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Ok(event.map(|event| (event, reader)))
    })
}

struct Reader {
    store: Arc<dyn StreamStore>,
    scope: StreamScope,
    id: String,
    position: u64,
    /// Events that were read and not yet returned.
    events: std::vec::IntoIter<StreamEvent>,
    is_over: bool,
}

impl Reader {
    async fn next(&mut self) -> Result<Option<StreamEvent>, StoreError> {
        let mut has_waited = false;
        while !self.is_over {
            if let Some(event) = self.events.next() {
                if Some(event.sequence) != self.position.checked_add(1) {
                    return Err(self.gap());
                }
                self.position = event.sequence;
                self.is_over = matches!(event.entry, StreamEntry::End(_));
                return Ok(Some(event));
            }
            let Self { store, scope, id, position, .. } = &*self;
            let page = store.read(scope, id, *position, BATCH).await?;
            if page.events.is_empty() && page.position > *position {
                return Err(self.gap());
            } else if !page.events.is_empty() {
                self.events = page.events.into_iter();
            } else if page.has_ended {
                self.is_over = true;
            } else {
                if std::mem::replace(&mut has_waited, true) {
                    tokio::time::sleep(PAUSE).await;
                }
                store.wait(scope, id, *position).await?;
            }
        }
        Ok(None)
    }

    /// The error for a gap in the numbers: missing events will never come, so reading cannot
    /// continue.
    fn gap(&self) -> StoreError {
        StoreError::Damaged(self.id.clone(), "events are missing".into())
    }
}
