//! The bell between processes.

use std::fmt;
use std::pin::Pin;

use async_trait::async_trait;
use bytes::Bytes;
use futures_core::Stream;

use super::StoreError;

/// Tells other processes that something was stored.
///
/// The bus is the bell and the store is the record: an announcement may be lost,
/// come twice or come late, and carries the number under which the store has the
/// thing itself. Whoever hears a number beyond the next one it expects, or
/// [`Heard::Lagged`], or nothing for two seconds, reads the store.
///
/// Within one subject a subscriber hears the announcements of one publisher in the
/// order they were made. Subjects are compared whole; parts are separated by dots,
/// such as `streams.1f3a`.
#[async_trait]
pub trait EventBus: fmt::Debug + Send + Sync {
    /// Announces something to all who are subscribed now. Waits for no subscriber
    /// and does not fail because there is none.
    async fn publish(&self, subject: &str, announcement: Announcement) -> Result<(), StoreError>;

    /// Hears what is announced from now on: what is published after this has
    /// returned is not missed. Dropping the subscription ends it.
    async fn subscribe(&self, subject: &str) -> Result<Subscription, StoreError>;
}

/// That something was stored under a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// Its number in the store.
    pub sequence: u64,
    /// The thing itself if it is small, or nothing: a hint that saves a read.
    pub hint: Bytes,
}

/// What a subscriber hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// An announcement.
    Announcement(Announcement),
    /// Some were missed, because the subscriber was slow or the bus was away.
    Lagged,
}

/// What is heard on one subject, from the subscription on. It ends when the bus
/// is shut down.
pub type Subscription = Pin<Box<dyn Stream<Item = Heard> + Send>>;
