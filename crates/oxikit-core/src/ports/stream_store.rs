//! Streams that can be read again.

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
/// writer knows its position, so that a write whose answer was lost can be made
/// again. A write is answered when it is durable; a store that cannot promise
/// that says so in its name and documentation. Ended streams are dropped after
/// a while that the store decides; open ones never.
#[async_trait]
pub trait StreamStore: fmt::Debug + Send + Sync {
    /// Begins a stream. [`Exists`](StoreError::Exists) if the id is taken, also in
    /// another scope. Ids are made by the server, of 128 random bits.
    async fn open(&self, scope: &StreamScope, id: &str) -> Result<(), StoreError>;

    /// Adds chunks after `position` and answers the new position.
    ///
    /// The same call once more is answered like the first and adds nothing.
    /// [`Conflict`](StoreError::Conflict) if the stream is anywhere else,
    /// [`Ended`](StoreError::Ended) if it has ended.
    async fn append(
        &self,
        id: &str,
        position: u64,
        chunks: Vec<Payload>,
    ) -> Result<u64, StoreError>;

    /// Adds the end after `position` and answers the last position. May be called
    /// again like [`append`](Self::append); the first end counts.
    async fn finish(&self, id: &str, position: u64, end: StreamEnd) -> Result<u64, StoreError>;

    /// Up to `limit` events after `position`, in order, and how far the stream is.
    /// All of it is of one moment: a page without events says whether any can come.
    async fn read(
        &self,
        scope: &StreamScope,
        id: &str,
        position: u64,
        limit: usize,
    ) -> Result<StreamPage, StoreError>;

    /// Waits until there is something to read after `position`, or the stream has
    /// ended, also if it ends before `position`. May return early: the reader reads
    /// and, if the page says that the stream goes on, waits again.
    async fn wait(&self, scope: &StreamScope, id: &str, position: u64) -> Result<(), StoreError>;
}

/// Whose a stream is, and of what. A store compares the whole of it with the one that
/// the stream was opened in; what was opened in another scope is not there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct StreamScope {
    /// Whose it is.
    pub owner: Owner,
    /// What it is a stream of, such as the key of an action: who may read streams of
    /// the one need not be allowed to read those of the other.
    pub source: String,
}

impl StreamScope {
    /// The streams of this source that are this owner's.
    pub fn new(owner: Owner, source: impl Into<String>) -> Self {
        Self { owner, source: source.into() }
    }
}

/// A part of a stream, and how far the stream was when it was read.
#[derive(Debug, Clone)]
pub struct StreamPage {
    /// The events after the position that was asked for.
    pub events: Vec<StreamEvent>,
    /// The position of the whole stream: as many events are stored.
    pub position: u64,
    /// Whether the last stored event is the end, so that no other will come.
    pub has_ended: bool,
}

/// One event and its number.
#[derive(Debug, Clone)]
pub struct StreamEvent {
    /// The position that it leads to.
    pub sequence: u64,
    /// What it is.
    pub entry: StreamEntry,
}

/// What a stream consists of.
#[derive(Debug, Clone)]
pub enum StreamEntry {
    /// A piece of the answer.
    Chunk(Payload),
    /// The end.
    End(StreamEnd),
}

/// How a stream ends.
#[derive(Debug, Clone)]
pub enum StreamEnd {
    /// With the output.
    Done(Payload),
    /// With a failure, as strangers may read it.
    Failed(OutgoingStatus),
}

/// The number of events that are read at once.
const BATCH: usize = 64;

/// The pause after a store has returned from waiting although there was nothing to
/// read: whatever a store does, a reader never asks without rest.
const PAUSE: Duration = Duration::from_millis(20);

/// All events after `position`: those that are stored, then those to come, each
/// once and in order. Ends after the end of the stream or an error; at once if
/// `position` is at or beyond the end of a stream that has ended.
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
    /// Read but not yet given out.
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

    /// A stream without all of its events cannot be read on: they will never come.
    fn gap(&self) -> StoreError {
        StoreError::Damaged(self.id.clone(), "events are missing".into())
    }
}
