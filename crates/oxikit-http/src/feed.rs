//! A feed of events for any number of readers that may lose their connections.
//!
//! The newest events are kept with positions, which a server sends as ids of server-sent events. A
//! reader that comes back with its last position (`Last-Event-ID`) continues there. If its position is
//! not kept, because it was too slow or the server was restarted, it reads [`Read::Gap`] and has to ask
//! for the present state. Adding an event never waits for a reader.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use uuid::Uuid;

/// The end of a feed where events are added. When it is dropped the feed ends for all readers.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use oxikit_http::feed::{Feed, Read};
///
/// let feed = Feed::new(100);
/// let mut reader = feed.read_from(None);
/// feed.add("first");
/// feed.add("second");
/// assert_eq!(reader.next().await, Some(Read::Event("first")));
///
/// // The connection is lost, and the client comes back with the last id that it has received.
/// let last = reader.position();
/// let mut reader = feed.read_from(Some(&last));
/// assert_eq!(reader.next().await, Some(Read::Event("second")));
///
/// // Nobody knows what happened after a position of another start of the server.
/// let mut reader = feed.read_from(Some("other-1"));
/// assert_eq!(reader.next().await, Some(Read::Gap));
/// # }
/// ```
#[derive(Debug)]
pub struct Feed<T>(Arc<Shared<T>>);

/// A reader of a [`Feed`].
#[derive(Debug)]
pub struct Reader<T> {
    feed: Arc<Shared<T>>,
    /// The number of the event to read next.
    next: u64,
    newest: watch::Receiver<Newest>,
    /// Whether events may be missing before `next`.
    has_gap: bool,
}

/// What a [`Reader`] reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read<T> {
    /// The next event.
    Event(T),
    /// Events are missing here. The events after it are read next.
    Gap,
}

#[derive(Debug)]
struct Shared<T> {
    /// Distinguishes the positions of this feed from those of one before a restart.
    start: String,
    max_kept: usize,
    kept: Mutex<Kept<T>>,
    newest: watch::Sender<Newest>,
}

/// The state that readers wait for.
#[derive(Debug, Clone, Copy)]
struct Newest {
    /// The number of the newest event or gap.
    number: u64,
    has_ended: bool,
}

/// The events from number `first` on.
#[derive(Debug)]
struct Kept<T> {
    first: u64,
    events: VecDeque<T>,
}

impl<T: Clone> Feed<T> {
    /// A feed that keeps the newest `max_kept` events.
    pub fn new(max_kept: usize) -> Self {
        Self(Arc::new(Shared {
            start: Uuid::new_v4().simple().to_string(),
            max_kept,
            kept: Mutex::new(Kept { first: 1, events: VecDeque::new() }),
            newest: watch::Sender::new(Newest { number: 0, has_ended: false }),
        }))
    }

    /// The first part of all positions of this feed. Another feed has another one, also after a
    /// restart.
    pub fn start(&self) -> &str {
        &self.0.start
    }

    /// Adds an event.
    pub fn add(&self, event: T) {
        let mut kept = self.0.kept();
        kept.events.push_back(event);
        if kept.events.len() > self.0.max_kept {
            kept.events.pop_front();
            kept.first += 1;
        }
        self.0.set_newest(&kept);
    }

    /// Forgets the kept events: everybody who has not read all of them reads [`Read::Gap`], also
    /// readers that come back later.
    pub fn add_gap(&self) {
        let mut kept = self.0.kept();
        kept.first = kept.newest() + 2;
        kept.events.clear();
        self.0.set_newest(&kept);
    }

    /// A reader of the events from now on, or of those behind the position `last`.
    pub fn read_from(&self, last: Option<&str>) -> Reader<T> {
        let newest = self.0.newest.subscribe();
        let number = newest.borrow().number;
        let (next, has_gap) = match last.map(|position| self.0.number_of(position)) {
            None => (number + 1, false),
            Some(Some(last)) if last <= number => (last + 1, false),
            // The position is of another feed.
            Some(_) => (number + 1, true),
        };
        Reader { feed: self.0.clone(), next, newest, has_gap }
    }
}

impl<T> Feed<T> {
    /// Ends the feed: its readers read what is kept, then `None`.
    pub fn close(&self) {
        self.0.newest.send_modify(|newest| newest.has_ended = true);
    }
}

impl<T> Drop for Feed<T> {
    fn drop(&mut self) {
        // The readers hold the state. Nobody is left who would add to it.
        self.close();
    }
}

impl<T> Shared<T> {
    /// The number in a position of this feed; `None` for other texts.
    fn number_of(&self, position: &str) -> Option<u64> {
        let (start, number) = position.split_once('-')?;
        number.parse().ok().filter(|_| start == self.start)
    }

    /// Wakes the readers. It is called under the lock, so that the numbers of two events that are added
    /// at the same time rise.
    fn set_newest(&self, kept: &Kept<T>) {
        self.newest.send_modify(|newest| newest.number = kept.newest());
    }

    fn kept(&self) -> MutexGuard<'_, Kept<T>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Kept<T> {
    fn newest(&self) -> u64 {
        self.first + self.events.len() as u64 - 1
    }
}

impl<T: Clone> Reader<T> {
    /// The next event; `None` when the feed has ended. Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<Read<T>> {
        loop {
            // Before the look at the events: one that is added after it is then not missed.
            let has_ended = self.newest.borrow_and_update().has_ended;
            if let Some(read) = self.take() {
                return Some(read);
            }
            if has_ended {
                return None;
            }
            self.newest.changed().await.ok()?;
        }
    }

    /// The position behind what was read last, for [`Feed::read_from`].
    pub fn position(&self) -> String {
        format!("{}-{}", self.feed.start, self.next - 1)
    }

    /// The next event if there is one.
    fn take(&mut self) -> Option<Read<T>> {
        let kept = self.feed.kept();
        if std::mem::take(&mut self.has_gap) || self.next < kept.first {
            self.next = kept.newest() + 1;
            return Some(Read::Gap);
        }
        let index = usize::try_from(self.next - kept.first).ok()?;
        let event = kept.events.get(index)?.clone();
        self.next += 1;
        Some(Read::Event(event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: usize = 8;

    /// The next event; `None` for a gap.
    async fn next(reader: &mut Reader<usize>) -> Option<usize> {
        match reader.next().await.unwrap() {
            Read::Event(event) => Some(event),
            Read::Gap => None,
        }
    }

    #[tokio::test]
    async fn a_reader_that_returns_misses_nothing() {
        let feed = Feed::new(KEPT);
        let mut reader = feed.read_from(None);
        (1..=3).for_each(|event| feed.add(event));
        assert_eq!(next(&mut reader).await, Some(1));
        let mut returned = feed.read_from(Some(&reader.position()));
        for expected in [2, 3] {
            assert_eq!(next(&mut returned).await, Some(expected));
        }
        assert_eq!(next(&mut reader).await, Some(2));
    }

    #[tokio::test]
    async fn an_unknown_position_is_a_gap() {
        let feed = Feed::new(KEPT);
        (1..=3).for_each(|event| feed.add(event));
        let beyond = format!("{}-9", feed.start());
        for position in ["", "7", "other-1", "other-x", &beyond] {
            let mut reader = feed.read_from(Some(position));
            assert_eq!(next(&mut reader).await, None, "{position}");
            feed.add(4);
            assert_eq!(next(&mut reader).await, Some(4), "{position}");
        }
    }

    #[tokio::test]
    async fn a_reader_that_is_too_slow_reads_a_gap() {
        let feed = Feed::new(KEPT);
        let mut reader = feed.read_from(None);
        (0..=KEPT).for_each(|event| feed.add(event));
        assert_eq!(feed.0.kept().events.len(), KEPT);
        assert_eq!(next(&mut reader).await, None);
        feed.add(7);
        assert_eq!(next(&mut reader).await, Some(7));
    }

    #[tokio::test]
    async fn a_gap_is_read_by_all_who_have_not_read_everything_before() {
        let feed = Feed::new(KEPT);
        let waiting = feed.read_from(None);
        feed.add(1);
        let position = waiting.position();
        feed.add_gap();
        feed.add(2);
        for mut reader in [feed.read_from(Some(&position)), waiting] {
            assert_eq!(next(&mut reader).await, None);
            feed.add(3);
            assert_eq!(next(&mut reader).await, Some(3));
        }
    }

    #[tokio::test]
    async fn a_reader_has_all_events_before_the_end() {
        let feed = Feed::new(KEPT);
        let mut reader = feed.read_from(None);
        let mut waiting = feed.read_from(None);
        let end = tokio::spawn(async move { while waiting.next().await.is_some() {} });
        tokio::task::yield_now().await;
        feed.add(1);
        feed.close();
        assert_eq!(next(&mut reader).await, Some(1));
        assert_eq!(reader.next().await, None);
        end.await.unwrap();
        assert_eq!(feed.read_from(None).next().await, None);
    }

    #[tokio::test]
    async fn a_feed_that_was_dropped_has_ended() {
        let feed = Feed::<usize>::new(KEPT);
        let mut reader = feed.read_from(None);
        drop(feed);
        let at_once = tokio::time::timeout(std::time::Duration::ZERO, reader.next()).await;
        assert_eq!(at_once, Ok(None));
    }
}
