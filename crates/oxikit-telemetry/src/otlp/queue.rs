//! The bounded queue of spans that wait to be sent.

use std::collections::VecDeque;

use oxikit_core::SpanRecord;
use tokio::task::JoinHandle;

/// Maximum bytes of queued spans; inputs and outputs may be long. Further spans are dropped.
const MAX_QUEUED_BYTES: usize = 64 * 1024 * 1024;
/// Maximum bytes of a batch, but at least one span.
const MAX_BATCH_BYTES: usize = 4 * 1024 * 1024;

/// The queue. When it is full, new spans are dropped; adding never waits.
#[derive(Debug, Default)]
pub(super) struct Queue {
    spans: VecDeque<(usize, SpanRecord)>,
    bytes: usize,
    /// Number of spans that were ever added.
    pub(super) accepted: u64,
    /// The task that sends the spans. If it is finished, its runtime was shut down.
    pub(super) task: Option<JoinHandle<()>>,
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Adds a span; `false` if the queue is full.
    pub(super) fn push(&mut self, span: SpanRecord, max: usize) -> bool {
        let size = size(&span);
        if self.spans.len() >= max || self.bytes + size > MAX_QUEUED_BYTES {
            return false;
        }
        self.bytes += size;
        self.accepted += 1;
        self.spans.push_back((size, span));
        true
    }

    /// Takes the oldest spans that fit into a batch; at least one if there are any.
    pub(super) fn take_batch(&mut self, max: usize) -> Vec<SpanRecord> {
        let mut bytes = 0;
        let fitting = self.spans.iter().take(max).take_while(|(size, _)| {
            let fits = bytes == 0 || bytes + size <= MAX_BATCH_BYTES;
            bytes += size;
            fits
        });
        let count = fitting.count();
        let batch: Vec<_> = self.spans.drain(..count).collect();
        self.bytes -= batch.iter().map(|(size, _)| size).sum::<usize>();
        batch.into_iter().map(|(_, span)| span).collect()
    }
}

/// The approximate number of bytes of a span.
fn size(span: &SpanRecord) -> usize {
    let attributes = span.attributes.iter();
    let attributes = attributes.map(|(key, value)| key.len() + value.as_str().map_or(32, str::len));
    let error = span.status.error().map_or(0, |error| 2 * error.message.len() + error.report.len());
    128 + attributes.sum::<usize>() + error
}
