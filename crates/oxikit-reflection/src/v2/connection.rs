//! One WebSocket to a manager: reads requests, writes the frames of the outbox, and detects a
//! manager that does not respond.
//!
//! Pings serve two purposes. Their payload is the number of the last frame that was taken from
//! the outbox, and a pong repeats it: since a WebSocket delivers in order, the pong confirms
//! all frames up to that number. A missing pong ends the connection.

use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{Sink, SinkExt, StreamExt};
use oxikit_wire::close_code;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, Frame as SocketFrame};
use tokio_tungstenite::tungstenite::protocol::{Message, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Utf8Bytes};
use tokio_util::sync::CancellationToken;

use super::frames::{self, Frame, MAX_MESSAGE, RequestId};
use super::outbox::Outbox;
use super::requests::Requests;
use super::session::Session;

/// Time between two pings while all responses are confirmed.
const PING_INTERVAL: Duration = Duration::from_secs(15);
/// Time without a pong after which the connection is closed.
const PONG_TIMEOUT: Duration = Duration::from_secs(30);
/// Time between two pings while a response is not confirmed.
const CONFIRM_INTERVAL: Duration = Duration::from_millis(100);
/// Time for which undelivered frames wait for the manager of a new connection to be identified,
/// by its response to `register` or by its first request. Then they are sent.
const IDENTIFY_TIMEOUT: Duration = Duration::from_millis(300);
/// Timeout of the close handshake.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(100);
/// Time for which the socket is still read after a close frame for an invalid message. Closing
/// a socket with unread data resets it, and the manager would not see the reason.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum number of bytes that are passed to the socket before timers are checked again.
const MAX_BATCH_BYTES: usize = 128 * 1024;
/// Size in bytes of the read and write buffers. Larger messages are buffered separately.
const BUFFER_SIZE: usize = 16 * 1024;

/// The reason for the end of a connection.
#[derive(Debug)]
pub(super) enum End {
    /// This application is shutting down.
    Shutdown,
    /// The manager closed the connection.
    Closed,
    /// The manager did not answer pings.
    Silent,
    /// The network failed, or the manager sent an invalid message.
    Broken(Error),
}

/// The configuration of the WebSocket: small buffers and a maximum message size.
pub(super) fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(BUFFER_SIZE)
        .write_buffer_size(BUFFER_SIZE)
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE))
}

/// Registers the runtime and serves the manager until the connection ends.
pub(super) async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send>(
    socket: WebSocketStream<S>,
    session: &Arc<Session>,
    number: u64,
    ending: &CancellationToken,
) -> End {
    let register_id = RequestId::new(&format!("\"{number}\"")).expect("a text is an id");
    let register = frames::register(&register_id, &session.identity.register_params());
    session.outbox.connection_opened();
    let requests = Requests::new(session.clone(), number, register_id);
    // Reading and writing are separate futures, so a manager that does not read cannot stop us
    // from reading its cancellations.
    let (mut sink, mut stream) = socket.split();
    let pongs = Notify::new();
    let end = tokio::select! {
        () = ending.cancelled() => End::Shutdown,
        end = read(&mut stream, requests, &session.outbox, &pongs) => end,
        Err(error) = write(&mut sink, register, &session.outbox) => End::Broken(error),
        () = pong_timeout(&pongs) => End::Silent,
        never = resume_after_timeout(&session.outbox) => match never {},
    };
    // Inputs may have been lost with the connection, so the streams end instead of continuing
    // with a gap.
    session.end_all_inputs();
    if let Ok(mut socket) = sink.reunite(stream) {
        close(&mut socket, &end, &session.outbox).await;
    }
    end
}

/// Reads messages until the connection ends.
async fn read<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut SplitStream<WebSocketStream<S>>,
    mut requests: Requests,
    outbox: &Outbox,
    pongs: &Notify,
) -> End {
    while let Some(message) = stream.next().await {
        match message {
            Ok(Message::Text(text)) => requests.handle(&Bytes::from(text)).await,
            Ok(Message::Binary(text)) => requests.handle(&text).await,
            Ok(Message::Pong(number)) => {
                pongs.notify_one();
                if let Ok(number) = number[..].try_into() {
                    outbox.confirm(u64::from_be_bytes(number));
                }
            }
            Ok(Message::Close(_)) => {
                // tungstenite writes our close frame when the next message is polled.
                _ = timeout(CLOSE_TIMEOUT, stream.next()).await;
                return End::Closed;
            }
            Ok(Message::Ping(_) | Message::Frame(_)) => {}
            Err(error) => return End::Broken(error),
        }
        // A manager that sends without a pause must not starve the writer.
        tokio::task::coop::consume_budget().await;
    }
    End::Closed
}

/// Writes the frames of the outbox, and pings to confirm that they were read.
async fn write<S: AsyncRead + AsyncWrite + Unpin>(
    sink: &mut SplitSink<WebSocketStream<S>, Message>,
    register: Frame,
    outbox: &Outbox,
) -> Result<Infallible, Error> {
    sink.send(message(register)).await?;
    let (mut last_ping, mut pinged) = (Instant::now(), outbox.last_taken());
    loop {
        // A response is confirmed by the pong to a ping that follows it. If the last ping covers
        // all responses, the next one can wait for the regular interval.
        let wait = if outbox.needs_ping(pinged) { CONFIRM_INTERVAL } else { PING_INTERVAL };
        tokio::select! {
            () = sleep_until(last_ping + wait) => {
                (last_ping, pinged) = (Instant::now(), outbox.last_taken());
                let number = Bytes::copy_from_slice(&pinged.to_be_bytes());
                sink.feed(Message::Ping(number)).await?;
            }
            () = outbox.ready() => feed_ready(sink, outbox).await?,
        }
        sink.flush().await?;
    }
}

/// Passes ready frames to the socket, so that they are written together. A frame is taken from
/// the outbox only when the socket accepts it, so none is lost when this future is dropped.
async fn feed_ready<S: Sink<Message, Error = Error> + Unpin>(
    sink: &mut S,
    outbox: &Outbox,
) -> Result<(), Error> {
    let mut bytes = 0;
    while bytes < MAX_BATCH_BYTES {
        poll_fn(|cx| sink.poll_ready_unpin(cx)).await?;
        let Some(frame) = outbox.take() else { break };
        bytes += frame.text.len();
        sink.start_send_unpin(message(frame))?;
    }
    Ok(())
}

/// A text message. It is built as a raw frame, because the JSON was written by us and does not
/// need the UTF-8 validation of [`Message::text`].
fn message(frame: Frame) -> Message {
    Message::Frame(SocketFrame::message(frame.text, OpCode::Data(Data::Text), true))
}

/// Ready when no pong arrived for [`PONG_TIMEOUT`].
async fn pong_timeout(pongs: &Notify) {
    while timeout(PONG_TIMEOUT, pongs.notified()).await.is_ok() {}
}

/// Sends undelivered frames to a manager that does not identify itself in time.
async fn resume_after_timeout(outbox: &Outbox) -> Infallible {
    sleep(IDENTIFY_TIMEOUT).await;
    outbox.resume_if_unknown();
    std::future::pending().await
}

/// Closes the WebSocket with a code and a reason, if the manager still reads.
async fn close<S: AsyncRead + AsyncWrite + Unpin>(
    socket: &mut WebSocketStream<S>,
    end: &End,
    outbox: &Outbox,
) {
    let (code, reason) = match end {
        End::Shutdown => (close_code::GOING_AWAY, "the application ends"),
        End::Silent => (close_code::GOING_AWAY, "no answer to a ping"),
        End::Broken(Error::Capacity(_)) => {
            (close_code::TOO_LARGE, "no more than 32 MiB in a message")
        }
        End::Broken(Error::Protocol(_)) => (close_code::PROTOCOL_ERROR, "not a WebSocket message"),
        End::Broken(Error::Utf8(_)) => (close_code::INVALID_TEXT, "not UTF-8"),
        End::Closed | End::Broken(_) => return,
    };
    let handshake = async {
        // Results of runs that ended just before the shutdown.
        if let End::Shutdown = end {
            feed_ready(socket, outbox).await?;
        }
        let reason = Utf8Bytes::from_static(reason);
        socket.close(Some(CloseFrame { code: code.into(), reason })).await
    };
    let is_closed = matches!(timeout(CLOSE_TIMEOUT, handshake).await, Ok(Ok(())));
    if is_closed && matches!(end, End::Broken(_)) {
        let mut discarded = [0; 4096];
        let drain =
            async { while matches!(socket.get_mut().read(&mut discarded).await, Ok(1..)) {} };
        _ = timeout(DRAIN_TIMEOUT, drain).await;
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shutdown => f.write_str("the application ends"),
            Self::Closed => f.write_str("the manager closed it"),
            Self::Silent => f.write_str("the manager does not answer"),
            Self::Broken(error) => error.fmt(f),
        }
    }
}
