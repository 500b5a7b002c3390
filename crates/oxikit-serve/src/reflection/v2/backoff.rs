//! How long to wait before the next try.

use std::time::Duration;

/// The waits, in milliseconds; the last one is repeated.
const WAITS: [u64; 5] = [100, 500, 1000, 2000, 4000];

/// Waits longer after each failure, and never exactly as long as others do.
#[derive(Debug, Clone, Default)]
pub(crate) struct Backoff {
    failures: usize,
}

impl Backoff {
    /// How long to wait this time.
    pub(super) fn next(&mut self) -> Duration {
        let wait = WAITS[self.failures.min(WAITS.len() - 1)];
        self.failures += 1;
        Duration::from_millis(wait).mul_f64(0.8 + 0.4 * fastrand::f64())
    }

    /// It has worked.
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
        for wait in WAITS.into_iter().chain([4000, 4000]) {
            let (least, most) = (wait * 8 / 10, wait * 12 / 10);
            let waited = backoff.next().as_millis() as u64;
            assert!((least..=most).contains(&waited), "{waited} ms instead of {wait}");
        }
        backoff.reset();
        assert!(backoff.next() <= Duration::from_millis(120));
    }
}
