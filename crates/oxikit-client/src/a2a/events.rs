//! The events of an answer that is a stream, in any binding.

use oxikit_core::{Result, Status};
use oxikit_wire::a2a::StreamResponse;

use super::codec::Codec;
#[cfg(feature = "a2a-grpc")]
use super::grpc_stream::GrpcStream;
use super::observer::Observer;
use crate::blocks::{BlockError, BlockKind, Blocks};
use crate::exchange::{Answer, Exchange};
use crate::failure::Fault;

/// An event as it was read.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) response: StreamResponse,
    /// Whether the server says that the stream ends with it. Only version 0.3 does.
    pub(super) is_final: bool,
    /// The id of the event.
    pub(super) id: Option<String>,
}

impl Event {
    /// An event without an id, which is not marked as the last one.
    pub(super) fn of(response: StreamResponse) -> Self {
        Self { response, is_final: false, id: None }
    }
}

/// A stream whose answer has begun. Dropping it closes its connection.
pub(super) enum Events {
    /// Server-sent events, of JSON-RPC and of HTTP+JSON.
    Http(Box<HttpEvents>),
    /// Messages of gRPC.
    #[cfg(feature = "a2a-grpc")]
    Grpc(GrpcStream),
}

impl Events {
    /// The next event, if it has arrived already.
    pub(super) fn ready(&mut self, exchange: &Exchange) -> Option<Result<Event>> {
        match self {
            Self::Http(events) => events.ready(exchange),
            #[cfg(feature = "a2a-grpc")]
            Self::Grpc(stream) => Some(stream.ready(exchange)?.map(Event::of)),
        }
    }

    /// Reads a piece of the answer. Returns whether there may be more.
    pub(super) async fn read(&mut self, exchange: &Exchange) -> Result<bool, Fault> {
        match self {
            Self::Http(events) => events.read(exchange).await,
            #[cfg(feature = "a2a-grpc")]
            Self::Grpc(stream) => stream.read(exchange).await,
        }
    }

    /// Returns the connection to the pool after the last event.
    pub(super) fn release(self) {
        match self {
            Self::Http(events) => events.answer.map(Answer::release).unwrap_or_default(),
            // Other streams have the same connection, so that it stays open anyway.
            #[cfg(feature = "a2a-grpc")]
            Self::Grpc(stream) => drop(stream),
        }
    }
}

/// A stream of server-sent events.
pub(super) struct HttpEvents {
    codec: Codec,
    answer: Option<Answer>,
    blocks: Blocks,
    /// The only event of an answer that is one response instead of a stream.
    single: Option<Event>,
    observer: Option<Observer>,
}

impl HttpEvents {
    pub(super) fn new(
        codec: Codec,
        answer: Answer,
        block_limit: usize,
        observer: Option<Observer>,
    ) -> Self {
        let blocks = Blocks::new(block_limit);
        Self { codec, answer: Some(answer), blocks, single: None, observer }
    }

    pub(super) fn single(codec: Codec, event: Event) -> Self {
        let blocks = Blocks::new(0);
        Self { codec, answer: None, blocks, single: Some(event), observer: None }
    }

    fn ready(&mut self, exchange: &Exchange) -> Option<Result<Event>> {
        if let Some(event) = self.single.take() {
            return Some(Ok(event));
        }
        let block = self.blocks.next()?;
        if let (Ok(block), Some(observer)) = (&block, &self.observer) {
            observer.body(&block.text);
        }
        Some(match block {
            Ok(block) if block.kind == BlockKind::Error => {
                Err(self.codec.event_error(exchange, &block.text))
            }
            Ok(block) => {
                let event = self.codec.event(exchange, &block.text);
                event.map(|(response, is_final)| Event { response, is_final, id: block.id })
            }
            Err(error) => Err(unreadable(exchange, error)),
        })
    }

    async fn read(&mut self, exchange: &Exchange) -> Result<bool, Fault> {
        let Some(answer) = &mut self.answer else { return Ok(false) };
        match exchange.read(answer).await? {
            Some(piece) => self.blocks.push(&piece),
            None => {
                self.answer = None;
                self.blocks.finish();
            }
        }
        Ok(self.answer.is_some() || !self.blocks.is_empty())
    }
}

fn unreadable(exchange: &Exchange, error: BlockError) -> Status {
    match error {
        BlockError::Garbage => exchange.garbage("something that is not a stream of events"),
        BlockError::TooLarge => {
            exchange.too_large("an event", exchange.client.settings.block_limit)
        }
    }
}
