//! The server's side of WebSockets, with limits and close codes.
//!
//! axum's WebSocket is not used, because a peer that sends too much must receive a close code:
//! its bytes have to be read and dropped after the close frame, or the connection is reset
//! before the peer reads the code.
//!
//! Messages are read in batches, so that a busy connection wakes its task once for many
//! messages. [`PartialMessages`] limits the memory of all connections together.
//!
//! ```
//! use std::sync::Arc;
//!
//! use axum::extract::Request;
//! use axum::response::Response;
//! use oxikit_http::HttpError;
//! use oxikit_http::websocket::{Batch, Handshake, Message, PartialMessages, Socket};
//!
//! /// Accepts a WebSocket and sends every message back.
//! async fn echo(mut request: Request, memory: Arc<PartialMessages>) -> Result<Response, HttpError> {
//!     let (response, upgraded) = Handshake::read(&mut request)?.accept();
//!     tokio::spawn(async move {
//!         let Ok(upgraded) = upgraded.await else { return };
//!         let mut socket = Socket::new(upgraded, 1 << 20, memory.share()).await;
//!         let mut batch = Batch::default();
//!         let ending = loop {
//!             if let Err(ending) = socket.work(&mut batch, true).await {
//!                 break ending;
//!             }
//!             batch.take_received();
//!             batch.messages.drain(..).for_each(|text| socket.send(Message::Text(text)));
//!         };
//!         socket.close(ending).await;
//!     });
//!     Ok(response)
//! }
//! # _ = echo;
//! ```

mod handshake;
mod line;
mod partial;
#[cfg(test)]
mod tests;
mod text_frame;
mod transport;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use oxikit_wire::close_code;
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::{Error, ProtocolError};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
pub use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

pub use handshake::Handshake;
pub use line::{FrameSender, Sent};
pub use partial::{PartialMessages, PartialShare};
pub use text_frame::TextFrame;
use transport::Transport;

/// Number of bytes of the read and the write buffer, which an idle socket keeps. The library's
/// defaults are 128 KiB.
const BUFFER: usize = 1 << 10;
/// Number of bytes that the peer has not read beyond which [`Socket::has_room`] is false: the
/// server then sends no more and reads no more messages.
const MAX_BACKLOG: usize = 256 << 10;
/// Maximum number of messages of a batch. More are read after these were handled.
const MAX_BATCH: usize = 128;
/// Number of bytes after which a batch is complete.
const MAX_BATCH_BYTES: usize = 64 << 10;
/// Maximum number of bytes of the reason in a close frame: a control frame has 125 bytes, two of
/// which are the code.
const MAX_REASON: usize = 123;
/// Maximum time of the closing handshake. After it the connection is dropped.
const CLOSE_TIME: Duration = Duration::from_secs(2);

/// A WebSocket connection that is read in batches of messages.
#[derive(Debug)]
pub struct Socket {
    stream: WebSocketStream<Transport>,
    /// Bytes that are queued and not yet written to the network.
    backlog: usize,
    /// Bytes received up to the end of the last complete message.
    whole: u64,
    /// When the message that is still incomplete has begun.
    partial_since: Option<Instant>,
    /// This connection's share of the memory for incomplete messages.
    share: PartialShare,
    /// Why the connection has ended. It is reported after the messages that came before.
    ending: Option<Ending>,
}

/// Why a connection has ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// The peer has closed the connection, or it was lost.
    Disconnected,
    /// The server closes the connection.
    Closed {
        /// The close code; see [`close_code`].
        code: u16,
        /// The reason in the close frame.
        reason: &'static str,
    },
}

/// Messages that were read together.
#[derive(Debug, Default)]
pub struct Batch {
    /// Messages, in order.
    pub messages: VecDeque<Utf8Bytes>,
    /// Number of frames that were not UTF-8 text. They are counted and otherwise ignored.
    pub unreadable: u64,
    bytes: usize,
    has_received: bool,
}

impl Socket {
    /// A connection after its [`Handshake`]. A message of more than `max_message` bytes closes it
    /// with 1009; `share` is its share of the memory for incomplete messages.
    pub async fn new(upgraded: Upgraded, max_message: usize, share: PartialShare) -> Self {
        let transport = Transport::new(upgraded);
        let config = WebSocketConfig::default()
            .read_buffer_size(BUFFER)
            .write_buffer_size(BUFFER)
            .max_message_size(Some(max_message))
            .max_frame_size(Some(max_message));
        let stream = WebSocketStream::from_raw_socket(transport, Role::Server, Some(config)).await;
        Self { stream, backlog: 0, whole: 0, partial_since: None, share, ending: None }
    }

    /// When the message that is still incomplete has begun; `None` if there is none. The caller
    /// closes a connection that takes too long.
    pub fn partial_since(&self) -> Option<Instant> {
        self.partial_since
    }

    /// Whether the peer reads fast enough for more messages to be queued.
    pub fn has_room(&self) -> bool {
        self.backlog < MAX_BACKLOG
    }

    /// Queues a message; [`work`](Self::work) sends it.
    pub fn send(&mut self, message: Message) {
        let size = message.len() + 16;
        self.reserve();
        // The write buffer has no limit of its own, and the next read reports other failures.
        if self.stream.start_send_unpin(message).is_ok() {
            self.backlog += size;
        }
    }

    /// Sends a text at once, as far as the network takes it, if nothing is queued before it. The rest,
    /// or the whole, is queued as by [`send`](Self::send). A text for many peers is sent so without a
    /// copy for each of them.
    pub fn send_frame(&mut self, cx: &mut Context<'_>, frame: &TextFrame) {
        let is_idle = self.backlog == 0 && self.ending.is_none();
        let sent = is_idle.then(|| self.stream.get_ref().line().lock().send_now(cx, frame));
        match sent.flatten() {
            // The next read reports a failure.
            Some(sent) => self.backlog = frame.as_bytes().len() - sent.unwrap_or_default(),
            None => self.send(Message::Text(frame.text())),
        }
    }

    /// Sends frames on this connection from outside of its task.
    ///
    /// The order of messages is that of their sending only while this socket has none: a caller who
    /// needs it uses the sender only when the task has nothing to send.
    pub fn frame_sender(&self) -> FrameSender {
        self.stream.get_ref().line().sender()
    }

    /// Keeps others from sending: what they send would come before what is queued, or after the end.
    fn reserve(&self) {
        self.stream.get_ref().line().lock().set_reserved(true);
    }

    /// Sends the queued messages and, if `reads`, waits for messages of the peer. It also returns
    /// when a message has begun that is not complete. It is cancel safe.
    ///
    /// # Errors
    ///
    /// Why the connection has ended, after all messages that came before were returned.
    pub async fn work(&mut self, batch: &mut Batch, reads: bool) -> Result<(), Ending> {
        poll_fn(|cx| self.poll_work(cx, batch, reads)).await
    }

    /// [`work`](Self::work) for a caller that polls several sources itself.
    ///
    /// # Errors
    ///
    /// As [`work`](Self::work).
    pub fn poll_work(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Batch,
        reads: bool,
    ) -> Poll<Result<(), Ending>> {
        if let Some(ending) = self.ending.take() {
            return Poll::Ready(Err(ending));
        }
        if self.backlog == 0 {
            // The rest of what a sender has begun.
            self.backlog = self.stream.get_ref().line().lock().unsent();
        }
        if self.backlog > 0 {
            match self.stream.poll_flush_unpin(cx) {
                Poll::Ready(Ok(())) => {
                    self.backlog = 0;
                    self.stream.get_ref().line().lock().set_reserved(false);
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(ending_of(&error))),
                Poll::Pending => {}
            }
        }
        // A peer that does not read the responses is not read from, either.
        if !reads || !self.has_room() {
            return Poll::Pending;
        }
        if self.share.must_close(cx) {
            return Poll::Ready(Err(OVER_BUDGET));
        }
        // The transport delivers a limited number of bytes per turn, so that one large message
        // cannot grow past the budget before the check above runs again.
        self.stream.get_mut().begin_turn();
        while batch.has_room() {
            match self.stream.poll_next_unpin(cx) {
                Poll::Ready(Some(Ok(message))) => self.take(message, batch),
                Poll::Ready(Some(Err(error))) => self.ending = Some(ending_of(&error)),
                Poll::Ready(None) => self.ending = Some(Ending::Disconnected),
                Poll::Pending => return self.poll_pending(cx, batch),
            }
            if self.ending.is_some() {
                break;
            }
        }
        Poll::Ready(self.ended(batch))
    }

    /// Reports the end once the messages that came before it were handled.
    fn ended(&mut self, batch: &Batch) -> Result<(), Ending> {
        self.ending.take_if(|_| batch.is_empty()).map_or(Ok(()), Err)
    }

    /// Adds a message to the batch and notes that no message is incomplete.
    fn take(&mut self, message: Message, batch: &mut Batch) {
        batch.has_received = true;
        batch.bytes += message.len();
        match message {
            Message::Text(text) => batch.messages.push_back(text),
            Message::Binary(bytes) => match Utf8Bytes::try_from(bytes) {
                Ok(text) => batch.messages.push_back(text),
                Err(_) => batch.unreadable += 1,
            },
            // Control frames may occur between the pieces of a message. They are not part of it:
            // two bytes, four of the mask, and their content.
            Message::Ping(content) | Message::Pong(content) => {
                self.whole += 6 + content.len() as u64;
                return;
            }
            Message::Close(_) => {
                self.reserve();
                self.ending = Some(Ending::Disconnected);
                return;
            }
            Message::Frame(_) => return,
        }
        self.whole = self.stream.get_ref().received();
        if self.partial_since.take().is_some() {
            self.share.release();
        }
    }

    /// Handles a read that has to wait: counts the bytes of an incomplete message, and returns the
    /// batch if there is one.
    fn poll_pending(&mut self, cx: &Context<'_>, batch: &Batch) -> Poll<Result<(), Ending>> {
        // tungstenite does not report incomplete messages. All bytes that were received since the
        // end of the last complete message belong to the incomplete one.
        let partial = self.stream.get_ref().received().saturating_sub(self.whole);
        if partial > 0 {
            self.share.hold(usize::try_from(partial).unwrap_or(usize::MAX));
            if self.share.must_close(cx) {
                self.ending = Some(OVER_BUDGET);
                return Poll::Ready(self.ended(batch));
            }
            if self.partial_since.is_none() {
                self.partial_since = Some(Instant::now());
                return Poll::Ready(Ok(()));
            }
        }
        if batch.is_empty() { Poll::Pending } else { Poll::Ready(Ok(())) }
    }

    /// Closes the connection: sends the close frame and drains what the peer still sends.
    ///
    /// The future is boxed: a task has room for it as long as it lives, and it is large.
    pub fn close(mut self, ending: Ending) -> impl Future<Output = ()> + Send {
        Box::pin(async move {
            match ending {
                Ending::Disconnected => {
                    _ = tokio::time::timeout(CLOSE_TIME, self.stream.flush()).await;
                }
                Ending::Closed { code, reason } => self.close_with(code, reason.to_owned()).await,
            }
        })
    }

    /// Like [`close`](Self::close), with a reason that is made at runtime. A frame has room for 123
    /// bytes of it; the rest is cut off.
    pub fn close_with(self, code: u16, mut reason: String) -> impl Future<Output = ()> + Send {
        reason.truncate(reason.floor_char_boundary(MAX_REASON));
        self.reserve();
        let closed = Box::pin(async move {
            let Self { mut stream, share, .. } = self;
            let frame = CloseFrame { code: code.into(), reason: reason.into() };
            if stream.close(Some(frame)).await.is_ok() {
                // The memory of the incomplete message is free from now on.
                let mut transport = stream.into_inner();
                drop(share);
                transport.drain().await;
            }
        });
        async move { _ = tokio::time::timeout(CLOSE_TIME, closed).await }
    }
}

/// The end of a connection whose incomplete message exceeds the budget of all connections.
const OVER_BUDGET: Ending = Ending::Closed {
    code: close_code::TRY_AGAIN_LATER,
    reason: "incomplete messages use too much memory; send the message again later",
};

/// The close code for a failure of the library; failures of the network have none.
fn ending_of(error: &Error) -> Ending {
    let (code, reason) = match error {
        Error::Capacity(_) => (close_code::TOO_LARGE, "the message is too large"),
        Error::Utf8(_) => (close_code::INVALID_TEXT, "the message is not UTF-8"),
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => {
            return Ending::Disconnected;
        }
        Error::Protocol(_) => (close_code::PROTOCOL_ERROR, "this is not a WebSocket frame"),
        _ => return Ending::Disconnected,
    };
    Ending::Closed { code, reason }
}

impl Batch {
    /// Whether anything was received since the last call.
    pub fn take_received(&mut self) -> bool {
        self.bytes = 0;
        std::mem::take(&mut self.has_received)
    }

    /// Whether more messages may be added.
    fn has_room(&self) -> bool {
        self.messages.len() < MAX_BATCH && self.bytes < MAX_BATCH_BYTES
    }

    /// Whether nothing was received, not even a ping.
    fn is_empty(&self) -> bool {
        !self.has_received
    }
}
