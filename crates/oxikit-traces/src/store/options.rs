//! Options and limits of the trace store. The limits are enforced in the background, after
//! writes.

use std::collections::HashMap;
use std::time::Duration;

use super::ModelPrice;

/// Options of a [`TraceStore`](super::TraceStore). When a limit is exceeded, the oldest
/// traces or log lines are removed.
///
/// A running trace is not removed for its size or number, unless no span of it came for ten
/// minutes: its process has probably ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TraceOptions {
    /// Timeout of a call, which may wait for a file that another process has locked. The call
    /// then fails as unavailable. The default is five seconds.
    pub patience: Duration,
    /// Maximum number of reads at the same time. Further ones wait. The default is 2.
    pub readers: usize,
    /// Maximum number of traces. The default is 10,000.
    pub max_traces: usize,
    /// Maximum number of log lines. The default is 100,000.
    pub max_logs: usize,
    /// Maximum size of the used pages of the file, in bytes. The default is 1 GiB.
    pub max_bytes: u64,
    /// Maximum age of a trace, since its last span was written. The default is seven days.
    pub max_age: Duration,
    /// Maximum length of an attribute in bytes. A longer one is cut, and a mark says how long it
    /// was. The default is 256 KiB.
    pub max_attribute_bytes: usize,
    /// Maximum number of spans per trace. Further ones are counted and not stored. The default is
    /// 10,000.
    pub max_spans: usize,
    /// Prices of models, by the names in their spans. A cost that the runtime reports itself
    /// takes precedence.
    pub prices: HashMap<String, ModelPrice>,
    /// Maximum number of pages of the file, for tests of a full disk.
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
