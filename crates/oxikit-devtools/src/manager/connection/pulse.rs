//! Whether anybody is at the other end.
//!
//! A runtime that was asked something has [`ManagerOptions::probe`] to be heard of, by an
//! answer or by a pong; half of that it may be quiet before it is pinged. What is
//! overdue gets a last moment, in which what has come meanwhile is read: it may have
//! been us who had no time.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::manager::ManagerOptions;

/// The last moment, as a part of the time that there was.
const LAST_MOMENT: u32 = 10;

/// When the runtime was heard of, and when it is asked next.
#[derive(Debug)]
pub(super) struct Pulse {
    last_heard: Instant,
    pub(super) next_ping: Instant,
    /// When there is a look at it, because something was asked.
    pub(super) look_at: Option<Instant>,
    /// By when it must be heard of, or it is shown as silent.
    answer_by: Option<Instant>,
    /// Whether what is overdue has had its last moment.
    is_last_moment: bool,
    /// Since when it was asked something and has not been heard of.
    asked_since: Option<Instant>,
    pub(super) is_silent: bool,
    probes: Vec<oneshot::Sender<()>>,
}

impl Pulse {
    pub(super) fn new(options: &ManagerOptions) -> Self {
        let now = Instant::now();
        Self {
            last_heard: now,
            next_ping: now + options.ping,
            look_at: None,
            answer_by: None,
            is_last_moment: false,
            asked_since: None,
            is_silent: false,
            probes: Vec::new(),
        }
    }

    /// Something has come; whoever asked is told.
    pub(super) fn heard(&mut self) {
        self.last_heard = Instant::now();
        self.answer_by = None;
        self.is_last_moment = false;
        self.asked_since = None;
        for probe in self.probes.drain(..) {
            // Whoever asked may have left.
            _ = probe.send(());
        }
    }

    /// Somebody wants to know when anything is heard.
    pub(super) fn tell(&mut self, probe: oneshot::Sender<()>) {
        self.probes.push(probe);
    }

    /// Something was asked. There will be a look at whether it was heard of since; one
    /// that has been quiet for longer is to be pinged at once.
    pub(super) fn asked(&mut self, options: &ManagerOptions) -> bool {
        let now = Instant::now();
        self.asked_since.get_or_insert(now);
        self.look_at.get_or_insert(now + options.probe / 2);
        let is_quiet = self.answer_by.is_none() && now - self.last_heard > options.probe;
        if is_quiet {
            self.pinged(now, options.probe);
        }
        is_quiet
    }

    /// A look is due: whether it has been quiet for so long that it is to be pinged.
    pub(super) fn is_quiet(&self, now: Instant, options: &ManagerOptions) -> bool {
        self.answer_by.is_none() && now - self.last_heard >= options.probe / 2
    }

    /// A ping is sent, to be answered within this time.
    pub(super) fn pinged(&mut self, now: Instant, within: Duration) {
        self.answer_by.get_or_insert(now + within - within / LAST_MOMENT);
    }

    /// When there is something to be done.
    pub(super) fn deadline(&self) -> Instant {
        let others = [self.look_at, self.answer_by];
        others.into_iter().flatten().fold(self.next_ping, Instant::min)
    }

    /// Whether the time for an answer is over. It is said once.
    pub(super) fn is_overdue(&mut self, now: Instant, options: &ManagerOptions) -> bool {
        if self.answer_by.take_if(|at| *at <= now).is_none() {
            return false;
        }
        if !self.is_last_moment {
            self.is_last_moment = true;
            self.answer_by = Some(now + options.probe / LAST_MOMENT);
            return false;
        }
        self.is_last_moment = false;
        true
    }

    /// How long it has not been heard of, although it was asked.
    pub(super) fn silence(&self, now: Instant) -> Duration {
        now - self.asked_since.unwrap_or(self.last_heard)
    }

    /// Whether it was quiet for so long that it counts as gone.
    pub(super) fn is_gone(&self, now: Instant, options: &ManagerOptions) -> bool {
        // A little early rather than one ping too late.
        now - self.last_heard + options.ping / 4 >= options.no_pong
    }

    /// The usual ping is sent.
    pub(super) fn pinged_as_usual(&mut self, now: Instant, options: &ManagerOptions) {
        self.next_ping = now + options.ping;
        self.pinged(now, options.probe);
    }
}
