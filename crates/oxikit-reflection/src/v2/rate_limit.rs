//! Limits how often something is done that many events could trigger, such as a log line.

use std::time::Duration;

use tokio::time::Instant;

/// Permits one action per interval, and counts the events in between.
#[derive(Debug)]
pub(super) struct RateLimit {
    interval: Duration,
    last: Option<Instant>,
    count: u64,
}

impl RateLimit {
    pub(super) fn new(interval: Duration) -> Self {
        Self { interval, last: None, count: 0 }
    }

    /// Records an event. If the action is due, returns the number of events since the last one.
    pub(super) fn record(&mut self) -> Option<u64> {
        self.count += 1;
        let now = Instant::now();
        if self.last.is_some_and(|last| now < last + self.interval) {
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_action_per_interval_counts_all_events() {
        let mut limit = RateLimit::new(Duration::from_secs(10));
        assert_eq!(limit.record(), Some(1));
        for _ in 0..5 {
            assert_eq!(limit.record(), None);
        }
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(limit.record(), Some(6));
    }
}
