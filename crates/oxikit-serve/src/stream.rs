//! A run as the body of a streaming answer.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use http_body::Frame;
use oxikit_core::ports::{StoreError, StreamEnd, StreamEntry, StreamEvent};
use oxikit_core::{Event, OutgoingStatus, Payload, Run, Status, StatusCode};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::action_http::Slot;
use crate::durable::shutting_down;
use crate::origin::Origin;
use crate::panic_guard::caught;

/// What is ready goes out as one piece, up to about this size.
pub(crate) const PIECE: usize = 32 * 1024;

/// Writes a run block by block: `data: {"message": …}` for each chunk, then one
/// `data: {"result": …}` or `error: {"error": …}`. There is always a last block:
/// the official client spins for ever on a stream that ends without one.
pub(crate) struct StreamBody {
    source: Source,
    origin: Origin,
    /// Fires when open streams have to end because the server does.
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Dropped with the last block.
    slot: Option<Slot>,
}

/// Where the blocks come from.
pub(crate) enum Source {
    /// A run that lives as long as its reader.
    Run(Box<Run>),
    /// A stream that is kept.
    Stored(Pin<Box<dyn Stream<Item = Result<StreamEvent, StoreError>> + Send>>),
    /// Refused before it ran, and reported.
    Refused(OutgoingStatus),
    /// The last block has been written.
    Over,
}

/// One block of the protocol.
pub(crate) enum Block {
    Message(Payload),
    Result(Payload),
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

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        if matches!(self.source, Source::Over) {
            return Poll::Ready(None);
        }
        let mut piece = Vec::with_capacity(256);
        while piece.len() < PIECE {
            let block = match self.source.poll_block(cx, &self.origin) {
                Poll::Ready(block) => block,
                Poll::Pending if !piece.is_empty() => break,
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
                    write_block(&mut piece, "message", chunk)
                }
                Block::Result(output) => write_block(&mut piece, "result", output),
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

/// `data: {"<member>": …}`, as one block; nothing if the payload cannot be written.
fn write_block(out: &mut Vec<u8>, member: &str, payload: &Payload) -> Result<(), Status> {
    let start = out.len();
    out.extend_from_slice(b"data: {\"");
    out.extend_from_slice(member.as_bytes());
    out.extend_from_slice(b"\":");
    let begin = out.len();
    if let Err(status) = caught(|| Ok(payload.write_json(out)?)) {
        out.truncate(start);
        return Err(status);
    }
    escape_from(out, begin);
    out.extend_from_slice(b"}\n\n");
    Ok(())
}

/// `error: {"error": …}`, as one block.
fn write_error(out: &mut Vec<u8>, status: &OutgoingStatus) {
    let body = serde_json::json!({ "error": status });
    out.extend_from_slice(b"error: ");
    let begin = out.len();
    out.extend_from_slice(body.to_string().as_bytes());
    escape_from(out, begin);
    out.extend_from_slice(b"\n\n");
}

/// Writes everything beyond ASCII as `\uXXXX`: the official JavaScript client
/// garbles a character whose bytes arrive in two reads, and nobody can say where
/// the network cuts. JSON from outside may also hold line breaks between tokens,
/// and two of them would end the block.
pub(crate) fn escape_from(out: &mut Vec<u8>, begin: usize) {
    // Without a way out inside of the loop, the compiler looks at many bytes at once.
    let is_special = |byte: &u8| (*byte > 0x7f) | (*byte == b'\n') | (*byte == b'\r');
    if !out[begin..].iter().fold(false, |found, byte| found | is_special(byte)) {
        return;
    }
    let text = String::from_utf8_lossy(&out.split_off(begin)).into_owned();
    for character in text.chars() {
        match character {
            // Outside of strings only: inside, JSON does not allow them.
            '\n' | '\r' => {}
            character if character.is_ascii() => out.push(character as u8),
            character => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
        }
    }
}
