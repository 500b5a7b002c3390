//! A socket: how it is opened, what it refuses, and how it is closed.
//!
//! The handshake is done here and not by axum, because a peer that sends too much
//! is to be told so: its bytes have to be read away after the close frame, or the
//! connection is reset before it reads that.

mod handshake;
mod transport;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::{Error, ProtocolError};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use super::unfinished::Share;
pub use handshake::socket_route;
use transport::Transport;

/// An idle socket keeps buffers of this size; the library's own are 128 KiB.
const BUFFER: usize = 1 << 10;
/// What a peer does not read is not added to beyond this.
const MAX_BACKLOG: usize = 256 << 10;
/// What is read before it is handled: a few large messages or many small ones.
const MAX_BATCH: usize = 128;
const MAX_BATCH_BYTES: usize = 64 << 10;
/// How long a goodbye may take.
const CLOSE_TIME: Duration = Duration::from_secs(2);

/// One connection, message by message.
pub(crate) struct Socket {
    stream: WebSocketStream<Transport>,
    /// Bytes that were given to the stream and not yet to the network.
    backlog: usize,
    /// Bytes that had come with the last whole message.
    whole: u64,
    /// Since when a message is incomplete.
    partial_since: Option<Instant>,
    /// What is held of it.
    share: Share,
    /// What ended it, found behind messages that had to be handled first.
    ending: Option<Ending>,
}

/// Why a connection is over.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ending {
    /// The peer has left, with or without a word.
    Left,
    /// It is sent away.
    SentAway { code: CloseCode, reason: &'static str },
}

/// What was read at once.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) messages: VecDeque<Utf8Bytes>,
    /// Frames that were no text: they are counted, and say nothing.
    pub(crate) unreadable: u64,
    bytes: usize,
    is_heard: bool,
}

impl Socket {
    async fn new(transport: Transport, max_message: usize, share: Share) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(BUFFER)
            .write_buffer_size(BUFFER)
            .max_message_size(Some(max_message))
            .max_frame_size(Some(max_message));
        let stream = WebSocketStream::from_raw_socket(transport, Role::Server, Some(config)).await;
        Self { stream, backlog: 0, whole: 0, partial_since: None, share, ending: None }
    }

    /// Since when a message is incomplete.
    pub(crate) fn partial_since(&self) -> Option<Instant> {
        self.partial_since
    }

    /// Whether the peer takes what it is sent.
    pub(crate) fn has_room(&self) -> bool {
        self.backlog < MAX_BACKLOG
    }

    /// Queues a message; [`work`](Self::work) sends it.
    pub(crate) fn send(&mut self, message: Message) {
        let size = message.len() + 16;
        // It is full only beyond any limit of ours; other failures are found by
        // the next read.
        if self.stream.start_send_unpin(message).is_ok() {
            self.backlog += size;
        }
    }

    /// Sends what is queued and, if `reads`, waits for messages. Also returns when
    /// a message has begun that is not complete. It is cancel safe.
    pub(crate) async fn work(&mut self, batch: &mut Batch, reads: bool) -> Result<(), Ending> {
        poll_fn(|cx| self.poll_work(cx, batch, reads)).await
    }

    fn poll_work(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Batch,
        reads: bool,
    ) -> Poll<Result<(), Ending>> {
        if let Some(ending) = self.ending.take() {
            return Poll::Ready(Err(ending));
        }
        if self.backlog > 0 {
            match self.stream.poll_flush_unpin(cx) {
                Poll::Ready(Ok(())) => self.backlog = 0,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(ending_of(&error))),
                Poll::Pending => {}
            }
        }
        // A peer that asks and does not read the answers has to wait.
        if !reads || !self.has_room() {
            return Poll::Pending;
        }
        if self.share.must_go(cx) {
            return Poll::Ready(Err(ENDING_CROWDED));
        }
        self.stream.get_mut().begin_turn();
        while batch.has_room() {
            match self.stream.poll_next_unpin(cx) {
                Poll::Ready(Some(Ok(message))) => self.take(message, batch),
                Poll::Ready(Some(Err(error))) => self.ending = Some(ending_of(&error)),
                Poll::Ready(None) => self.ending = Some(Ending::Left),
                Poll::Pending => return self.poll_pending(cx, batch),
            }
            if self.ending.is_some() {
                break;
            }
        }
        Poll::Ready(self.ended(batch))
    }

    /// What has ended it is told behind the messages that came before.
    fn ended(&mut self, batch: &Batch) -> Result<(), Ending> {
        self.ending.take_if(|_| batch.is_empty()).map_or(Ok(()), Err)
    }

    fn take(&mut self, message: Message, batch: &mut Batch) {
        batch.is_heard = true;
        batch.bytes += message.len();
        match message {
            Message::Text(text) => batch.messages.push_back(text),
            Message::Binary(bytes) => match Utf8Bytes::try_from(bytes) {
                Ok(text) => batch.messages.push_back(text),
                Err(_) => batch.unreadable += 1,
            },
            // Control frames may stand between the pieces of a message: they count
            // as what they are, two bytes, four of the mask and their content.
            Message::Ping(content) | Message::Pong(content) => {
                self.whole += 6 + content.len() as u64;
                return;
            }
            Message::Close(_) => {
                self.ending = Some(Ending::Left);
                return;
            }
            Message::Frame(_) => return,
        }
        self.whole = self.stream.get_ref().received();
        if self.partial_since.take().is_some() {
            self.share.release();
        }
    }

    fn poll_pending(&mut self, cx: &Context<'_>, batch: &Batch) -> Poll<Result<(), Ending>> {
        let partial = self.stream.get_ref().received().saturating_sub(self.whole);
        if partial > 0 {
            self.share.hold(usize::try_from(partial).unwrap_or(usize::MAX));
            if self.share.must_go(cx) {
                self.ending = Some(ENDING_CROWDED);
                return Poll::Ready(self.ended(batch));
            }
            if self.partial_since.is_none() {
                self.partial_since = Some(Instant::now());
                return Poll::Ready(Ok(()));
            }
        }
        if batch.is_empty() { Poll::Pending } else { Poll::Ready(Ok(())) }
    }

    /// Says goodbye.
    pub(crate) async fn close(self, ending: Ending) {
        _ = tokio::time::timeout(CLOSE_TIME, async move {
            let Self { mut stream, share, .. } = self;
            match ending {
                Ending::Left => _ = stream.flush().await,
                Ending::SentAway { code, reason } => {
                    let frame = CloseFrame { code, reason: Utf8Bytes::from_static(reason) };
                    if stream.close(Some(frame)).await.is_ok() {
                        // What was held of a message goes first.
                        let mut transport = stream.into_inner();
                        drop(share);
                        transport.read_away().await;
                    }
                }
            }
        })
        .await;
    }
}

const ENDING_CROWDED: Ending = Ending::SentAway {
    code: CloseCode::Again,
    reason: "too much is held of unfinished messages; send it again later",
};

fn ending_of(error: &Error) -> Ending {
    let (code, reason) = match error {
        Error::Capacity(_) => (CloseCode::Size, "the message is too large"),
        Error::Utf8(_) => (CloseCode::Invalid, "the message is not UTF-8"),
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => return Ending::Left,
        Error::Protocol(_) => (CloseCode::Protocol, "this is not a WebSocket frame"),
        _ => return Ending::Left,
    };
    Ending::SentAway { code, reason }
}

impl Batch {
    /// Whether anything was heard since this was asked last.
    pub(crate) fn take_heard(&mut self) -> bool {
        self.bytes = 0;
        std::mem::take(&mut self.is_heard)
    }

    fn has_room(&self) -> bool {
        self.messages.len() < MAX_BATCH && self.bytes < MAX_BATCH_BYTES
    }

    fn is_empty(&self) -> bool {
        !self.is_heard
    }
}
