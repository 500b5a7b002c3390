//! One connection of a runtime: the only task that reads and writes its socket.
//!
//! When the reader of one run is slow and its queue is full, the socket is not read for
//! a moment: so the runtime is slowed, and with it the other runs on this socket. A
//! reader that takes nothing in this moment is not waited for any more; its chunks go
//! into what is left for such runs (`backlog`). It loses its run when that is full, or
//! when it takes nothing for [`ManagerOptions::reader_time`]. Writing, cancelling and
//! pinging never wait for a reader.
//!
//! [`ManagerOptions::reader_time`]: super::ManagerOptions::reader_time

mod dispatch;
mod pulse;
mod refusals;
mod registration;

use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep_until};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::Runtimes;
use super::apart::apart;
use super::failure::{silent, unread};
use super::line::{Line, LineEnd, Order};
use super::mailbox::Offered;
use super::peer::Peer;
use super::run::Run;
use super::runtimes::Process;
use super::socket::{Batch, Ending, Socket};
use dispatch::Next;
use pulse::Pulse;
use refusals::Allowance;

/// Requests that are written at once.
const WRITTEN_AT_ONCE: usize = 32;
/// How long a socket is not read for the sake of one slow reader: once, until that reader
/// has taken something. Others hardly notice, and a fast runtime is slowed to the pace of
/// a reader that goes on.
const PAUSE: Duration = Duration::from_millis(50);
/// And longer for a large chunk: a reader that goes on takes so many bytes in a
/// microsecond.
const READ_PER_MICRO: u64 = 20;

/// A socket, and who is at its other end.
pub(crate) struct Connection {
    runtimes: Runtimes,
    socket: Socket,
    line: Line,
    line_end: LineEnd,
    peer: Option<Arc<Peer>>,
    /// The process of the runtime.
    process: Option<Process>,
    /// By when somebody must have registered.
    register_by: Instant,
    pulse: Pulse,
    full: Option<Full>,
    /// Runs whose readers are not waited for, with their requests.
    behind: Vec<(Arc<Run>, u128)>,
    unreadable: u64,
    refusals: Allowance,
    refused: u64,
}

/// A chunk that has no room. The socket is not read meanwhile.
struct Full {
    run: Arc<Run>,
    request: u128,
    chunk: Bytes,
    until: Instant,
}

impl Connection {
    pub(crate) fn new(runtimes: Runtimes, socket: Socket) -> Self {
        let (line, line_end) = Line::new(runtimes.next_connection());
        let options = runtimes.options();
        let (pulse, register_by) = (Pulse::new(options), Instant::now() + options.register_time);
        let (peer, full, behind, unreadable, refused) = (None, None, Vec::new(), 0, 0);
        Self {
            runtimes,
            socket,
            line,
            line_end,
            peer,
            process: None,
            register_by,
            pulse,
            full,
            behind,
            unreadable,
            refusals: Allowance::new(),
            refused,
        }
    }

    /// Serves it to its end.
    pub(crate) async fn serve(mut self) {
        let ending = self.exchange().await;
        // From here on nobody can queue a request that is never written.
        self.line_end.requests.close();
        // Before the goodbye, which may take its time: others wait for this.
        if let Some(peer) = self.peer.take() {
            tracing::info!(runtime_id = %peer.id, ?ending, "runtime disconnected");
            peer.connection_ended(self.line.connection);
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
        for _ in 0..std::mem::take(&mut batch.unreadable) {
            self.refuse_frame(None);
        }
        while self.full.is_none() {
            let Some(message) = batch.messages.pop_front() else { return };
            match apart(message.len(), || self.dispatch(message)) {
                Next::Go => {}
                Next::Wait(full) => self.full = Some(full),
                Next::Register(message) => self.register(message).await,
            }
        }
    }

    /// There is room again.
    fn go_on(&mut self) {
        let Some(full) = self.full.take() else { return };
        let Full { run, request, chunk, until } = full;
        match run.mailbox.offer(chunk) {
            Offered::Taken => {}
            Offered::Full(chunk) => self.full = Some(Full { run, request, chunk, until }),
            Offered::Overflowed => self.give_up(&run, request),
        }
        // What was not read meanwhile is no sign that the runtime is gone.
        self.heard();
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
        if self.pulse.asked(self.runtimes.options()) {
            self.ping();
        }
    }

    /// Asks for a sign of life. From here on it shows whether the runtime does anything.
    fn ping(&mut self) {
        self.socket.send(Message::Ping(Bytes::new()));
        if let Some(process) = &mut self.process {
            process.look();
        }
    }

    fn obey(&mut self, order: Order) -> Option<Ending> {
        match order {
            Order::Cancel { request, trace_id } => {
                let text = format!(
                    r#"{{"jsonrpc":"2.0","id":"{request}","method":"cancelAction","params":{{"traceId":"{trace_id}"}}}}"#
                );
                self.socket.send(Message::text(text));
            }
            Order::Probe(heard) => {
                self.pulse.tell(heard);
                self.socket.send(Message::Ping(Bytes::new()));
            }
            Order::Configure(params) => self.push_configuration(&params),
            Order::Close => return Some(ENDING_GONE),
        }
        None
    }

    fn heard(&mut self) {
        self.pulse.heard();
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
        let full = self.full.as_ref().map(|full| full.until);
        let reader_time = self.runtimes.options().reader_time;
        let behind = self.behind.iter().filter_map(|(run, _)| run.mailbox.behind_since());
        let others = [
            behind.min().map(|since| since + reader_time),
            self.complete_by().filter(|_| full.is_none()),
            full,
            Some(self.pulse.deadline()),
            self.peer.is_none().then_some(self.register_by),
        ];
        others.into_iter().flatten().fold(self.pulse.next_ping, Instant::min)
    }

    /// Looks whether the runtime is there, as long as runs wait for it.
    fn look_at_runtime(&mut self, now: Instant) -> Option<Ending> {
        self.pulse.look_at = None;
        let (Some(peer), Some(process)) = (&self.peer, &self.process) else { return None };
        if !peer.has_runs() {
            return None;
        }
        if process.has_ended() {
            return Some(ENDING_DEAD);
        }
        let options = self.runtimes.options();
        let probe = options.probe;
        self.pulse.look_at = Some(now + probe / 2);
        if self.full.is_none() && peer.has_unconfirmed() && self.pulse.is_quiet(now, options) {
            self.pulse.pinged(now, probe / 2);
            self.ping();
        }
        None
    }

    /// The runtime was asked and has said nothing in time. That is shown. Callers whose
    /// runs it has not even confirmed are told, unless it is at work: a program whose
    /// only thread computes, as one of JavaScript may, answers nothing meanwhile and is
    /// well all the same.
    fn be_silent(&mut self, now: Instant) {
        self.show_silence(true);
        let (Some(peer), Some(process)) = (&self.peer, &self.process) else { return };
        let options = self.runtimes.options();
        let is_early = self.pulse.silence(now) + options.probe / 4 < options.sign_of_life;
        if is_early || process.is_at_work() {
            // It is asked again at the next look.
            self.pulse.look_at.get_or_insert(now + options.probe / 2);
            return;
        }
        peer.fail_unconfirmed(self.line.connection, &silent(&peer.id));
    }

    /// By when the message that has begun must be complete.
    fn complete_by(&self) -> Option<Instant> {
        self.socket.partial_since().map(|at| at + self.runtimes.options().message_time)
    }

    fn look_at_clock(&mut self) -> Option<Ending> {
        let now = Instant::now();
        if let Some(full) = self.full.take_if(|full| full.until <= now) {
            self.leave_behind(full);
        }
        self.give_up_unread(now);
        if self.full.is_none() && self.complete_by().is_some_and(|at| at <= now) {
            return Some(ENDING_UNFINISHED);
        }
        if self.peer.is_none() && self.register_by <= now {
            return Some(ENDING_NOBODY);
        }
        let options = self.runtimes.options();
        // What was not read is no sign of silence.
        if self.pulse.is_overdue(now, options) && self.full.is_none() {
            self.be_silent(now);
        }
        if self.pulse.look_at.is_some_and(|at| at <= now)
            && let Some(ending) = self.look_at_runtime(now)
        {
            return Some(ending);
        }
        if self.pulse.next_ping <= now {
            let options = self.runtimes.options();
            if self.full.is_none() && self.pulse.is_gone(now, options) {
                return Some(ENDING_GONE);
            }
            self.pulse.pinged_as_usual(now, options);
            self.ping();
            if let Some(peer) = &self.peer {
                peer.sweep();
            }
        }
        None
    }

    /// The reader took nothing while the socket waited for it: that is over.
    fn leave_behind(&mut self, full: Full) {
        let Full { run, request, chunk, .. } = full;
        if !run.mailbox.fall_behind(chunk) {
            self.give_up(&run, request);
        } else if !self.behind.iter().any(|(known, _)| Arc::ptr_eq(known, &run)) {
            self.behind.push((run, request));
        }
        // What was not read meanwhile is no sign that the runtime is gone.
        self.heard();
    }

    /// Readers that took nothing for too long lose their runs.
    fn give_up_unread(&mut self, now: Instant) {
        let reader_time = self.runtimes.options().reader_time;
        for (run, request) in std::mem::take(&mut self.behind) {
            match run.mailbox.behind_since() {
                None => {}
                Some(since) if since + reader_time <= now => self.give_up(&run, request),
                Some(_) => self.behind.push((run, request)),
            }
        }
    }

    /// The chunks of a run are not read.
    fn give_up(&self, run: &Run, request: u128) {
        if let Some(peer) = &self.peer {
            peer.give_up(run, request, unread());
        }
        run.mailbox.drop_unread();
    }
}

const ENDING_GONE: Ending =
    Ending::SentAway { code: CloseCode::Away, reason: "no answer to pings" };
const ENDING_DEAD: Ending =
    Ending::SentAway { code: CloseCode::Away, reason: "the process of the runtime has ended" };
const ENDING_UNFINISHED: Ending =
    Ending::SentAway { code: CloseCode::Protocol, reason: "the message was not completed" };
const ENDING_NOBODY: Ending =
    Ending::SentAway { code: CloseCode::Policy, reason: "no runtime has registered in time" };
const ENDING_SHUTDOWN: Ending =
    Ending::SentAway { code: CloseCode::Restart, reason: "the manager ends" };

/// Ready when the chunk that waits can be put in.
async fn room(full: Option<&Full>) {
    match full {
        Some(full) => poll_fn(|cx| full.run.mailbox.poll_room(cx)).await,
        None => pending().await,
    }
}
