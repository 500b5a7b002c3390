//! Notifications by `LISTEN` and `NOTIFY`.
//!
//! This module queues the topics to send and reads those that were received. The
//! connection that transfers them belongs to [`watch`](super::watch).

use std::collections::HashSet;
use std::fmt::Write;
use std::sync::Mutex;

use oxikit_core::ports::{Notifier, Subscribers, Topic};
use tokio::sync::Notify;

use super::watched::lock;

/// Maximum number of topics that wait to be sent. Further ones are dropped: other processes then
/// find the change when they look at the rows.
const MAX_OUTGOING: usize = 10_000;
/// Maximum number of topics in one message: PostgreSQL refuses a message of 8,000 bytes or more.
const MAX_TOPICS: usize = 400;

/// Notifies this process directly, and others by `NOTIFY`.
#[derive(Debug)]
pub(super) struct PostgresNotifier {
    subscribers: Subscribers,
    /// The number of the store, which marks its own messages.
    instance: i64,
    /// Topics that wait to be sent. A topic that is published twice meanwhile is sent once.
    outgoing: Mutex<HashSet<Topic>>,
    /// Wakes the task that sends.
    has_outgoing: Notify,
}

impl PostgresNotifier {
    /// A notifier without subscribers, for the store with this number.
    pub(super) fn new(instance: i64) -> Self {
        Self {
            subscribers: Subscribers::default(),
            instance,
            outgoing: Mutex::default(),
            has_outgoing: Notify::new(),
        }
    }

    /// The messages to send, as soon as there are topics to send. A message is the number
    /// of its sender and topics, in hexadecimal.
    pub(super) async fn outgoing(&self) -> Vec<String> {
        loop {
            let topics: Vec<Topic> = lock(&self.outgoing).drain().collect();
            if !topics.is_empty() {
                return topics.chunks(MAX_TOPICS).map(|topics| self.message(topics)).collect();
            }
            self.has_outgoing.notified().await;
        }
    }

    /// One message: the sender's number and the topics, separated by spaces.
    fn message(&self, topics: &[Topic]) -> String {
        let mut message = format!("{:x}", self.instance);
        for topic in topics {
            write!(message, " {:x}", topic.number()).expect("writing to a string never fails");
        }
        message
    }

    /// Notifies the subscribers of the topics in a message of another process.
    pub(super) fn receive(&self, message: &str) {
        let mut numbers = message.split(' ');
        let sender = numbers.next().and_then(|text| u64::from_str_radix(text, 16).ok());
        // PostgreSQL also sends a message to its own sender, whose subscribers were notified
        // already.
        if sender == Some(self.instance.cast_unsigned()) {
            return;
        }
        numbers
            .filter_map(|text| u64::from_str_radix(text, 16).ok())
            .for_each(|number| self.subscribers.notify(Topic::from_number(number)));
    }
}

impl Notifier for PostgresNotifier {
    fn publish(&self, topic: Topic) {
        self.subscribers.notify(topic);
        let mut outgoing = lock(&self.outgoing);
        if outgoing.len() < MAX_OUTGOING {
            outgoing.insert(topic);
        }
        drop(outgoing);
        self.has_outgoing.notify_one();
    }

    fn subscribers(&self) -> &Subscribers {
        &self.subscribers
    }
}
