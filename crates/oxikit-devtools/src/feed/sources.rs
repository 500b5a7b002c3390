//! Follows what changes and adds it to the feed, while somebody reads it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use oxikit_traces::{TraceEvent, TraceFeed, TraceInfo};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::{MissedTickBehavior, interval};

use crate::api::apps::redacted;
use crate::api::runtimes::listed;
use crate::app::AppStatus;
use crate::shared::Shared;

/// Time between two events about traces, and between two looks at the application.
const PERIOD: Duration = Duration::from_millis(250);
/// Maximum number of traces whose summaries are in one event. Of more only the number is sent.
const MAX_SUMMARIES: usize = 50;

/// Traces that are new or have changed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChangedTraces {
    /// The number of traces that have changed. It is at least this number if spans arrived faster than
    /// they were counted.
    count: u64,
    /// Their summaries, as in the list of traces; empty if too many have changed, then the list has to
    /// be read again.
    traces: Vec<TraceInfo>,
}

/// Follows the sources whenever there are readers, until the server closes.
pub(crate) async fn follow(shared: Arc<Shared>) {
    let mut readers = shared.feed.0.readers.subscribe();
    loop {
        tokio::select! {
            arrived = readers.wait_for(|readers| *readers > 0) => if arrived.is_err() { return },
            () = shared.closing.cancelled() => return,
        }
        tokio::select! {
            () = Sources::new(&shared).follow(&shared) => {}
            _ = readers.wait_for(|readers| *readers == 0) => {}
            () = shared.closing.cancelled() => return,
        }
        shared.feed.0.is_followed.send_replace(false);
        // A reader that returns is told that it has missed what happens until then.
        shared.feed.add_gap();
    }
}

/// What is followed.
struct Sources {
    traces: TraceFeed,
    /// The traces that have changed since the last event.
    changed: BTreeSet<Arc<str>>,
    /// Number of spans whose traces are not known.
    missed: u64,
    app: Option<AppStatus>,
}

impl Sources {
    fn new(shared: &Shared) -> Self {
        let traces = shared.traces.subscribe();
        Self { traces, changed: BTreeSet::new(), missed: 0, app: status_of(shared) }
    }

    /// Adds events until a source ends.
    async fn follow(mut self, shared: &Shared) {
        let mut runtimes = shared.runtimes.watch();
        let mut prompts = shared.prompts.prompts().changes();
        let mut ticks = interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        shared.feed.0.is_followed.send_replace(true);
        loop {
            tokio::select! {
                event = self.traces.next() => match event {
                    Some(event) => self.take(event),
                    None => return,
                },
                changed = runtimes.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let list = runtimes.borrow_and_update().clone();
                    shared.feed.add("runtimes", &listed(shared, &list));
                }
                change = prompts.next() => match change {
                    Some(change) => shared.feed.add("prompts", &change),
                    None => return,
                },
                _ = ticks.tick() => {
                    self.add_traces(shared).await;
                    self.add_app(shared);
                }
            }
        }
    }

    fn take(&mut self, event: TraceEvent) {
        match event {
            TraceEvent::SpanStarted { trace_id, .. } | TraceEvent::SpanEnded { trace_id, .. } => {
                self.changed.insert(trace_id);
            }
            TraceEvent::Lagged { missed } => self.missed += missed,
            _ => {}
        }
    }

    /// Adds the event about the traces that have changed, if any.
    async fn add_traces(&mut self, shared: &Shared) {
        let (changed, missed) =
            (std::mem::take(&mut self.changed), std::mem::take(&mut self.missed));
        if changed.is_empty() && missed == 0 {
            return;
        }
        let mut traces = Vec::new();
        if missed == 0 && changed.len() <= MAX_SUMMARIES {
            for trace_id in &changed {
                // A trace may have been deleted since, and a damaged file is reported by the list.
                let summary = shared.traces.summary(trace_id).await;
                traces.extend(summary.ok().flatten().map(TraceInfo::from));
            }
        }
        let count = changed.len() as u64 + missed;
        shared.feed.add("traces", &ChangedTraces { count, traces });
    }

    /// Adds the status of the application if it differs from the last one.
    fn add_app(&mut self, shared: &Shared) {
        let status = status_of(shared);
        if status != self.app {
            shared.feed.add("app", &status.clone().map(redacted));
            self.app = status;
        }
    }
}

fn status_of(shared: &Shared) -> Option<AppStatus> {
    shared.app().map(|app| app.status())
}
