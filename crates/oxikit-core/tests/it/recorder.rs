//! An exporter that keeps what it is given.

use std::sync::{Arc, Mutex};

use oxikit_core::{OpenSpan, Registry, SpanExporter, SpanRecord};

#[derive(Debug, Default)]
pub(crate) struct Recorder {
    started: Mutex<Vec<SpanRecord>>,
    ended: Mutex<Vec<SpanRecord>>,
}

impl SpanExporter for Recorder {
    fn start(&self, span: &OpenSpan) {
        self.started.lock().unwrap().extend(span.record());
    }

    fn end(&self, span: SpanRecord) {
        self.ended.lock().unwrap().push(span);
    }
}

impl Recorder {
    /// A registry whose spans are kept.
    pub(crate) fn new() -> (Arc<Self>, Registry) {
        let (recorder, registry) = (Arc::new(Self::default()), Registry::default());
        registry.add_exporter(recorder.clone());
        (recorder, registry)
    }

    /// The ended spans, after a check that each was started once and ended once.
    pub(crate) fn ended(&self) -> Vec<SpanRecord> {
        let ended = self.ended.lock().unwrap().clone();
        let ids = |spans: &[SpanRecord]| {
            let mut ids: Vec<_> = spans.iter().map(|span| span.span_id.to_string()).collect();
            ids.sort();
            ids
        };
        assert_eq!(ids(&self.started.lock().unwrap()), ids(&ended));
        ended
    }

    pub(crate) fn one(&self, name: &str) -> SpanRecord {
        let mut ended = self.ended();
        ended.retain(|span| span.name == name);
        assert_eq!(ended.len(), 1, "spans named {name}");
        ended.remove(0)
    }

    pub(crate) fn started(&self) -> Vec<SpanRecord> {
        self.started.lock().unwrap().clone()
    }
}
