//! The memory for unread chunks beyond the regular queue of each run.
//!
//! A socket carries all runs of a runtime, so it must not wait for one slow reader. A run
//! whose queue is full may reserve more memory here for a while. The budget has a limit per
//! run and a total limit; the manager ends a run whose reservation fails.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of bytes that one run may reserve: enough for a few large chunks.
const MAX_BYTES_PER_RUN: usize = 8 << 20;
/// Maximum number of bytes that all runs together may reserve.
const MAX_BYTES_TOTAL: usize = 24 << 20;

/// The number of bytes that can still be reserved.
#[derive(Debug)]
pub(crate) struct OverflowBudget(AtomicUsize);

impl Default for OverflowBudget {
    fn default() -> Self {
        Self(AtomicUsize::new(MAX_BYTES_TOTAL))
    }
}

impl OverflowBudget {
    /// Reserves `bytes` for a run that has reserved `held` bytes already. Returns `false`, and
    /// reserves nothing, if either limit would be exceeded.
    pub(super) fn try_reserve(&self, bytes: usize, held: usize) -> bool {
        // `checked_sub` fails if the total is exhausted; then nothing is reserved. The counter
        // orders no other memory, so `Relaxed` is sufficient.
        let rest = |left: usize| left.checked_sub(bytes);
        held + bytes <= MAX_BYTES_PER_RUN
            && self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).is_ok()
    }

    /// Returns reserved bytes.
    pub(super) fn release(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    #[cfg(test)]
    fn is_unused(&self) -> bool {
        self.0.load(Ordering::Relaxed) == MAX_BYTES_TOTAL
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::task::{Context, Waker};

    use bytes::Bytes;

    use super::*;
    use crate::chunk_queue::{ChunkQueue, Offer};

    fn chunk() -> Bytes {
        Bytes::from(vec![b'x'; 100_000])
    }

    /// Fills the queue until it overflows. Returns the number of accepted chunks.
    fn fill(queue: &ChunkQueue) -> usize {
        let mut count = 0;
        loop {
            match queue.offer(chunk()) {
                Offer::Accepted => count += 1,
                Offer::Full(chunk) => count += usize::from(queue.push_overflow(chunk)),
                Offer::Overflowed => return count,
            }
            if count > 1000 {
                return count;
            }
        }
    }

    #[test]
    fn an_unread_run_has_its_share_a_little_more_and_then_no_more() {
        let budget = Arc::<OverflowBudget>::default();
        let queue = ChunkQueue::new(&budget);
        let count = fill(&queue);
        assert!((90..=97).contains(&count), "1 MiB and 8 MiB, in chunks of 100 kB: {count}");
        assert!(queue.slow_since().is_some());
        let (mut taken, mut cx) = (Vec::new(), Context::from_waker(Waker::noop()));
        assert!(queue.poll_chunks(&mut cx, &mut taken).is_ready());
        assert_eq!(taken.len(), count);
        assert!(queue.slow_since().is_none() && budget.is_unused());
        assert!(matches!(queue.offer(chunk()), Offer::Accepted));
    }

    #[test]
    fn all_unread_runs_together_have_a_limit_and_those_that_are_read_are_not_in_it() {
        let budget = Arc::<OverflowBudget>::default();
        let unread: Vec<_> = (0..20).map(|_| ChunkQueue::new(&budget)).collect();
        let counts: Vec<_> = unread.iter().map(fill).collect();
        let bytes: usize = counts.iter().sum::<usize>() * 100_000;
        assert!(bytes <= MAX_BYTES_TOTAL + 20 * (1 << 20) + 20 * 100_000, "{bytes}");
        let read = ChunkQueue::new(&budget);
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..100 {
            assert!(matches!(read.offer(chunk()), Offer::Accepted));
            assert!(read.poll_chunk(&mut cx).is_ready());
        }
        for (place, queue) in unread.into_iter().enumerate() {
            match place % 3 {
                0 => queue.abandon(),
                1 => queue.drop_unread(),
                _ => {}
            }
        }
        assert!(budget.is_unused(), "all bytes are released, however a run ends");
    }
}
