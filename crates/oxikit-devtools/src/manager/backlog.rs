//! What readers have not taken, beyond the share that each run has of its own.
//!
//! A socket carries all runs of a runtime, so it cannot wait for the reader of one of
//! them. A run that is not read may hold a little more for a while, and all such runs
//! together have a limit: then the one that needs more ends.

use std::sync::atomic::{AtomicUsize, Ordering};

/// What one run may hold beyond its share: a few large chunks.
const MAX_OF_ONE: usize = 8 << 20;
/// What all runs together may hold beyond their shares.
const MAX_OF_ALL: usize = 24 << 20;

/// What may still be held.
#[derive(Debug)]
pub(crate) struct Backlog(AtomicUsize);

impl Default for Backlog {
    fn default() -> Self {
        Self(AtomicUsize::new(MAX_OF_ALL))
    }
}

impl Backlog {
    /// Takes so much for a run that holds this already. `false` if it is too much.
    pub(super) fn take(&self, bytes: usize, held: usize) -> bool {
        let rest = |left: usize| left.checked_sub(bytes);
        held + bytes <= MAX_OF_ONE
            && self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).is_ok()
    }

    pub(super) fn give_back(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    #[cfg(test)]
    fn is_whole(&self) -> bool {
        self.0.load(Ordering::Relaxed) == MAX_OF_ALL
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::task::{Context, Waker};

    use bytes::Bytes;

    use super::*;
    use crate::manager::mailbox::{Mailbox, Offered};

    fn chunk() -> Bytes {
        Bytes::from(vec![b'x'; 100_000])
    }

    /// Fills it until it takes no more; how many chunks that were.
    fn fill(mailbox: &Mailbox) -> usize {
        let mut count = 0;
        loop {
            match mailbox.offer(chunk()) {
                Offered::Taken => count += 1,
                Offered::Full(chunk) => count += usize::from(mailbox.fall_behind(chunk)),
                Offered::Overflowed => return count,
            }
            if count > 1000 {
                return count;
            }
        }
    }

    #[test]
    fn an_unread_run_has_its_share_a_little_more_and_then_no_more() {
        let backlog = Arc::<Backlog>::default();
        let mailbox = Mailbox::new(&backlog);
        let count = fill(&mailbox);
        assert!((90..=97).contains(&count), "1 MiB and 8 MiB, in chunks of 100 kB: {count}");
        assert!(mailbox.behind_since().is_some());
        let (mut taken, mut cx) = (Vec::new(), Context::from_waker(Waker::noop()));
        assert!(mailbox.poll_chunks(&mut cx, &mut taken).is_ready());
        assert_eq!(taken.len(), count);
        assert!(mailbox.behind_since().is_none() && backlog.is_whole());
        assert!(matches!(mailbox.offer(chunk()), Offered::Taken));
    }

    #[test]
    fn all_unread_runs_together_have_a_limit_and_those_that_are_read_are_not_in_it() {
        let backlog = Arc::<Backlog>::default();
        let unread: Vec<_> = (0..20).map(|_| Mailbox::new(&backlog)).collect();
        let counts: Vec<_> = unread.iter().map(fill).collect();
        let bytes: usize = counts.iter().sum::<usize>() * 100_000;
        assert!(bytes <= MAX_OF_ALL + 20 * (1 << 20) + 20 * 100_000, "{bytes}");
        let read = Mailbox::new(&backlog);
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..100 {
            assert!(matches!(read.offer(chunk()), Offered::Taken));
            assert!(read.poll_chunk(&mut cx).is_ready());
        }
        for (place, mailbox) in unread.into_iter().enumerate() {
            match place % 3 {
                0 => mailbox.abandon(),
                1 => mailbox.drop_unread(),
                _ => {}
            }
        }
        assert!(backlog.is_whole(), "all is given back, however a run ends");
    }
}
