//! The sending side of a run's chunks.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::queue::{self, ChunkSender, Chunks};
use crate::{Payload, Status};

/// Sends chunks of type `C` to whoever reads the run.
///
/// When the reader is slow, [`send`](Self::send) waits; when nobody reads, it
/// costs nothing.
pub struct Emitter<C = Payload> {
    sink: Option<Sink>,
    /// The sink's change for those who know the type: nothing is packed in between.
    typed: Option<TypedChange<C>>,
    chunk: PhantomData<fn(C)>,
}

/// A queue, and what becomes of a chunk on its way there.
#[derive(Clone)]
pub(crate) struct Sink {
    queue: ChunkSender,
    change: Option<Change>,
}

type Change = TypedChange<Payload>;
type TypedChange<C> = Arc<dyn Fn(C) -> Result<Option<Payload>, Status> + Send + Sync>;

impl Sink {
    pub(crate) fn new(queue: ChunkSender) -> Self {
        Self { queue, change: None }
    }

    /// What is put into the queue for this chunk, if anything.
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

    /// An emitter and its reader.
    pub fn channel() -> (Self, Chunks) {
        let (sender, chunks) = queue::channel(false);
        (Self::new(Some(Sink::new(sender))), chunks)
    }

    /// An emitter that nobody reads.
    pub fn discard() -> Self {
        Self::new(None)
    }

    /// Whether anybody reads. A model need not stream when nobody does.
    pub fn is_wanted(&self) -> bool {
        self.sink.as_ref().is_some_and(|sink| !sink.queue.is_retired())
    }

    /// The reader is not to get more, and those who send need not mind: from now
    /// on chunks go nowhere, of all emitters of this reader.
    pub fn retire(&self) {
        if let Some(sink) = &self.sink {
            sink.queue.retire();
        }
    }

    /// The same reader, for chunks of another type.
    pub fn retype<D>(&self) -> Emitter<D> {
        Emitter::new(self.sink.clone())
    }

    pub(crate) fn sink(&self) -> Option<Sink> {
        self.sink.clone()
    }
}

impl<C: Serialize + Send + Sync + 'static> Emitter<C> {
    /// Sends one chunk, waiting while the reader is behind. Fails with
    /// `CANCELLED` when the reader has gone.
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

    /// The same reader, for chunks that are changed on their way, without a stop
    /// in between. One that becomes `None` is not sent.
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
