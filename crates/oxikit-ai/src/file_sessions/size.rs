//! The size limits of snapshots, artifacts and sessions.

use std::io::{self, Write};
use std::sync::Arc;

use oxikit_core::ports::{MAX_ARTIFACT_BYTES, MAX_SNAPSHOT_BYTES, StoreError};
use oxikit_wire::{Artifact, Message, SessionSnapshot};
use serde::Serialize;

/// The pieces of a snapshot and how many bytes they have as JSON.
#[derive(Debug)]
pub(super) struct Size {
    messages: Vec<Piece<Message>>,
    artifacts: Vec<Piece<Artifact>>,
    rest: u64,
}

#[derive(Debug)]
struct Piece<T> {
    content: Arc<T>,
    bytes: u64,
}

impl Size {
    pub(super) fn of(snapshot: &SessionSnapshot) -> Self {
        let mut rest = snapshot.clone();
        let state = rest.state.as_mut();
        let (messages, artifacts) =
            state.map(|state| (state.messages.take(), state.artifacts.take())).unwrap_or_default();
        Self { messages: pieces(messages), artifacts: pieces(artifacts), rest: bytes(&rest) }
    }

    /// Refuses what is too large.
    pub(super) fn check(&self, id: &str) -> Result<(), StoreError> {
        let full = |why| Err(StoreError::Full(id.to_owned(), why));
        if self.artifacts.iter().any(|piece| piece.bytes > MAX_ARTIFACT_BYTES as u64) {
            return full("an artifact is too large");
        }
        let messages = self.messages.iter().map(|piece| piece.bytes).sum::<u64>();
        if messages + self.rest > MAX_SNAPSHOT_BYTES as u64 {
            return full("the snapshot is too large");
        }
        Ok(())
    }

    /// The bytes that the snapshot does not share with its parent.
    pub(super) fn own(&self, parent: Option<&SessionSnapshot>) -> u64 {
        let previous = parent.and_then(|parent| parent.state.as_ref());
        let messages = previous.and_then(|state| state.messages.as_deref());
        let artifacts = previous.and_then(|state| state.artifacts.as_deref());
        own(&self.messages, messages) + own(&self.artifacts, artifacts) + self.rest
    }
}

fn pieces<T: Serialize>(list: Option<Vec<Arc<T>>>) -> Vec<Piece<T>> {
    let list = list.unwrap_or_default().into_iter();
    list.map(|content| Piece { bytes: bytes(&*content), content }).collect()
}

/// Bytes of the pieces that are not the same at the same place.
fn own<T: PartialEq>(pieces: &[Piece<T>], previous: Option<&[Arc<T>]>) -> u64 {
    let previous = previous.unwrap_or_default().iter().map(Some).chain(std::iter::repeat(None));
    let pairs = pieces.iter().zip(previous);
    pairs.filter(|(new, old)| Some(&new.content) != *old).map(|(new, _)| new.bytes).sum()
}

/// Number of bytes of the value as JSON.
fn bytes(value: &impl Serialize) -> u64 {
    let mut counter = Counter(0);
    // A counter does not fail, and these types have only keys of text.
    _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
