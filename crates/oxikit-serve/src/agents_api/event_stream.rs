//! A turn as the body of a streaming answer.

use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use oxikit_core::ports::{StoreError, StreamEnd, StreamEntry, StreamScope, StreamStore, follow};
use oxikit_core::{Run, Status, StatusCode};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::agent::Agent;
use super::events::{Events, StreamHead};
use super::execute;
use crate::access_log::Watch;
use crate::action_http::Slot;
use crate::durable::{beyond, shutting_down};
use crate::origin::Origin;
use crate::stream::{Block, PIECE, Source};

/// When nothing is sent for so long, a comment tells that we are still here.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Where the server ends before the turn does, the reader comes back after this.
const COME_BACK: &[u8] = b"retry: 1000\n\n";
const STILL_HERE: &[u8] = b": still here\n\n";
/// The position behind the first entry of a recorded turn.
const HEAD: u64 = 1;
/// So many entries of a recorded turn are read at once.
const BATCH: usize = 64;

/// A recorded turn that gives no sign of life for so long has lost its process.
const LOST: Duration = Duration::from_secs(60);

/// The events of a turn, as they come.
pub(super) struct EventStream {
    source: Source,
    /// Where the turn is recorded, if it is.
    recorded: Option<Recorded>,
    events: Events,
    agent: Agent,
    origin: Origin,
    cut: CancellationToken,
    /// Written, but not sent yet.
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

    /// Goes on behind what the reader has got of a recorded turn. `None` if it has
    /// got all of it; `OUT_OF_RANGE` if it says to have got more than there is.
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
        // What the reader knows is read once more, as the custom state follows
        // from it.
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
            return Err(beyond("last-event-id"));
        }
        if let Some(recorded) = &stream.recorded {
            stream.source = recorded.source(&stream.agent);
        }
        Ok(Some(stream))
    }

    /// The request is over when the stream is.
    pub(super) fn watch(&mut self, watch: Watch) {
        self.slot.watch = watch;
    }

    pub(super) fn into_body(self) -> Body {
        Body::from_stream(futures_util::stream::unfold(self, |mut stream| async move {
            let piece = stream.next_piece().await?;
            Some((Ok::<_, Infallible>(Bytes::from(piece)), stream))
        }))
    }

    /// What is ready, as one write, or a comment if there is nothing for long;
    /// `None` after the end.
    async fn next_piece(&mut self) -> Option<Vec<u8>> {
        if self.piece.is_empty() {
            if self.is_over {
                return None;
            }
            let Self { source, cut, origin, .. } = self;
            let block = tokio::select! {
                // First, as a run may never pause.
                biased;
                () = cut.cancelled() => match self.recorded {
                    Some(_) => {
                        self.is_over = true;
                        return Some(COME_BACK.to_vec());
                    }
                    None => Block::Error(origin.report(&shutting_down())),
                },
                block = poll_fn(|cx| source.poll_block(cx, origin)) => block,
                () = tokio::time::sleep(KEEP_ALIVE) => {
                    if let Some(recorded) = &self.recorded {
                        recorded.end_if_lost().await;
                    }
                    return Some(STILL_HERE.to_vec());
                }
            };
            self.take(block).await;
            while !self.is_over && self.piece.len() < PIECE {
                let Some(block) = self.ready_block().await else { break };
                self.take(block).await;
            }
        }
        match std::mem::take(&mut self.piece) {
            // A sign of life.
            piece if piece.is_empty() => Some(STILL_HERE.to_vec()),
            piece => Some(piece),
        }
    }

    async fn ready_block(&mut self) -> Option<Block> {
        poll_fn(|cx| {
            Poll::Ready(match self.source.poll_block(cx, &self.origin) {
                Poll::Ready(block) => Some(block),
                Poll::Pending => None,
            })
        })
        .await
    }

    async fn take(&mut self, block: Block) {
        let code = block.code();
        if let Some(recorded) = &mut self.recorded {
            recorded.position += 1;
            recorded.heard = Instant::now();
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
            Block::Result(output) => match execute::result_of(&self.agent, output).await {
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

    /// The agent has sent what is no chunk or output of an agent.
    fn fail(&mut self, status: Status) -> StatusCode {
        let message = format!("the turn cannot be shown: {}", status.message());
        let status = self.origin.report(&Status::internal(message).caused_by(status));
        // An error of ours is plain text: writing it cannot fail.
        _ = self.events.error(&mut self.piece, &status);
        status.status
    }
}

/// A turn that is recorded. Its first entry is the [`StreamHead`].
pub(super) struct Recorded {
    store: Arc<dyn StreamStore>,
    /// As clients know it.
    id: String,
    /// As the store knows it: streams of the action protocol are others.
    stored_id: String,
    head: StreamHead,
    /// So many entries have been read.
    position: u64,
    /// When one of them was read.
    heard: Instant,
}

impl Recorded {
    pub(super) fn new(store: &Arc<dyn StreamStore>, id: &str, head: &StreamHead) -> Self {
        Self {
            store: store.clone(),
            id: id.to_owned(),
            stored_id: format!("agent-turn.{id}"),
            head: head.clone(),
            position: HEAD,
            heard: Instant::now(),
        }
    }

    pub(super) fn stored_id(&self) -> &str {
        &self.stored_id
    }

    /// Turns of this agent, called by this caller.
    pub(super) fn scope(agent: &Agent) -> StreamScope {
        StreamScope::new(agent.owner.clone(), format!("turns of {}", agent.action.key()))
    }

    /// What is not read yet.
    fn source(&self, agent: &Agent) -> Source {
        let (store, id) = (self.store.clone(), self.stored_id.clone());
        Source::Stored(Box::pin(follow(store, Self::scope(agent), id, self.position)))
    }

    /// Ends a turn that nobody works on any more, or its readers would wait for
    /// ever. Should somebody be at it after all, either they have written since, and
    /// this changes nothing, or their next entry is refused.
    async fn end_if_lost(&self) {
        if self.heard.elapsed() < LOST {
            return;
        }
        let message = "the server that worked on this turn has gone";
        let end = StreamEnd::Failed(Status::public(StatusCode::Unavailable, message).outgoing());
        match self.store.finish(&self.stored_id, self.position, end).await {
            Ok(_) => tracing::warn!(stream = self.id, "a turn has lost its process"),
            Err(error) => tracing::debug!(stream = self.id, %error, "a quiet turn is not ended"),
        }
    }

    /// The stream with this id; `None` if this agent has recorded no such for this
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
