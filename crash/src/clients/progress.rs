//! The counters that all clients share: how many turns were acknowledged or failed, and how
//! quickly clients continued after the server was killed.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use oxikit_core::{Status, StatusCode};
use serde_json::json;

/// Time after the return of the server in which `ABORTED` is expected: the lease of the killed
/// process may still be valid. Later ones are counted as `lateAborted`.
const GRACE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct Progress {
    clients: usize,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    /// Turns that wait for a response.
    under_way: usize,
    acknowledged: u64,
    /// Responses that said that the session cannot be continued.
    refused: u64,
    /// `ABORTED` responses to requests sent more than [`GRACE`] after the server was back.
    late_aborted: u64,
    /// Attempts that failed, by status.
    failures: BTreeMap<&'static str, u64>,
    /// The longest time that an attempt waited for its response.
    slowest: Duration,
    kill: Option<Kill>,
}

/// The last time that the server was killed.
#[derive(Debug)]
struct Kill {
    at: Instant,
    back: Option<Instant>,
    /// Time between the return of the server and the first response, by client.
    delays: BTreeMap<usize, Duration>,
    is_reported: bool,
}

impl Progress {
    pub(super) fn new(clients: usize) -> Self {
        Self { clients, counts: Mutex::default() }
    }

    /// Prints how many turns wait for a response.
    pub(super) fn count(&self) {
        println!("{}", json!({ "underWay": self.counts().under_way }));
    }

    pub(super) fn killed(&self) {
        let delays = BTreeMap::new();
        self.counts().kill =
            Some(Kill { at: Instant::now(), back: None, delays, is_reported: false });
    }

    pub(super) fn back(&self) {
        let mut counts = self.counts();
        if let Some(kill) = &mut counts.kill {
            kill.back = Some(Instant::now());
            kill.report_if_all(self.clients);
        }
    }

    /// Counts a turn that is sent. Returns the time.
    pub(super) fn sent(&self) -> Instant {
        self.counts().under_way += 1;
        Instant::now()
    }

    /// Counts a turn, sent at this time, that was acknowledged.
    pub(super) fn succeeded(&self, client: usize, sent: Instant) {
        let mut counts = self.counts();
        counts.under_way -= 1;
        counts.acknowledged += 1;
        counts.slowest = counts.slowest.max(sent.elapsed());
        if let Some(kill) = counts.kill.as_mut().filter(|kill| sent >= kill.at) {
            let delay = kill.back.map(|back| back.elapsed()).unwrap_or_default();
            kill.delays.entry(client).or_insert(delay);
            kill.report_if_all(self.clients);
        }
    }

    /// Counts an attempt, sent at this time, that failed.
    pub(super) fn failed(&self, status: &Status, sent: Instant) {
        let mut counts = self.counts();
        counts.under_way -= 1;
        counts.slowest = counts.slowest.max(sent.elapsed());
        let code = status.code();
        *counts.failures.entry(code.name()).or_default() += 1;
        let back = counts.kill.as_ref().and_then(|kill| kill.back);
        if code == StatusCode::Aborted && back.is_some_and(|back| sent > back + GRACE) {
            counts.late_aborted += 1;
        }
    }

    /// Counts a response that said that the session cannot be continued.
    pub(super) fn refused(&self, sent: Instant) {
        let mut counts = self.counts();
        counts.under_way -= 1;
        counts.slowest = counts.slowest.max(sent.elapsed());
        counts.refused += 1;
    }

    pub(super) fn summary(&self) -> String {
        let Counts { acknowledged, refused, late_aborted, failures, slowest, .. } = &*self.counts();
        json!({
            "acknowledged": acknowledged,
            "refused": refused,
            "lateAborted": late_aborted,
            "failures": failures,
            "slowestMillis": slowest.as_millis() as u64,
        })
        .to_string()
    }

    // A panic leaves the counters consistent, so a poisoned lock can be used.
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kill {
    /// Prints the delays once, when all clients have continued.
    fn report_if_all(&mut self, clients: usize) {
        if self.is_reported || self.back.is_none() || self.delays.len() < clients {
            return;
        }
        self.is_reported = true;
        let mut delays: Vec<_> = self.delays.values().map(Duration::as_millis).collect();
        delays.sort_unstable();
        let at = |share: usize| delays.get((delays.len() * share / 100).min(delays.len() - 1));
        println!("{}", json!({ "p50": at(50), "p99": at(99), "max": at(100) }));
    }
}
