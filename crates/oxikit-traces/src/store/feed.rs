//! Live events of stored spans, for subscribers in this process.
//!
//! Each subscriber has a bounded queue, so that a slow one cannot make the writer wait or
//! fill the memory. Events beyond the limit are counted, and the subscriber receives the
//! count as [`TraceEvent::Lagged`]; the store still has the spans.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Maximum number of events in the queue of a subscriber, and below of their bytes. Further
/// events are dropped, and the subscriber receives [`TraceEvent::Lagged`].
const MAX_EVENTS: usize = 256;
const MAX_BYTES: usize = 1024 * 1024;

/// A stored change of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TraceEvent {
    /// A span has started and not ended.
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
    /// The subscriber was too slow, and events were dropped here. The stored trace contains
    /// them all.
    Lagged {
        /// Number of dropped events.
        missed: u64,
    },
}

/// A subscription to the events of this process. It ends with the store; dropping it ends it,
/// too.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// # let folder = std::env::temp_dir().join(format!("oxikit-traces-feed-{}", std::process::id()));
/// # let store = oxikit_traces::TraceStore::open(folder.join("traces.db"))?;
/// use oxikit_traces::TraceEvent;
///
/// let mut feed = store.subscribe_trace("t1");
/// store.ingest(br#"{"traceId":"t1","spans":{"s1":{
///     "spanId":"s1","traceId":"t1","startTime":1000,"endTime":1002.5,"attributes":{},
///     "displayName":"greet","instrumentationLibrary":{"name":"my-tracer"},"spanKind":"INTERNAL"
/// }}}"#).await?;
/// match feed.next().await {
///     Some(TraceEvent::SpanEnded { trace_id, .. }) => assert_eq!(&*trace_id, "t1"),
///     other => panic!("{other:?}"),
/// }
/// # drop((feed, store));
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TraceFeed {
    queue: Arc<Queue>,
    feeds: Arc<Feeds>,
}

impl TraceFeed {
    /// The next event; `None` when the store is closed. Dropping the future before it is ready
    /// loses no event.
    pub async fn next(&mut self) -> Option<TraceEvent> {
        loop {
            let changed = self.queue.changed.notified();
            match self.queue.take() {
                Taken::Event(event) => return Some(event),
                Taken::Closed => return None,
                Taken::Nothing => changed.await,
            }
        }
    }
}

impl Drop for TraceFeed {
    fn drop(&mut self) {
        self.feeds.lock().retain(|queue| !Arc::ptr_eq(queue, &self.queue));
    }
}

/// All subscribers.
#[derive(Debug, Default)]
pub(super) struct Feeds(Mutex<Vec<Arc<Queue>>>);

impl Feeds {
    /// Subscribes to one trace, or to all.
    pub(super) fn subscribe(self: &Arc<Self>, trace_id: Option<&str>) -> TraceFeed {
        let queue = Arc::new(Queue {
            trace_id: trace_id.map(str::to_owned),
            waiting: Mutex::default(),
            changed: Notify::new(),
        });
        self.lock().push(queue.clone());
        TraceFeed { queue, feeds: self.clone() }
    }

    /// Publishes spans of a trace in their order: the JSON of each, and whether it has
    /// ended.
    pub(super) fn publish<'a>(
        &self,
        trace_id: &str,
        spans: impl Iterator<Item = (&'a str, bool)> + Clone,
    ) {
        let queues = self.lock();
        let is_subscribed =
            |queue: &&Arc<Queue>| queue.trace_id.as_deref().is_none_or(|wanted| wanted == trace_id);
        let mut subscribers = queues.iter().filter(is_subscribed).peekable();
        if subscribers.peek().is_none() {
            return;
        }
        let trace_id: Arc<str> = trace_id.into();
        let event = |(span, has_ended): (&str, bool)| match has_ended {
            true => TraceEvent::SpanEnded { trace_id: trace_id.clone(), span: span.into() },
            false => TraceEvent::SpanStarted { trace_id: trace_id.clone(), span: span.into() },
        };
        // The events are made once and shared: their texts are reference-counted.
        let events: Vec<_> = spans.map(event).collect();
        subscribers.for_each(|queue| queue.put(&events));
    }

    /// Ends all subscriptions, after the events that wait.
    pub(super) fn close(&self) {
        for queue in self.lock().iter() {
            queue.lock().is_closed = true;
            queue.changed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Queue>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The queue of one subscriber.
#[derive(Debug)]
struct Queue {
    /// Only events of this trace; `None` for all.
    trace_id: Option<String>,
    waiting: Mutex<Waiting>,
    /// Wakes the subscriber.
    changed: Notify,
}

/// The events that the subscriber has not taken yet.
#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<TraceEvent>,
    /// Bytes of the JSON of these events.
    bytes: usize,
    /// Number of events dropped after the last queued one.
    missed: u64,
    is_closed: bool,
}

/// The result of an attempt to take an event.
enum Taken {
    Event(TraceEvent),
    Nothing,
    Closed,
}

impl Queue {
    /// Adds events, or counts them as missed.
    fn put(&self, events: &[TraceEvent]) {
        let mut waiting = self.lock();
        for event in events {
            let is_full = waiting.events.len() >= MAX_EVENTS || waiting.bytes >= MAX_BYTES;
            // `missed` describes one gap, at the end of the queue. After a gap, events are
            // dropped until the subscriber has emptied the queue and seen the gap.
            if is_full || waiting.missed > 0 {
                waiting.missed += 1;
            } else {
                waiting.bytes += size(event);
                waiting.events.push_back(event.clone());
            }
        }
        self.changed.notify_one();
    }

    /// Takes the next event. The gap is reported after the events that came before it.
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

/// Bytes of the JSON of an event.
fn size(event: &TraceEvent) -> usize {
    match event {
        TraceEvent::SpanStarted { span, .. } | TraceEvent::SpanEnded { span, .. } => span.len(),
        TraceEvent::Lagged { .. } => 0,
    }
}
