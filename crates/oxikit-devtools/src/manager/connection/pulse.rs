//! Whether anybody is at the other end.

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::manager::ManagerOptions;

/// When the runtime was heard of, and when it is asked next.
#[derive(Debug)]
pub(super) struct Pulse {
    last_heard: Instant,
    pub(super) next_ping: Instant,
    /// By when it must be heard of, or it is shown as silent.
    pub(super) answer_by: Option<Instant>,
    pub(super) is_silent: bool,
    probes: Vec<oneshot::Sender<()>>,
}

impl Pulse {
    pub(super) fn new(options: &ManagerOptions) -> Self {
        let now = Instant::now();
        Self {
            last_heard: now,
            next_ping: now + options.ping,
            answer_by: None,
            is_silent: false,
            probes: Vec::new(),
        }
    }

    /// Something has come; whoever asked is told.
    pub(super) fn heard(&mut self) {
        self.last_heard = Instant::now();
        self.answer_by = None;
        for probe in self.probes.drain(..) {
            // Whoever asked may have left.
            _ = probe.send(());
        }
    }

    /// Somebody wants to know when anything is heard.
    pub(super) fn tell(&mut self, probe: oneshot::Sender<()>) {
        self.probes.push(probe);
    }

    /// A runtime that is asked something after it was quiet is to be pinged too, so
    /// that it is known soon whether anybody is there.
    pub(super) fn asks_for_life(&mut self, options: &ManagerOptions) -> bool {
        let now = Instant::now();
        let asks = self.answer_by.is_none() && now - self.last_heard > options.probe;
        if asks {
            self.answer_by = Some(now + options.probe);
        }
        asks
    }

    /// Whether the time for an answer is over. It is said once.
    pub(super) fn is_overdue(&mut self, now: Instant) -> bool {
        self.answer_by.take_if(|at| *at <= now).is_some()
    }

    /// Whether it was quiet for so long that it counts as gone.
    pub(super) fn is_gone(&self, now: Instant, options: &ManagerOptions) -> bool {
        // A little early rather than one ping too late.
        now - self.last_heard + options.ping / 4 >= options.no_pong
    }

    /// A ping is sent.
    pub(super) fn pinged(&mut self, now: Instant, options: &ManagerOptions) {
        self.next_ping = now + options.ping;
        self.answer_by.get_or_insert(now + options.probe);
    }
}
