//! A turn as the body of a streaming response.
//!
//! A turn that is not recorded ends with its reader. A recorded one continues: the reader
//! follows the stored stream and can come back with `Last-Event-ID`. If the process that
//! records it ends, its heartbeats stop, and a reader stores the end of the stream.

use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use oxikit_core::ports::{StoreError, StreamEnd, StreamEntry, StreamScope, StreamStore, follow};
use oxikit_core::{Run, Status, StatusCode};
use oxikit_wire::headers;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::agent::Agent;
use super::events::{Events, StreamHead};
use super::turn_result::result_of;
use crate::app::Slot;
use crate::durable::beyond;
use crate::origin::Origin;
use crate::stream::{Block, Source};
use oxikit_http::Watch;
use oxikit_http::reply::shutting_down;
use oxikit_http::sse::PIECE_BYTES;

/// Time without an event after which a comment is sent, so that proxies do not close the
/// connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Sent when the server shuts down before the turn ends: the reader reconnects after 1 s.
const RECONNECT: &[u8] = b"retry: 1000\n\n";
/// The comment that keeps the connection open.
const COMMENT: &[u8] = b": still here\n\n";
/// The position after the first entry of a recorded turn, the [`StreamHead`].
const HEAD: u64 = 1;
/// Maximum number of entries per read of a recorded turn.
const BATCH: usize = 64;

/// Time without an entry after which the process of a recorded turn counts as ended. It is
/// three times the interval of heartbeats.
const LOST: Duration = Duration::from_secs(60);

/// The events of a turn, as they happen.
pub(super) struct EventStream {
    source: Source,
    /// The recording, if the turn is recorded.
    recorded: Option<Recorded>,
    events: Events,
    agent: Agent,
    origin: Origin,
    cut: CancellationToken,
    /// Bytes that are written and not sent yet.
    piece: Vec<u8>,
    is_over: bool,
    slot: Slot,
}

impl EventStream {
    /// A turn that ends with its reader.
    pub(super) fn run(
        run: Run,
        events: Events,
        agent: Agent,
        origin: Origin,
        cut: &CancellationToken,
        slot: Slot,
    ) -> Self {
        let (source, cut) = (Source::Run(Box::new(run)), cut.clone());
        let (recorded, piece, is_over) = (None, Vec::new(), false);
        Self { source, recorded, events, agent, origin, cut, piece, is_over, slot }
    }

    /// A turn that is recorded, from its start.
    pub(super) fn follow(
        recorded: Recorded,
        agent: Agent,
        origin: Origin,
        cut: &CancellationToken,
        slot: Slot,
    ) -> Self {
        let events = Events::new(recorded.head.clone(), &recorded.id, 0);
        Self {
            source: recorded.source(&agent),
            recorded: Some(recorded),
            events,
            agent,
            origin,
            cut: cut.clone(),
            piece: Vec::new(),
            is_over: false,
            slot,
        }
    }

    /// Resumes a recorded turn after the events that the reader has received. `None` if these
    /// are all; `OUT_OF_RANGE` if the reader names an event that does not exist yet.
    pub(super) async fn resume(
        recorded: Recorded,
        agent: Agent,
        known: u64,
        cut: &CancellationToken,
        slot: Slot,
    ) -> Result<Option<Self>, Status> {
        let (store, id) = (recorded.store.clone(), recorded.stored_id.clone());
        let events = Events::new(recorded.head.clone(), &recorded.id, known);
        let origin = Origin::new(&agent.registry, &agent.action);
        let mut stream = Self { events, ..Self::follow(recorded, agent, origin, cut, slot) };
        // The known entries are read again: they determine the numbers of the events and the
        // custom state.
        let mut position = HEAD;
        while stream.piece.is_empty() && !stream.is_over {
            let page = store.read(&Recorded::scope(&stream.agent), &id, position, BATCH).await?;
            if page.events.is_empty() {
                break;
            }
            for event in page.events {
                position = event.sequence;
                stream.take(event.entry.into()).await;
            }
        }
        if stream.is_over && stream.piece.is_empty() {
            return Ok(None);
        }
        if !stream.is_over && stream.events.is_next_known() {
            return Err(beyond(headers::LAST_EVENT_ID));
        }
        if let Some(recorded) = &stream.recorded {
            stream.source = recorded.source(&stream.agent);
        }
        Ok(Some(stream))
    }

    /// Ends the request's log entry and metrics with the stream.
    pub(super) fn watch(&mut self, watch: Watch) {
        self.slot.watch = watch;
    }

    pub(super) fn into_body(self) -> Body {
        Body::from_stream(futures_util::stream::unfold(self, |mut stream| async move {
            let piece = stream.next_piece().await?;
            Some((Ok::<_, Infallible>(Bytes::from(piece)), stream))
        }))
    }

    /// The ready events as one write, or a comment after [`KEEP_ALIVE`] without one; `None`
    /// after the end.
    async fn next_piece(&mut self) -> Option<Vec<u8>> {
        if self.piece.is_empty() {
            if self.is_over {
                return None;
            }
            let Self { source, cut, origin, .. } = self;
            let block = tokio::select! {
                // The shutdown is checked first, since a run may always be ready.
                biased;
                () = cut.cancelled() => match self.recorded {
                    Some(_) => {
                        self.is_over = true;
                        return Some(RECONNECT.to_vec());
                    }
                    None => Block::Error(origin.report(&shutting_down())),
                },
                block = poll_fn(|cx| source.poll_block(cx, origin)) => block,
                () = tokio::time::sleep(KEEP_ALIVE) => {
                    if let Some(recorded) = &self.recorded {
                        recorded.end_if_lost().await;
                    }
                    return Some(COMMENT.to_vec());
                }
            };
            self.take(block).await;
            while !self.is_over && self.piece.len() < PIECE_BYTES {
                let Some(block) = self.ready_block().await else { break };
                self.take(block).await;
            }
        }
        match std::mem::take(&mut self.piece) {
            // A heartbeat of the recording is not an event.
            piece if piece.is_empty() => Some(COMMENT.to_vec()),
            piece => Some(piece),
        }
    }

    /// The next block if it is ready now, so that one write takes all of a fast turn.
    async fn ready_block(&mut self) -> Option<Block> {
        poll_fn(|cx| {
            Poll::Ready(match self.source.poll_block(cx, &self.origin) {
                Poll::Ready(block) => Some(block),
                Poll::Pending => None,
            })
        })
        .await
    }

    /// Writes the events of a block. The stream is over after a result or an error, and after a
    /// block that cannot be written.
    async fn take(&mut self, block: Block) {
        let code = block.code();
        if let Some(recorded) = &mut self.recorded {
            recorded.position += 1;
            recorded.last_read = Instant::now();
        }
        let written = match block {
            Block::Message(chunk) => {
                self.slot.watch.chunk();
                match self.events.chunk(&mut self.piece, &chunk) {
                    Ok(()) => return,
                    Err(status) => Err(status),
                }
            }
            Block::Result(_) if self.events.is_next_known() => {
                self.events.known_done(&mut self.piece)
            }
            Block::Result(output) => match result_of(&self.agent, output).await {
                Ok(result) => self.events.done(&mut self.piece, &result),
                Err(status) => Err(status),
            },
            Block::Error(status) => self.events.error(&mut self.piece, &status),
        };
        let code = match written {
            Ok(()) => code,
            Err(status) => self.fail(status),
        };
        self.is_over = true;
        self.source = Source::Over;
        self.slot.watch.stream_ended(code);
    }

    /// Ends the stream because the agent's chunk or output is invalid.
    fn fail(&mut self, status: Status) -> StatusCode {
        let message = format!("the turn cannot be shown: {}", status.message());
        let status = self.origin.report(&Status::internal(message).caused_by(status));
        // This error is plain text: writing it cannot fail.
        _ = self.events.error(&mut self.piece, &status);
        status.status
    }
}

/// A recorded turn. Its first entry is the [`StreamHead`].
pub(super) struct Recorded {
    store: Arc<dyn StreamStore>,
    /// The id that clients use.
    id: String,
    /// The id in the store, with a prefix that separates turns from the streams of the action
    /// protocol.
    stored_id: String,
    head: StreamHead,
    /// Number of entries that were read.
    position: u64,
    /// Time at which the last entry was read.
    last_read: Instant,
}

impl Recorded {
    pub(super) fn new(store: &Arc<dyn StreamStore>, id: &str, head: &StreamHead) -> Self {
        Self {
            store: store.clone(),
            id: id.to_owned(),
            stored_id: format!("agent-turn.{id}"),
            head: head.clone(),
            position: HEAD,
            last_read: Instant::now(),
        }
    }

    pub(super) fn stored_id(&self) -> &str {
        &self.stored_id
    }

    /// Turns of this agent, called by this caller.
    pub(super) fn scope(agent: &Agent) -> StreamScope {
        StreamScope::new(agent.owner.clone(), format!("turns of {}", agent.action.key()))
    }

    /// The entries that are not read yet.
    fn source(&self, agent: &Agent) -> Source {
        let (store, id) = (self.store.clone(), self.stored_id.clone());
        Source::Stored(Box::pin(follow(store, Self::scope(agent), id, self.position)))
    }

    /// Stores the end of a turn whose process has ended, since its readers would wait
    /// forever. If the process is alive after all there is no harm: either it has written
    /// since, and this write is rejected because of its old position, or its next write is
    /// rejected because the stream has ended.
    async fn end_if_lost(&self) {
        if self.last_read.elapsed() < LOST {
            return;
        }
        let message = "the server that ran this turn has ended; the turn has no result";
        let end = StreamEnd::Failed(Status::public(StatusCode::Unavailable, message).outgoing());
        match self.store.finish(&self.stored_id, self.position, end).await {
            Ok(_) => tracing::warn!(
                stream = self.id,
                "a recorded turn was ended because its process has ended"
            ),
            Err(error) => {
                tracing::debug!(stream = self.id, %error, "a stalled turn could not be expired")
            }
        }
    }

    /// Finds the stream with this id; `None` if this agent has not recorded one for this
    /// caller.
    pub(super) async fn find(
        store: &Arc<dyn StreamStore>,
        agent: &Agent,
        id: &str,
    ) -> Result<Option<Self>, Status> {
        let unread = Self::new(store, id, &StreamHead::default());
        let first = match store.read(&Self::scope(agent), &unread.stored_id, 0, 1).await {
            Ok(page) => page.events.into_iter().next().map(|event| event.entry),
            Err(StoreError::NotFound(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let Some(StreamEntry::Chunk(head)) = first else { return Ok(None) };
        let head: StreamHead = head.parse()?;
        let is_own = head.agent == agent.name();
        Ok(is_own.then_some(Self { head, ..unread }))
    }
}
