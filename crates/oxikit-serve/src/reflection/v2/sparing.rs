//! Log lines that could come in thousands.

use std::time::Duration;

use tokio::time::Instant;

/// Lets one line pass in a while, and counts the others.
#[derive(Debug)]
pub(super) struct Sparing {
    every: Duration,
    last: Option<Instant>,
    count: u64,
}

impl Sparing {
    pub(super) fn new(every: Duration) -> Self {
        Self { every, last: None, count: 0 }
    }

    /// Counts one more. Answers how many there were since the last line if it is
    /// time for one.
    pub(super) fn count(&mut self) -> Option<u64> {
        self.count += 1;
        let now = Instant::now();
        if self.last.is_some_and(|last| now < last + self.every) {
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
    async fn one_line_in_a_while_tells_of_all() {
        let mut sparing = Sparing::new(Duration::from_secs(10));
        assert_eq!(sparing.count(), Some(1));
        for _ in 0..5 {
            assert_eq!(sparing.count(), None);
        }
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(sparing.count(), Some(6));
    }
}
