//! Polls a reader whose next item may need several requests.

use std::pin::Pin;
use std::task::{Context, Poll};

/// A reader of a stream.
pub(crate) trait Source: Send + Sized + 'static {
    type Item: Send + 'static;

    /// The next item, if it has arrived already.
    fn ready_item(&mut self) -> Option<Self::Item>;

    /// Waits for the next item.
    fn advance(self: Box<Self>) -> impl Future<Output = (Box<Self>, Self::Item)> + Send;

    /// Whether nothing follows this item.
    fn is_last(item: &Self::Item) -> bool;

    /// Returns the connection to the pool after the last item.
    fn release(self);
}

/// The reader moves into a future while it waits, and comes back with the item. Nothing is lost
/// if the caller stops polling in between.
pub(crate) enum Pull<S: Source> {
    Idle(Box<S>),
    Reading(Reading<S>),
    Over,
}

/// The future that owns the reader while it waits for the server.
type Reading<S> = Pin<Box<dyn Future<Output = (Box<S>, <S as Source>::Item)> + Send>>;

impl<S: Source> Pull<S> {
    pub(crate) fn new(source: S) -> Self {
        Self::Idle(Box::new(source))
    }

    /// The next item; `None` after the last one.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let (source, item) = loop {
            match std::mem::replace(self, Self::Over) {
                Self::Idle(mut source) => match source.ready_item() {
                    Some(item) => break (source, item),
                    None => *self = Self::Reading(Box::pin(source.advance())),
                },
                Self::Reading(mut reading) => match reading.as_mut().poll(cx) {
                    Poll::Ready(done) => break done,
                    Poll::Pending => {
                        *self = Self::Reading(reading);
                        return Poll::Pending;
                    }
                },
                Self::Over => return Poll::Ready(None),
            }
        };
        if S::is_last(&item) {
            source.release();
        } else {
            *self = Self::Idle(source);
        }
        Poll::Ready(Some(item))
    }
}
