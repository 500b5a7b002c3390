//! How much is kept.

use std::collections::HashMap;
use std::time::Duration;

use super::ModelPrice;

/// How a [`TraceStore`](super::TraceStore) works, and how much it keeps.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TraceOptions {
    /// So long a call waits for the file, which another process may have locked,
    /// before it fails as unavailable.
    pub patience: Duration,
    /// So many reads go on at the same time.
    pub readers: usize,
    /// So many traces are kept.
    pub max_traces: usize,
    /// So many log lines are kept.
    pub max_logs: usize,
    /// So many bytes of the file are in use.
    pub max_bytes: u64,
    /// So long a trace is kept after the last word of it.
    pub max_age: Duration,
    /// A longer attribute is cut, with a mark.
    pub max_attribute_bytes: usize,
    /// So many spans of a trace are kept; those that come later are counted.
    pub max_spans: usize,
    /// What models cost, by the names that their spans have. Where a runtime says
    /// itself what a call has cost, that counts.
    pub prices: HashMap<String, ModelPrice>,
    /// For tests of a full disk: the file has so many pages at most.
    #[doc(hidden)]
    pub max_pages: Option<u32>,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self {
            patience: Duration::from_secs(5),
            readers: 2,
            max_traces: 10_000,
            max_logs: 100_000,
            max_bytes: 1024 * 1024 * 1024,
            max_age: Duration::from_secs(7 * 24 * 60 * 60),
            max_attribute_bytes: 256 * 1024,
            max_spans: 10_000,
            prices: HashMap::new(),
            max_pages: None,
        }
    }
}
