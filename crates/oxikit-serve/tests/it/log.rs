//! The log of the test program.

use std::sync::{Mutex, OnceLock};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::{Level, Subscriber};

use crate::kit::PATIENCE;

/// Keeps the access log, failures of all levels, and all errors, each with the thread
/// that wrote it.
#[derive(Default)]
pub(crate) struct Log(Mutex<Vec<(ThreadId, Line)>>);

/// One event: `name=value` for each of its fields.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) level: Level,
    pub(crate) target: String,
    pub(crate) text: String,
}

impl Log {
    /// The log of the whole process: what is logged is decided once for all threads,
    /// and a subscriber of one thread may come too late for it.
    pub(crate) fn listen() -> &'static Self {
        static LOG: OnceLock<&'static Log> = OnceLock::new();
        LOG.get_or_init(|| {
            let log: &'static Self = Box::leak(Box::default());
            tracing::subscriber::set_global_default(Listener(log)).unwrap();
            tracing::callsite::rebuild_interest_cache();
            log
        })
    }

    /// Lines of the calling test: its server runs on the same thread.
    pub(crate) fn own(&self) -> Vec<Line> {
        let lines = self.0.lock().unwrap();
        let own = lines.iter().filter(|(thread, _)| *thread == thread::current().id());
        own.map(|(_, line)| line.clone()).collect()
    }

    /// The errors of the calling test, once there is one and all tasks that were ready
    /// have run.
    pub(crate) async fn own_errors(&self) -> Vec<Line> {
        let began = Instant::now();
        while self.errors().is_empty() && began.elapsed() < PATIENCE {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        self.errors()
    }

    fn errors(&self) -> Vec<Line> {
        let mut lines = self.own();
        lines.retain(|line| line.level == Level::ERROR);
        lines
    }

    /// Forgets the lines of the calling test.
    pub(crate) fn clear(&self) {
        self.0.lock().unwrap().retain(|(thread, _)| *thread != thread::current().id());
    }
}

struct Listener(&'static Log);

impl Subscriber for Listener {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == Level::ERROR
            || ["oxikit::access", "oxikit::failure"].contains(&metadata.target())
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        struct Text(String);
        impl Visit for Text {
            fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                self.0.push_str(&format!("{field}={value:?} "));
            }
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        let (level, target) = (*event.metadata().level(), event.metadata().target().to_owned());
        let line = Line { level, target, text: text.0 };
        self.0.0.lock().unwrap().push((thread::current().id(), line));
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}
