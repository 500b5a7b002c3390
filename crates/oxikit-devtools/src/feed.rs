//! The feed of changes of everything that a page shows: runtimes, the application, traces, data sets,
//! evaluations and prompts.
//!
//! The newest events are kept with positions, so that a reader that has lost its connection continues
//! where it was. A reader whose position is not among them, because it was too slow or the server was
//! restarted, is told that it has missed events. Nothing waits for a reader. While there are no readers
//! nothing is kept and nothing is read: `feed_sources` adds the events.

mod project;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oxikit_traces::TraceInfo;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::watch;
use uuid::Uuid;

pub(crate) use project::WatchedProject;

/// Number of events that are kept. A reader that is further behind has missed events.
const KEPT: usize = 256;

/// The newest events.
#[derive(Debug, Clone)]
pub(crate) struct Feed(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Tells the positions of this start of the server from those of others.
    start: String,
    kept: Mutex<Kept>,
    /// The number of the newest event.
    newest: watch::Sender<u64>,
    /// The number of readers.
    readers: watch::Sender<usize>,
    /// Whether the sources are followed.
    is_followed: watch::Sender<bool>,
}

/// The events from number `first` on.
#[derive(Debug)]
struct Kept {
    first: u64,
    events: VecDeque<Event>,
}

/// An event: its name, and its data as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: &'static str,
    pub(crate) json: Arc<str>,
}

/// Traces that are new or have changed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChangedTraces {
    /// The number of traces that have changed. It is at least this number if spans arrived faster than
    /// they were counted.
    pub(crate) count: u64,
    /// Their summaries, as in the list of traces; empty if too many have changed, then the list has to
    /// be read again.
    pub(crate) traces: Vec<TraceInfo>,
}

/// A reader of the feed.
#[derive(Debug)]
pub(crate) struct Reader {
    feed: Feed,
    /// The number of the event to read next.
    next: u64,
    newest: watch::Receiver<u64>,
    /// Whether events may be missing before `next`.
    has_gap: bool,
}

/// What a reader reads next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Event(Event),
    /// Events are missing here.
    Gap,
}

impl Feed {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            start: Uuid::new_v4().simple().to_string(),
            kept: Mutex::new(Kept { first: 1, events: VecDeque::new() }),
            newest: watch::Sender::new(0),
            readers: watch::Sender::new(0),
            is_followed: watch::Sender::new(false),
        }))
    }

    /// The id of this start of the server.
    pub(crate) fn start(&self) -> &str {
        &self.0.start
    }

    /// Adds an event, unless nobody reads.
    pub(crate) fn add(&self, name: &'static str, data: &impl Serialize) {
        if *self.0.readers.borrow() == 0 {
            return;
        }
        let Ok(json) = serde_json::to_string(data) else { return };
        let mut kept = self.kept();
        kept.events.push_back(Event { name, json: json.into() });
        if kept.events.len() > KEPT {
            kept.events.pop_front();
            kept.first += 1;
        }
        let newest = kept.newest();
        drop(kept);
        self.0.newest.send_replace(newest);
    }

    /// Waits until somebody reads.
    pub(crate) async fn has_readers(&self) {
        // The sender lives as long as the feed.
        _ = self.0.readers.subscribe().wait_for(|readers| *readers > 0).await;
    }

    /// Waits until nobody reads.
    pub(crate) async fn has_no_readers(&self) {
        _ = self.0.readers.subscribe().wait_for(|readers| *readers == 0).await;
    }

    /// From now on the sources are followed, and readers miss nothing.
    pub(crate) fn set_followed(&self) {
        self.0.is_followed.send_replace(true);
    }

    /// From now on the sources are not followed. A reader that returns is told that it has missed what
    /// happens until they are again.
    pub(crate) fn pause(&self) {
        self.0.is_followed.send_replace(false);
        self.add_gap();
    }

    /// Forgets the kept events and makes a gap behind them.
    fn add_gap(&self) {
        let mut kept = self.kept();
        kept.first = kept.newest() + 2;
        kept.events.clear();
        let newest = kept.newest();
        drop(kept);
        self.0.newest.send_replace(newest);
    }

    /// A reader from now on, or from the position behind `last_event_id`. Returns when the sources are
    /// followed, so that the reader misses nothing that happens afterwards.
    pub(crate) async fn read_from(&self, last_event_id: Option<&str>) -> Reader {
        let reader = self.reader(last_event_id);
        let mut is_followed = self.0.is_followed.subscribe();
        // The sender lives as long as the feed.
        _ = is_followed.wait_for(|is_followed| *is_followed).await;
        reader
    }

    fn reader(&self, last_event_id: Option<&str>) -> Reader {
        self.0.readers.send_modify(|readers| *readers += 1);
        let newest = self.0.newest.subscribe();
        let number = *newest.borrow();
        let (next, has_gap) = match last_event_id.map(|id| self.number_of(id)) {
            None => (number + 1, false),
            Some(Some(last)) if last <= number => (last + 1, false),
            // The position is of another start of the server.
            Some(_) => (number + 1, true),
        };
        Reader { feed: self.clone(), next, newest, has_gap }
    }

    /// The number in a position of this start; `None` for other texts.
    fn number_of(&self, id: &str) -> Option<u64> {
        let (start, number) = id.split_once('-')?;
        number.parse().ok().filter(|_| start == self.0.start)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// The number of the newest event.
    fn newest(&self) -> u64 {
        self.first + self.events.len() as u64 - 1
    }
}

impl Reader {
    /// The next event. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> Read {
        loop {
            if let Some(read) = self.take() {
                return read;
            }
            // The sender lives as long as the feed, of which the reader has a handle.
            _ = self.newest.changed().await;
        }
    }

    /// The position behind the last event that was read.
    pub(crate) fn position(&self) -> String {
        format!("{}-{}", self.feed.0.start, self.next - 1)
    }

    /// The next event if there is one.
    fn take(&mut self) -> Option<Read> {
        self.newest.mark_unchanged();
        let kept = self.feed.kept();
        if std::mem::take(&mut self.has_gap) || self.next < kept.first {
            self.next = kept.newest() + 1;
            return Some(Read::Gap);
        }
        let event = kept.events.get(usize::try_from(self.next - kept.first).ok()?)?.clone();
        self.next += 1;
        Some(Read::Event(event))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.feed.0.readers.send_modify(|readers| *readers -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn next(reader: &mut Reader) -> String {
        match reader.next().await {
            Read::Event(event) => event.json.to_string(),
            Read::Gap => "gap".to_owned(),
        }
    }

    #[tokio::test]
    async fn a_reader_that_returns_misses_nothing() {
        let feed = Feed::new();
        let mut reader = feed.reader(None);
        (1..=3).for_each(|number| feed.add("x", &number));
        assert_eq!(next(&mut reader).await, "1");
        let mut returned = feed.reader(Some(&reader.position()));
        drop(reader);
        assert_eq!([next(&mut returned).await, next(&mut returned).await], ["2", "3"]);
    }

    #[tokio::test]
    async fn an_unknown_position_and_a_slow_reader_are_gaps() {
        let feed = Feed::new();
        for position in ["", "7", "other-1", &format!("{}-9", feed.start())] {
            let mut reader = feed.reader(Some(position));
            assert_eq!(next(&mut reader).await, "gap", "{position}");
        }
        let mut slow = feed.reader(None);
        (0..=KEPT).for_each(|number| feed.add("x", &number));
        assert_eq!(next(&mut slow).await, "gap");
        feed.add("x", &"later");
        assert_eq!(next(&mut slow).await, "\"later\"");
    }

    #[tokio::test]
    async fn what_happens_without_readers_is_a_gap() {
        let feed = Feed::new();
        let reader = feed.reader(None);
        feed.add("x", &1);
        let position = reader.position();
        drop(reader);
        feed.add_gap();
        feed.add("x", &2);
        let mut returned = feed.reader(Some(&position));
        assert_eq!(next(&mut returned).await, "gap");
        feed.add("x", &3);
        assert_eq!(next(&mut returned).await, "3");
    }
}
