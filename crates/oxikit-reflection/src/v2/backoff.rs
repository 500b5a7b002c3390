//! The delays between attempts to connect.

use std::time::Duration;

/// The delays in milliseconds. The last one is repeated.
const DELAYS: [u64; 5] = [100, 500, 1000, 2000, 4000];

/// Increases the delay after each failure. Each delay varies by 20 %, so that several
/// applications do not connect to a restarted manager at the same moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Backoff {
    failures: usize,
}

impl Backoff {
    /// The delay before the next attempt.
    pub(super) fn next(&mut self) -> Duration {
        let wait = DELAYS[self.failures.min(DELAYS.len() - 1)];
        self.failures += 1;
        Duration::from_millis(wait).mul_f64(0.8 + 0.4 * fastrand::f64())
    }

    /// Starts again with the shortest delay.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_start_again() {
        let mut backoff = Backoff::default();
        for wait in DELAYS.into_iter().chain([4000, 4000]) {
            let (least, most) = (wait * 8 / 10, wait * 12 / 10);
            let waited = backoff.next().as_millis() as u64;
            assert!((least..=most).contains(&waited), "{waited} ms instead of {wait}");
        }
        backoff.reset();
        assert!(backoff.next() <= Duration::from_millis(120));
    }
}
