//! Durable streams: a run goes on without its reader, and can be read again by
//! its stream id.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use oxikit_core::ports::{StoreError, StreamEnd, StreamScope, StreamStore, follow};
use oxikit_core::{Event, Payload, Run, Status, StatusCode};
use tokio_util::sync::CancellationToken;

use crate::origin::Origin;
use crate::panic_guard::caught;
use crate::reply::STREAM_ID;
use crate::stream::Source;

/// How many blocks the reader has already got; our own addition to the protocol.
/// Without it a stream is read from its start, as official clients expect.
pub(crate) const POSITION: HeaderName = HeaderName::from_static("x-oxikit-stream-position");

/// So many chunks are stored at once.
const BATCH: usize = 64;

/// How often a quiet run tells that it is alive, if it does.
const SIGN_OF_LIFE: Duration = Duration::from_secs(20);

/// Begins a durable stream: the run is recorded by a task of its own, and the
/// caller reads the recording.
pub(crate) async fn begin(
    store: &Arc<dyn StreamStore>,
    scope: StreamScope,
    recorded: Recorded,
    spawn: impl FnOnce(std::pin::Pin<Box<dyn Future<Output = ()> + Send>>),
) -> Result<(String, Source), Status> {
    let id = new_id();
    let recording = Recording::open(store, &scope, &id).await?;
    spawn(Box::pin(recording.record(recorded)));
    let source = Source::Stored(Box::pin(follow(store.clone(), scope, id.clone(), 0)));
    Ok((id, source))
}

/// Reads a stream again; `None` if there is no such stream in this scope, or if it
/// has ended and nothing follows the position.
pub(crate) async fn resume(
    store: &Arc<dyn StreamStore>,
    scope: StreamScope,
    id: &str,
    position: u64,
) -> Result<Option<Source>, Status> {
    // Only how far it is.
    let page = match store.read(&scope, id, position, 0).await {
        Ok(page) => page,
        Err(StoreError::NotFound(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if page.has_ended && position >= page.position {
        return Ok(None);
    }
    if position > page.position {
        return Err(beyond("x-oxikit-stream-position"));
    }
    let events = follow(store.clone(), scope, id.to_owned(), position);
    Ok(Some(Source::Stored(Box::pin(events))))
}

/// Nobody can have read more of an open stream than there is of it.
pub(crate) fn beyond(header: &str) -> Status {
    let message = format!("`{header}` is beyond what the stream has so far");
    Status::public(StatusCode::OutOfRange, message)
}

/// The stream that a request asks for, and how much of it is known already. An id
/// that is no text is passed on as one that no stream has.
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

/// A header that makes no sense twice.
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

/// A position: digits, and nothing else that Rust takes for a number.
pub(crate) fn parse_position(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// A run that is to be recorded.
pub(crate) struct Recorded {
    pub(crate) run: Run,
    pub(crate) origin: Origin,
    /// Fires when the run has to end because the server does.
    pub(crate) cut: CancellationToken,
}

/// A stream that is being written.
pub(crate) struct Recording {
    store: Arc<dyn StreamStore>,
    id: String,
    position: u64,
    /// Written while nothing else is.
    sign_of_life: Option<Payload>,
}

impl Recording {
    /// Begins a stream.
    pub(crate) async fn open(
        store: &Arc<dyn StreamStore>,
        scope: &StreamScope,
        id: &str,
    ) -> Result<Self, Status> {
        store.open(scope, id).await?;
        Ok(Self { store: store.clone(), id: id.to_owned(), position: 0, sign_of_life: None })
    }

    /// Puts a chunk of our own before those of the run.
    pub(crate) async fn after(mut self, head: Payload) -> Result<Self, Status> {
        self.position = self.store.append(&self.id, self.position, vec![head]).await?;
        Ok(self)
    }

    /// Writes this while the run is quiet, so that readers can tell it from one
    /// that has lost its process.
    pub(crate) fn with_sign_of_life(mut self, sign: Payload) -> Self {
        self.sign_of_life = Some(sign);
        self
    }

    /// Records a run until its end, or until the server has to end. Its failure is
    /// logged here, whether or not somebody reads the stream.
    pub(crate) async fn record(mut self, recorded: Recorded) {
        let Recorded { mut run, origin, cut } = recorded;
        let failed = |status: &Status| StreamEnd::Failed(origin.report(status));
        let mut is_store_lost = false;
        let end = loop {
            let event = tokio::select! {
                // First, as a run may never pause.
                biased;
                () = cut.cancelled() => Some(Event::Failed(shutting_down())),
                event = run.next() => event,
                sign = self.next_sign() => Some(Event::Chunk(sign)),
            };
            match event {
                Some(Event::Chunk(chunk)) => {
                    let chunks = ready_chunks(chunk, &mut run);
                    match self.store.append(&self.id, self.position, chunks).await {
                        Ok(new_position) => self.position = new_position,
                        // What cannot be kept must not be promised: the run ends.
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
                // Logged already as the reason of the failure.
                true => tracing::debug!(stream = id, %error, "the end of a stream is not stored"),
                false => {
                    let status = Status::from(error);
                    let hint = format!("the end of stream `{id}` is not stored");
                    origin.report(&status.with_hint(hint));
                }
            }
        }
    }

    async fn next_sign(&self) -> Payload {
        match &self.sign_of_life {
            Some(sign) => {
                tokio::time::sleep(SIGN_OF_LIFE).await;
                sign.clone()
            }
            None => std::future::pending().await,
        }
    }
}

/// The output as a store keeps it. Written here, as a store cannot tell an output that
/// cannot be written from a failure of its own: the stream would stay without an end.
fn as_json(output: &Payload) -> Result<Payload, Status> {
    Payload::from_json(caught(|| Ok(output.to_json()?))?)
}

fn ready_chunks(first: Payload, run: &mut Run) -> Vec<Payload> {
    let mut chunks = vec![first];
    while chunks.len() < BATCH
        && let Some(chunk) = run.ready_chunk()
    {
        chunks.push(chunk);
    }
    chunks
}

pub(crate) fn shutting_down() -> Status {
    let status = Status::public(StatusCode::Unavailable, "the server is shutting down");
    status.with_retry_after(Duration::from_secs(1))
}

/// A UUID of 122 random bits from the operating system: whoever knows it may read
/// the stream.
pub(crate) fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// The id as a header.
pub(crate) fn id_header(id: &str) -> HeaderValue {
    HeaderValue::from_str(id).unwrap_or_else(|_| HeaderValue::from_static(""))
}
