//! The feed of changes of everything that a page shows: runtimes, the application, traces, data sets,
//! evaluations and prompts.
//!
//! While there are no readers nothing is kept and nothing is read: `feed_sources` adds the events. A
//! reader that returns is told that it has missed what happened meanwhile.

mod project;

use std::sync::Arc;

use oxikit_http::feed;
use oxikit_traces::TraceInfo;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::watch;

pub(crate) use project::WatchedProject;

/// Number of events that are kept. A reader that is further behind has missed events.
const KEPT: usize = 256;

/// The newest events.
#[derive(Debug, Clone)]
pub(crate) struct Feed(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    events: feed::Feed<Event>,
    /// The number of readers.
    readers: watch::Sender<usize>,
    /// Whether the sources are followed.
    is_followed: watch::Sender<bool>,
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

/// What a reader reads next.
pub(crate) type Read = feed::Read<Event>;

/// A reader of the feed, which counts as one until it is dropped.
#[derive(Debug)]
pub(crate) struct Reader {
    feed: Feed,
    events: feed::Reader<Event>,
}

impl Feed {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            events: feed::Feed::new(KEPT),
            readers: watch::Sender::new(0),
            is_followed: watch::Sender::new(false),
        }))
    }

    /// The id of this start of the server.
    pub(crate) fn start(&self) -> &str {
        self.0.events.start()
    }

    /// Adds an event, unless nobody reads.
    pub(crate) fn add(&self, name: &'static str, data: &impl Serialize) {
        if *self.0.readers.borrow() == 0 {
            return;
        }
        let Ok(json) = serde_json::to_string(data) else { return };
        self.0.events.add(Event { name, json: json.into() });
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
        self.0.events.add_gap();
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
        Reader { feed: self.clone(), events: self.0.events.read_from(last_event_id) }
    }
}

impl Reader {
    /// The next event. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> Option<Read> {
        self.events.next().await
    }

    /// The position behind the last event that was read.
    pub(crate) fn position(&self) -> String {
        self.events.position()
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
        match reader.next().await.unwrap() {
            Read::Event(event) => event.json.to_string(),
            Read::Gap => "gap".to_owned(),
        }
    }

    #[tokio::test]
    async fn what_happens_without_readers_is_a_gap() {
        let feed = Feed::new();
        let mut reader = feed.reader(None);
        feed.add("x", &1);
        assert_eq!(next(&mut reader).await, "1");
        let position = reader.position();
        drop(reader);
        feed.add("x", &"not kept");
        feed.pause();
        let mut returned = feed.reader(Some(&position));
        assert_eq!(next(&mut returned).await, "gap");
        feed.add("x", &3);
        assert_eq!(next(&mut returned).await, "3");
    }
}
