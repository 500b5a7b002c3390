//! The contract tests of notifiers.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::{Case, cases};
use crate::ports::{Notification, Notifier, Subscription, Topic};

/// The promises of a [`Notifier`].
pub const NOTIFIER: &[Case<dyn Notifier>] = cases![
    publishing_needs_no_subscribers,
    all_subscribers_of_a_topic_are_notified,
    a_publication_before_the_subscription_is_not_needed,
    a_publication_after_the_subscription_is_not_missed,
    any_number_of_publications_may_be_merged,
    subscribers_learn_of_lost_notifications,
    a_subscription_that_is_not_awaited_to_the_end_loses_nothing,
    a_topic_is_forgotten_with_its_last_subscriber,
    publishers_and_subscribers_on_all_threads_miss_nothing,
];

/// Maximum time until a notification arrives. A loaded machine needs far less.
const DEADLINE: Duration = Duration::from_secs(30);

fn topic(name: &str) -> Topic {
    Topic::of(&["contract", name])
}

/// The next notification, which has to come. Whether it is `Changed` or `Lagged` is left
/// to the notifier: one that cannot tell topics apart may report more than was lost.
async fn next(promise: &str, subscription: &mut Subscription) -> Notification {
    let next = tokio::time::timeout(DEADLINE, subscription.next()).await;
    next.unwrap_or_else(|_| panic!("broken promise: {promise}: no notification came"))
}

/// Publishing without subscribers does nothing.
async fn publishing_needs_no_subscribers(notifier: Arc<dyn Notifier>) {
    notifier.publish(topic("alone"));
    drop(notifier.subscribe(topic("alone")));
    notifier.publish(topic("alone"));
}

/// Each subscriber of a topic is notified.
async fn all_subscribers_of_a_topic_are_notified(notifier: Arc<dyn Notifier>) {
    let mut one = notifier.subscribe(topic("all"));
    let mut two = notifier.subscribe(topic("all"));
    let mut other = notifier.subscribe(topic("other"));
    notifier.publish(topic("all"));
    for subscription in [&mut one, &mut two] {
        next("each subscriber is notified", subscription).await;
    }
    notifier.publish(topic("other"));
    next("each topic has its subscribers", &mut other).await;
}

/// A new subscription reports only later publications: the reader reads the store anyway.
async fn a_publication_before_the_subscription_is_not_needed(notifier: Arc<dyn Notifier>) {
    let mut subscription = notifier.subscribe(topic("late"));
    assert!(subscription.next().now_or_never().is_none(), "nothing was published");
    notifier.publish(topic("late"));
    next("a subscriber is notified of later publications", &mut subscription).await;
}

/// A publication between subscribing and awaiting is not missed.
async fn a_publication_after_the_subscription_is_not_missed(notifier: Arc<dyn Notifier>) {
    for _ in 0..100 {
        let mut subscription = notifier.subscribe(topic("early"));
        notifier.publish(topic("early"));
        tokio::task::yield_now().await;
        next("it is awaited after the publication", &mut subscription).await;
    }
}

/// A slow subscriber gets one notification for many publications, and does not block the publisher.
async fn any_number_of_publications_may_be_merged(notifier: Arc<dyn Notifier>) {
    let mut slow = notifier.subscribe(topic("slow"));
    for _ in 0..100_000 {
        notifier.publish(topic("slow"));
    }
    let mut last = notifier.subscribe(topic("last"));
    next("the slow subscriber is notified", &mut slow).await;
    notifier.publish(topic("last"));
    next("the publisher was not held up", &mut last).await;
}

/// After a possible loss all subscribers get `Lagged`, and the subscriptions stay in force.
async fn subscribers_learn_of_lost_notifications(notifier: Arc<dyn Notifier>) {
    let mut one = notifier.subscribe(topic("lost a"));
    let mut two = notifier.subscribe(topic("lost b"));
    notifier.subscribers().notify_lagged();
    for subscription in [&mut one, &mut two] {
        while next("all subscribers are notified", subscription).await != Notification::Lagged {}
    }
    notifier.publish(topic("lost a"));
    next("the subscription goes on", &mut one).await;
}

/// Dropping the future of `next` loses no notification.
async fn a_subscription_that_is_not_awaited_to_the_end_loses_nothing(notifier: Arc<dyn Notifier>) {
    let mut subscription = notifier.subscribe(topic("dropped"));
    assert!(subscription.next().now_or_never().is_none(), "nothing was published");
    notifier.publish(topic("dropped"));
    next("the dropped future took nothing along", &mut subscription).await;
}

/// A topic without subscribers takes no memory.
async fn a_topic_is_forgotten_with_its_last_subscriber(notifier: Arc<dyn Notifier>) {
    let one = notifier.subscribe(topic("last"));
    let two = notifier.subscribe(topic("last"));
    drop(one);
    assert!(!notifier.subscribers().is_empty(), "the other one is still there");
    drop(two);
    assert!(notifier.subscribers().is_empty(), "nothing is kept for dropped subscriptions");
}

/// A counter stands for the store: a reader that subscribes, reads and waits for the
/// next notification sees every value in the end, however the threads run.
async fn publishers_and_subscribers_on_all_threads_miss_nothing(notifier: Arc<dyn Notifier>) {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    const LAST: u64 = 10_000;
    let stored = Arc::new(AtomicU64::new(0));
    let writer = {
        let (notifier, stored) = (notifier.clone(), stored.clone());
        tokio::spawn(async move {
            for value in 1..=LAST {
                stored.store(value, Relaxed);
                notifier.publish(topic("counter"));
                tokio::task::yield_now().await;
            }
        })
    };
    let mut seen = 0;
    while seen < LAST {
        let mut subscription = notifier.subscribe(topic("counter"));
        let value = stored.load(Relaxed);
        match value == seen {
            true => _ = next("no change is missed", &mut subscription).await,
            false => seen = value,
        }
    }
    writer.await.unwrap_or_else(|error| panic!("the writer ends: {error}"));
}

/// The promise of two connected notifiers, for example of two processes with one database: each
/// receives the topics that the other publishes.
pub(super) async fn connected(one: Arc<dyn Notifier>, other: Arc<dyn Notifier>) {
    for (publisher, subscriber) in [(&one, &other), (&other, &one)] {
        for _ in 0..3 {
            let mut subscription = subscriber.subscribe(topic("connected"));
            publisher.publish(topic("connected"));
            next("the other process is notified", &mut subscription).await;
        }
    }
}
