//! What is written, told to those who listen.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// So many events wait for a reader, and so many bytes of them; what comes then is
/// left out, and the reader is told.
const MAX_EVENTS: usize = 256;
const MAX_BYTES: usize = 1024 * 1024;

/// Something that has happened to a trace, and is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceEvent {
    /// A span runs.
    SpanStarted {
        /// Its trace.
        trace_id: Arc<str>,
        /// The JSON of the span.
        span: Arc<str>,
    },
    /// A span has ended. If it was not seen before, it has started, too.
    SpanEnded {
        /// Its trace.
        trace_id: Arc<str>,
        /// The JSON of the span.
        span: Arc<str>,
    },
    /// The reader was too slow: so many events are missing here. The trace as it is
    /// now has them all.
    Lagged {
        /// How many.
        missed: u64,
    },
}

/// Events as they happen, of this process only. Ends with the store.
#[derive(Debug)]
pub struct TraceFeed {
    queue: Arc<Queue>,
    feeds: Arc<Feeds>,
}

impl TraceFeed {
    /// The next event; `None` when the store is closed. Nothing is lost if the
    /// future is dropped.
    pub async fn next(&mut self) -> Option<TraceEvent> {
        loop {
            let heard = self.queue.heard.notified();
            match self.queue.take() {
                Taken::Event(event) => return Some(event),
                Taken::Closed => return None,
                Taken::Nothing => heard.await,
            }
        }
    }
}

impl Drop for TraceFeed {
    fn drop(&mut self) {
        self.feeds.lock().retain(|queue| !Arc::ptr_eq(queue, &self.queue));
    }
}

/// All who listen.
#[derive(Debug, Default)]
pub(super) struct Feeds(Mutex<Vec<Arc<Queue>>>);

impl Feeds {
    /// Listens to one trace, or to all.
    pub(super) fn subscribe(self: &Arc<Self>, trace_id: Option<&str>) -> TraceFeed {
        let queue = Arc::new(Queue {
            trace_id: trace_id.map(str::to_owned),
            waiting: Mutex::default(),
            heard: Notify::new(),
        });
        self.lock().push(queue.clone());
        TraceFeed { queue, feeds: self.clone() }
    }

    /// Tells of spans of a trace, in their order: the JSON of each, and whether it has
    /// ended.
    pub(super) fn tell<'a>(
        &self,
        trace_id: &str,
        spans: impl Iterator<Item = (&'a str, bool)> + Clone,
    ) {
        let queues = self.lock();
        let is_heard =
            |queue: &&Arc<Queue>| queue.trace_id.as_deref().is_none_or(|wanted| wanted == trace_id);
        let mut listeners = queues.iter().filter(is_heard).peekable();
        if listeners.peek().is_none() {
            return;
        }
        let trace_id: Arc<str> = trace_id.into();
        let event = |(span, has_ended): (&str, bool)| match has_ended {
            true => TraceEvent::SpanEnded { trace_id: trace_id.clone(), span: span.into() },
            false => TraceEvent::SpanStarted { trace_id: trace_id.clone(), span: span.into() },
        };
        let events: Vec<_> = spans.map(event).collect();
        listeners.for_each(|queue| queue.put(&events));
    }

    pub(super) fn close(&self) {
        for queue in self.lock().iter() {
            queue.lock().is_closed = true;
            queue.heard.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Queue>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What waits for one reader.
#[derive(Debug)]
struct Queue {
    trace_id: Option<String>,
    waiting: Mutex<Waiting>,
    heard: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<TraceEvent>,
    bytes: usize,
    /// Left out after the last event.
    missed: u64,
    is_closed: bool,
}

enum Taken {
    Event(TraceEvent),
    Nothing,
    Closed,
}

impl Queue {
    fn put(&self, events: &[TraceEvent]) {
        let mut waiting = self.lock();
        for event in events {
            let is_full = waiting.events.len() >= MAX_EVENTS || waiting.bytes >= MAX_BYTES;
            // After a gap the reader comes first: the gap has one place.
            if is_full || waiting.missed > 0 {
                waiting.missed += 1;
            } else {
                waiting.bytes += size(event);
                waiting.events.push_back(event.clone());
            }
        }
        self.heard.notify_one();
    }

    fn take(&self) -> Taken {
        let mut waiting = self.lock();
        if let Some(event) = waiting.events.pop_front() {
            waiting.bytes -= size(&event);
            return Taken::Event(event);
        }
        match std::mem::take(&mut waiting.missed) {
            0 if waiting.is_closed => Taken::Closed,
            0 => Taken::Nothing,
            missed => Taken::Event(TraceEvent::Lagged { missed }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn size(event: &TraceEvent) -> usize {
    match event {
        TraceEvent::SpanStarted { span, .. } | TraceEvent::SpanEnded { span, .. } => span.len(),
        TraceEvent::Lagged { .. } => 0,
    }
}
