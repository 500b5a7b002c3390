//! A run as the body of a streaming answer.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Frame;
use oxikit_core::{Event, Payload, Run, Status, StatusCode};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// What is ready goes out as one piece, up to about this size.
const PIECE: usize = 32 * 1024;

/// Writes a run block by block: `data: {"message": …}` for each chunk, then one
/// `data: {"result": …}` or `error: {"error": …}`. There is always a last block:
/// the official client spins for ever on a stream that ends without one.
pub(crate) struct StreamBody {
    state: State,
    /// Fires when open streams have to end because the server does.
    cut: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

enum State {
    Running(Run),
    /// Refused before it ran.
    Refused(Status),
    Over,
}

impl StreamBody {
    pub(crate) fn new(run: Result<Run, Status>, cut: &CancellationToken) -> Self {
        let state = match run {
            Ok(run) => State::Running(run),
            Err(status) => State::Refused(status),
        };
        Self { state, cut: Some(Box::pin(cut.clone().cancelled_owned())) }
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        let run = match &mut self.state {
            State::Running(run) => run,
            State::Refused(_) => return Poll::Ready(self.last_words()),
            State::Over => return Poll::Ready(None),
        };
        let mut piece = Vec::with_capacity(256);
        loop {
            match Pin::new(&mut *run).poll_event(cx) {
                Poll::Ready(Some(Event::Chunk(chunk))) => {
                    write_block(&mut piece, "message", &chunk);
                    if piece.len() >= PIECE {
                        break;
                    }
                }
                Poll::Ready(Some(Event::Done(output))) => {
                    write_block(&mut piece, "result", &output);
                    self.state = State::Over;
                    break;
                }
                Poll::Ready(Some(Event::Failed(status))) => {
                    write_error(&mut piece, &status);
                    self.state = State::Over;
                    break;
                }
                Poll::Ready(None) => {
                    self.state = State::Over;
                    break;
                }
                Poll::Pending if piece.is_empty() => return self.poll_cut(cx),
                Poll::Pending => break,
            }
        }
        Poll::Ready((!piece.is_empty()).then_some(piece))
    }

    fn poll_cut(&mut self, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        let is_cut = self.cut.as_mut().is_some_and(|cut| cut.as_mut().poll(cx).is_ready());
        if !is_cut {
            return Poll::Pending;
        }
        self.state =
            State::Refused(Status::public(StatusCode::Unavailable, "the server is shutting down"));
        Poll::Ready(self.last_words())
    }

    fn last_words(&mut self) -> Option<Vec<u8>> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Refused(status) => {
                let mut piece = Vec::new();
                write_error(&mut piece, &status);
                Some(piece)
            }
            _ => None,
        }
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
        matches!(self.state, State::Over)
    }
}

/// `data: {"<member>": …}`, as one block.
pub(crate) fn write_block(out: &mut Vec<u8>, member: &str, payload: &Payload) {
    let start = out.len();
    out.extend_from_slice(b"data: {\"");
    out.extend_from_slice(member.as_bytes());
    out.extend_from_slice(b"\":");
    let begin = out.len();
    if let Err(error) = payload.write_json(out) {
        out.truncate(start);
        return write_error(out, &Status::from(error));
    }
    escape_from(out, begin);
    out.extend_from_slice(b"}\n\n");
}

/// `error: {"error": …}`, as one block.
pub(crate) fn write_error(out: &mut Vec<u8>, status: &Status) {
    let body = serde_json::json!({ "error": status.outgoing() });
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
fn escape_from(out: &mut Vec<u8>, begin: usize) {
    let is_plain = |byte: &u8| byte.is_ascii() && *byte != b'\n' && *byte != b'\r';
    if out[begin..].iter().all(is_plain) {
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
