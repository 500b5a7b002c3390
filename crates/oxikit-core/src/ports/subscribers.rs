//! The subscriptions of a process to topics, shared by all notifiers.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::Topic;

/// A report of a [`Subscription`]. In both cases the reader reads the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    /// The topic was published.
    Changed,
    /// Notifications may have been lost, for example because a connection was
    /// interrupted: the topic may have been published or not.
    Lagged,
}

/// The subscriptions of one process, by topic. Cheap to clone; clones are the same
/// subscriptions.
///
/// Any number of notifications that a subscriber has not read yet are merged into one,
/// so that a slow subscriber costs no memory.
#[derive(Clone, Default)]
pub struct Subscribers(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// Number of subscriptions, so that publishing takes no lock while there are none.
    count: AtomicUsize,
    topics: Mutex<HashMap<Topic, watch::Sender<Counts>>>,
}

/// The number of notifications of a topic. Subscribers compare them with the counts that they
/// have seen, so that a notification is never lost and need not be queued.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    changed: u64,
    lagged: u64,
}

impl Subscribers {
    /// Subscribes to a topic.
    pub fn subscribe(&self, topic: Topic) -> Subscription {
        let receiver = self.topics().entry(topic).or_default().subscribe();
        self.0.count.fetch_add(1, Ordering::Relaxed);
        // Pairs with the fence in `notify`. A subscriber counts itself and then reads the
        // store; a writer commits and then reads the count. The two fences are in one
        // order, so either the writer sees the subscriber or the subscriber the commit.
        fence(Ordering::SeqCst);
        let seen = *receiver.borrow();
        Subscription { subscribers: self.clone(), topic, receiver, seen }
    }

    /// Notifies the subscribers of a topic, which was published in this process or
    /// received from another one.
    pub fn notify(&self, topic: Topic) {
        fence(Ordering::SeqCst);
        if self.is_empty() {
            return;
        }
        if let Some(sender) = self.topics().get(&topic) {
            sender.send_modify(|counts| counts.changed += 1);
        }
    }

    /// Notifies all subscribers, of every topic, that notifications may have been lost.
    pub fn notify_lagged(&self) {
        for sender in self.topics().values() {
            sender.send_modify(|counts| counts.lagged += 1);
        }
    }

    /// Whether there are no subscriptions.
    pub fn is_empty(&self) -> bool {
        self.0.count.load(Ordering::Relaxed) == 0
    }

    fn topics(&self) -> MutexGuard<'_, HashMap<Topic, watch::Sender<Counts>>> {
        // The map is consistent after every statement.
        self.0.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Subscribers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscribers")
            .field("topics", &self.topics().len())
            .field("subscriptions", &self.0.count.load(Ordering::Relaxed))
            .finish()
    }
}

/// One subscriber's notifications about one topic. Dropping it ends the subscription.
pub struct Subscription {
    subscribers: Subscribers,
    topic: Topic,
    receiver: watch::Receiver<Counts>,
    seen: Counts,
}

impl Subscription {
    /// Waits until the topic is published, or returns at once if that has happened
    /// since the last call (the first time: since the subscription). Nothing is lost if
    /// the future is dropped.
    pub async fn next(&mut self) -> Notification {
        // The sender exists as long as this receiver does: `drop` removes it.
        _ = self.receiver.changed().await;
        let counts = *self.receiver.borrow_and_update();
        let is_lagged = counts.lagged != self.seen.lagged;
        self.seen = counts;
        if is_lagged { Notification::Lagged } else { Notification::Changed }
    }

    /// The notifications so far. Taken before a change by the subscriber, it lets
    /// [`skip_own`](Self::skip_own) find the notification of that change.
    pub fn mark(&self) -> SubscriptionMark {
        SubscriptionMark(*self.receiver.borrow())
    }

    /// Skips the notification of one change that the subscriber has made itself since `mark`.
    /// Nothing is skipped if there were other notifications since, or unread ones before: the
    /// subscriber then reads the store once more than it had to.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// use std::time::Duration;
    ///
    /// use oxikit_core::ports::{LocalNotifier, Notification, Notifier, Topic};
    ///
    /// let (notifier, topic) = (LocalNotifier::default(), Topic::of(&["document", "a"]));
    /// let mut subscription = notifier.subscribe(topic);
    /// let mark = subscription.mark();
    /// notifier.publish(topic); // our own change
    /// subscription.skip_own(mark);
    /// let next = tokio::time::timeout(Duration::from_millis(10), subscription.next());
    /// assert!(next.await.is_err());
    ///
    /// let mark = subscription.mark();
    /// notifier.publish(topic); // our own change
    /// notifier.publish(topic); // a change by others
    /// subscription.skip_own(mark);
    /// assert_eq!(subscription.next().await, Notification::Changed);
    /// # });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn skip_own(&mut self, mark: SubscriptionMark) {
        let counts = *self.receiver.borrow();
        let with_own = Counts { changed: mark.0.changed + 1, ..mark.0 };
        if self.seen == mark.0 && counts == with_own {
            // A notification since the line above is not among `counts`.
            self.seen = counts;
            let newest = *self.receiver.borrow_and_update();
            if newest != counts {
                self.receiver.mark_changed();
            }
        }
    }
}

/// A point among the notifications of a [`Subscription`].
#[derive(Debug, Clone, Copy)]
pub struct SubscriptionMark(Counts);

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut topics = self.subscribers.topics();
        // The lock keeps others from subscribing, so a count of one is this subscription.
        if topics.get(&self.topic).is_some_and(|sender| sender.receiver_count() <= 1) {
            topics.remove(&self.topic);
        }
        self.subscribers.0.count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("topic", &self.topic).finish_non_exhaustive()
    }
}
