//! The queue of events between the application and the sender.
//!
//! The queue is bounded in number and bytes, under a short lock. Adding an event never waits: when
//! the queue is full, the oldest events are dropped and counted. The start of a span is only sent so
//! that it is shown early, and its end repeats all of it; so starts are dropped first, and are not
//! counted as lost.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use oxikit_core::{OpenSpan, SpanRecord};
use serde_json::Value;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

use super::logs::LogLine;

/// Maximum number of queued events. Beyond it the oldest are dropped.
const MAX_EVENTS: usize = 8192;
/// Maximum bytes of queued events. Beyond it the oldest are dropped.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Maximum number of queued events while no server is known.
const MAX_BACKLOG: usize = 256;
/// Maximum number of events that the sender takes at once. They are in memory in addition to the
/// queue.
const MAX_TAKEN: usize = 2048;
/// Maximum bytes that the sender takes at once, but at least one event.
const MAX_TAKEN_BYTES: usize = 4 * 1024 * 1024;
/// Time that events are collected before they are sent. Most spans have ended by then and are sent
/// once; users do not notice the delay.
const COLLECT: Duration = Duration::from_millis(40);

/// An event for the server.
#[derive(Debug)]
pub(super) enum Event {
    Start(OpenSpan),
    End(SpanRecord),
    Log(LogLine),
}

impl Event {
    /// The approximate number of bytes in memory.
    fn bytes(&self) -> usize {
        let own = size_of::<Self>();
        match self {
            Self::Start(_) => own,
            Self::End(span) => {
                let attributes = span.attributes.iter();
                let held: usize = attributes.map(|(key, value)| key.len() + bytes_of(value)).sum();
                let error = span.status.error().map_or(0, |e| e.message.len() + e.report.len());
                own + span.name.len() + held + error
            }
            Self::Log(line) => own + line.bytes(),
        }
    }

    /// Whether the event counts as lost if it is dropped.
    fn counts(&self) -> bool {
        !matches!(self, Self::Start(_))
    }
}

fn bytes_of(value: &Value) -> usize {
    let held = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(bytes_of).sum(),
        Value::Object(members) => members.iter().map(|(key, v)| key.len() + bytes_of(v)).sum(),
        _ => 0,
    };
    size_of::<Value>() + held
}

/// Events that the sender has taken, and the callers of `flush` that wait for them.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) events: Vec<Event>,
    /// The sender drops them when all events are sent, which wakes the callers.
    pub(super) flushers: Vec<oneshot::Sender<()>>,
}

/// The state of the server, as far as it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Reach {
    /// No server is known yet.
    #[default]
    Unknown,
    /// The server was named, and the last attempt did not fail.
    There,
    /// The server was unreachable at the last attempt.
    Away,
    /// Nothing is sent any more.
    Closed,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    dropped: AtomicU64,
    /// Wakes the sender: for the first event of an empty queue, for a full batch, and for
    /// urgent work (a flush, another server, the end).
    wake: Notify,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<(usize, Event)>,
    bytes: usize,
    /// Number of events that were ever added.
    pushed: u64,
    /// Callers of `flush`, each with the value of `pushed` up to which it waits.
    flushers: Vec<(u64, oneshot::Sender<()>)>,
    reach: Reach,
    /// Another server was named since the sender last looked.
    moved: bool,
}

impl Queue {
    pub(super) fn push(&self, event: Event) {
        let size = event.bytes();
        let mut state = self.lock();
        let lost = state.make_room(size, &event);
        if let Some(lost) = lost {
            let full = state.events.len() + 1 == MAX_TAKEN;
            let wakes = (state.events.is_empty() || full) && state.reach == Reach::There;
            state.bytes += size;
            state.pushed += 1;
            state.events.push_back((size, event));
            drop(state);
            self.count_dropped(lost);
            if wakes {
                self.wake.notify_one();
            }
        } else {
            drop(state);
            self.count_dropped(event.counts().into());
        }
    }

    /// Records that a server was set, and wakes the sender.
    pub(super) fn moved(&self) {
        let mut state = self.lock();
        if state.reach != Reach::Closed {
            state.reach = Reach::There;
            state.moved = true;
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Waits until the present events were sent or dropped. Returns at once while the server is
    /// unreachable.
    pub(super) async fn flush(&self) {
        let done = {
            let mut state = self.lock();
            if state.reach != Reach::There {
                return;
            }
            let (flusher, done) = oneshot::channel();
            if state.flushers.len() == state.flushers.capacity() {
                // Removes waiters that have gone before the list grows.
                state.flushers.retain(|(_, flusher)| !flusher.is_closed());
            }
            let upto = state.pushed;
            state.flushers.push((upto, flusher));
            done
        };
        self.wake.notify_one();
        // The sender never sends a value: it drops its end, which ends the wait.
        let _ = done.await;
    }

    /// Refuses new events. The sender tries once to send the rest.
    pub(super) fn close(&self) {
        self.lock().reach = Reach::Closed;
        self.wake.notify_one();
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(super) fn count_dropped(&self, lost: u64) {
        if lost > 0 {
            self.dropped.fetch_add(lost, Ordering::Relaxed);
        }
    }

    // The following functions are for the sender, of which there is only one.

    /// Waits for events, and then up to [`COLLECT`] for more of them. `None` once the
    /// queue is closed and empty.
    pub(super) async fn take(&self) -> Option<Taken> {
        self.woken_when(|state| !state.events.is_empty() || state.is_urgent()).await;
        let _ = timeout(COLLECT, self.woken_when(State::is_urgent)).await;
        let mut state = self.lock();
        state.moved = false;
        let taken = state.take();
        (state.reach != Reach::Closed || !taken.events.is_empty()).then_some(taken)
    }

    /// Records that the server has answered.
    pub(super) fn there(&self) {
        let mut state = self.lock();
        if state.reach == Reach::Away {
            state.reach = Reach::There;
        }
    }

    /// Records that the server is unreachable, and releases callers of `flush`. Returns `false` if
    /// another server was set meanwhile, which should be tried first.
    pub(super) fn away(&self) -> bool {
        let mut state = self.lock();
        if std::mem::take(&mut state.moved) && !state.is_closed() {
            return false;
        }
        state.flushers.clear();
        if state.reach == Reach::There {
            state.reach = Reach::Away;
        }
        true
    }

    /// Waits before the next attempt; returns early if another server is set or the queue is
    /// closed.
    pub(super) async fn pause(&self, delay: Duration) {
        let _ = timeout(delay, self.woken_when(|state| state.moved || state.is_closed())).await;
        self.lock().moved = false;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed()
    }

    /// Closes the queue because the sender has ended. Events that are left are counted as dropped.
    pub(super) fn abandon(&self) {
        let closed = State { reach: Reach::Closed, ..State::default() };
        let left = std::mem::replace(&mut *self.lock(), closed);
        let lost = left.events.iter().filter(|(_, event)| event.counts()).count();
        self.count_dropped(lost as u64);
    }

    async fn woken_when(&self, is_so: impl Fn(&State) -> bool) {
        while !is_so(&self.lock()) {
            self.wake.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Makes room for one event. Returns how many others were dropped for it, or `None` if the event
    /// itself is refused.
    fn make_room(&mut self, size: usize, event: &Event) -> Option<u64> {
        let max_events = match self.reach {
            Reach::Closed => return None,
            Reach::Unknown => MAX_BACKLOG,
            Reach::There | Reach::Away => MAX_EVENTS,
        };
        if !event.counts() {
            let has_room = self.events.len() < max_events / 2 && self.bytes < MAX_BYTES / 2;
            return (has_room && self.reach == Reach::There).then_some(0);
        }
        if size > MAX_BYTES {
            return None;
        }
        let mut lost = 0;
        while self.events.len() >= max_events || self.bytes + size > MAX_BYTES {
            let (size, oldest) = self.events.pop_front()?;
            self.bytes -= size;
            lost += u64::from(oldest.counts());
        }
        Some(lost)
    }

    fn take(&mut self) -> Taken {
        let mut bytes = 0;
        let fits = |(size, _): &&(usize, Event)| {
            bytes += size;
            bytes <= MAX_TAKEN_BYTES
        };
        let many = self.events.iter().take(MAX_TAKEN).take_while(fits).count().max(1);
        let many = many.min(self.events.len());
        let mut events = Vec::with_capacity(many);
        for (size, event) in self.events.drain(..many) {
            self.bytes -= size;
            events.push(event);
        }
        let gone = self.pushed - self.events.len() as u64;
        let flushers = self.flushers.extract_if(.., |(upto, _)| *upto <= gone);
        let flushers = flushers.map(|(_, flusher)| flusher).collect();
        Taken { events, flushers }
    }

    /// Whether the queued events should be sent without waiting for more.
    fn is_urgent(&self) -> bool {
        !self.flushers.is_empty() || self.is_closed() || self.events.len() >= MAX_TAKEN
    }

    fn is_closed(&self) -> bool {
        self.reach == Reach::Closed
    }
}
