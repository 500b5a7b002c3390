//! One socket to a manager: what is read, what is written, and whether the other
//! side is still there.

use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{Sink, SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, Frame as SocketFrame};
use tokio_tungstenite::tungstenite::protocol::{Message, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Utf8Bytes};
use tokio_util::sync::CancellationToken;

use super::frames::{self, Frame, MAX_MESSAGE, RequestId};
use super::outbox::Outbox;
use super::requests::Requests;
use super::session::Session;

/// The manager is asked for a sign of life so often, and must give one so soon.
const PING: Duration = Duration::from_secs(15);
const SILENCE: Duration = Duration::from_secs(30);
/// While answers are not confirmed, it is asked so often.
const CONFIRM: Duration = Duration::from_millis(100);
/// What is left for a former manager waits so long for the first request of the
/// new connection, which tells whether it is the same.
const HOLD: Duration = Duration::from_millis(300);
/// A farewell takes no longer.
const FAREWELL: Duration = Duration::from_millis(100);
/// What a peer still sends that was told to close is read so long: it would not
/// see why otherwise.
const DRAIN: Duration = Duration::from_secs(1);
/// So much goes out before there is a look at the clock again.
const TOGETHER: usize = 128 * 1024;
/// The buffers of a socket. Larger messages get their own.
const BUFFER: usize = 16 * 1024;

/// Why a connection is over.
#[derive(Debug)]
pub(super) enum End {
    /// We are.
    Ours,
    /// The manager closed it.
    Closed,
    /// It gave no sign of life.
    Silent,
    /// The network, or a message that is none.
    Broken(Error),
}

/// How sockets are set up: small buffers, bounded messages.
pub(super) fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(BUFFER)
        .write_buffer_size(BUFFER)
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE))
}

/// Registers and serves until the connection ends.
pub(super) async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send>(
    socket: WebSocketStream<S>,
    session: &Arc<Session>,
    number: u64,
    ending: &CancellationToken,
) -> End {
    let register_id = RequestId::new(&format!("\"{number}\"")).expect("a text is an id");
    let register = frames::register(&register_id, &session.identity.register_params());
    session.outbox.reopen();
    let requests = Requests::new(session.clone(), number, register_id);
    let (mut sink, mut stream) = socket.split();
    let pongs = Notify::new();
    let end = tokio::select! {
        () = ending.cancelled() => End::Ours,
        end = read(&mut stream, requests, &session.outbox, &pongs) => end,
        Err(error) = write(&mut sink, register, &session.outbox) => End::Broken(error),
        () = silence(&pongs) => End::Silent,
        never = release(&session.outbox) => match never {},
    };
    session.end_all_inputs();
    if let Ok(mut socket) = sink.reunite(stream) {
        take_leave(&mut socket, &end, &session.outbox).await;
    }
    end
}

async fn read<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut SplitStream<WebSocketStream<S>>,
    mut requests: Requests,
    outbox: &Outbox,
    pongs: &Notify,
) -> End {
    while let Some(message) = stream.next().await {
        match message {
            Ok(Message::Text(text)) => requests.take(&Bytes::from(text)).await,
            Ok(Message::Binary(text)) => requests.take(&text).await,
            Ok(Message::Pong(number)) => {
                pongs.notify_one();
                if let Ok(number) = number[..].try_into() {
                    outbox.confirm(u64::from_be_bytes(number));
                }
            }
            Ok(Message::Close(_)) => {
                // Our half of it is written when the next message is asked for.
                _ = timeout(FAREWELL, stream.next()).await;
                return End::Closed;
            }
            Ok(Message::Ping(_) | Message::Frame(_)) => {}
            Err(error) => return End::Broken(error),
        }
        // A manager that never stops must let the writer have its turn.
        tokio::task::coop::consume_budget().await;
    }
    End::Closed
}

/// Writes what there is, and asks whether it has arrived.
async fn write<S: AsyncRead + AsyncWrite + Unpin>(
    sink: &mut SplitSink<WebSocketStream<S>, Message>,
    register: Frame,
    outbox: &Outbox,
) -> Result<Infallible, Error> {
    sink.send(message(register)).await?;
    let (mut last_ping, mut pinged) = (Instant::now(), outbox.taken());
    loop {
        let wait = if outbox.needs_ping(pinged) { CONFIRM } else { PING };
        tokio::select! {
            () = sleep_until(last_ping + wait) => {
                (last_ping, pinged) = (Instant::now(), outbox.taken());
                let number = Bytes::copy_from_slice(&pinged.to_be_bytes());
                sink.feed(Message::Ping(number)).await?;
            }
            () = outbox.ready() => feed_ready(sink, outbox).await?,
        }
        sink.flush().await?;
    }
}

/// Hands over what is ready, so that it can be written as one piece. A frame is
/// taken when the socket has room for it: what was not taken is not lost.
async fn feed_ready<S: Sink<Message, Error = Error> + Unpin>(
    sink: &mut S,
    outbox: &Outbox,
) -> Result<(), Error> {
    let mut bytes = 0;
    while bytes < TOGETHER {
        poll_fn(|cx| sink.poll_ready_unpin(cx)).await?;
        let Some(frame) = outbox.take() else { break };
        bytes += frame.text.len();
        sink.start_send_unpin(message(frame))?;
    }
    Ok(())
}

/// As a message of the socket. It was written as JSON by us: to look at it again
/// would cost a pass.
fn message(frame: Frame) -> Message {
    Message::Frame(SocketFrame::message(frame.text, OpCode::Data(Data::Text), true))
}

/// Ends when the manager has not answered a ping for long.
async fn silence(pongs: &Notify) {
    while timeout(SILENCE, pongs.notified()).await.is_ok() {}
}

/// A manager that asks for nothing gets what is left for it all the same.
async fn release(outbox: &Outbox) -> Infallible {
    sleep(HOLD).await;
    outbox.release_unasked();
    std::future::pending().await
}

/// Tells the other side why, as far as it listens.
async fn take_leave<S: AsyncRead + AsyncWrite + Unpin>(
    socket: &mut WebSocketStream<S>,
    end: &End,
    outbox: &Outbox,
) {
    let (code, reason) = match end {
        End::Ours => (CloseCode::Away, "the application ends"),
        End::Silent => (CloseCode::Away, "no answer to a ping"),
        End::Broken(Error::Capacity(_)) => (CloseCode::Size, "no more than 32 MiB in a message"),
        End::Broken(Error::Protocol(_)) => (CloseCode::Protocol, "not a WebSocket message"),
        End::Broken(Error::Utf8(_)) => (CloseCode::Invalid, "not UTF-8"),
        End::Closed | End::Broken(_) => return,
    };
    let farewell = async {
        if let End::Ours = end {
            feed_ready(socket, outbox).await?;
        }
        let reason = Utf8Bytes::from_static(reason);
        socket.close(Some(CloseFrame { code, reason })).await
    };
    let is_told = matches!(timeout(FAREWELL, farewell).await, Ok(Ok(())));
    if is_told && matches!(end, End::Broken(_)) {
        let mut waste = [0; 4096];
        let drain = async { while matches!(socket.get_mut().read(&mut waste).await, Ok(1..)) {} };
        _ = timeout(DRAIN, drain).await;
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ours => f.write_str("the application ends"),
            Self::Closed => f.write_str("the manager closed it"),
            Self::Silent => f.write_str("the manager does not answer"),
            Self::Broken(error) => error.fmt(f),
        }
    }
}
