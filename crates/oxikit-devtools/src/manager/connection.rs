//! One connection of a runtime: the only task that reads and writes its socket.
//!
//! When the reader of one run is slow and its queue is full, the socket is not read
//! until there is room: so the runtime is slowed, and with it the other runs on this
//! socket. A reader that takes nothing for [`ManagerOptions::reader_time`] loses its
//! run, and the socket is read again. Writing, cancelling and pinging never wait
//! for a reader.
//!
//! [`ManagerOptions::reader_time`]: super::ManagerOptions::reader_time

use std::future::{pending, poll_fn};
use std::sync::Arc;

use bytes::Bytes;
use oxikit_core::StatusCode;
use oxikit_wire::rpc::{
    ConfigureParams, RegisterParams, RpcError, RpcMessage, RuntimeMessage, rpc_code,
};
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use super::Runtimes;
use super::failure::{failure, from_rpc, refusal};
use super::incoming::{echoed, object, request_of, trace_of};
use super::peer::{Answer, Line, LineEnd, Order, Peer};
use super::run::Run;
use super::runtimes::Claim;
use super::socket::{Batch, Ending, Socket};

/// Requests that are written at once.
const WRITTEN_AT_ONCE: usize = 32;

/// What one connection may do wrong before the log says no more of it.
const MAX_REFUSALS_LOGGED: u64 = 3;

/// A socket, and who is at its other end.
pub(crate) struct Connection {
    runtimes: Runtimes,
    socket: Socket,
    line: Line,
    line_end: LineEnd,
    peer: Option<Arc<Peer>>,
    pulse: Pulse,
    full: Option<Full>,
    unreadable: u64,
    refused: u64,
}

/// When the runtime was heard of, and when it is asked next.
struct Pulse {
    last_heard: Instant,
    next_ping: Instant,
    /// By when it must be heard of, or it is shown as silent.
    answer_by: Option<Instant>,
    is_silent: bool,
    probes: Vec<oneshot::Sender<()>>,
}

/// A chunk that has no room. The socket is not read meanwhile.
struct Full {
    run: Arc<Run>,
    request: u128,
    chunk: Bytes,
    until: Instant,
}

/// What is to be done with a message before the next one.
enum Next {
    Go,
    Wait(Full),
    Register(Utf8Bytes),
}

impl Connection {
    pub(crate) fn new(runtimes: Runtimes, socket: Socket) -> Self {
        let (line, line_end) = Line::new(runtimes.next_connection());
        let now = Instant::now();
        let pulse = Pulse {
            last_heard: now,
            next_ping: now + runtimes.options().ping,
            answer_by: None,
            is_silent: false,
            probes: Vec::new(),
        };
        let (peer, full, unreadable, refused) = (None, None, 0, 0);
        Self { runtimes, socket, line, line_end, peer, pulse, full, unreadable, refused }
    }

    /// Serves it to its end.
    pub(crate) async fn serve(mut self) {
        let ending = self.exchange().await;
        // Before the goodbye, which may take its time: others wait for this.
        if let Some(peer) = self.peer.take() {
            tracing::info!(runtime_id = %peer.id, ?ending, "runtime disconnected");
            self.runtimes.left(&peer, self.line.connection);
        }
        if self.unreadable > 0 {
            tracing::warn!(count = self.unreadable, "messages of a runtime could not be read");
        }
        self.socket.close(ending).await;
    }

    async fn exchange(&mut self) -> Ending {
        let mut batch = Batch::default();
        let (closing, timer) = (self.runtimes.closing(), sleep_until(self.deadline()));
        tokio::pin!(closing, timer);
        loop {
            self.handle(&mut batch).await;
            let deadline = self.deadline();
            if timer.deadline() != deadline {
                timer.as_mut().reset(deadline);
            }
            let reads = self.full.is_none();
            let takes = self.socket.has_room();
            tokio::select! {
                worked = self.socket.work(&mut batch, reads) => {
                    if let Err(ending) = worked {
                        return ending;
                    }
                    if batch.take_heard() {
                        self.heard();
                    }
                }
                Some(order) = self.line_end.orders.recv() => {
                    if let Some(ending) = self.obey(order) {
                        return ending;
                    }
                }
                Some(request) = self.line_end.requests.recv(), if takes => self.write(request),
                () = room(self.full.as_ref()) => self.go_on(),
                () = &mut timer => {
                    if let Some(ending) = self.look_at_clock() {
                        return ending;
                    }
                }
                () = &mut closing => return ENDING_SHUTDOWN,
            }
        }
    }

    /// Handles what was read, until a chunk has no room.
    async fn handle(&mut self, batch: &mut Batch) {
        self.unreadable += std::mem::take(&mut batch.unreadable);
        while self.full.is_none() {
            let Some(message) = batch.messages.pop_front() else { return };
            match self.dispatch(message) {
                Next::Go => {}
                Next::Wait(full) => self.full = Some(full),
                Next::Register(message) => self.register(message).await,
            }
        }
    }

    fn dispatch(&mut self, message: Utf8Bytes) -> Next {
        let Ok(parsed) = object::<RuntimeMessage<'_>>(&message) else {
            return self.dispatch_odd(message);
        };
        let Some(method) = parsed.method.as_deref() else {
            self.answered(&message, &parsed);
            return Next::Go;
        };
        let notice = parsed.params.as_ref();
        let request = notice.and_then(|notice| request_of(notice.request_id));
        match method {
            "streamChunk" => {
                let chunk = notice.and_then(|notice| notice.chunk);
                return self.chunk(&message, request, chunk);
            }
            "runActionState" => {
                let trace_id = notice.and_then(|notice| notice.state).and_then(trace_of);
                if let (Some(peer), Some(request), Some(trace_id)) = (&self.peer, request, trace_id)
                {
                    peer.run_started(request, &trace_id);
                }
            }
            "register" => return Next::Register(message),
            method => self.refuse_method(parsed.id, method),
        }
        Next::Go
    }

    /// A message whose parameters are of another form. It is answered if it is a
    /// request, and counted if it is nothing.
    fn dispatch_odd(&mut self, message: Utf8Bytes) -> Next {
        let Ok(parsed) = object::<RpcMessage<'_>>(&message) else {
            self.unreadable += 1;
            if self.unreadable == 1 {
                tracing::warn!("a runtime sent what is no message; further ones are counted");
            }
            return Next::Go;
        };
        match parsed.method.as_deref() {
            Some("register") => return Next::Register(message),
            Some(method) => self.refuse_method(parsed.id, method),
            None => {}
        }
        Next::Go
    }

    fn refuse_method(&mut self, id: Option<&RawValue>, method: &str) {
        let method: String = method.chars().take(64).collect();
        let message = format!("Method not found: {method}");
        self.reply(id, Err(refusal(rpc_code::METHOD_NOT_FOUND, message)));
    }

    /// Only what this runtime was asked can be answered here.
    fn answered(&self, message: &Utf8Bytes, parsed: &RuntimeMessage<'_>) {
        let (Some(peer), Some(request)) = (&self.peer, request_of(parsed.id)) else { return };
        let frame = AsRef::<Bytes>::as_ref(message);
        let answer = match (parsed.error, parsed.result) {
            (Some(error), _) => Err(from_rpc(error)),
            (None, Some(result)) => Ok(Answer { frame, result }),
            (None, None) => Err(failure(
                StatusCode::Internal,
                "the runtime answered with neither a result nor an error",
            )),
        };
        peer.answered(request, answer);
    }

    fn chunk(&self, message: &Utf8Bytes, request: Option<u128>, chunk: Option<&RawValue>) -> Next {
        let (Some(peer), Some(request), Some(chunk)) = (&self.peer, request, chunk) else {
            return Next::Go;
        };
        let Some(run) = peer.run(request) else { return Next::Go };
        let chunk = AsRef::<Bytes>::as_ref(message).slice_ref(chunk.get().as_bytes());
        match run.mailbox.offer(chunk) {
            Ok(()) => Next::Go,
            Err(chunk) => {
                let until = Instant::now() + self.runtimes.options().reader_time;
                Next::Wait(Full { run, request, chunk, until })
            }
        }
    }

    /// There is room again.
    fn go_on(&mut self) {
        let Some(full) = self.full.take() else { return };
        if let Err(chunk) = full.run.mailbox.offer(full.chunk.clone()) {
            self.full = Some(Full { chunk, ..full });
        }
        // What was not read meanwhile is no sign that the runtime is gone.
        self.heard();
    }

    async fn register(&mut self, message: Utf8Bytes) {
        let Ok(parsed) = object::<RpcMessage<'_>>(&message) else { return };
        let params = parsed.params.map_or("null", RawValue::get);
        let answer = match object::<RegisterParams>(params) {
            Ok(params) => self.enter(&params).await,
            Err(error) => {
                Err(format!("register needs an `id` as text and a `pid` as a number: {error}"))
            }
        };
        if let Err(reason) = &answer {
            self.refused += 1;
            if self.refused <= MAX_REFUSALS_LOGGED {
                tracing::warn!(%reason, "a runtime could not register");
            }
        }
        let answer = answer.map_err(|reason| refusal(rpc_code::INVALID_PARAMS, reason));
        self.reply(parsed.id, answer);
    }

    /// Gives the connection its id, unless its owner is alive. An error says why
    /// not.
    async fn enter(&mut self, params: &RegisterParams) -> Result<ConfigureParams, String> {
        if params.id.is_empty() || params.id.len() > 256 {
            return Err("the `id` of a runtime must have 1 to 256 bytes".to_owned());
        }
        if let Some(peer) = self.peer.as_ref().filter(|peer| peer.id != params.id) {
            return Err(format!(
                "this connection is the runtime `{}`: open another one for `{}`",
                peer.id, params.id
            ));
        }
        loop {
            match self.runtimes.claim(params, &self.line) {
                Claim::Granted(peer) => {
                    self.peer = Some(peer);
                    return Ok(self.runtimes.configuration());
                }
                Claim::Taken(owner) => {
                    if owner.answers(self.runtimes.options().probe).await {
                        return Err(format!(
                            "the id `{}` is in use by another connection: end that runtime, or \
                             set another `GENKIT_RUNTIME_ID`",
                            params.id
                        ));
                    }
                    self.runtimes.evict(&params.id, &owner);
                }
            }
        }
    }

    fn reply(&mut self, id: Option<&RawValue>, answer: Result<ConfigureParams, RpcError>) {
        let Some(id) = id.map(echoed) else { return };
        let (member, body) = match answer {
            Ok(result) => ("result", serde_json::to_string(&result)),
            Err(error) => ("error", serde_json::to_string(&error)),
        };
        let body = body.unwrap_or_default();
        let text = format!(r#"{{"jsonrpc":"2.0","{member}":{body},"id":{id}}}"#);
        self.socket.send(Message::text(text));
    }

    /// Writes a request and those behind it.
    fn write(&mut self, request: String) {
        self.socket.send(Message::text(request));
        for _ in 1..WRITTEN_AT_ONCE {
            if !self.socket.has_room() {
                break;
            }
            let Ok(request) = self.line_end.requests.try_recv() else { break };
            self.socket.send(Message::text(request));
        }
        self.ask_for_life();
    }

    /// A runtime that has been quiet is pinged when it is asked something, so that
    /// it is known soon whether anybody is there.
    fn ask_for_life(&mut self) {
        let probe = self.runtimes.options().probe;
        let now = Instant::now();
        if self.pulse.answer_by.is_none() && now - self.pulse.last_heard > probe {
            self.socket.send(Message::Ping(Bytes::new()));
            self.pulse.answer_by = Some(now + probe);
        }
    }

    fn obey(&mut self, order: Order) -> Option<Ending> {
        match order {
            Order::Cancel(trace_id) => {
                // Nobody waits for the answer, so it needs no entry.
                let text = format!(
                    r#"{{"jsonrpc":"2.0","id":"0","method":"cancelAction","params":{{"traceId":"{trace_id}"}}}}"#
                );
                self.socket.send(Message::text(text));
            }
            Order::Probe(heard) => {
                self.pulse.probes.push(heard);
                self.socket.send(Message::Ping(Bytes::new()));
            }
            Order::Configure(params) => {
                let text = format!(r#"{{"jsonrpc":"2.0","method":"configure","params":{params}}}"#);
                self.socket.send(Message::text(text));
            }
            Order::Close => return Some(ENDING_GONE),
        }
        None
    }

    fn heard(&mut self) {
        self.pulse.last_heard = Instant::now();
        self.pulse.answer_by = None;
        for probe in self.pulse.probes.drain(..) {
            // Whoever asked may have left.
            _ = probe.send(());
        }
        self.show_silence(false);
    }

    fn show_silence(&mut self, is_silent: bool) {
        if self.pulse.is_silent == is_silent {
            return;
        }
        self.pulse.is_silent = is_silent;
        if let Some(peer) = &self.peer {
            self.runtimes.set_silent(peer, is_silent);
        }
    }

    /// When there is something to be done without being asked.
    fn deadline(&self) -> Instant {
        let partial =
            self.socket.partial_since().map(|at| at + self.runtimes.options().message_time);
        let full = self.full.as_ref().map(|full| full.until);
        let others = [partial.filter(|_| full.is_none()), full, self.pulse.answer_by];
        others.into_iter().flatten().fold(self.pulse.next_ping, Instant::min)
    }

    fn look_at_clock(&mut self) -> Option<Ending> {
        let options = self.runtimes.options();
        let (ping, no_pong, message_time) = (options.ping, options.no_pong, options.message_time);
        let now = Instant::now();
        if let Some(full) = self.full.take_if(|full| full.until <= now) {
            self.give_up(full);
        }
        if self.full.is_none()
            && self.socket.partial_since().is_some_and(|at| at + message_time <= now)
        {
            return Some(Ending::SentAway {
                code: CloseCode::Protocol,
                reason: "the message was not completed",
            });
        }
        if self.pulse.answer_by.is_some_and(|at| at <= now) {
            self.pulse.answer_by = None;
            self.show_silence(true);
        }
        if self.pulse.next_ping <= now {
            // A little early rather than one ping too late.
            let is_gone = now - self.pulse.last_heard + ping / 4 >= no_pong;
            if is_gone && self.full.is_none() {
                return Some(ENDING_GONE);
            }
            self.pulse.next_ping = now + ping;
            self.socket.send(Message::Ping(Bytes::new()));
            if let Some(peer) = &self.peer {
                peer.sweep();
            }
        }
        None
    }

    /// The reader took nothing for too long.
    fn give_up(&mut self, full: Full) {
        if let Some(peer) = &self.peer {
            let message = "the run was stopped: its chunks were not read fast enough";
            let error = failure(StatusCode::ResourceExhausted, message);
            peer.give_up(&full.run, full.request, error);
        }
        self.heard();
    }
}

const ENDING_GONE: Ending =
    Ending::SentAway { code: CloseCode::Away, reason: "no answer to pings" };
const ENDING_SHUTDOWN: Ending =
    Ending::SentAway { code: CloseCode::Restart, reason: "the manager ends" };

/// Ready when the chunk that waits can be put in.
async fn room(full: Option<&Full>) {
    match full {
        Some(full) => poll_fn(|cx| full.run.mailbox.poll_room(cx)).await,
        None => pending().await,
    }
}
