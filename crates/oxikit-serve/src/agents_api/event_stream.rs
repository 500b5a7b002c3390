//! A turn as the body of a streaming answer.

use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use oxikit_core::ports::{StoreError, StreamEntry, StreamStore, follow};
use oxikit_core::{Status, StatusCode};
use tokio_util::sync::CancellationToken;

use super::agent::Agent;
use super::events::{Events, StreamHead};
use super::execute;
use crate::access_log::Watch;
use crate::action_http::Slot;
use crate::durable::shutting_down;
use crate::stream::{Block, PIECE, Source};

/// When nothing is sent for so long, a comment tells that we are still here.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Where the server ends before the turn does, the reader comes back after this.
const COME_BACK: &[u8] = b"retry: 1000\n\n";
/// So many entries of a recorded turn are read at once.
const BATCH: usize = 64;

/// The events of a turn, as they come.
pub(super) struct EventStream {
    source: Source,
    events: Events,
    agent: Agent,
    cut: CancellationToken,
    /// Written, but not sent yet.
    piece: Vec<u8>,
    is_over: bool,
    slot: Slot,
}

impl EventStream {
    pub(super) fn new(
        source: Source,
        events: Events,
        agent: Agent,
        cut: &CancellationToken,
        slot: Slot,
    ) -> Self {
        let cut = cut.clone();
        Self { source, events, agent, cut, piece: Vec::new(), is_over: false, slot }
    }

    /// Goes on behind what the reader has got of a recorded turn. `None` if it has
    /// got all of it.
    pub(super) async fn resume(
        store: Arc<dyn StreamStore>,
        recorded: Recorded,
        agent: Agent,
        known: u64,
        cut: &CancellationToken,
        slot: Slot,
    ) -> Result<Option<Self>, Status> {
        let Recorded { id, stored_id, head } = recorded;
        let events = Events::new(head, &id, known);
        let owner = agent.owner.clone();
        let mut stream = Self::new(Source::Over, events, agent, cut, slot);
        // What the reader knows is read once more, as the custom state follows
        // from it.
        let mut position = 1;
        while stream.piece.is_empty() && !stream.is_over {
            let entries = store.read(&owner, &stored_id, position, BATCH).await?;
            if entries.is_empty() {
                break;
            }
            for event in entries {
                position = event.sequence;
                stream.take(event.entry.into()).await;
            }
        }
        if stream.is_over && stream.piece.is_empty() {
            return Ok(None);
        }
        stream.source = Source::Stored(Box::pin(follow(store, owner, stored_id, position)));
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

    /// What is ready, as one write; `None` after the end.
    async fn next_piece(&mut self) -> Option<Vec<u8>> {
        while self.piece.is_empty() {
            if self.is_over {
                return None;
            }
            let Self { source, cut, .. } = self;
            let block = tokio::select! {
                biased;
                block = poll_fn(|cx| source.poll_block(cx)) => block,
                () = cut.cancelled() => match source {
                    Source::Stored(_) => {
                        self.is_over = true;
                        return Some(COME_BACK.to_vec());
                    }
                    _ => Block::Error(shutting_down().outgoing()),
                },
                () = tokio::time::sleep(KEEP_ALIVE) => return Some(b": still here\n\n".to_vec()),
            };
            self.take(block).await;
            while !self.is_over && self.piece.len() < PIECE {
                let Some(block) = self.ready_block().await else { break };
                self.take(block).await;
            }
        }
        Some(std::mem::take(&mut self.piece))
    }

    async fn ready_block(&mut self) -> Option<Block> {
        poll_fn(|cx| {
            Poll::Ready(match self.source.poll_block(cx) {
                Poll::Ready(block) => Some(block),
                Poll::Pending => None,
            })
        })
        .await
    }

    async fn take(&mut self, block: Block) {
        let code = block.code();
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
            Err(status) => self.fail(&status),
        };
        self.is_over = true;
        self.source = Source::Over;
        self.slot.watch.stream_ended(code);
    }

    /// The agent has sent what is no chunk or output of an agent.
    fn fail(&mut self, status: &Status) -> StatusCode {
        tracing::error!(agent = self.agent.name(), %status, "a turn cannot be shown");
        let status = Status::internal(status.message()).outgoing();
        // An error of ours is plain text: writing it cannot fail.
        _ = self.events.error(&mut self.piece, &status);
        status.status
    }
}

/// A turn that was recorded.
pub(super) struct Recorded {
    /// As clients know it.
    id: String,
    /// As the store knows it: streams of the action protocol are others.
    stored_id: String,
    head: StreamHead,
}

impl Recorded {
    /// How a new stream is called in the store.
    pub(super) fn stored_id(id: &str) -> String {
        format!("agent-turn.{id}")
    }

    /// The stream with this id; `None` if this agent has recorded no such for this
    /// caller.
    pub(super) async fn find(
        store: &Arc<dyn StreamStore>,
        agent: &Agent,
        id: &str,
    ) -> Result<Option<Self>, Status> {
        let stored_id = Self::stored_id(id);
        let first = match store.read(&agent.owner, &stored_id, 0, 1).await {
            Ok(entries) => entries.into_iter().next().map(|event| event.entry),
            Err(StoreError::NotFound(_)) => None,
            Err(error) => return Err(error.into()),
        };
        let Some(StreamEntry::Chunk(head)) = first else { return Ok(None) };
        let head: StreamHead = head.parse()?;
        let is_own = head.agent == agent.name();
        Ok(is_own.then(|| Self { id: id.to_owned(), stored_id, head }))
    }
}
