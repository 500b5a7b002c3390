//! A bounded queue whose senders never wait: entries that do not fit are dropped and counted.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Maximum number of bytes that wait for a slow reader. Lines beyond it are dropped and
/// counted.
const MAX_BYTES: usize = 4 << 20;
/// Additional bytes that only lines of the developer tools may use, so that a flood of the
/// application does not drop them.
const OWN_BYTES: usize = 256 << 10;
/// Bytes that an entry is counted with in addition to its text.
const ENTRY_BYTES: usize = 64;

/// Entries between many senders and one thread.
#[derive(Debug)]
pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    waiting: VecDeque<T>,
    bytes: usize,
    dropped: u64,
    is_closed: bool,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        let state = State { waiting: VecDeque::new(), bytes: 0, dropped: 0, is_closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl<T> Queue<T> {
    /// Adds an entry of the application of this size, or drops it if the queue is full.
    pub(super) fn push(&self, bytes: usize, entry: T) {
        self.push_within(MAX_BYTES, bytes, entry);
    }

    /// Adds an entry of the developer tools, which may also use [`OWN_BYTES`].
    pub(super) fn push_own(&self, bytes: usize, entry: T) {
        self.push_within(MAX_BYTES + OWN_BYTES, bytes, entry);
    }

    fn push_within(&self, max: usize, bytes: usize, entry: T) {
        let mut state = self.state();
        let bytes = state.bytes.saturating_add(bytes).saturating_add(ENTRY_BYTES);
        if bytes > max {
            state.dropped += 1;
            return;
        }
        state.bytes = bytes;
        state.waiting.push_back(entry);
        self.changed.notify_one();
    }

    /// Adds an entry even if the queue is full.
    pub(super) fn push_always(&self, entry: T) {
        self.state().waiting.push_back(entry);
        self.changed.notify_one();
    }

    /// Closes the queue. The receiver still gets the entries in it.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_one();
    }

    /// Waits for entries and takes all of them, with the number of entries that were dropped
    /// after them; `None` when the queue is closed and empty.
    pub(super) fn take(&self) -> Option<(u64, VecDeque<T>)> {
        let mut state = self.state();
        while state.waiting.is_empty() {
            if state.is_closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        // The receiver takes everything at once, so the whole budget is free again.
        state.bytes = 0;
        let dropped = std::mem::take(&mut state.dropped);
        Some((dropped, std::mem::take(&mut state.waiting)))
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_dropped_and_counted() {
        let queue = Queue::default();
        let line = MAX_BYTES / 4;
        for number in 0..6 {
            queue.push(line, number);
        }
        queue.push(line - 4 * ENTRY_BYTES, 6);
        queue.push_own(1000, 7);
        queue.push_own(OWN_BYTES, 8);
        queue.push_always(9);
        let (dropped, waiting) = queue.take().unwrap();
        assert_eq!((dropped, Vec::from(waiting)), (4, vec![0, 1, 2, 6, 7, 9]));
        queue.push(line, 8);
        queue.close();
        assert_eq!(queue.take().unwrap(), (0, VecDeque::from([8])));
        assert_eq!(queue.take(), None);
    }
}
