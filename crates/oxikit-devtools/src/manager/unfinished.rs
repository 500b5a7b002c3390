//! What all sockets together hold of messages that are not complete.
//!
//! One message may be large, but not one of every socket at the same time. Beyond the
//! common limit the message that has begun last has to go: those before it can be
//! completed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Context;

use futures_util::task::AtomicWaker;

/// So much of a message is not counted: most are never larger.
const UNCOUNTED: usize = 64 << 10;

/// The common budget.
#[derive(Debug)]
pub(crate) struct Unfinished {
    limit: usize,
    holders: Mutex<Holders>,
}

/// Who holds how much. Those who were told to go are not in it.
#[derive(Debug, Default)]
struct Holders {
    held: usize,
    /// The oldest first.
    list: Vec<(Arc<Holder>, usize)>,
}

/// How a socket is told to go.
#[derive(Debug, Default)]
struct Holder {
    must_go: AtomicBool,
    waker: AtomicWaker,
}

/// What one socket holds. It is given back with this.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Unfinished>,
    holder: Option<Arc<Holder>>,
}

impl Unfinished {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, holders: Mutex::default() })
    }

    /// For one more socket.
    pub(crate) fn share(self: &Arc<Self>) -> Share {
        Share { budget: self.clone(), holder: None }
    }

    fn holders(&self) -> MutexGuard<'_, Holders> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// The socket holds so many bytes of a message.
    pub(crate) fn hold(&mut self, bytes: usize) {
        let bytes = bytes.saturating_sub(UNCOUNTED);
        if bytes == 0 {
            return self.release();
        }
        // Buffers grow by doubling: so much room was made for it.
        let bytes = bytes.next_power_of_two();
        let holder = self.holder.get_or_insert_default();
        if !holder.must_go.load(Ordering::Relaxed) {
            self.budget.holders().set(holder, bytes, self.budget.limit);
        }
    }

    /// The message is complete, or gone.
    pub(crate) fn release(&mut self) {
        if let Some(holder) = self.holder.take() {
            self.budget.holders().remove(&holder);
        }
    }

    /// Whether this socket has to go. It is woken when it has.
    pub(crate) fn must_go(&self, cx: &Context<'_>) -> bool {
        self.holder.as_ref().is_some_and(|holder| {
            holder.waker.register(cx.waker());
            holder.must_go.load(Ordering::Acquire)
        })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.release();
    }
}

impl Holders {
    fn set(&mut self, holder: &Arc<Holder>, bytes: usize, limit: usize) {
        match self.list.iter_mut().find(|(known, _)| Arc::ptr_eq(known, holder)) {
            Some((_, held)) => self.held = self.held - std::mem::replace(held, bytes) + bytes,
            None => {
                self.list.push((holder.clone(), bytes));
                self.held += bytes;
            }
        }
        while self.held > limit {
            let Some((newest, held)) = self.list.pop() else { return };
            self.held -= held;
            newest.must_go.store(true, Ordering::Release);
            newest.waker.wake();
        }
    }

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
    fn beyond_the_budget_the_newest_has_to_go() {
        let cx = Context::from_waker(Waker::noop());
        let budget = Unfinished::new(128);
        let (mut one, mut other, mut small) = (budget.share(), budget.share(), budget.share());
        one.hold(UNCOUNTED + 60);
        other.hold(UNCOUNTED + 40);
        small.hold(UNCOUNTED);
        assert!(!one.must_go(&cx) && !other.must_go(&cx));
        one.hold(UNCOUNTED + 65);
        assert!(!one.must_go(&cx) && other.must_go(&cx) && !small.must_go(&cx));
        // What it still says does not count any more.
        other.hold(UNCOUNTED + 90);
        assert_eq!(budget.holders().held, 128, "the room for 65");
        one.hold(UNCOUNTED + 129);
        assert!(one.must_go(&cx));
        assert_eq!(budget.holders().held, 0);
        drop(one);
        let mut next = budget.share();
        next.hold(UNCOUNTED + 128);
        assert!(!next.must_go(&cx));
        next.release();
        assert_eq!(budget.holders().held, 0);
    }
}
