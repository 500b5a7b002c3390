//! Streams in memory: clients can resume them, but they do not survive the process.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use super::lock;
use crate::Payload;
use crate::ports::{
    LocalNotifier, Notifier, StoreError, StreamEnd, StreamEntry, StreamEvent, StreamPage,
    StreamScope, StreamStore, Topic,
};

/// Limits of [`MemoryStreams`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MemoryStreamOptions {
    /// Time that an ended stream can still be read; five minutes by default.
    pub keep_ended: Duration,
    /// Maximum number of streams. The stream that ended first is evicted for a new one;
    /// if all are open, the new one is refused with [`Full`](StoreError::Full).
    pub max_streams: usize,
    /// Maximum bytes of one stream as JSON. Further chunks are refused with
    /// [`Full`](StoreError::Full); the end is always accepted.
    pub max_stream_bytes: usize,
    /// Notifies readers of new events; a [`LocalNotifier`] unless another one is given.
    pub notifier: Arc<dyn Notifier>,
}

impl Default for MemoryStreamOptions {
    fn default() -> Self {
        Self {
            keep_ended: Duration::from_secs(300),
            max_streams: 10_000,
            max_stream_bytes: 64 * 1024 * 1024,
            notifier: Arc::new(LocalNotifier::default()),
        }
    }
}

impl MemoryStreamOptions {
    /// Notifies readers by this notifier.
    #[must_use]
    pub fn with_notifier(mut self, notifier: Arc<dyn Notifier>) -> Self {
        self.notifier = notifier;
        self
    }
}

/// A [`StreamStore`] inside of the process: a client that lost its connection can continue to
/// read, as long as the process runs.
///
/// ```
/// use std::time::Duration;
///
/// use oxikit_core::ports::memory::{MemoryStreamOptions, MemoryStreams};
///
/// let mut options = MemoryStreamOptions::default();
/// options.keep_ended = Duration::from_secs(60);
/// let store = MemoryStreams::new(options);
/// ```
#[derive(Default)]
pub struct MemoryStreams {
    options: MemoryStreamOptions,
    streams: Mutex<HashMap<String, Recording>>,
}

struct Recording {
    scope: StreamScope,
    entries: Vec<StreamEntry>,
    bytes: usize,
    ended: Option<Instant>,
    topic: Topic,
}

impl Recording {
    /// Whether these are exactly the entries after `position`: then this write was made before.
    fn ends_with(&self, position: u64, entries: &[StreamEntry]) -> bool {
        let written = usize::try_from(position).ok().and_then(|from| self.entries.get(from..));
        written.is_some_and(|written| {
            written.len() == entries.len()
                && written.iter().zip(entries).all(|(one, other)| is_same(one, other))
        })
    }
}

impl MemoryStreams {
    /// A store with these limits.
    pub fn new(options: MemoryStreamOptions) -> Self {
        Self { options, streams: Mutex::default() }
    }

    /// Removes ended streams whose time is over and, if there are still too many streams, the one
    /// that ended first. Open streams are never removed.
    fn make_room(&self, streams: &mut HashMap<String, Recording>) {
        let is_kept = |recording: &Recording| {
            recording.ended.is_none_or(|ended| ended.elapsed() < self.options.keep_ended)
        };
        streams.retain(|_, recording| is_kept(recording));
        if streams.len() >= self.options.max_streams {
            let ended =
                |(id, recording): (&String, &Recording)| Some((recording.ended?, id.clone()));
            if let Some((_, oldest)) = streams.iter().filter_map(ended).min() {
                streams.remove(&oldest);
            }
        }
    }

    /// Adds entries after `position`. Repetitions, ends and conflicts are checked in the order of
    /// the contract of [`StreamStore::append`].
    fn write(&self, id: &str, position: u64, entries: Vec<StreamEntry>) -> Result<u64, StoreError> {
        let bytes: usize = entries.iter().map(size).sum();
        let mut streams = lock(&self.streams);
        let recording = streams.get_mut(id).ok_or_else(|| StoreError::NotFound(id.to_owned()))?;
        let current = recording.entries.len() as u64;
        let added = entries.len() as u64;
        let is_end = matches!(entries.last(), Some(StreamEntry::End(_)));
        if current != position && recording.ends_with(position, &entries) {
            // The writer repeats a write whose answer was lost.
            return Ok(current);
        }
        if recording.ended.is_some() {
            return Err(StoreError::Ended(id.to_owned()));
        }
        if current != position {
            return Err(StoreError::Conflict(id.to_owned()));
        }
        // The end is accepted beyond the limit: without it, readers would wait forever.
        if !is_end && recording.bytes + bytes > self.options.max_stream_bytes {
            return Err(StoreError::Full(id.to_owned(), "the stream is too long"));
        }
        recording.bytes += bytes;
        recording.entries.extend(entries);
        recording.ended = is_end.then(Instant::now);
        let topic = recording.topic;
        drop(streams);
        self.options.notifier.publish(topic);
        Ok(position + added)
    }

    fn with<T>(
        &self,
        scope: &StreamScope,
        id: &str,
        read: impl FnOnce(&Recording) -> T,
    ) -> Result<T, StoreError> {
        let streams = lock(&self.streams);
        let recording = streams.get(id).filter(|recording| recording.scope == *scope);
        recording.map(read).ok_or_else(|| StoreError::NotFound(id.to_owned()))
    }
}

#[async_trait]
impl StreamStore for MemoryStreams {
    async fn open(&self, scope: &StreamScope, id: &str) -> Result<(), StoreError> {
        let mut streams = lock(&self.streams);
        self.make_room(&mut streams);
        if streams.contains_key(id) {
            return Err(StoreError::Exists(id.to_owned()));
        }
        if streams.len() >= self.options.max_streams {
            return Err(StoreError::Full(id.to_owned(), "too many streams are open"));
        }
        let recording = Recording {
            scope: scope.clone(),
            entries: Vec::new(),
            bytes: 0,
            ended: None,
            topic: topic(id),
        };
        streams.insert(id.to_owned(), recording);
        Ok(())
    }

    async fn append(
        &self,
        id: &str,
        position: u64,
        chunks: Vec<Payload>,
    ) -> Result<u64, StoreError> {
        let chunks = chunks.into_iter().map(|chunk| Ok(StreamEntry::Chunk(text(id, chunk)?)));
        self.write(id, position, chunks.collect::<Result<_, StoreError>>()?)
    }

    async fn finish(&self, id: &str, position: u64, end: StreamEnd) -> Result<u64, StoreError> {
        let end = match end {
            StreamEnd::Done(output) => StreamEnd::Done(text(id, output)?),
            failed @ StreamEnd::Failed(_) => failed,
        };
        self.write(id, position, vec![StreamEntry::End(end)])
    }

    async fn read(
        &self,
        scope: &StreamScope,
        id: &str,
        position: u64,
        limit: usize,
    ) -> Result<StreamPage, StoreError> {
        self.with(scope, id, |recording| {
            let read = usize::try_from(position).unwrap_or(usize::MAX);
            let rest = recording.entries.iter().skip(read).take(limit);
            let number = |(entry, sequence): (&StreamEntry, u64)| StreamEvent {
                sequence,
                entry: entry.clone(),
            };
            StreamPage {
                events: rest.zip(position.saturating_add(1)..).map(number).collect(),
                position: recording.entries.len() as u64,
                has_ended: recording.ended.is_some(),
            }
        })
    }

    async fn wait(&self, scope: &StreamScope, id: &str, position: u64) -> Result<(), StoreError> {
        let mut subscription = self.options.notifier.subscribe(topic(id));
        let is_readable = |recording: &Recording| {
            recording.ended.is_some() || recording.entries.len() as u64 > position
        };
        while !self.with(scope, id, is_readable)? {
            subscription.next().await;
        }
        Ok(())
    }
}

fn topic(id: &str) -> Topic {
    Topic::of(&["stream", id])
}

/// The payload as text. A typed value could still change through interior mutability, and
/// its bytes are not known.
fn text(id: &str, payload: Payload) -> Result<Payload, StoreError> {
    let damaged = |error: serde_json::Error| StoreError::Damaged(id.to_owned(), Box::new(error));
    let json = payload.to_json().map_err(damaged)?;
    Payload::from_json(json).map_err(|error| StoreError::Damaged(id.to_owned(), Box::new(error)))
}

fn is_same(one: &StreamEntry, other: &StreamEntry) -> bool {
    let is_same = |one: &Payload, other: &Payload| one.to_json().ok() == other.to_json().ok();
    match (one, other) {
        (StreamEntry::Chunk(one), StreamEntry::Chunk(other)) => is_same(one, other),
        (StreamEntry::End(StreamEnd::Done(one)), StreamEntry::End(StreamEnd::Done(other))) => {
            is_same(one, other)
        }
        (StreamEntry::End(StreamEnd::Failed(one)), StreamEntry::End(StreamEnd::Failed(other))) => {
            one == other
        }
        _ => false,
    }
}

fn size(entry: &StreamEntry) -> usize {
    match entry {
        StreamEntry::Chunk(payload) | StreamEntry::End(StreamEnd::Done(payload)) => {
            payload.to_json().map_or(0, |json| json.len())
        }
        StreamEntry::End(StreamEnd::Failed(status)) => status.message.len(),
    }
}

impl fmt::Debug for MemoryStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStreams").field("streams", &lock(&self.streams).len()).finish()
    }
}
