//! One connection of a runtime: the only task that reads and writes its socket.
//!
//! Backpressure: when the queue of one run is full, the task stops reading the socket for
//! [`READ_PAUSE`]. TCP flow control then slows the runtime, and with it the other runs on this
//! socket. If the reader takes nothing during the pause, the task reads on and charges the
//! chunks of this run to the `overflow_budget`. The run ends when the budget is exhausted or
//! when its reader takes nothing for [`ManagerOptions::reader_timeout`]. Writing, cancelling
//! and pinging never wait for a reader.
//!
//! [`ManagerOptions::reader_timeout`]: super::ManagerOptions::reader_timeout

mod dispatch;
mod invalid_frames;
mod liveness;
mod registration;

use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use oxikit_http::websocket::{Batch, Ending, Message, Socket};
use oxikit_wire::close_code;
use oxikit_wire::rpc::{CancelActionParams, method};
use tokio::time::{Instant, sleep_until};

use super::Runtimes;
use super::block_in_place::block_in_place_if_large;
use super::chunk_queue::Offer;
use super::connection_handle::{Command, ConnectionHandle, ConnectionQueues};
use super::failure::{reader_too_slow, silent};
use super::outgoing::{params_text, request_text};
use super::run::Run;
use super::runtimes::Process;
use super::socket_peer::SocketPeer;
use dispatch::NextStep;
use invalid_frames::ErrorReplyLimit;
use liveness::Liveness;

/// Maximum number of requests that are passed to the socket before it is read again.
const MAX_REQUESTS_PER_WRITE: usize = 32;
/// Time for which the socket is not read because one reader is slow. It is short enough that
/// other runs hardly notice, and long enough to slow a fast runtime to the pace of a reader
/// that makes progress. A reader that has used the pause gets another one only after it has
/// caught up.
const READ_PAUSE: Duration = Duration::from_millis(50);
/// Bytes per microsecond that a reader is assumed to process. The pause is extended by the
/// time for a large chunk at this rate.
const READER_BYTES_PER_MICROSECOND: u64 = 20;

/// A socket and the runtime that registered on it.
pub(crate) struct Connection {
    runtimes: Runtimes,
    socket: Socket,
    handle: ConnectionHandle,
    queues: ConnectionQueues,
    peer: Option<Arc<SocketPeer>>,
    /// The process of the registered runtime.
    process: Option<Process>,
    /// Deadline for the registration of a runtime.
    register_by: Instant,
    liveness: Liveness,
    blocked: Option<BlockedChunk>,
    /// Runs that are charged to the overflow budget, with their request ids.
    slow_runs: Vec<(Arc<Run>, u128)>,
    /// Number of received frames that are not JSON-RPC messages.
    unreadable: u64,
    error_replies: ErrorReplyLimit,
    /// Number of rejected registrations.
    refused: u64,
}

/// A chunk for a full queue. The socket is not read until the queue has capacity or `until`.
struct BlockedChunk {
    run: Arc<Run>,
    request: u128,
    chunk: Bytes,
    until: Instant,
}

impl Connection {
    /// A connection that has not registered a runtime yet.
    pub(crate) fn new(runtimes: Runtimes, socket: Socket) -> Self {
        let (handle, queues) = ConnectionHandle::new(runtimes.next_connection());
        let options = runtimes.options();
        let (liveness, register_by) =
            (Liveness::new(options), Instant::now() + options.register_timeout);
        let (peer, blocked, slow_runs, unreadable, refused) = (None, None, Vec::new(), 0, 0);
        Self {
            runtimes,
            socket,
            handle,
            queues,
            peer,
            process: None,
            register_by,
            liveness,
            blocked,
            slow_runs,
            unreadable,
            error_replies: ErrorReplyLimit::new(),
            refused,
        }
    }

    /// Serves the connection until it ends. Boxed: the future would have room for it twice, as an
    /// argument and as a variable.
    pub(crate) async fn serve(mut self: Box<Self>) {
        let ending = self.exchange().await;
        // From here on requests fail at once, instead of being queued and never written.
        self.queues.requests.close();
        // Before the close handshake, which may take long: callers wait for this.
        if let Some(peer) = self.peer.take() {
            tracing::info!(runtime_id = %peer.id, ?ending, "runtime disconnected");
            peer.connection_ended(self.handle.id);
            self.runtimes.disconnected(&peer, self.handle.id);
        }
        if self.unreadable > 0 {
            tracing::warn!(
                count = self.unreadable,
                "received frames that are not JSON-RPC messages"
            );
        }
        self.socket.close(ending).await;
    }

    /// Reads, writes and handles deadlines until the connection must end. Returns why it ends.
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
            // While a chunk is blocked, the socket is written but not read: see the module docs.
            let reads = self.blocked.is_none();
            let takes = self.socket.has_room();
            // Each future here loses nothing when it is dropped: the socket buffers partial frames
            // itself, and a channel keeps a message until `recv` returns it.
            tokio::select! {
                worked = self.socket.work(&mut batch, reads) => {
                    if let Err(ending) = worked {
                        return ending;
                    }
                    if batch.take_received() {
                        self.message_received();
                    }
                }
                Some(command) = self.queues.commands.recv() => {
                    if let Some(ending) = self.execute(command) {
                        return ending;
                    }
                }
                Some(request) = self.queues.requests.recv(), if takes => self.write(request),
                () = queue_capacity(self.blocked.as_ref()) => self.resume_reading(),
                () = &mut timer => {
                    if let Some(ending) = self.handle_deadlines() {
                        return ending;
                    }
                }
                () = &mut closing => return ENDING_SHUTDOWN,
            }
        }
    }

    /// Handles the received messages until a chunk meets a full queue.
    async fn handle(&mut self, batch: &mut Batch) {
        // Frames that are not text were counted by the socket and are not in `messages`.
        for _ in 0..std::mem::take(&mut batch.unreadable) {
            self.refuse_frame(None);
        }
        while self.blocked.is_none() {
            let Some(message) = batch.messages.pop_front() else { return };
            match block_in_place_if_large(message.len(), || self.dispatch(message)) {
                NextStep::Continue => {}
                NextStep::Wait(blocked) => self.blocked = Some(blocked),
                // Boxed: a connection has room for this future as long as it lives.
                NextStep::Register(message) => Box::pin(self.register(message)).await,
            }
        }
    }

    /// Retries the blocked chunk.
    fn resume_reading(&mut self) {
        // The queue has capacity, or the run has ended or was abandoned. In the latter cases
        // `offer` drops the chunk.
        let Some(blocked) = self.blocked.take() else { return };
        let BlockedChunk { run, request, chunk, until } = blocked;
        match run.queue.offer(chunk) {
            Offer::Accepted => {}
            Offer::Full(chunk) => self.blocked = Some(BlockedChunk { run, request, chunk, until }),
            Offer::Overflowed => self.give_up(&run, request),
        }
        // The socket was not read meanwhile, so the silence says nothing about the runtime.
        self.message_received();
    }

    /// Writes a request and further queued ones.
    fn write(&mut self, request: String) {
        // `send` only queues in the socket, so several requests can be written together.
        self.socket.send(Message::text(request));
        for _ in 1..MAX_REQUESTS_PER_WRITE {
            if !self.socket.has_room() {
                break;
            }
            let Ok(request) = self.queues.requests.try_recv() else { break };
            self.socket.send(Message::text(request));
        }
        if self.liveness.request_sent(self.runtimes.options()) {
            self.ping();
        }
    }

    /// Sends a ping. Records the processor time of the process, to see later whether it was busy
    /// since then.
    fn ping(&mut self) {
        self.socket.send(Message::Ping(Bytes::new()));
        if let Some(process) = &mut self.process {
            process.record_cpu_time();
        }
    }

    /// Executes a command of another task. Returns why the connection must end, if it must.
    fn execute(&mut self, command: Command) -> Option<Ending> {
        match command {
            Command::Cancel { request, trace_id } => {
                let params = params_text(&CancelActionParams { trace_id: trace_id.to_string() });
                let text = request_text(request, method::CANCEL_ACTION, Some(&params));
                self.socket.send(Message::text(text));
            }
            Command::Probe(received) => {
                self.liveness.notify_on_message(received);
                self.socket.send(Message::Ping(Bytes::new()));
            }
            Command::Configure(params) => self.push_configuration(&params),
            Command::Close => return Some(ENDING_GONE),
        }
        None
    }

    /// Records that the runtime is alive.
    fn message_received(&mut self) {
        self.liveness.message_received();
        self.set_silent(false);
    }

    /// Shows the runtime as silent, or as responsive again.
    fn set_silent(&mut self, is_silent: bool) {
        if self.liveness.is_silent == is_silent {
            return;
        }
        self.liveness.is_silent = is_silent;
        if let Some(peer) = &self.peer {
            self.runtimes.set_silent(peer, is_silent);
        }
    }

    /// The next time at which `handle_deadlines` has something to do.
    fn deadline(&self) -> Instant {
        let blocked = self.blocked.as_ref().map(|blocked| blocked.until);
        let reader_timeout = self.runtimes.options().reader_timeout;
        let slow = self.slow_runs.iter().filter_map(|(run, _)| run.queue.slow_since());
        let others = [
            slow.min().map(|since| since + reader_timeout),
            self.complete_by().filter(|_| blocked.is_none()),
            blocked,
            Some(self.liveness.deadline()),
            self.peer.is_none().then_some(self.register_by),
        ];
        others.into_iter().flatten().fold(self.liveness.next_ping, Instant::min)
    }

    /// Checks whether the process of the runtime exists and responds, while runs wait for it.
    fn check_runtime(&mut self, now: Instant) -> Option<Ending> {
        self.liveness.check_at = None;
        let (Some(peer), Some(process)) = (&self.peer, &self.process) else { return None };
        if !peer.has_runs() {
            return None;
        }
        // The operating system closes the socket of a process that ends, unless a child process
        // has inherited it. Then only the process table shows the end.
        if process.has_ended() {
            return Some(ENDING_DEAD);
        }
        let options = self.runtimes.options();
        let probe_timeout = options.probe_timeout;
        self.liveness.check_at = Some(now + probe_timeout / 2);
        // A runtime that has confirmed its runs may be quiet for as long as they take.
        if self.blocked.is_none() && peer.has_unconfirmed() && self.liveness.is_quiet(now, options)
        {
            self.liveness.ping_sent(now, probe_timeout / 2);
            self.ping();
        }
        None
    }

    /// Shows the runtime as silent, because it did not react to a request in time. Runs that it
    /// has not confirmed fail, unless its process is busy: a program whose only thread computes,
    /// such as one in JavaScript, answers nothing meanwhile and is healthy all the same.
    fn report_silence(&mut self, now: Instant) {
        self.set_silent(true);
        let (Some(peer), Some(process)) = (&self.peer, &self.process) else { return };
        let options = self.runtimes.options();
        let is_early =
            self.liveness.silence(now) + options.probe_timeout / 4 < options.silence_timeout;
        if is_early || process.is_busy() {
            // The next check pings the runtime again.
            self.liveness.check_at.get_or_insert(now + options.probe_timeout / 2);
            return;
        }
        peer.fail_unconfirmed(self.handle.id, &silent(&peer.id));
    }

    /// Deadline for the rest of an incomplete message.
    fn complete_by(&self) -> Option<Instant> {
        self.socket.partial_since().map(|at| at + self.runtimes.options().message_timeout)
    }

    /// Does everything that is due. Returns why the connection must end, if it must.
    fn handle_deadlines(&mut self) -> Option<Ending> {
        let now = Instant::now();
        if let Some(blocked) = self.blocked.take_if(|blocked| blocked.until <= now) {
            self.stop_waiting_for_reader(blocked);
        }
        self.end_unread_runs(now);
        // A blocked chunk stops the reading, so an incomplete message is then not the fault of the
        // runtime.
        if self.blocked.is_none() && self.complete_by().is_some_and(|at| at <= now) {
            return Some(ENDING_UNFINISHED);
        }
        if self.peer.is_none() && self.register_by <= now {
            return Some(ENDING_NOT_REGISTERED);
        }
        let options = self.runtimes.options();
        // While the socket is not read, an answer may be waiting in it.
        if self.liveness.is_overdue(now, options) && self.blocked.is_none() {
            self.report_silence(now);
        }
        if self.liveness.check_at.is_some_and(|at| at <= now)
            && let Some(ending) = self.check_runtime(now)
        {
            return Some(ending);
        }
        if self.liveness.next_ping <= now {
            let options = self.runtimes.options();
            if self.blocked.is_none() && self.liveness.is_gone(now, options) {
                return Some(ENDING_GONE);
            }
            self.liveness.interval_ping_sent(now, options);
            self.ping();
            if let Some(peer) = &self.peer {
                // Not urgent, so the regular ping is often enough.
                peer.sweep();
            }
        }
        None
    }

    /// The reader took nothing during the pause: charges the run to the overflow budget.
    fn stop_waiting_for_reader(&mut self, blocked: BlockedChunk) {
        let BlockedChunk { run, request, chunk, .. } = blocked;
        // One entry per run is enough: `end_unread_runs` asks the queue how long it has been full.
        if !run.queue.push_overflow(chunk) {
            self.give_up(&run, request);
        } else if !self.slow_runs.iter().any(|(known, _)| Arc::ptr_eq(known, &run)) {
            self.slow_runs.push((run, request));
        }
        // The socket was not read meanwhile, so the silence says nothing about the runtime.
        self.message_received();
    }

    /// Ends runs whose readers took nothing for `reader_timeout`.
    fn end_unread_runs(&mut self, now: Instant) {
        let reader_timeout = self.runtimes.options().reader_timeout;
        for (run, request) in std::mem::take(&mut self.slow_runs) {
            match run.queue.slow_since() {
                None => {}
                Some(since) if since + reader_timeout <= now => self.give_up(&run, request),
                Some(_) => self.slow_runs.push((run, request)),
            }
        }
    }

    /// Ends a run because its reader is too slow.
    fn give_up(&self, run: &Run, request: u128) {
        if let Some(peer) = &self.peer {
            peer.give_up(run, request, reader_too_slow());
        }
        run.queue.drop_unread();
    }
}

const ENDING_GONE: Ending =
    Ending::Closed { code: close_code::GOING_AWAY, reason: "no answer to pings" };
const ENDING_DEAD: Ending =
    Ending::Closed { code: close_code::GOING_AWAY, reason: "the process of the runtime has ended" };
const ENDING_UNFINISHED: Ending =
    Ending::Closed { code: close_code::PROTOCOL_ERROR, reason: "the message was not completed" };
const ENDING_NOT_REGISTERED: Ending =
    Ending::Closed { code: close_code::POLICY_VIOLATION, reason: "no runtime registered in time" };
const ENDING_SHUTDOWN: Ending =
    Ending::Closed { code: close_code::RESTART, reason: "the manager shuts down" };

/// Ready when the queue of the blocked chunk has capacity.
async fn queue_capacity(blocked: Option<&BlockedChunk>) {
    match blocked {
        Some(blocked) => poll_fn(|cx| blocked.run.queue.poll_capacity(cx)).await,
        None => pending().await,
    }
}
