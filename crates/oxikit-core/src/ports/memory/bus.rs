//! A bus that rings inside of the process only.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::lock;
use crate::ports::{Announcement, EventBus, Heard, StoreError, Subscription};

/// So many announcements wait for a slow subscriber; then it has missed some.
const RING: usize = 256;

/// An [`EventBus`] inside of the process. Cheap to clone; clones are one bus.
#[derive(Clone, Default)]
pub struct MemoryBus(Subjects);

type Subjects = Arc<Mutex<HashMap<String, broadcast::Sender<Announcement>>>>;

#[async_trait]
impl EventBus for MemoryBus {
    async fn publish(&self, subject: &str, announcement: Announcement) -> Result<(), StoreError> {
        if let Some(sender) = lock(&self.0).get(subject) {
            // Fails only when the last subscriber is just leaving.
            _ = sender.send(announcement);
        }
        Ok(())
    }

    async fn subscribe(&self, subject: &str) -> Result<Subscription, StoreError> {
        let receiver = lock(&self.0)
            .entry(subject.to_owned())
            .or_insert_with(|| broadcast::channel(RING).0)
            .subscribe();
        let ear = Ear { subjects: self.0.clone(), subject: subject.to_owned(), receiver };
        let heard = futures_util::stream::unfold(ear, |mut ear| async {
            match ear.receiver.recv().await {
                Ok(announcement) => Some((Heard::Announcement(announcement), ear)),
                Err(RecvError::Lagged(_)) => Some((Heard::Lagged, ear)),
                Err(RecvError::Closed) => None,
            }
        });
        Ok(Box::pin(heard))
    }
}

/// One subscriber; the last of a subject takes the subject along.
struct Ear {
    subjects: Subjects,
    subject: String,
    receiver: broadcast::Receiver<Announcement>,
}

impl Drop for Ear {
    fn drop(&mut self) {
        let mut subjects = lock(&self.subjects);
        // Under the lock nobody subscribes, so one means this one.
        if subjects.get(&self.subject).is_some_and(|sender| sender.receiver_count() <= 1) {
            subjects.remove(&self.subject);
        }
    }
}

impl fmt::Debug for MemoryBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryBus").field("subjects", &lock(&self.0).len()).finish()
    }
}
