//! The feed of changes: which document has changed, for lists and for applications that use the
//! prompts. It carries no texts; readers ask the library for them.
//!
//! The newest events are kept with their positions, so that a reader that has lost its connection
//! continues where it was. A reader whose position is not among them, because it was too slow or the
//! server was restarted, gets [`ChangeKind::Reload`].

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oxikit_wire::prompts::{ChangeEvent, ChangeKind};
use tokio::sync::watch;

use crate::document::Document;

/// Number of events that are kept. A reader that is further behind gets [`ChangeKind::Reload`].
const KEPT: usize = 1024;

/// A subscription to the changes of all documents, made by
/// [`Prompts::changes`](crate::Prompts::changes).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
///
/// use oxikit_core::ports::memory::MemoryRevisions;
/// use oxikit_prompts::{NewDocument, Prompts, PromptsOptions};
/// use oxikit_wire::prompts::ChangeKind;
///
/// let folder = tempfile::tempdir()?;
/// let options = PromptsOptions::new([folder.path()]);
/// let prompts = Prompts::open(options, Arc::new(MemoryRevisions::default())).await?;
/// let mut changes = prompts.changes();
/// prompts.create(NewDocument::new("joke", "Tell a joke.")).await?;
/// let event = changes.next().await.unwrap();
/// assert_eq!((event.change, event.id.as_deref()), (ChangeKind::Created, Some("joke")));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Changes {
    feed: Arc<Shared>,
    /// The number of the event to read next.
    next: u64,
    newest: watch::Receiver<Newest>,
    /// Whether events may be missing before `next`.
    must_reload: bool,
}

/// An event with its position.
#[derive(Debug, PartialEq)]
pub(crate) struct PlacedEvent {
    pub(crate) id: String,
    pub(crate) event: ChangeEvent,
}

/// The end of the feed where events are added.
#[derive(Debug)]
pub(crate) struct ChangeFeed(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Distinguishes the positions of this start of the server from those of others.
    start: String,
    kept: Mutex<Kept>,
    newest: watch::Sender<Newest>,
}

/// The state that readers wait for.
#[derive(Debug, Clone, Copy)]
struct Newest {
    /// The number of the newest event.
    number: u64,
    has_ended: bool,
}

/// The events from number `first` on.
#[derive(Debug)]
struct Kept {
    first: u64,
    events: VecDeque<ChangeEvent>,
}

impl ChangeFeed {
    pub(crate) fn new() -> Self {
        let start = uuid::Uuid::new_v4().simple().to_string();
        let kept = Mutex::new(Kept { first: 1, events: VecDeque::new() });
        let newest = watch::Sender::new(Newest { number: 0, has_ended: false });
        Self(Arc::new(Shared { start, kept, newest }))
    }

    /// Subscribes to changes from now on. After [`close`](Self::close) the feed has ended.
    pub(crate) fn subscribe(&self) -> Changes {
        self.subscribe_from(None)
    }

    /// Subscribes to changes from now on, or from those after the position `last`.
    pub(crate) fn subscribe_from(&self, last: Option<&str>) -> Changes {
        let newest = self.0.newest.subscribe();
        let number = newest.borrow().number;
        let (next, must_reload) = match last.map(|id| self.0.number_of(id)) {
            None => (number + 1, false),
            Some(Some(last)) if last <= number => (last + 1, false),
            // The position is of another start of the server.
            Some(_) => (number + 1, true),
        };
        Changes { feed: self.0.clone(), next, newest, must_reload }
    }

    /// Reports a change of a document.
    pub(crate) fn report(&self, change: ChangeKind, document: &Document) {
        self.add(event(change, document));
    }

    /// Reports that a document got another id.
    pub(crate) fn report_rename(&self, old_id: &str, document: &Document) {
        let old_id = Some(old_id.to_owned());
        self.add(ChangeEvent { old_id, ..event(ChangeKind::Renamed, document) });
    }

    /// Reports that any number of documents may have changed.
    pub(crate) fn report_reload(&self) {
        self.add(reload());
    }

    /// Ends the feed of all readers.
    pub(crate) fn close(&self) {
        self.0.newest.send_modify(|newest| newest.has_ended = true);
    }

    fn add(&self, event: ChangeEvent) {
        let mut kept = self.0.kept();
        kept.events.push_back(event);
        if kept.events.len() > KEPT {
            kept.events.pop_front();
            kept.first += 1;
        }
        // Under the lock, so that the numbers of two changes at the same time rise.
        self.0.newest.send_modify(|newest| newest.number = kept.newest());
    }
}

impl Drop for ChangeFeed {
    fn drop(&mut self) {
        // The readers hold the state. Nobody is left who would add to it.
        self.close();
    }
}

impl Shared {
    /// The number in a position of this start; `None` for other texts.
    fn number_of(&self, id: &str) -> Option<u64> {
        let (start, number) = id.split_once('-')?;
        number.parse().ok().filter(|_| start == self.start)
    }

    fn placed(&self, number: u64, event: ChangeEvent) -> PlacedEvent {
        PlacedEvent { id: format!("{}-{number}", self.start), event }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn newest(&self) -> u64 {
        self.first + self.events.len() as u64 - 1
    }
}

impl Changes {
    /// The next change; `None` when the library is closed. A reader that was too slow gets
    /// [`ChangeKind::Reload`] and reads the list again. Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<ChangeEvent> {
        Some(self.next_placed().await?.event)
    }

    /// [`next`](Self::next) with its position.
    pub(crate) async fn next_placed(&mut self) -> Option<PlacedEvent> {
        loop {
            // Before the look at the events: a change after it is then not missed.
            let has_ended = self.newest.borrow_and_update().has_ended;
            if let Some(event) = self.take() {
                return Some(event);
            }
            if has_ended {
                return None;
            }
            self.newest.changed().await.ok()?;
        }
    }

    /// The next event if there is one.
    fn take(&mut self) -> Option<PlacedEvent> {
        let kept = self.feed.kept();
        if std::mem::take(&mut self.must_reload) || self.next < kept.first {
            let newest = kept.newest();
            self.next = newest + 1;
            return Some(self.feed.placed(newest, reload()));
        }
        let index = usize::try_from(self.next - kept.first).ok()?;
        let event = kept.events.get(index)?.clone();
        drop(kept);
        self.next += 1;
        Some(self.feed.placed(self.next - 1, event))
    }
}

fn event(change: ChangeKind, document: &Document) -> ChangeEvent {
    ChangeEvent {
        change,
        id: Some(document.id.clone()),
        old_id: None,
        kind: Some(document.kind),
        rev: Some(document.rev),
        hash: Some(document.hash.clone()),
    }
}

fn reload() -> ChangeEvent {
    ChangeEvent {
        change: ChangeKind::Reload,
        id: None,
        old_id: None,
        kind: None,
        rev: None,
        hash: None,
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn add(feed: &ChangeFeed, id: usize) {
        feed.add(ChangeEvent { change: ChangeKind::Updated, id: Some(id.to_string()), ..reload() });
    }

    async fn next_id(reader: &mut Changes) -> Option<String> {
        let event = reader.next().await.unwrap();
        assert_eq!(event.change == ChangeKind::Reload, event.id.is_none());
        event.id
    }

    #[tokio::test]
    async fn a_reader_that_returns_misses_nothing() {
        let feed = ChangeFeed::new();
        let mut reader = feed.subscribe();
        (1..=3).for_each(|id| add(&feed, id));
        let first = reader.next_placed().await.unwrap();
        let mut returned = feed.subscribe_from(Some(&first.id));
        for expected in ["2", "3"] {
            assert_eq!(next_id(&mut returned).await.as_deref(), Some(expected));
        }
        assert_eq!(next_id(&mut reader).await.as_deref(), Some("2"));
    }

    #[tokio::test]
    async fn a_reader_with_an_unknown_position_reads_everything_again() {
        let feed = ChangeFeed::new();
        (1..=3).for_each(|id| add(&feed, id));
        let beyond = format!("{}-9", feed.0.start);
        for position in ["", "7", "other-1", "other-x", &beyond] {
            let mut reader = feed.subscribe_from(Some(position));
            assert_eq!(next_id(&mut reader).await, None, "{position}");
            add(&feed, 4);
            assert_eq!(next_id(&mut reader).await.as_deref(), Some("4"), "{position}");
        }
    }

    #[tokio::test]
    async fn a_reader_that_is_too_slow_reads_everything_again() {
        let feed = ChangeFeed::new();
        let mut reader = feed.subscribe();
        (0..=KEPT).for_each(|id| add(&feed, id));
        assert_eq!(feed.0.kept().events.len(), KEPT);
        assert_eq!(next_id(&mut reader).await, None);
        add(&feed, 7);
        assert_eq!(next_id(&mut reader).await.as_deref(), Some("7"));
    }

    #[tokio::test]
    async fn a_reader_has_all_changes_before_the_end() {
        let feed = ChangeFeed::new();
        let mut reader = feed.subscribe();
        let mut waiting = feed.subscribe();
        let end = tokio::spawn(async move { while waiting.next().await.is_some() {} });
        tokio::task::yield_now().await;
        add(&feed, 1);
        feed.close();
        assert_eq!(next_id(&mut reader).await.as_deref(), Some("1"));
        assert_eq!(reader.next().await, None);
        end.await.unwrap();
        assert_eq!(feed.subscribe().next().await, None);
    }

    #[tokio::test]
    async fn the_feed_of_a_library_that_was_dropped_has_ended() {
        let feed = ChangeFeed::new();
        let mut reader = feed.subscribe();
        drop(feed);
        assert_eq!(reader.next().now_or_never(), Some(None));
    }
}
