//! The changes of all documents with positions, so that a reader that has lost its connection
//! continues where it was.
//!
//! One task reads the feed of the library and keeps the newest events. A reader whose position is not
//! among them, because it was too slow or the server was restarted, gets `reload`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oxikit_wire::prompts::{ChangeEvent, ChangeKind};
use tokio::sync::watch;

use super::sockets::Sockets;
use crate::Changes;

/// Number of events that are kept. A reader that is further behind gets `reload`.
const KEPT: usize = 1024;

/// The newest changes.
#[derive(Debug, Clone)]
pub(crate) struct Feed(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Tells the positions of this start of the server from those of others.
    start: String,
    kept: Mutex<Kept>,
    /// The number of the newest event; closed when the feed has ended.
    newest: watch::Sender<Newest>,
}

/// The state that readers wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Newest {
    number: u64,
    has_ended: bool,
}

/// The events from number `first` on, as JSON.
#[derive(Debug)]
struct Kept {
    first: u64,
    events: VecDeque<Arc<str>>,
}

/// A reader of the feed.
#[derive(Debug)]
pub(crate) struct Reader {
    feed: Arc<Shared>,
    /// The number of the event to read next.
    next: u64,
    newest: watch::Receiver<Newest>,
    /// Whether events may be missing before `next`.
    must_reload: bool,
}

/// An event with its position.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PlacedEvent {
    pub(crate) id: String,
    /// A [`ChangeEvent`] as JSON.
    pub(crate) json: Arc<str>,
}

impl Feed {
    /// Begins to keep the events of this subscription, until the sockets are closed or it ends.
    pub(crate) fn start(mut changes: Changes, sockets: &Sockets) -> Self {
        let feed = Self::new();
        let (shared, closing) = (feed.0.clone(), sockets.closing());
        sockets.spawn(async move {
            loop {
                tokio::select! {
                    event = changes.next() => match event {
                        Some(event) => shared.add(&event),
                        None => break,
                    },
                    () = closing.cancelled() => break,
                }
            }
            shared.newest.send_modify(|newest| newest.has_ended = true);
        });
        feed
    }

    fn new() -> Self {
        let start = uuid::Uuid::new_v4().simple().to_string();
        let kept = Mutex::new(Kept { first: 1, events: VecDeque::new() });
        let newest = watch::Sender::new(Newest { number: 0, has_ended: false });
        Self(Arc::new(Shared { start, kept, newest }))
    }

    /// A reader from now on, or from the position behind `last_event_id`.
    pub(crate) fn read_from(&self, last_event_id: Option<&str>) -> Reader {
        let newest = self.0.newest.subscribe();
        let number = newest.borrow().number;
        let position = last_event_id.map(|id| self.0.number_of(id));
        let (next, must_reload) = match position {
            None => (number + 1, false),
            Some(Some(last)) if last <= number => (last + 1, false),
            // The position is of another start of the server.
            Some(_) => (number + 1, true),
        };
        Reader { feed: self.0.clone(), next, newest, must_reload }
    }
}

impl Shared {
    fn add(&self, event: &ChangeEvent) {
        let Ok(json) = serde_json::to_string(event) else { return };
        let mut kept = self.kept();
        kept.events.push_back(json.into());
        if kept.events.len() > KEPT {
            kept.events.pop_front();
            kept.first += 1;
        }
        let number = kept.first + kept.events.len() as u64 - 1;
        drop(kept);
        self.newest.send_modify(|newest| newest.number = number);
    }

    /// The number in a position of this start; `None` for other texts.
    fn number_of(&self, id: &str) -> Option<u64> {
        let (start, number) = id.split_once('-')?;
        number.parse().ok().filter(|_| start == self.start)
    }

    fn placed(&self, number: u64, json: Arc<str>) -> PlacedEvent {
        PlacedEvent { id: format!("{}-{number}", self.start), json }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader {
    /// The next event; `None` when the feed has ended. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> Option<PlacedEvent> {
        loop {
            if let Some(event) = self.take() {
                return Some(event);
            }
            if self.newest.borrow_and_update().has_ended {
                return None;
            }
            self.newest.changed().await.ok()?;
        }
    }

    /// The next event if there is one.
    fn take(&mut self) -> Option<PlacedEvent> {
        let kept = self.feed.kept();
        let newest = kept.first + kept.events.len() as u64 - 1;
        if std::mem::take(&mut self.must_reload) || self.next < kept.first {
            self.next = newest + 1;
            drop(kept);
            return Some(self.feed.placed(newest, reload().into()));
        }
        let index = usize::try_from(self.next - kept.first).ok()?;
        let json = kept.events.get(index)?.clone();
        drop(kept);
        self.next += 1;
        Some(self.feed.placed(self.next - 1, json))
    }
}

/// The event that tells a reader to read the list again.
fn reload() -> String {
    let event = ChangeEvent {
        change: ChangeKind::Reload,
        id: None,
        old_id: None,
        kind: None,
        rev: None,
        hash: None,
    };
    serde_json::to_string(&event).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: usize) -> ChangeEvent {
        let id = Some(id.to_string());
        ChangeEvent {
            change: ChangeKind::Updated,
            id,
            old_id: None,
            kind: None,
            rev: None,
            hash: None,
        }
    }

    async fn next_id(reader: &mut Reader) -> Option<String> {
        let event: ChangeEvent = serde_json::from_str(&reader.next().await.unwrap().json).unwrap();
        assert_eq!(event.change == ChangeKind::Reload, event.id.is_none());
        event.id
    }

    #[tokio::test]
    async fn a_reader_that_returns_misses_nothing() {
        let feed = Feed::new();
        let mut reader = feed.read_from(None);
        (1..=3).for_each(|id| feed.0.add(&event(id)));
        let first = reader.next().await.unwrap();
        let mut returned = feed.read_from(Some(&first.id));
        for expected in ["2", "3"] {
            assert_eq!(next_id(&mut returned).await.as_deref(), Some(expected));
        }
        assert_eq!(next_id(&mut reader).await.as_deref(), Some("2"));
    }

    #[tokio::test]
    async fn a_reader_with_an_unknown_position_reads_everything_again() {
        let feed = Feed::new();
        (1..=3).for_each(|id| feed.0.add(&event(id)));
        let beyond = format!("{}-9", feed.0.start);
        for position in ["", "7", "other-1", "other-x", &beyond] {
            let mut reader = feed.read_from(Some(position));
            assert_eq!(next_id(&mut reader).await, None, "{position}");
            feed.0.add(&event(4));
            assert_eq!(next_id(&mut reader).await.as_deref(), Some("4"), "{position}");
        }
    }

    #[tokio::test]
    async fn a_reader_that_is_too_slow_reads_everything_again() {
        let feed = Feed::new();
        let mut reader = feed.read_from(None);
        (0..=KEPT).for_each(|id| feed.0.add(&event(id)));
        assert_eq!(feed.0.kept().events.len(), KEPT);
        assert_eq!(next_id(&mut reader).await, None);
        feed.0.add(&event(7));
        assert_eq!(next_id(&mut reader).await.as_deref(), Some("7"));
    }
}
