//! The sending side of a run's chunks.
//!
//! An emitter changes chunks before they enter the queue ([`Emitter::filter_map`]), so that a
//! chain of wrapping actions needs neither tasks nor queues in between. The queue and its limits
//! are in `queue`.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::queue::{self, ChunkSender, Chunks};
use crate::{Payload, Status};

/// Sends chunks of type `C` to the reader of the run.
///
/// When the reader is slow, [`send`](Self::send) waits; without a reader, it
/// costs nothing. Clones send to the same reader.
///
/// ```
/// use oxikit_core::{Emitter, Result};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
/// let (out, mut chunks) = Emitter::<String>::channel();
/// out.send("Hello".to_owned()).await?;
///
/// // An emitter of numbers to the same reader; odd ones are left out.
/// let numbers = out.filter_map(|n: u32| Ok((n % 2 == 0).then(|| n.to_string())));
/// numbers.send(3).await?;
/// numbers.send(4).await?;
///
/// assert_eq!(chunks.recv().await.unwrap().parse::<String>()?, "Hello");
/// assert_eq!(chunks.recv().await.unwrap().parse::<String>()?, "4");
/// # Ok(()) }
/// ```
pub struct Emitter<C = Payload> {
    sink: Option<Sink>,
    /// The change of the sink for chunks of the type `C`. A typed chunk skips the [`Payload`] that
    /// [`Sink::change`] would need, and so the parsing of it.
    typed: Option<TypedChange<C>>,
    chunk: PhantomData<fn(C)>,
}

/// A queue, and the change that is applied to each chunk before it is put there.
#[derive(Clone)]
pub(crate) struct Sink {
    queue: ChunkSender,
    change: Option<Change>,
}

/// A change of chunks whose type is not known.
type Change = TypedChange<Payload>;
/// A change of chunks of the type `C`. `None` drops the chunk.
type TypedChange<C> = Arc<dyn Fn(C) -> Result<Option<Payload>, Status> + Send + Sync>;

impl Sink {
    pub(crate) fn new(queue: ChunkSender) -> Self {
        Self { queue, change: None }
    }

    /// The payload that is put into the queue for this chunk; `None` if the change drops it.
    fn payload<C>(&self, chunk: C) -> Result<Option<Payload>, Status>
    where
        C: Serialize + Send + Sync + 'static,
    {
        match &self.change {
            Some(change) => change(Payload::of(chunk)),
            None if self.queue.is_for_wire() => Ok(Some(Payload::encode(chunk)?)),
            None => Ok(Some(Payload::of(chunk))),
        }
    }
}

impl<C> Emitter<C> {
    pub(crate) fn new(sink: Option<Sink>) -> Self {
        Self { sink, typed: None, chunk: PhantomData }
    }

    /// An emitter and its reader, for code that calls an emitting function outside of a run.
    pub fn channel() -> (Self, Chunks) {
        let (sender, chunks) = queue::channel(false);
        (Self::new(Some(Sink::new(sender))), chunks)
    }

    /// An emitter without a reader: everything that is sent is dropped, with success.
    pub fn discard() -> Self {
        Self::new(None)
    }

    /// Whether chunks are read. If not, an action may choose a cheaper way: a model, for example,
    /// then asks its provider for the whole answer instead of a stream.
    pub fn is_wanted(&self) -> bool {
        self.sink.as_ref().is_some_and(|sink| !sink.queue.is_retired())
    }

    /// Discards all further chunks for this reader, of all its emitters. Sending then succeeds at
    /// once, also for senders that wait at the moment. An example is a turn that was detached: its
    /// caller has gone, but the work must go on.
    pub fn retire(&self) {
        if let Some(sink) = &self.sink {
            sink.queue.retire();
        }
    }

    /// An emitter to the same reader for chunks of another type. A change of
    /// [`filter_map`](Self::filter_map) stays in force: it parses the new type.
    pub fn retype<D>(&self) -> Emitter<D> {
        Emitter::new(self.sink.clone())
    }

    pub(crate) fn sink(&self) -> Option<Sink> {
        self.sink.clone()
    }
}

impl<C: Serialize + Send + Sync + 'static> Emitter<C> {
    /// Sends one chunk, waiting while the reader is behind.
    ///
    /// # Errors
    ///
    /// `CANCELLED` if the reader has gone, `INTERNAL` if the chunk cannot be written as JSON
    /// for a reader that wants text.
    pub async fn send(&self, chunk: C) -> Result<(), Status> {
        let Some(sink) = &self.sink else { return Ok(()) };
        if sink.queue.is_retired() {
            return Ok(());
        }
        let payload = match &self.typed {
            Some(change) => change(chunk)?,
            None => sink.payload(chunk)?,
        };
        let Some(payload) = payload else { return Ok(()) };
        match sink.queue.send(payload).await {
            Err(_) if !sink.queue.is_retired() => Err(Status::cancelled()),
            _ => Ok(()),
        }
    }

    /// An emitter to the same reader that changes chunks before they are queued. A chunk that
    /// becomes `None` is not sent; an error is returned to the sender.
    pub fn filter_map<D, F>(&self, change: F) -> Emitter<D>
    where
        D: DeserializeOwned + 'static,
        F: Fn(D) -> Result<Option<C>, Status> + Send + Sync + 'static,
    {
        let Some(sink) = self.sink.clone() else { return Emitter::discard() };
        let (queue, next) = (sink.queue.clone(), self.typed.clone());
        let typed: TypedChange<D> = Arc::new(move |chunk| match (change(chunk)?, &next) {
            (Some(chunk), Some(next)) => next(chunk),
            (Some(chunk), None) => sink.payload(chunk),
            (None, _) => Ok(None),
        });
        let erased = typed.clone();
        let change: Change = Arc::new(move |payload| erased(payload.parse()?));
        let sink = Some(Sink { queue, change: Some(change) });
        Emitter { sink, typed: Some(typed), chunk: PhantomData }
    }
}

impl<C> Clone for Emitter<C> {
    fn clone(&self) -> Self {
        Self { sink: self.sink.clone(), typed: self.typed.clone(), chunk: PhantomData }
    }
}

impl<C> fmt::Debug for Emitter<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emitter").field("is_wanted", &self.is_wanted()).finish()
    }
}
