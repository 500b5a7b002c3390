//! The timers that detect a runtime that does not respond.
//!
//! After a request, a runtime has [`ManagerOptions::probe_timeout`] to send anything: a message
//! or a pong. If it is quiet for half of that time, it is pinged. When the deadline passes, it
//! is extended once, by a tenth: this task itself may have been delayed, and the extension
//! lets it read what has arrived meanwhile. This module only keeps times; `connection` sends
//! the pings and decides what a missed deadline means.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::ManagerOptions;

/// Divisor of a timeout: the deadline is extended once by this fraction of it.
const EXTENSION: u32 = 10;

/// When the runtime last sent something, and when it is checked next.
#[derive(Debug)]
pub(super) struct Liveness {
    last_received: Instant,
    pub(super) next_ping: Instant,
    /// When the runtime is checked because a request was sent.
    pub(super) check_at: Option<Instant>,
    /// Deadline for any message. Afterwards the runtime is shown as silent.
    answer_by: Option<Instant>,
    /// Whether `answer_by` was extended already.
    is_extended: bool,
    /// When the oldest request was sent since the last message.
    waiting_since: Option<Instant>,
    pub(super) is_silent: bool,
    probes: Vec<oneshot::Sender<()>>,
}

impl Liveness {
    pub(super) fn new(options: &ManagerOptions) -> Self {
        let now = Instant::now();
        Self {
            last_received: now,
            next_ping: now + options.ping_interval,
            check_at: None,
            answer_by: None,
            is_extended: false,
            waiting_since: None,
            is_silent: false,
            probes: Vec::new(),
        }
    }

    /// Records a message of any kind, and notifies the waiting probes.
    pub(super) fn message_received(&mut self) {
        self.last_received = Instant::now();
        self.answer_by = None;
        self.is_extended = false;
        self.waiting_since = None;
        for probe in self.probes.drain(..) {
            // The task that probes may have been cancelled.
            _ = probe.send(());
        }
    }

    /// Notifies this sender of the next message.
    pub(super) fn notify_on_message(&mut self, probe: oneshot::Sender<()>) {
        self.probes.push(probe);
    }

    /// Records a request and schedules a check. Returns whether the runtime must be pinged at
    /// once, because it has been quiet for longer than `probe_timeout`.
    pub(super) fn request_sent(&mut self, options: &ManagerOptions) -> bool {
        let now = Instant::now();
        self.waiting_since.get_or_insert(now);
        self.check_at.get_or_insert(now + options.probe_timeout / 2);
        // A runtime that sent something recently is assumed to be alive; a ping with every request
        // would double the number of frames.
        let is_quiet = self.answer_by.is_none() && now - self.last_received > options.probe_timeout;
        if is_quiet {
            self.ping_sent(now, options.probe_timeout);
        }
        is_quiet
    }

    /// Whether a check must ping the runtime, because it has been quiet for half of
    /// `probe_timeout`.
    pub(super) fn is_quiet(&self, now: Instant, options: &ManagerOptions) -> bool {
        self.answer_by.is_none() && now - self.last_received >= options.probe_timeout / 2
    }

    /// Records a ping that must be answered within this time.
    pub(super) fn ping_sent(&mut self, now: Instant, within: Duration) {
        // The extension is subtracted here and added in `is_overdue`, so the total is about `within`. A
        // deadline that is set already stays: later pings must not postpone it.
        self.answer_by.get_or_insert(now + within - within / EXTENSION);
    }

    /// The next time at which one of the timers is due.
    pub(super) fn deadline(&self) -> Instant {
        let others = [self.check_at, self.answer_by];
        others.into_iter().flatten().fold(self.next_ping, Instant::min)
    }

    /// Whether the deadline and its extension have passed. Returns `true` once per deadline.
    pub(super) fn is_overdue(&mut self, now: Instant, options: &ManagerOptions) -> bool {
        if self.answer_by.take_if(|at| *at <= now).is_none() {
            return false;
        }
        if !self.is_extended {
            self.is_extended = true;
            self.answer_by = Some(now + options.probe_timeout / EXTENSION);
            return false;
        }
        self.is_extended = false;
        true
    }

    /// How long the runtime has not reacted to a request.
    pub(super) fn silence(&self, now: Instant) -> Duration {
        now - self.waiting_since.unwrap_or(self.last_received)
    }

    /// Whether the connection must be closed, because nothing arrived for `pong_timeout`.
    pub(super) fn is_gone(&self, now: Instant, options: &ManagerOptions) -> bool {
        // This is evaluated once per ping: a little early is better than one interval too late.
        now - self.last_received + options.ping_interval / 4 >= options.pong_timeout
    }

    /// Records the regular ping of each interval.
    pub(super) fn interval_ping_sent(&mut self, now: Instant, options: &ManagerOptions) {
        self.next_ping = now + options.ping_interval;
        self.ping_sent(now, options.probe_timeout);
    }
}
