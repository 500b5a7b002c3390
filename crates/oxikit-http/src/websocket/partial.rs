//! Limits the memory that all sockets together use for incomplete messages.
//!
//! One message may be large, but not one of every socket at the same time. Beyond the common
//! limit the socket whose message has begun last is closed: the memory that it frees lets the
//! older messages complete. Closing the oldest would let new messages prevent every large one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Context;

use futures_util::task::AtomicWaker;

/// Number of bytes of each message that are not counted. Most messages are never larger, and
/// cost no lock.
const UNCOUNTED: usize = 64 << 10;

/// The memory budget of the incomplete messages of all sockets of a server.
#[derive(Debug)]
pub struct PartialMessages {
    limit: usize,
    holders: Mutex<Holders>,
}

/// The sockets with incomplete messages. Those that have to close are not in it.
#[derive(Debug, Default)]
struct Holders {
    held: usize,
    /// In the order in which their messages have begun.
    list: Vec<(Arc<Holder>, usize)>,
}

/// The signal to one socket that it has to close.
#[derive(Debug, Default)]
struct Holder {
    must_close: AtomicBool,
    waker: AtomicWaker,
}

/// The share of one socket. Dropping it releases what it holds.
#[derive(Debug)]
pub struct PartialShare {
    budget: Arc<PartialMessages>,
    holder: Option<Arc<Holder>>,
}

impl PartialMessages {
    /// A budget of this many bytes.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, holders: Mutex::default() })
    }

    /// The share of one more socket.
    pub fn share(self: &Arc<Self>) -> PartialShare {
        PartialShare { budget: self.clone(), holder: None }
    }

    fn holders(&self) -> MutexGuard<'_, Holders> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialShare {
    /// Sets the number of bytes that the socket holds of an incomplete message.
    pub(super) fn hold(&mut self, bytes: usize) {
        let bytes = bytes.saturating_sub(UNCOUNTED);
        if bytes == 0 {
            return self.release();
        }
        // Buffers grow by doubling: this is the memory that is allocated.
        let bytes = bytes.next_power_of_two();
        let holder = self.holder.get_or_insert_default();
        // A socket that has to close no longer counts; its bytes are freed when it is dropped.
        if !holder.must_close.load(Ordering::Relaxed) {
            self.budget.holders().set(holder, bytes, self.budget.limit);
        }
    }

    /// Releases the memory: the message is complete or dropped.
    pub(super) fn release(&mut self) {
        if let Some(holder) = self.holder.take() {
            self.budget.holders().remove(&holder);
        }
    }

    /// Whether this socket has to close. Its task is woken when it has to.
    pub(super) fn must_close(&self, cx: &Context<'_>) -> bool {
        self.holder.as_ref().is_some_and(|holder| {
            holder.waker.register(cx.waker());
            holder.must_close.load(Ordering::Acquire)
        })
    }
}

impl Drop for PartialShare {
    fn drop(&mut self) {
        self.release();
    }
}

impl Holders {
    /// Sets the bytes of a holder, and closes sockets until the sum is within the limit.
    fn set(&mut self, holder: &Arc<Holder>, bytes: usize, limit: usize) {
        match self.list.iter_mut().find(|(known, _)| Arc::ptr_eq(known, holder)) {
            Some((_, held)) => self.held = self.held - std::mem::replace(held, bytes) + bytes,
            None => {
                self.list.push((holder.clone(), bytes));
                self.held += bytes;
            }
        }
        // The newest first, until the rest is within the limit. This may be the holder that has
        // just grown: it then closes itself at its next poll.
        while self.held > limit {
            let Some((newest, held)) = self.list.pop() else { return };
            self.held -= held;
            newest.must_close.store(true, Ordering::Release);
            newest.waker.wake();
        }
    }

    /// Removes a holder; one that has to close was removed before.
    fn remove(&mut self, holder: &Arc<Holder>) {
        if let Some(place) = self.list.iter().position(|(known, _)| Arc::ptr_eq(known, holder)) {
            self.held -= self.list.remove(place).1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn beyond_the_budget_the_newest_has_to_close() {
        let cx = Context::from_waker(Waker::noop());
        let budget = PartialMessages::new(128);
        let (mut one, mut other, mut small) = (budget.share(), budget.share(), budget.share());
        one.hold(UNCOUNTED + 60);
        other.hold(UNCOUNTED + 40);
        small.hold(UNCOUNTED);
        assert!(!one.must_close(&cx) && !other.must_close(&cx));
        one.hold(UNCOUNTED + 65);
        assert!(!one.must_close(&cx) && other.must_close(&cx) && !small.must_close(&cx));
        // A socket that has to close is not counted any more.
        other.hold(UNCOUNTED + 90);
        assert_eq!(budget.holders().held, 128, "the room for 65");
        one.hold(UNCOUNTED + 129);
        assert!(one.must_close(&cx));
        assert_eq!(budget.holders().held, 0);
        drop(one);
        let mut next = budget.share();
        next.hold(UNCOUNTED + 128);
        assert!(!next.must_close(&cx));
        next.release();
        assert_eq!(budget.holders().held, 0);
    }
}
