//! Events of streams as rows.

use oxikit_core::Payload;
use oxikit_core::ports::{StoreError, StreamEnd, StreamEntry};

const CHUNK: i16 = 0;
const DONE: i16 = 1;
const FAILED: i16 = 2;

/// An event without its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) kind: i16,
    /// JSON of the chunk, the output or the failure.
    pub(crate) body: String,
}

impl Entry {
    /// Of an event of the stream `id`.
    pub(crate) fn of(id: &str, entry: StreamEntry) -> Result<Self, StoreError> {
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

    /// Whether nothing follows it.
    pub(crate) fn is_end(&self) -> bool {
        self.kind != CHUNK
    }

    /// The event again.
    pub(crate) fn decode(self, id: &str) -> Result<StreamEntry, StoreError> {
        let Self { kind, body } = self;
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

fn damaged(id: &str, why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Damaged(id.to_owned(), why.into())
}
