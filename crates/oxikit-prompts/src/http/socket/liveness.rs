//! Finds out by pings whether a peer is still there.

use oxikit_http::websocket::{Ending, Message, Socket};
use oxikit_wire::close_code;
use tokio::time::Instant;

use super::RouteOptions;

/// The times of the last sign of life and of the next ping.
#[derive(Debug)]
pub(crate) struct Liveness {
    last_received: Instant,
    next_ping: Instant,
}

impl Liveness {
    pub(crate) fn new(options: &RouteOptions) -> Self {
        let now = Instant::now();
        Self { last_received: now, next_ping: now + options.ping_interval }
    }

    /// Notes that something arrived.
    pub(crate) fn received(&mut self) {
        self.last_received = Instant::now();
    }

    /// When [`ping_if_due`](Self::ping_if_due) has something to do.
    pub(crate) fn next_ping(&self) -> Instant {
        self.next_ping
    }

    /// Sends a ping if it is time, or returns that the peer is gone.
    pub(crate) fn ping_if_due(
        &mut self,
        now: Instant,
        options: &RouteOptions,
        socket: &mut Socket,
    ) -> Option<Ending> {
        if now < self.next_ping {
            return None;
        }
        if now.duration_since(self.last_received) >= options.pong_timeout {
            return Some(ENDING_GONE);
        }
        self.next_ping = now + options.ping_interval;
        socket.send(Message::Ping(bytes::Bytes::new()));
        None
    }
}

const ENDING_GONE: Ending =
    Ending::Closed { code: close_code::GOING_AWAY, reason: "no answer to pings" };
