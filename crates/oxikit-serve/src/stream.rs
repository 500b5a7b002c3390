//! A run as the body of a streaming response of the action protocol.
//!
//! The body pulls: it polls the run when the connection can take more bytes, so a slow reader
//! slows a run that is not recorded. Blocks that are ready at the same time are sent in one
//! frame.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use http_body::Frame;
use oxikit_core::ports::{StoreError, StreamEnd, StreamEntry, StreamEvent};
use oxikit_core::{Event, OutgoingStatus, Payload, Run, Status, StatusCode};
use oxikit_wire::action_http;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::app::Slot;
use crate::origin::Origin;
use oxikit_http::caught;
use oxikit_http::reply::shutting_down;
use oxikit_http::sse::{PIECE_BYTES, escape_from};

/// Writes a run block by block: `data: {"message": …}` for each chunk, then one
/// `data: {"result": …}` or `error: {"error": …}`. There is always a last block:
/// the official client loops forever on a stream that ends without one.
pub(crate) struct StreamBody {
    source: Source,
    origin: Origin,
    /// Cancelled when open streams have to end because the server shuts down.
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Dropped with the last block.
    slot: Option<Slot>,
}

/// The source of the blocks.
pub(crate) enum Source {
    /// A run that ends with its reader.
    Run(Box<Run>),
    /// A stored stream.
    Stored(Pin<Box<dyn Stream<Item = Result<StreamEvent, StoreError>> + Send>>),
    /// Refused before it ran, and reported.
    Refused(OutgoingStatus),
    /// The last block has been written.
    Over,
}

/// One block of the protocol.
pub(crate) enum Block {
    /// A chunk of the run.
    Message(Payload),
    /// The output. It is the last block.
    Result(Payload),
    /// The failure, without what only the log may contain. It is the last block.
    Error(OutgoingStatus),
}

impl StreamBody {
    pub(crate) fn new(
        source: Source,
        origin: Origin,
        cut: &CancellationToken,
        slot: Option<Slot>,
    ) -> Self {
        Self { source, origin, cut: Box::pin(cut.clone().cancelled_owned()), slot }
    }

    /// The next bytes of the body: all blocks that are ready, up to [`PIECE_BYTES`].
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        if matches!(self.source, Source::Over) {
            return Poll::Ready(None);
        }
        let mut piece = Vec::with_capacity(256);
        while piece.len() < PIECE_BYTES {
            let block = match self.source.poll_block(cx, &self.origin) {
                Poll::Ready(block) => block,
                Poll::Pending if !piece.is_empty() => break,
                // Nothing is ready, so the shutdown may end the stream here. A run that always
                // has a block ready ends by itself or by its own token.
                Poll::Pending => {
                    ready!(self.cut.as_mut().poll(cx));
                    Block::Error(self.origin.report(&shutting_down()))
                }
            };
            let written = match &block {
                Block::Message(chunk) => {
                    if let Some(slot) = &mut self.slot {
                        slot.watch.chunk();
                    }
                    write_block(&mut piece, action_http::MESSAGE_BLOCK, chunk)
                }
                Block::Result(output) => write_block(&mut piece, action_http::RESULT_BLOCK, output),
                Block::Error(status) => {
                    write_error(&mut piece, status);
                    Ok(())
                }
            };
            let code = match written {
                Ok(()) if matches!(block, Block::Message(_)) => continue,
                Ok(()) => block.code(),
                Err(status) => {
                    let status = self.origin.report(&status);
                    write_error(&mut piece, &status);
                    status.status
                }
            };
            self.source = Source::Over;
            if let Some(mut slot) = self.slot.take() {
                slot.watch.stream_ended(code);
            }
            break;
        }
        Poll::Ready(Some(piece))
    }
}

impl From<StreamEntry> for Block {
    fn from(entry: StreamEntry) -> Self {
        match entry {
            StreamEntry::Chunk(chunk) => Self::Message(chunk),
            StreamEntry::End(StreamEnd::Done(output)) => Self::Result(output),
            StreamEntry::End(StreamEnd::Failed(status)) => Self::Error(status),
        }
    }
}

impl Block {
    pub(crate) fn code(&self) -> StatusCode {
        match self {
            Self::Message(_) | Self::Result(_) => StatusCode::Ok,
            Self::Error(status) => status.status,
        }
    }
}

impl Source {
    /// The next block. What fails here is reported as a failure of the origin.
    pub(crate) fn poll_block(&mut self, cx: &mut Context<'_>, origin: &Origin) -> Poll<Block> {
        let failed = |status: &Status| Block::Error(origin.report(status));
        let block = match self {
            Self::Run(run) => match ready!(run.poll_event(cx)) {
                Some(Event::Chunk(chunk)) => Block::Message(chunk),
                Some(Event::Done(output)) => Block::Result(output),
                Some(Event::Failed(status)) => failed(&status),
                None => failed(&Status::cancelled()),
            },
            Self::Stored(events) => match ready!(events.as_mut().poll_next(cx)) {
                Some(Ok(StreamEvent { entry, .. })) => entry.into(),
                Some(Err(error)) => failed(&Status::from(error)),
                None => failed(&Status::cancelled()),
            },
            Self::Refused(status) => Block::Error(status.clone()),
            Self::Over => failed(&Status::cancelled()),
        };
        Poll::Ready(block)
    }
}

impl http_body::Body for StreamBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.poll_piece(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece.into()))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.source, Source::Over)
    }
}

/// One block that begins with `opening`; nothing if the payload cannot be written.
fn write_block(out: &mut Vec<u8>, opening: &str, payload: &Payload) -> Result<(), Status> {
    let start = out.len();
    out.extend_from_slice(opening.as_bytes());
    let begin = out.len();
    if let Err(status) = caught(|| Ok(payload.write_json(out)?)) {
        out.truncate(start);
        return Err(status);
    }
    escape_from(out, begin);
    out.extend_from_slice(action_http::BLOCK_END.as_bytes());
    Ok(())
}

/// `error: {"error": …}`, as one block.
fn write_error(out: &mut Vec<u8>, status: &OutgoingStatus) {
    out.extend_from_slice(action_http::ERROR_BLOCK.as_bytes());
    let begin = out.len();
    serde_json::to_writer(&mut *out, status).expect("texts and JSON values can be written");
    escape_from(out, begin);
    out.extend_from_slice(action_http::BLOCK_END.as_bytes());
}
