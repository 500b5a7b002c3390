//! The options of the telemetry port: who may post, what is stored, and the limits. Limits of the
//! stored traces are options of the store.

use super::hidden_traces::HiddenTraces;
use super::own_processes::OwnProcesses;

/// Options of the port to which runtimes send their spans and log lines.
///
/// ```
/// use oxikit_traces::TelemetryOptions;
///
/// // For a port that other machines can reach: the token is required, and posts are small.
/// let mut options = TelemetryOptions::default().strict();
/// options.max_body = 1 << 20;
/// assert!(options.strict && !options.raw);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TelemetryOptions {
    /// Whether posts without a token are refused with 401. A server that other machines can
    /// reach must set it. The default is `false`: programs of this machine may post without a
    /// token, because some runtimes lose it, and their spans get the attribute
    /// `oxikit:unverified`.
    pub strict: bool,
    /// Whether everything is stored as it was sent, including secrets. The default is `false`:
    /// values that look like secrets, or that have the name of one, are redacted before they
    /// are stored.
    pub raw: bool,
    /// Maximum number of bytes of a post. A larger one is answered with 413. The default is
    /// 16 MiB. Compressed bodies are always refused, with 415.
    pub max_body: usize,
    /// Maximum number of posts without a token per second, with bursts of three times as many.
    /// More are answered with 429. The default is 500.
    pub unverified_per_second: u32,
    /// Processes whose posts are treated as if they had the token.
    pub(super) own_processes: OwnProcesses,
    /// Traces that are not stored.
    pub(super) hidden_traces: HiddenTraces,
}

impl Default for TelemetryOptions {
    fn default() -> Self {
        Self {
            strict: false,
            raw: false,
            max_body: 16 << 20,
            unverified_per_second: 500,
            own_processes: OwnProcesses::default(),
            hidden_traces: HiddenTraces::default(),
        }
    }
}

impl TelemetryOptions {
    /// Refuses posts without a token with 401: sets [`strict`](Self::strict).
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Stores spans and log lines as they were sent, with their secrets: sets
    /// [`raw`](Self::raw).
    #[must_use]
    pub fn raw(mut self) -> Self {
        self.raw = true;
        self
    }

    /// Sets the processes whose posts are treated as if they had the token. The default is none.
    #[must_use]
    pub fn with_own_processes(mut self, own: OwnProcesses) -> Self {
        self.own_processes = own;
        self
    }

    /// Sets the list of traces that are not stored. The default is an empty one.
    #[must_use]
    pub fn with_hidden_traces(mut self, hidden_traces: HiddenTraces) -> Self {
        self.hidden_traces = hidden_traces;
        self
    }
}
