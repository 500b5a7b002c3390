//! Sends events to the server, in a thread of its own.
//!
//! A thread and not a task: spans may end outside of a runtime, and the application's own runtime
//! may be busy or have stopped.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::Shared;
use super::batch::{self, Request};
use super::connection::Connection;

/// First pause after a failed attempt. Each further pause doubles, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Minimum time between two log lines about an unreachable server.
const LOG_INTERVAL: Duration = Duration::from_secs(60);
/// Number of new connections in a row that may break on one request. Then the request is dropped:
/// otherwise one that crashes the server would block all others.
const MAX_BROKEN: u32 = 2;

/// Starts the thread. It ends when the queue is closed and empty.
pub(super) fn start(shared: Arc<Shared>) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("oxikit-telemetry".to_owned());
    thread.spawn(move || {
        let _close = CloseOnDrop(&shared);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        if let Ok(runtime) = runtime {
            runtime.block_on(SpanSender::new(&shared).run());
        }
    })?;
    Ok(())
}

/// Closes the queue when the thread ends, also by a panic, so that no caller of `flush` waits for it.
struct CloseOnDrop<'a>(&'a Shared);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.queue.abandon();
    }
}

/// The state of the thread: one connection that is kept between batches, and the backoff.
struct SpanSender<'a> {
    shared: &'a Shared,
    connection: Option<Connection>,
    /// New connections in a row that broke before any answer.
    broken: u32,
    pause: Duration,
    logged: Option<Instant>,
}

impl<'a> SpanSender<'a> {
    fn new(shared: &'a Shared) -> Self {
        Self { shared, connection: None, broken: 0, pause: FIRST_PAUSE, logged: None }
    }

    /// Sends batch after batch until the queue is closed and empty.
    async fn run(mut self) {
        while let Some(taken) = self.shared.queue.take().await {
            let (requests, lost) = batch::requests(taken.events);
            self.shared.queue.count_dropped(lost);
            self.deliver(requests.into(), taken.flushers).await;
        }
    }

    /// Sends all requests, however long that takes. While the server is unreachable, callers of
    /// `flush` are released; once the queue is closed, the rest is dropped after a failure.
    async fn deliver(
        &mut self,
        mut requests: VecDeque<Request>,
        mut flushers: Vec<oneshot::Sender<()>>,
    ) {
        let queue = &self.shared.queue;
        while !requests.is_empty() {
            let Err(error) = self.send_some(&mut requests).await else {
                continue;
            };
            if !queue.away() {
                continue;
            }
            flushers.clear();
            if queue.is_closed() {
                queue.count_dropped(requests.iter().map(|request| request.counts).sum());
                return;
            }
            self.log(&error);
            queue.pause(self.next_pause()).await;
        }
    }

    /// Sends the first requests. A kept connection that the server has closed meanwhile is not a
    /// failure: the next call opens a new one.
    async fn send_some(&mut self, requests: &mut VecDeque<Request>) -> io::Result<()> {
        let server = self.shared.server().ok_or(io::ErrorKind::NotConnected)?;
        let kept = self.connection.take().filter(|kept| kept.server == server);
        let is_fresh = kept.is_none();
        let mut connection = match kept {
            Some(kept) => kept,
            None => Connection::open(server).await?,
        };
        let exchange = connection.exchange(requests).await;
        self.shared.queue.count_dropped(exchange.refused);
        if exchange.answered > 0 {
            self.shared.queue.there();
            (self.broken, self.pause) = (0, FIRST_PAUSE);
        }
        match exchange.stays_open {
            Ok(stays_open) => self.connection = stays_open.then_some(connection),
            Err(error) if exchange.answered == 0 && (is_fresh || is_timeout(&error)) => {
                self.broken += 1;
                if self.broken >= MAX_BROKEN {
                    self.broken = 0;
                    let given_up = requests.pop_front();
                    self.shared.queue.count_dropped(given_up.map_or(0, |request| request.counts));
                }
                return Err(error);
            }
            Err(_) => {}
        }
        Ok(())
    }

    /// Exponential backoff with jitter, so that applications do not retry at the same moment.
    fn next_pause(&mut self) -> Duration {
        let pause = self.pause.mul_f64(0.5 + fastrand::f64() / 2.0);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        pause
    }

    /// Logs the failure, at most once per [`LOG_INTERVAL`]. The crate's own log layer ignores it.
    fn log(&mut self, error: &io::Error) {
        if self.logged.is_none_or(|logged| logged.elapsed() >= LOG_INTERVAL) {
            self.logged = Some(Instant::now());
            let dropped = self.shared.queue.dropped();
            tracing::debug!(%error, dropped, "telemetry server was not reached");
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::TimedOut
}
