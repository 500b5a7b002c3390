//! The settings of the telemetry port.

use super::looks::Looks;
use super::own_processes::OwnProcesses;

/// What the telemetry port takes, and from whom.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TelemetryOptions {
    /// Refuses spans and log lines that come without a token. A server that listens
    /// to more than this machine must be strict.
    pub strict: bool,
    /// Stores everything as it came, secrets included.
    pub raw: bool,
    /// The largest post.
    pub max_body: usize,
    /// Posts without a token in a second; three times as many at once.
    pub unverified_per_second: u32,
    /// Whose spans are taken as if they came with a token.
    pub(super) own_processes: OwnProcesses,
    /// Traces that are not kept.
    pub(super) looks: Looks,
}

impl Default for TelemetryOptions {
    fn default() -> Self {
        Self {
            strict: false,
            raw: false,
            max_body: 16 << 20,
            unverified_per_second: 500,
            own_processes: OwnProcesses::default(),
            looks: Looks::default(),
        }
    }
}

impl TelemetryOptions {
    /// Whether posts without a token are refused.
    pub fn with_strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Whose spans are taken as if they came with a token.
    pub(crate) fn with_own_processes(mut self, own: OwnProcesses) -> Self {
        self.own_processes = own;
        self
    }

    /// Traces that are not kept.
    pub(crate) fn with_looks(mut self, looks: Looks) -> Self {
        self.looks = looks;
        self
    }

    /// Whether secrets are stored, too.
    pub fn with_raw(mut self, raw: bool) -> Self {
        self.raw = raw;
        self
    }
}
