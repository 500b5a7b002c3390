//! Collects the spans of a studio.

use std::sync::{Arc, Mutex};

use oxikit::{OpenSpan, SpanExporter, SpanRecord, async_trait};
use research_studio::App;

/// The spans that have ended.
#[derive(Default)]
pub(crate) struct Spans(Mutex<Vec<SpanRecord>>);

impl Spans {
    pub(crate) fn of(app: &App) -> Arc<Self> {
        let spans = Arc::new(Self::default());
        app.ai.registry().add_exporter(spans.clone());
        spans
    }

    pub(crate) fn all(&self) -> Vec<SpanRecord> {
        self.0.lock().unwrap().clone()
    }
}

#[async_trait]
impl SpanExporter for Spans {
    fn start(&self, _: &OpenSpan) {}

    fn end(&self, span: SpanRecord) {
        self.0.lock().unwrap().push(span);
    }
}
