//! The sending side of a run's chunks.

use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;

use crate::queue::{self, ChunkSender, Chunks};
use crate::{Payload, Status};

/// Sends chunks of type `C` to whoever reads the run.
///
/// When the reader is slow, [`send`](Self::send) waits; when nobody reads, it
/// costs nothing.
pub struct Emitter<C = Payload> {
    sink: Option<ChunkSender>,
    chunk: PhantomData<fn(C)>,
}

impl<C> Emitter<C> {
    pub(crate) fn new(sink: Option<ChunkSender>) -> Self {
        Self { sink, chunk: PhantomData }
    }

    /// An emitter and its reader.
    pub fn channel() -> (Self, Chunks) {
        let (sender, chunks) = queue::channel(false);
        (Self::new(Some(sender)), chunks)
    }

    /// An emitter that nobody reads.
    pub fn discard() -> Self {
        Self::new(None)
    }

    /// Whether anybody reads. A model need not stream when nobody does.
    pub fn is_wanted(&self) -> bool {
        self.sink.is_some()
    }

    /// The same reader, for chunks of another type.
    pub fn retype<D>(&self) -> Emitter<D> {
        Emitter::new(self.sink.clone())
    }
}

impl<C: Serialize + Send + Sync + 'static> Emitter<C> {
    /// Sends one chunk, waiting while the reader is behind. Fails with
    /// `CANCELLED` when the reader has gone.
    pub async fn send(&self, chunk: C) -> Result<(), Status> {
        let Some(sink) = &self.sink else {
            return Ok(());
        };
        let chunk = if sink.is_for_wire() { Payload::encode(chunk)? } else { Payload::of(chunk) };
        sink.send(chunk).await.map_err(|_| Status::cancelled())
    }
}

impl<C> Clone for Emitter<C> {
    fn clone(&self) -> Self {
        Self::new(self.sink.clone())
    }
}

impl<C> fmt::Debug for Emitter<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emitter").field("is_wanted", &self.is_wanted()).finish()
    }
}
