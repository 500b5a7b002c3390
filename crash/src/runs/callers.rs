//! The application's own callers. Whatever becomes of managers is nothing to them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use oxikit::Flow;
use serde_json::{Value, json};
use tokio::sync::watch;

const CALLERS: usize = 4;

/// Loops that call a flow of this process.
pub(super) struct Callers {
    facts: Arc<Mutex<Facts>>,
    is_at_work: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Facts {
    failures: u64,
    /// How long each call took, in microseconds.
    micros: Vec<u32>,
}

impl Callers {
    pub(super) fn start(flow: &Flow<u64, u64, ()>) -> Self {
        let (is_at_work, _) = watch::channel(true);
        let callers = Self { facts: Arc::default(), is_at_work };
        for _ in 0..CALLERS {
            let (flow, facts) = (flow.clone(), callers.facts.clone());
            tokio::spawn(call(flow, facts, callers.is_at_work.subscribe()));
        }
        callers
    }

    pub(super) fn rest(&self) {
        self.is_at_work.send_replace(false);
    }

    pub(super) fn work(&self) {
        self.is_at_work.send_replace(true);
    }

    pub(super) fn report(&self) -> Value {
        let mut micros = lock(&self.facts).micros.clone();
        micros.sort_unstable();
        let at = |share: usize| micros.get((micros.len() * share / 100).min(micros.len() - 1));
        let millis = |share| at(share).map(|micros| f64::from(*micros) / 1000.0);
        let (p50, p99, max) = match micros.len() {
            0 => (None, None, None),
            _ => (millis(50), millis(99), millis(100)),
        };
        let failures = lock(&self.facts).failures;
        json!({ "calls": micros.len(), "failures": failures, "p50": p50, "p99": p99, "max": max })
    }
}

async fn call(
    flow: Flow<u64, u64, ()>,
    facts: Arc<Mutex<Facts>>,
    mut is_at_work: watch::Receiver<bool>,
) {
    // Ends with the sender.
    while is_at_work.wait_for(|is_at_work| *is_at_work).await.is_ok() {
        let (number, began) = (fastrand::u64(..1000), Instant::now());
        let answer = flow.run(number).await;
        let micros = began.elapsed().as_micros().try_into().unwrap_or(u32::MAX);
        let mut facts = lock(&facts);
        facts.micros.push(micros);
        facts.failures += u64::from(!answer.is_ok_and(|answer| answer == number + 1));
    }
}

// Guards plain data that is whole after every statement.
fn lock(facts: &Mutex<Facts>) -> MutexGuard<'_, Facts> {
    facts.lock().unwrap_or_else(PoisonError::into_inner)
}
