//! What all clients together know: how far they are since the server was killed.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use oxikit_core::{Status, StatusCode};
use serde_json::json;

/// The lease of a dead process must not be in the way for longer.
const GRACE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Board {
    clients: usize,
    facts: Mutex<Facts>,
}

#[derive(Debug, Default)]
struct Facts {
    /// Turns that wait for their answer.
    under_way: usize,
    acknowledged: u64,
    /// Answers that said that the session cannot go on.
    refused: u64,
    /// `ABORTED` to what was sent long after the server was back.
    late_aborted: u64,
    /// Attempts that failed, by status.
    failures: BTreeMap<&'static str, u64>,
    /// The longest time that an attempt was without an answer.
    slowest: Duration,
    kill: Option<Kill>,
}

/// The last time that the server was killed.
#[derive(Debug)]
struct Kill {
    at: Instant,
    back: Option<Instant>,
    /// How long after the server was back each client had its first answer.
    delays: BTreeMap<usize, Duration>,
    is_told: bool,
}

impl Board {
    pub(super) fn new(clients: usize) -> Self {
        Self { clients, facts: Mutex::default() }
    }

    /// Says how many turns wait for their answer.
    pub(super) fn count(&self) {
        println!("{}", json!({ "underWay": self.facts().under_way }));
    }

    pub(super) fn killed(&self) {
        let delays = BTreeMap::new();
        self.facts().kill = Some(Kill { at: Instant::now(), back: None, delays, is_told: false });
    }

    pub(super) fn back(&self) {
        let mut facts = self.facts();
        if let Some(kill) = &mut facts.kill {
            kill.back = Some(Instant::now());
            kill.tell_if_all(self.clients);
        }
    }

    /// A turn is sent; answers when.
    pub(super) fn sent(&self) -> Instant {
        self.facts().under_way += 1;
        Instant::now()
    }

    /// A turn that was sent then has been acknowledged.
    pub(super) fn succeeded(&self, client: usize, sent: Instant) {
        let mut facts = self.facts();
        facts.under_way -= 1;
        facts.acknowledged += 1;
        facts.slowest = facts.slowest.max(sent.elapsed());
        if let Some(kill) = facts.kill.as_mut().filter(|kill| sent >= kill.at) {
            let delay = kill.back.map(|back| back.elapsed()).unwrap_or_default();
            kill.delays.entry(client).or_insert(delay);
            kill.tell_if_all(self.clients);
        }
    }

    /// An attempt that was sent then has failed.
    pub(super) fn failed(&self, status: &Status, sent: Instant) {
        let mut facts = self.facts();
        facts.under_way -= 1;
        facts.slowest = facts.slowest.max(sent.elapsed());
        let code = status.code();
        *facts.failures.entry(code.name()).or_default() += 1;
        let back = facts.kill.as_ref().and_then(|kill| kill.back);
        if code == StatusCode::Aborted && back.is_some_and(|back| sent > back + GRACE) {
            facts.late_aborted += 1;
        }
    }

    /// An answer has said that the session cannot go on.
    pub(super) fn refused(&self, sent: Instant) {
        let mut facts = self.facts();
        facts.under_way -= 1;
        facts.slowest = facts.slowest.max(sent.elapsed());
        facts.refused += 1;
    }

    pub(super) fn summary(&self) -> String {
        let Facts { acknowledged, refused, late_aborted, failures, slowest, .. } = &*self.facts();
        json!({
            "acknowledged": acknowledged,
            "refused": refused,
            "lateAborted": late_aborted,
            "failures": failures,
            "slowestMillis": slowest.as_millis() as u64,
        })
        .to_string()
    }

    // Guards plain data that is whole after every statement.
    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kill {
    /// Says so, once all have gone on.
    fn tell_if_all(&mut self, clients: usize) {
        if self.is_told || self.back.is_none() || self.delays.len() < clients {
            return;
        }
        self.is_told = true;
        let mut delays: Vec<_> = self.delays.values().map(Duration::as_millis).collect();
        delays.sort_unstable();
        let at = |share: usize| delays.get((delays.len() * share / 100).min(delays.len() - 1));
        println!("{}", json!({ "p50": at(50), "p99": at(99), "max": at(100) }));
    }
}
