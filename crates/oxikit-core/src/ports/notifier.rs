//! Notifications that something stored has changed, in this process or in others. They carry no
//! data.

use std::fmt;

use super::{Subscribers, Subscription, Topic};

/// Notifies readers, in this process or in others, that something stored has changed.
///
/// A notifier only notifies; the store holds the data. A store publishes a topic after
/// the change is committed. A reader subscribes first, then reads the store, and reads
/// again after every notification, so that it misses no change:
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// use oxikit_core::ports::{LocalNotifier, Notification, Notifier, Topic};
///
/// let notifier = LocalNotifier::default();
/// let topic = Topic::of(&["prompt", "greeting"]);
/// let mut subscription = notifier.subscribe(topic);
/// // … read the prompt here: it is not changed yet …
/// notifier.publish(topic);
/// assert_eq!(subscription.next().await, Notification::Changed);
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Notifications carry no data, and may be lost, merged, doubled or late. A process
/// that is killed between its commit and its notification never sends it. A store
/// whose readers must not wait for ever therefore also looks for changes by itself,
/// and reports what it finds to [`subscribers`](Self::subscribers).
///
/// An implementation that reaches other processes keeps a [`Subscribers`] and calls
/// [`Subscribers::notify`] for each topic that it receives.
pub trait Notifier: fmt::Debug + Send + Sync {
    /// Notifies all subscribers of this topic.
    ///
    /// Stores call this after every committed write: it does not block, wait or fail,
    /// and does nearly nothing if the topic has no subscribers.
    fn publish(&self, topic: Topic);

    /// The subscriptions of this process.
    fn subscribers(&self) -> &Subscribers;

    /// Subscribes to a topic: every publication after this call is notified, also if
    /// the subscription is awaited later. Dropping the subscription ends it.
    fn subscribe(&self, topic: Topic) -> Subscription {
        self.subscribers().subscribe(topic)
    }
}

/// A [`Notifier`] for the readers of this process. Cheap to clone; clones share their
/// subscribers.
#[derive(Debug, Clone, Default)]
pub struct LocalNotifier(Subscribers);

impl Notifier for LocalNotifier {
    fn publish(&self, topic: Topic) {
        self.0.notify(topic);
    }

    fn subscribers(&self) -> &Subscribers {
        &self.0
    }
}
