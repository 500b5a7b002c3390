//! Events of streams as rows: a kind and a JSON text.
//!
//! Both databases store them in the same form. An event has no id of its own; its number in the
//! stream is given by the store.

use oxikit_core::Payload;
use oxikit_core::ports::{StoreError, StreamEnd, StreamEntry};

/// The kinds of events. The numbers are stored, so they never change.
const CHUNK: i16 = 0;
const DONE: i16 = 1;
const FAILED: i16 = 2;

/// An event without its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// [`CHUNK`], [`DONE`] or [`FAILED`].
    pub(crate) kind: i16,
    /// JSON of the chunk, the output or the failure.
    pub(crate) body: String,
}

impl Entry {
    /// The rows of chunks of the stream `id`.
    pub(crate) fn chunks(id: &str, chunks: Vec<Payload>) -> Result<Vec<Self>, StoreError> {
        chunks.into_iter().map(|chunk| Self::of(id, StreamEntry::Chunk(chunk))).collect()
    }

    /// The row of the end of the stream `id`.
    pub(crate) fn end(id: &str, end: StreamEnd) -> Result<Vec<Self>, StoreError> {
        Ok(vec![Self::of(id, StreamEntry::End(end))?])
    }

    /// The row of an event. Fails with `Damaged` if a value cannot be written as JSON.
    fn of(id: &str, entry: StreamEntry) -> Result<Self, StoreError> {
        let json = |payload: Payload| {
            let json = payload.to_json().map_err(|error| damaged(id, error))?;
            String::from_utf8(json.into()).map_err(|error| damaged(id, error))
        };
        Ok(match entry {
            StreamEntry::Chunk(chunk) => Self { kind: CHUNK, body: json(chunk)? },
            StreamEntry::End(StreamEnd::Done(output)) => Self { kind: DONE, body: json(output)? },
            StreamEntry::End(StreamEnd::Failed(status)) => {
                let body = serde_json::to_string(&status).map_err(|error| damaged(id, error))?;
                Self { kind: FAILED, body }
            }
        })
    }

    /// Whether it ends the stream: the output, or the failure of the run.
    pub(crate) fn is_end(&self) -> bool {
        self.kind != CHUNK
    }

    /// The event of a row. Fails with `Damaged` if the text is not valid JSON or the kind is
    /// unknown; `id` is the stream, for the message.
    pub(crate) fn decode(self, id: &str) -> Result<StreamEntry, StoreError> {
        let Self { kind, body } = self;
        // A failure is a status with code and details, and not the JSON of a caller.
        if kind == FAILED {
            let status = serde_json::from_str(&body).map_err(|error| damaged(id, error))?;
            return Ok(StreamEntry::End(StreamEnd::Failed(status)));
        }
        let payload = Payload::from_json(body).map_err(|error| damaged(id, error))?;
        match kind {
            CHUNK => Ok(StreamEntry::Chunk(payload)),
            DONE => Ok(StreamEntry::End(StreamEnd::Done(payload))),
            _ => Err(damaged(id, "an event of an unknown kind")),
        }
    }
}

/// An error about the stream `id`.
fn damaged(id: &str, why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Damaged(id.to_owned(), why.into())
}
