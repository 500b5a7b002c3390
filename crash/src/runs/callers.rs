//! Callers inside the application. Their calls must succeed, and stay fast, while managers are
//! killed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use oxikit::Flow;
use serde_json::{Value, json};
use tokio::sync::watch;

const CALLERS: usize = 4;

/// Tasks that call a flow of this process in a loop.
pub(super) struct Callers {
    counts: Arc<Mutex<Counts>>,
    is_active: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Counts {
    failures: u64,
    /// Duration of each call in microseconds.
    micros: Vec<u32>,
}

impl Callers {
    pub(super) fn start(flow: &Flow<u64, u64, ()>) -> Self {
        let (is_active, _) = watch::channel(true);
        let callers = Self { counts: Arc::default(), is_active };
        for _ in 0..CALLERS {
            let (flow, counts) = (flow.clone(), callers.counts.clone());
            tokio::spawn(call(flow, counts, callers.is_active.subscribe()));
        }
        callers
    }

    pub(super) fn pause(&self) {
        self.is_active.send_replace(false);
    }

    pub(super) fn resume(&self) {
        self.is_active.send_replace(true);
    }

    pub(super) fn report(&self) -> Value {
        let mut micros = lock(&self.counts).micros.clone();
        micros.sort_unstable();
        let at = |share: usize| micros.get((micros.len() * share / 100).min(micros.len() - 1));
        let millis = |share| at(share).map(|micros| f64::from(*micros) / 1000.0);
        let (p50, p99, max) = match micros.len() {
            0 => (None, None, None),
            _ => (millis(50), millis(99), millis(100)),
        };
        let failures = lock(&self.counts).failures;
        json!({ "calls": micros.len(), "failures": failures, "p50": p50, "p99": p99, "max": max })
    }
}

async fn call(
    flow: Flow<u64, u64, ()>,
    counts: Arc<Mutex<Counts>>,
    mut is_active: watch::Receiver<bool>,
) {
    // Ends when `Callers`, which has the sender, is dropped.
    while is_active.wait_for(|is_active| *is_active).await.is_ok() {
        let (number, began) = (fastrand::u64(..1000), Instant::now());
        let answer = flow.run(number).await;
        let micros = began.elapsed().as_micros().try_into().unwrap_or(u32::MAX);
        let mut counts = lock(&counts);
        counts.micros.push(micros);
        counts.failures += u64::from(!answer.is_ok_and(|answer| answer == number + 1));
    }
}

// A panic leaves the counters consistent, so a poisoned lock can be used.
fn lock(counts: &Mutex<Counts>) -> MutexGuard<'_, Counts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}
