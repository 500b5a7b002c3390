//! The WebSockets of live editing: one connection of one client to one document.
//!
//! The connection passes messages between its socket and its [`Member`], which knows the protocol. It
//! handles one message after the other; while one is handled, the socket is not read, so that a client
//! that sends faster than the store can write is slowed by TCP. Messages for the client wait in
//! the member, which has a limit: a client that does not read slows nobody else.

mod liveness;

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::extract::{Request, State};
use axum::http::header::SEC_WEBSOCKET_PROTOCOL;
use axum::http::{HeaderMap, HeaderValue};
use oxikit_http::websocket::{Batch, Ending, Handshake, Message, Socket, Utf8Bytes};
use oxikit_wire::close_code;
use oxikit_wire::prompts::{ClientMessage, ErrorCode, ErrorMessage, PROTOCOL, ServerMessage};
use serde::Deserialize;
use tokio::time::{Instant, Sleep, sleep_until};

use super::failure::{Answer, Failure};
use super::target::Target;
use super::{PromptApi, RouteOptions};
use crate::{JoinOptions, Member, Outgoing, PromptsError};
pub(crate) use liveness::Liveness;

/// Maximum number of bytes of an error text. The rest is cut off: the parser repeats parts of the
/// message, which may be large.
const MAX_ERROR_TEXT: usize = 300;
/// Maximum number of bytes of an `op` that is repeated in an error.
const MAX_OP: usize = 256;

/// `GET /api/prompts/ws/{id}` and the others: opens a document for live editing. The check for the
/// document comes after the handshake, because a browser shows a page only close codes, not the
/// status of a refused handshake.
pub(crate) async fn open(
    State(api): State<Arc<PromptApi>>,
    target: Target,
    request: Request,
) -> Answer {
    accept(&api, request, |api, socket| serve(api, socket, target))
}

/// Accepts a WebSocket and runs its work as a task of the server.
pub(crate) fn accept<F, W>(api: &Arc<PromptApi>, mut request: Request, work: F) -> Answer
where
    F: FnOnce(Arc<PromptApi>, Box<Socket>) -> W + Send + 'static,
    W: Future<Output = ()> + Send + 'static,
{
    let handshake = Handshake::read(&mut request)?;
    let busy = || Failure::busy("too many WebSockets are open; try again later");
    let slot = api.sockets.take_slot().ok_or_else(busy)?;
    let names_protocol = offers_protocol(request.headers());
    let (mut response, upgraded) = handshake.accept();
    if names_protocol {
        // A browser that has offered protocols needs one of them in the response.
        let protocol = HeaderValue::from_static(PROTOCOL);
        response.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    let own = api.clone();
    api.sockets.spawn(async move {
        if let Ok(upgraded) = upgraded.await {
            let socket = Socket::new(upgraded, own.options.max_message, own.sockets.share()).await;
            // Boxed: the future of a connection is large, and an idle task would keep it inline. It
            // would have room for the socket twice, as an argument and as a variable.
            Box::pin(work(own, Box::new(socket))).await;
        }
        drop(slot);
    });
    Ok(response)
}

/// Whether the client offers the protocol of this crate among its subprotocols.
fn offers_protocol(headers: &HeaderMap) -> bool {
    let offered = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter();
    let offered = offered.filter_map(|value| value.to_str().ok());
    offered.flat_map(|value| value.split(',')).any(|protocol| protocol.trim() == PROTOCOL)
}

/// Joins the document and serves the connection until it ends.
async fn serve(api: Arc<PromptApi>, socket: Box<Socket>, target: Target) {
    // Boxed: the task would have room for this future as long as the socket is open.
    let join = Box::pin(api.prompts.join(&target.id, target.kind, JoinOptions::default()));
    let joined = join.await;
    match joined {
        Ok(member) => Box::new(Connection::new(api, *socket, member)).serve().await,
        Err(error) => {
            let (code, reason) = refusal(&error);
            // Clients of Prompt Manager try again every three seconds, for ever.
            tracing::debug!(code, %error, "a live connection was refused");
            socket.close_with(code, reason).await;
        }
    }
}

/// The close code for a document that cannot be opened, and the reason.
fn refusal(error: &PromptsError) -> (u16, String) {
    match error {
        PromptsError::NotFound { .. } | PromptsError::Ambiguous { .. } => {
            (close_code::NOT_FOUND, error.to_string())
        }
        PromptsError::Closed => (close_code::GOING_AWAY, SHUTDOWN.to_owned()),
        _ => (close_code::INTERNAL_ERROR, "the document could not be opened".to_owned()),
    }
}

/// A message of the client that is being handled.
type Handling = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Why a connection ends.
enum End {
    Socket(Ending),
    Member { code: u16, reason: String },
}

/// A socket and the member behind it.
struct Connection {
    api: Arc<PromptApi>,
    socket: Socket,
    member: Arc<Member>,
    handling: Option<Handling>,
    liveness: Liveness,
}

impl Connection {
    fn new(api: Arc<PromptApi>, socket: Socket, member: Member) -> Self {
        let liveness = Liveness::new(&api.options);
        member.send_through(socket.frame_sender());
        Self { api, socket, member: Arc::new(member), handling: None, liveness }
    }

    async fn serve(mut self: Box<Self>) {
        let end = self.exchange().await;
        // An edit that has begun is finished: it may be stored already, and its answer is the last
        // message.
        if let Some(handling) = self.handling.take() {
            handling.await;
        }
        while self.socket.has_room()
            && let Some(Outgoing::Text(text)) = self.member.try_next()
        {
            self.socket.send(Message::text(&*text));
        }
        let Self { socket, member, .. } = *self;
        drop(member);
        match end {
            End::Socket(ending) => socket.close(ending).await,
            End::Member { code, reason } => socket.close_with(code, reason).await,
        }
    }

    /// Reads, writes and handles deadlines until the connection must end.
    async fn exchange(&mut self) -> End {
        let mut batch = Batch::default();
        let closing = self.api.sockets.closing();
        let mut closing = pin!(closing.cancelled());
        let mut timer = pin!(sleep_until(self.deadline()));
        poll_fn(|cx| {
            if let Poll::Ready(end) = self.poll_sources(cx, &mut batch, timer.as_mut()) {
                return Poll::Ready(end);
            }
            closing.as_mut().poll(cx).map(|()| End::Socket(ENDING_SHUTDOWN))
        })
        .await
    }

    /// Polls everything once, and again whatever may go on because of it. A message for the client
    /// is thus taken and sent by a single poll, which a `select!` would need two for.
    fn poll_sources(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut Batch,
        mut timer: Pin<&mut Sleep>,
    ) -> Poll<End> {
        loop {
            self.handle_next(batch);
            if let Some(handling) = &mut self.handling
                && handling.as_mut().poll(cx).is_ready()
            {
                self.handling = None;
                // The socket was not read meanwhile, so its silence says nothing.
                self.liveness.received();
                continue;
            }
            let had_room = self.socket.has_room();
            if let Some(end) = self.write(cx) {
                return Poll::Ready(end);
            }
            match self.socket.poll_work(cx, batch, self.handling.is_none()) {
                Poll::Ready(Err(ending)) => return Poll::Ready(End::Socket(ending)),
                Poll::Ready(Ok(())) => {
                    if batch.take_received() {
                        self.liveness.received();
                    }
                    continue;
                }
                // The client has read what it was sent: more may be sent.
                Poll::Pending if !had_room && self.socket.has_room() => continue,
                Poll::Pending => {}
            }
            let deadline = self.deadline();
            if timer.deadline() != deadline {
                timer.as_mut().reset(deadline);
            }
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            if let Some(ending) = self.handle_deadlines() {
                return Poll::Ready(End::Socket(ending));
            }
        }
    }

    /// Begins to handle the next message, if none is being handled. Messages that cannot be read are
    /// answered with an error.
    fn handle_next(&mut self, batch: &mut Batch) {
        for _ in 0..std::mem::take(&mut batch.unreadable) {
            self.member.send(&unreadable("the message is not text in UTF-8", None));
        }
        while self.handling.is_none() {
            let Some(text) = batch.messages.pop_front() else { return };
            match parse(&text) {
                Ok(message) => {
                    let member = self.member.clone();
                    self.handling = Some(Box::pin(async move { member.handle(message).await }));
                }
                Err(error) => self.member.send(&error),
            }
        }
    }

    /// Passes the messages that wait to the socket, as long as the client reads them.
    fn write(&mut self, cx: &mut Context<'_>) -> Option<End> {
        while self.socket.has_room() {
            match self.member.poll_next(cx) {
                Poll::Ready(Outgoing::Text(text)) => self.socket.send_frame(cx, &text),
                Poll::Ready(Outgoing::Close { code, reason }) => {
                    return Some(End::Member { code, reason });
                }
                Poll::Pending => break,
            }
        }
        None
    }

    /// The next time at which `handle_deadlines` has something to do.
    fn deadline(&self) -> Instant {
        let complete_by = self.complete_by();
        complete_by.map_or(self.liveness.next_ping(), |at| at.min(self.liveness.next_ping()))
    }

    /// Deadline for the rest of an incomplete message. While the socket is not read, it is not the
    /// fault of the client.
    fn complete_by(&self) -> Option<Instant> {
        let since = self.socket.partial_since().filter(|_| self.handling.is_none());
        since.map(|at| at + self.api.options.message_timeout)
    }

    fn handle_deadlines(&mut self) -> Option<Ending> {
        let now = Instant::now();
        if self.complete_by().is_some_and(|at| at <= now) {
            return Some(ENDING_UNFINISHED);
        }
        if self.handling.is_some() {
            self.liveness.received();
        }
        self.liveness.ping_if_due(now, &self.api.options, &mut self.socket)
    }
}

/// Reads a message. JSON that is nested more than 128 levels deep is refused by the parser.
fn parse(text: &Utf8Bytes) -> Result<ClientMessage, Box<ServerMessage>> {
    serde_json::from_str(text).map_err(|error| {
        #[derive(Deserialize)]
        struct Named {
            op: Option<String>,
        }
        let op = serde_json::from_str(text).ok().and_then(|Named { op }| op);
        let reason = if error.is_data() { "cannot be used" } else { "is not JSON" };
        Box::new(unreadable(&format!("the message {reason}: {error}"), op))
    })
}

/// The answer to a message that cannot be read.
fn unreadable(text: &str, op: Option<String>) -> ServerMessage {
    let message = text[..text.floor_char_boundary(MAX_ERROR_TEXT)].to_owned();
    let op = op.filter(|op| op.len() <= MAX_OP);
    ServerMessage::Error(ErrorMessage { code: ErrorCode::BadRequest, message, op })
}

const SHUTDOWN: &str = "the server shuts down";
pub(crate) const ENDING_SHUTDOWN: Ending =
    Ending::Closed { code: close_code::GOING_AWAY, reason: SHUTDOWN };
pub(crate) const ENDING_UNFINISHED: Ending =
    Ending::Closed { code: close_code::PROTOCOL_ERROR, reason: "the message was not completed" };

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the error for a message: a part of its text, and the `op`.
    #[track_caller]
    fn check(text: &str, part: &str, op: Option<&str>) {
        let error = parse(&Utf8Bytes::from(text.to_owned())).unwrap_err();
        let ServerMessage::Error(error) = *error else { panic!("{error:?}") };
        assert_eq!(error.code, ErrorCode::BadRequest);
        assert!(error.message.contains(part), "{}", error.message);
        assert_eq!(error.op.as_deref(), op);
    }

    #[test]
    fn a_message_that_cannot_be_read_is_explained() {
        check("", "is not JSON", None);
        check("{", "is not JSON", None);
        check("hello", "is not JSON", None);
        check("[1]", "cannot be used", None);
        check("{}", "`action`", None);
        check(r#"{"action":"fly"}"#, "`fly`", None);
        check(r#"{"action":"update","op":"7"}"#, "`content`", Some("7"));
        let deep =
            format!(r#"{{"action":"update","content":{}1{}}}"#, "[".repeat(9999), "]".repeat(9999));
        check(&deep, "is not JSON: recursion limit", None);
    }

    #[test]
    fn an_error_repeats_little_of_a_large_message() {
        let text = format!(r#"{{"action":"{}","op":"{}"}}"#, "é".repeat(9999), "x".repeat(9999));
        let ServerMessage::Error(error) = *parse(&text.into()).unwrap_err() else { panic!() };
        assert!(error.message.len() <= MAX_ERROR_TEXT && error.op.is_none());
    }
}
