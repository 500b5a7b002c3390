//! Brings events to the server, in a thread of its own.
//!
//! A thread, so that spans may come from anywhere, whether a runtime runs there
//! or not, and so that the application's own runtime may stop or be busy.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::Shared;
use super::batch::{self, Request};
use super::connection::Connection;

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// A server that is away is worth one line in so long.
const SAY_EVERY: Duration = Duration::from_secs(60);
/// A request on which fresh connections broke so often is given up.
const MAX_FRUITLESS: u32 = 2;

/// Starts the thread. It ends when the queue is closed and empty.
pub(super) fn start(shared: Arc<Shared>) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("oxikit-telemetry".to_owned());
    thread.spawn(move || {
        let _abandon = Abandon(&shared);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        if let Ok(runtime) = runtime {
            runtime.block_on(Courier::new(&shared).run());
        }
    })?;
    Ok(())
}

/// Lets nobody wait for a thread that has ended.
struct Abandon<'a>(&'a Shared);

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        self.0.queue.abandon();
    }
}

struct Courier<'a> {
    shared: &'a Shared,
    connection: Option<Connection>,
    /// Fresh connections that broke before anything was answered, one after the other.
    fruitless: u32,
    pause: Duration,
    said: Option<Instant>,
}

impl<'a> Courier<'a> {
    fn new(shared: &'a Shared) -> Self {
        Self { shared, connection: None, fruitless: 0, pause: FIRST_PAUSE, said: None }
    }

    async fn run(mut self) {
        while let Some(taken) = self.shared.queue.take().await {
            let (requests, lost) = batch::requests(taken.events);
            self.shared.queue.count_dropped(lost);
            self.deliver(requests.into(), taken.flushers).await;
        }
    }

    /// Sends all of them, however long that takes; but nobody waits for a server
    /// that is away, and once the queue is closed it is tried no more.
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
            self.say(&error);
            queue.pause(self.next_pause()).await;
        }
    }

    /// Sends the first of them. A connection that the server has closed meanwhile
    /// is no failure: the next call opens another.
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
            (self.fruitless, self.pause) = (0, FIRST_PAUSE);
        }
        match exchange.stays_open {
            Ok(stays_open) => self.connection = stays_open.then_some(connection),
            Err(error) if exchange.answered == 0 && (is_fresh || is_timeout(&error)) => {
                self.fruitless += 1;
                if self.fruitless >= MAX_FRUITLESS {
                    self.fruitless = 0;
                    let given_up = requests.pop_front();
                    self.shared.queue.count_dropped(given_up.map_or(0, |request| request.counts));
                }
                return Err(error);
            }
            Err(_) => {}
        }
        Ok(())
    }

    /// Twice as long each time, and not for all applications at the same moment.
    fn next_pause(&mut self) -> Duration {
        let pause = self.pause.mul_f64(0.5 + fastrand::f64() / 2.0);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        pause
    }

    /// The only thing this crate says about it, to other loggers than its own.
    fn say(&mut self, error: &io::Error) {
        if self.said.is_none_or(|said| said.elapsed() >= SAY_EVERY) {
            self.said = Some(Instant::now());
            let dropped = self.shared.queue.dropped();
            tracing::debug!(%error, dropped, "telemetry server is away");
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::TimedOut
}
