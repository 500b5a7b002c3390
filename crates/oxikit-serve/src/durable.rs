//! Durable streams: a run continues without its reader, and can be read again by its stream
//! id.
//!
//! One task records the run: it appends every chunk to the [`StreamStore`] and then the end.
//! Readers never read the run itself, not even the first one; they follow the stored stream.
//! So a reader that disconnects does not affect the run, any number of readers can follow it,
//! also in other processes, and all see the same blocks in the same order.
//!
//! A position is the number of blocks that a reader has received. To resume, a client sends the
//! stream id and its position, and gets the blocks after it. An append names the position that
//! it follows, so that a repeated append is not stored twice.
//!
//! A stream always gets an end, since readers of an open stream wait for more: also when the
//! run fails, the server shuts down, or the store rejects a chunk.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use oxikit_core::ports::{StoreError, StreamEnd, StreamScope, StreamStore, follow};
use oxikit_core::{Event, Payload, Run, Status, StatusCode};
use oxikit_wire::headers;
use tokio_util::sync::CancellationToken;

use crate::origin::Origin;
use crate::stream::Source;
use oxikit_http::caught;
use oxikit_http::reply::{STREAM_ID, shutting_down};

/// Header with the number of blocks that the reader has received; an extension of the
/// protocol. Without it a stream is read from its start, as official clients expect.
pub(crate) const POSITION: HeaderName = HeaderName::from_static(headers::STREAM_POSITION);

/// Maximum number of chunks per append. Further ones are stored by the next append.
const BATCH: usize = 64;

/// Interval between two heartbeats of a run that emits nothing, if it has heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(20);

/// Begins a durable stream: the run is recorded by a task of its own, and the
/// caller reads the recording.
pub(crate) async fn begin(
    store: &Arc<dyn StreamStore>,
    scope: StreamScope,
    recorded: Recorded,
    spawn: impl FnOnce(std::pin::Pin<Box<dyn Future<Output = ()> + Send>>),
) -> Result<(String, Source), Status> {
    let id = oxikit_core::random_id();
    let recording = Recording::open(store, &scope, &id).await?;
    spawn(Box::pin(recording.record(recorded)));
    let source = Source::Stored(Box::pin(follow(store.clone(), scope, id.clone(), 0)));
    Ok((id, source))
}

/// Resumes a stream; `None` if there is no such stream in this scope, or if it has ended and
/// nothing follows the position.
pub(crate) async fn resume(
    store: &Arc<dyn StreamStore>,
    scope: StreamScope,
    id: &str,
    position: u64,
) -> Result<Option<Source>, Status> {
    // Reads no events, only the current position.
    let page = match store.read(&scope, id, position, 0).await {
        Ok(page) => page,
        Err(StoreError::NotFound(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if page.has_ended && position >= page.position {
        return Ok(None);
    }
    if position > page.position {
        return Err(beyond(headers::STREAM_POSITION));
    }
    let events = follow(store.clone(), scope, id.to_owned(), position);
    Ok(Some(Source::Stored(Box::pin(events))))
}

/// The error of a position beyond the current end of an open stream.
pub(crate) fn beyond(header: &str) -> Status {
    let message = format!("`{header}` is beyond what the stream has so far");
    Status::public(StatusCode::OutOfRange, message)
}

/// The stream id and the position that a request names. An id that is not UTF-8 becomes one
/// that no stream has.
pub(crate) fn requested(headers: &HeaderMap) -> Result<Option<(Cow<'_, str>, u64)>, Status> {
    let Some(id) = only(headers, &STREAM_ID)? else { return Ok(None) };
    let position = match only(headers, &POSITION)? {
        None => 0,
        Some(position) => position.to_str().ok().and_then(parse_position).ok_or_else(|| {
            let message = format!("`{POSITION}` is not a number of blocks: 0, 1, 2, …");
            Status::invalid_argument(message)
        })?,
    };
    Ok(Some((String::from_utf8_lossy(id.as_bytes()), position)))
}

/// The value of a header that may be sent at most once.
pub(crate) fn only<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a HeaderValue>, Status> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (_, Some(_)) => Err(Status::invalid_argument(format!("`{name}` was sent twice"))),
        (value, None) => Ok(value),
    }
}

/// Parses a position: digits only, without the `+` that Rust would accept.
pub(crate) fn parse_position(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// A run that is to be recorded, with all that its task needs after the request is over.
pub(crate) struct Recorded {
    pub(crate) run: Run,
    pub(crate) origin: Origin,
    /// Cancelled when the run has to end because the server shuts down.
    pub(crate) cut: CancellationToken,
}

/// A stream that is being written.
pub(crate) struct Recording {
    store: Arc<dyn StreamStore>,
    id: String,
    position: u64,
    /// The chunk that is written while the run emits nothing.
    heartbeat: Option<Payload>,
}

impl Recording {
    /// Begins a stream.
    pub(crate) async fn open(
        store: &Arc<dyn StreamStore>,
        scope: &StreamScope,
        id: &str,
    ) -> Result<Self, Status> {
        store.open(scope, id).await?;
        Ok(Self { store: store.clone(), id: id.to_owned(), position: 0, heartbeat: None })
    }

    /// Stores a chunk before those of the run.
    pub(crate) async fn after(mut self, head: Payload) -> Result<Self, Status> {
        self.position = self.store.append(&self.id, self.position, vec![head]).await?;
        Ok(self)
    }

    /// Stores this chunk at intervals while the run emits nothing, so that readers can tell a
    /// slow run from one whose process has ended.
    pub(crate) fn with_heartbeat(mut self, chunk: Payload) -> Self {
        self.heartbeat = Some(chunk);
        self
    }

    /// Records a run until it ends or the server shuts down. A failure of the run is logged
    /// here, whether or not the stream has a reader.
    pub(crate) async fn record(mut self, recorded: Recorded) {
        let Recorded { mut run, origin, cut } = recorded;
        let failed = |status: &Status| StreamEnd::Failed(origin.report(status));
        let mut is_store_lost = false;
        let end = loop {
            let event = tokio::select! {
                // The shutdown is checked first, since a run may always be ready.
                biased;
                () = cut.cancelled() => Some(Event::Failed(shutting_down())),
                event = run.next() => event,
                chunk = self.next_heartbeat() => Some(Event::Chunk(chunk)),
            };
            match event {
                Some(Event::Chunk(chunk)) => {
                    let chunks = ready_chunks(chunk, &mut run);
                    match self.store.append(&self.id, self.position, chunks).await {
                        Ok(new_position) => self.position = new_position,
                        // The stream would have a gap, so the run is ended.
                        Err(error) => {
                            is_store_lost = true;
                            break failed(&error.into());
                        }
                    }
                }
                Some(Event::Done(output)) => match as_json(&output) {
                    Ok(output) => break StreamEnd::Done(output),
                    Err(status) => break failed(&status),
                },
                Some(Event::Failed(status)) => break failed(&status),
                None => break failed(&Status::cancelled()),
            }
        };
        drop(run);
        let Self { store, id, position, .. } = self;
        if let Err(error) = store.finish(&id, position, end).await {
            match is_store_lost {
                // The store's error was logged already, as the failure of the run.
                true => {
                    tracing::debug!(stream = id, %error, "the end of a stream could not be stored")
                }
                false => {
                    let status = Status::from(error);
                    let hint = format!("the end of stream `{id}` could not be stored");
                    origin.report(&status.with_hint(hint));
                }
            }
        }
    }

    async fn next_heartbeat(&self) -> Payload {
        match &self.heartbeat {
            Some(chunk) => {
                tokio::time::sleep(HEARTBEAT).await;
                chunk.clone()
            }
            None => std::future::pending().await,
        }
    }
}

/// Serialises the output. If the store did it, an output that cannot be serialised would look
/// like a failure of the store, and the stream would stay without an end.
fn as_json(output: &Payload) -> Result<Payload, Status> {
    Payload::from_json(caught(|| Ok(output.to_json()?))?)
}

/// The first chunk and those that the run has ready, so that a fast run needs one append for
/// many chunks and not one for each.
fn ready_chunks(first: Payload, run: &mut Run) -> Vec<Payload> {
    let mut chunks = vec![first];
    while chunks.len() < BATCH
        && let Some(chunk) = run.ready_chunk()
    {
        chunks.push(chunk);
    }
    chunks
}

/// The id as a header.
pub(crate) fn id_header(id: &str) -> HeaderValue {
    HeaderValue::from_str(id).unwrap_or_else(|_| HeaderValue::from_static(""))
}
