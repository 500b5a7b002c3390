//! What waits to be sent.
//!
//! One queue, bounded in number and bytes, under a short lock. Nobody who puts
//! something in ever waits: what there is no room for is given up, the oldest
//! first, and counted. A span that begins is only shown early, and told again at
//! its end, so it is given up first and counts as no loss.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use oxikit_core::{OpenSpan, SpanRecord};
use serde_json::Value;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

use super::logs::LogLine;

/// What may wait.
const MAX_EVENTS: usize = 8192;
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// What may wait while no server is known.
const MAX_BACKLOG: usize = 256;
/// What is taken at once. So much more than the queue is in memory at most.
const MAX_TAKEN: usize = 2048;
const MAX_TAKEN_BYTES: usize = 4 * 1024 * 1024;
/// How long events are collected. Most spans have ended by then and are told once;
/// people who look on do not notice.
const COLLECT: Duration = Duration::from_millis(40);

/// Something to tell the server.
#[derive(Debug)]
pub(super) enum Event {
    Start(OpenSpan),
    End(SpanRecord),
    Log(LogLine),
}

impl Event {
    /// About what it takes in memory.
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

    /// Whether something is lost without it.
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

/// What was taken out, and who waits for its end.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) events: Vec<Event>,
    /// Dropped when all is done.
    pub(super) flushers: Vec<oneshot::Sender<()>>,
}

/// How things stand between the application and the sender.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Reach {
    /// No server is known yet.
    #[default]
    Unknown,
    /// As far as is known, the server is there.
    There,
    /// The server was not there when it was last tried.
    Away,
    /// Nothing is sent any more.
    Closed,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    dropped: AtomicU64,
    /// Wakes the sender: an event in an empty queue, a batch that is full, or
    /// something that cannot wait.
    wake: Notify,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<(usize, Event)>,
    bytes: usize,
    /// How many were ever put in.
    pushed: u64,
    /// Who waits, and for how many of them.
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

    /// A server was named.
    pub(super) fn moved(&self) {
        let mut state = self.lock();
        if state.reach != Reach::Closed {
            state.reach = Reach::There;
            state.moved = true;
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Waits until what is in the queue now was sent or given up; not while the
    /// server is away.
    pub(super) async fn flush(&self) {
        let done = {
            let mut state = self.lock();
            if state.reach != Reach::There {
                return;
            }
            let (flusher, done) = oneshot::channel();
            if state.flushers.len() == state.flushers.capacity() {
                // Room of those who wait no longer, before more is taken.
                state.flushers.retain(|(_, flusher)| !flusher.is_closed());
            }
            let upto = state.pushed;
            state.flushers.push((upto, flusher));
            done
        };
        self.wake.notify_one();
        // The sender says nothing: it drops the other end.
        let _ = done.await;
    }

    /// Nothing is taken in from now on. The sender sends what is left, once.
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

    // For the sender, of which there is one.

    /// Waits for events, and a little longer for more of them. `None` once the
    /// queue is closed and empty.
    pub(super) async fn take(&self) -> Option<Taken> {
        self.woken_when(|state| !state.events.is_empty() || state.is_urgent()).await;
        let _ = timeout(COLLECT, self.woken_when(State::is_urgent)).await;
        let mut state = self.lock();
        state.moved = false;
        let taken = state.take();
        (state.reach != Reach::Closed || !taken.events.is_empty()).then_some(taken)
    }

    /// The server answers.
    pub(super) fn there(&self) {
        let mut state = self.lock();
        if state.reach == Reach::Away {
            state.reach = Reach::There;
        }
    }

    /// The server is away: nobody waits for it. `false` if another one was named
    /// meanwhile, which may be there.
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

    /// Waits before the next try, less if there is a new server or an end.
    pub(super) async fn pause(&self, delay: Duration) {
        let _ = timeout(delay, self.woken_when(|state| state.moved || state.is_closed())).await;
        self.lock().moved = false;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed()
    }

    /// Nobody sends any more.
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
    /// Makes room for one more: how many others were lost for it, or `None` if it
    /// is not taken in itself.
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

    /// Whether what is there is to be sent at once.
    fn is_urgent(&self) -> bool {
        !self.flushers.is_empty() || self.is_closed() || self.events.len() >= MAX_TAKEN
    }

    fn is_closed(&self) -> bool {
        self.reach == Reach::Closed
    }
}
