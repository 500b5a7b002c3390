//! Spans that wait to be sent.

use std::collections::VecDeque;

use oxikit_core::SpanRecord;
use tokio::task::JoinHandle;

/// Inputs and outputs may be long, so that bytes have a bound as well.
const MAX_QUEUED_BYTES: usize = 64 * 1024 * 1024;
const MAX_BATCH_BYTES: usize = 4 * 1024 * 1024;

/// A full one takes nothing more; nobody waits for it.
#[derive(Debug, Default)]
pub(super) struct Queue {
    spans: VecDeque<(usize, SpanRecord)>,
    bytes: usize,
    /// How many were ever put in.
    pub(super) accepted: u64,
    /// The task that empties it. One that has ended died with its runtime.
    pub(super) task: Option<JoinHandle<()>>,
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there was room.
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

    /// The oldest ones, as many as fit into a batch; at least one if there are any.
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

/// Roughly, in bytes.
fn size(span: &SpanRecord) -> usize {
    let attributes = span.attributes.iter();
    let attributes = attributes.map(|(key, value)| key.len() + value.as_str().map_or(32, str::len));
    let error = span.status.error().map_or(0, |error| 2 * error.message.len() + error.report.len());
    128 + attributes.sum::<usize>() + error
}
